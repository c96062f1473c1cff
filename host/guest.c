/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arch half of VMs and vCPUs for the host build: a guest is a function, and a call of it a stay in
 * guest mode. Must never do what no architecture could do.
 */
#include "machine.h"

#include <asm/xen.h>

#include <string.h>

#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/steal.h>
#include <cupel/vm.h>
#include <cupel/xen.h>

host_guest_t host_guest;
int host_vm_init_result, host_vcpu_init_result;

const char *const arch_exit_names[] = { "enter", NULL };

int arch_vcpu_init(struct vcpu *v)
{
	if (host_vcpu_init_result && v->id == 1)
		return host_vcpu_init_result;
	v->arch.guest = host_guest;
	v->arch.live = true;
	return 0;
}

void arch_vcpu_destroy(struct vcpu *v)
{
	ASSERT(v->arch.live);
	v->arch.live = false;
}

void arch_vcpu_load(struct vcpu *v)
{
	ASSERT(!arch_irqs_enabled());
}

void arch_vcpu_put(struct vcpu *v)
{
	ASSERT(!arch_irqs_enabled());
	v->arch.puts++;
}

void arch_vcpu_requests(struct vcpu *v, u32 bits)
{
	v->arch.served |= bits;
}

enum vcpu_exit arch_vcpu_enter(struct vcpu *v)
{
	enum vcpu_exit e;

	ASSERT(!arch_irqs_enabled());
	ASSERT(v->mode == VCPU_IN_GUEST);
	WRITE_ONCE(v->arch.enters, v->arch.enters + 1);
	v->exits[0]++;
	e = (enum vcpu_exit)v->arch.guest(v);
	/* A host interrupt that came meanwhile is taken on the way out. */
	WRITE_ONCE(v->mode, VCPU_OUTSIDE);
	arch_irq_enable();
	arch_irq_disable();
	return e;
}

bool arch_steal_publish(struct vcpu *v, u64 ns)
{
	if (v->arch.no_record)
		return false;
	v->arch.stolen = ns;
	v->arch.records++;
	return true;
}

void arch_steal_preempted(struct vcpu *v)
{
	v->arch.preempted++;
}

bool arch_vcpu_wakeable(struct vcpu *v)
{
	return READ_ONCE(v->arch.posted) || (v->arch.deadline && v->arch.deadline <= arch_counter());
}

u64 arch_vcpu_next_deadline(struct vcpu *v)
{
	return v->arch.deadline ? v->arch.deadline : ~0UL;
}

void arch_vcpu_dump(struct vcpu *v)
{
}

const char *arch_timer_state(void)
{
	return "active";
}

bool arch_has_irqchip(enum irqchip_kind kind)
{
	return kind == IRQCHIP_FULL;
}

/* An image that is a function. */
static bool take_function(struct vm *vm, const struct host_image *image, u64 size)
{
	if (size != sizeof(*image) || strcmp(image->magic, HOST_IMAGE_MAGIC))
		return false;
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		vm->vcpu[i]->arch.guest = image->guest;
	return true;
}

int arch_vm_init(struct vm *vm, const void *image, u64 image_size, const char **why)
{
	unsigned int order = size_to_order(vm->config.memory);
	struct mem_slot ram = { .gpa = 0, .size = vm->config.memory };
	gpaddr_t entry, end;
	int err;

	vm->arch.live = true;
	if (host_vm_init_result) {
		*why = "asked to fail";
		return host_vm_init_result;
	}
	ram.pa = va_to_pa(vm_memory_alloc(vm, order));
	if (!ram.pa)
		return -ENOMEM;
	err = vm_add_slot(vm, &ram);
	if (err || !image || take_function(vm, image, image_size))
		return err;
	return guest_load_image(vm, image, image_size, 0, &entry, &end, why);
}

void arch_vm_destroy(struct vm *vm)
{
	ASSERT(vm->arch.live);
	vm->arch.live = false;
}

void (*host_stage2)(struct vm *vm, const struct host_mapping *m);

int arch_stage2_map(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size, u32 slot_flags)
{
	const struct host_mapping m = { gpa, pa, size, slot_flags, true };

	if (host_stage2)
		host_stage2(vm, &m);
	vm->arch.mapped += size;
	return 0;
}

void arch_stage2_unmap(struct vm *vm, gpaddr_t gpa, u64 size)
{
	const struct host_mapping m = { .gpa = gpa, .size = size };

	if (host_stage2)
		host_stage2(vm, &m);
	vm->arch.mapped -= size;
}

void arch_page_copy(void *to, const void *from)
{
	memcpy(to, from, PAGE_SIZE);
}

const void *host_given;

void arch_page_give(const void *page)
{
	host_given = page;
}

/* --- Xen: a guest's virtual addresses are its physical ones ------------------------------------- */

int arch_guest_read(struct vcpu *v, void *to, u64 va, u32 len)
{
	return vm_copy_from(v->vm, to, va, len);
}

int arch_guest_write(struct vcpu *v, u64 va, const void *from, u32 len)
{
	return vm_copy_to(v->vm, va, from, len);
}

int arch_guest_translate(struct vcpu *v, u64 va, gpaddr_t *gpa)
{
	*gpa = va;
	return vm_is_memory(v->vm, va, 1, true) ? 0 : -EFAULT;
}

void arch_evtchn_upcall(struct vcpu *v)
{
	atomic_fetch_add_relaxed(&v->arch.upcalls, 1);
	/* Release: pairs with whoever takes it, and sees what was delivered. */
	atomic_fetch_or_release(&v->arch.posted, HOST_UPCALL);
	vcpu_request(v, VCPU_REQ_EVENT);
}

/* As x86: none, or a vector. */
bool arch_xen_callback_valid(u64 param)
{
	u64 type = param >> XEN_CALLBACK_TYPE_SHIFT;

	return !param || (type == 2 && (param & 0xff) >= 0x10);
}

bool arch_xen_vector_valid(u8 vector)
{
	return vector >= 0x10;
}

void arch_xen_time(const struct vcpu *v, u64 now, struct vcpu_time_info *t)
{
	struct time_scale s = guest_time_scale();

	t->tsc_timestamp = now;
	t->tsc_to_system_mul = s.mul;
	t->tsc_shift = s.shift;
}
