/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guests of the host program. A file of its archive holds a function (struct host_image), so that an
 * experiment asks for "spin" and gets it here as it does in the image. A guest must do by hypercall what a
 * guest of the image does by hypercall.
 */
#include "guests.h"

#include <stdio.h>
#include <string.h>

#include <cupel/abi.h>
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/platform.h>
#include <cupel/vm.h>

#include "machine.h"

/*
 * Before it spins: vCPU 0 brings up the others, each says that it is there (bench_vm_start_up()), vCPU 0 last:
 * it may be on the CPU that waits, and leaves once for it. True in `data`: done.
 */
static int start_up(struct vcpu *v)
{
	enum vcpu_exit e = VCPU_EXIT_LEAVE;
	struct vm *vm = v->vm;

	WRITE_ONCE(v->mode, VCPU_OUTSIDE); /* what follows are exits */
	for (u32 i = 1; !v->id && i < vm->nr_vcpus; i++) {
		vcpu_power_on(vm->vcpu[i]);
		/* Pairs with the release below: its sample has been handed over. */
		if (!load_acquire(&vm->vcpu[i]->arch.data))
			e = VCPU_EXIT_YIELD;
	}
	if (e == VCPU_EXIT_YIELD)
		return e;
	hypercall(v, HC_SAMPLE, 0, 0, 1, &e);
	store_release(&v->arch.data, (void *)v); /* pairs with the acquire above */
	return v->id ? VCPU_EXIT_RESUME : e;
}

/* Stays in guest mode, doing nothing, until something interrupts it. */
static int spin(struct vcpu *v)
{
	if (!v->arch.data)
		return start_up(v);
	while (!host_irq_pending())
		cpu_relax();
	return VCPU_EXIT_RESUME;
}

static const struct {
	const char *name;
	host_guest_t guest;
} guests[] = {
	{ "spin.elf", spin },
};

/* --- The archive: cpio(5), "New ASCII Format" ---------------------------------------------------- */

static char archive[4096];
static size_t used;

static void add_padded(const void *data, size_t size)
{
	memcpy(archive + used, data, size);
	used = ALIGN_UP(used + size, 4UL);
}

static void add_file(const char *name, const void *data, u32 size)
{
	const u32 mode = 0100644, names = (u32)strlen(name) + 1;
	char head[256];
	size_t len;

	/* ino, mode, four that say nothing, size, four numbers of devices, length of the name, no checksum */
	len = (size_t)snprintf(head, sizeof(head), "070701%08x%08x%032x%08x%032x%08x%08x%s", 0,
			       mode, 0, size, 0, names, 0, name);
	add_padded(head, len + 1);
	add_padded(data, size);
}

void host_guests_publish(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(guests); i++) {
		struct host_image image = { HOST_IMAGE_MAGIC, guests[i].guest };

		add_file(guests[i].name, &image, sizeof(image));
	}
	add_file("TRAILER!!!", "", 0);
	platform.modules[0] = (struct module){ va_to_pa(archive), used };
	platform.nr_modules = 1;
}
