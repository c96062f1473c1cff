/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM that never runs: memory to look things up in, and nothing else. Must never be started: what it has
 * for an image is a page of zeroes.
 */
#include "harness.h"

#include <cupel/mm.h>
#include <cupel/printk.h>

struct vm *bench_idle_vm(const char *bench, enum gpc_kind kind, u32 vcpus)
{
	static const u8 image[64];
	struct vm_config c;
	const char *why = "";
	struct vm *vm;
	int err;

	bench_vm_config(&c, "idle", vcpus, "");
	c.gpc = kind;
	vm = vm_create(&c, image, sizeof(image), &err, &why);
	if (!vm)
		printk("%s: cannot make a VM: %s (%d)\n", bench, why, err);
	return vm;
}

gpaddr_t bench_idle_page(const struct vm *vm, u32 n)
{
	const struct mem_slot *ram = &vm->slots->slot[0];

	/* The largest, wherever an architecture puts it; from its end, where no image is. */
	for (u32 i = 1; i < vm->slots->count; i++) {
		if (vm->slots->slot[i].size > ram->size)
			ram = &vm->slots->slot[i];
	}
	return ram->gpa + ram->size - (n + 1) * PAGE_SIZE;
}
