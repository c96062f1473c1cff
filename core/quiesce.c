/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting until nobody holds what it found in a guest's memory: the vCPUs' owners, by a request that
 * each serves between two stays in the guest, and everybody else by the end of their read section.
 *
 * Whoever waits here may be the owner of a vCPU itself, in the middle of an exit. It then holds nothing:
 * it found nothing that it will use again. So while it waits for the lock it answers the request in its
 * own vCPU's name, or two that change one VM would wait for each other. No exit waits for a call to
 * another CPU's loop, so none has to be run here.
 */
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/gpc.h>
#include <cupel/percpu.h>
#include <cupel/vcpu.h>
#include <cupel/vm.h>

#include "core.h"
#include "slots.h"

/* The vCPU of this VM that the calling CPU owns, or NULL. */
static struct vcpu *own_vcpu(struct vm *vm)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		if (READ_ONCE(vm->vcpu[i]->cpu) == (int)cpu_id())
			return vm->vcpu[i];
	}
	return NULL;
}

/* Full: all that the owner did with what it had found comes before the answer. */
static void answer(struct vcpu *v)
{
	if (READ_ONCE(v->requests) & VCPU_REQ_SYNC)
		atomic_fetch_and_full(&v->requests, ~VCPU_REQ_SYNC);
}

void vcpu_sync(struct vcpu *v)
{
	/* Acquire: pairs with the release in vm_let_go(); pages are where they now are. */
	while (load_acquire(&v->vm->moving)) {
		answer(v); /* the next one's, who began before this one was seen to have ended */
		cpu_relax();
	}
}

/* In the middle of an exit, whose end may be an entry that does not go through vcpu_run(). */
static void wait_as_owner(struct vm *vm, struct vcpu *self)
{
	u32 mode = self->mode;

	WRITE_ONCE(self->mode, VCPU_OUTSIDE);
	while (!spin_trylock(&vm->slots_lock)) {
		answer(self);
		cpu_relax();
	}
	store_release(&self->mode, mode);
	/* As in vcpu_run(): who has not seen this mode has posted what is looked at before the entry. */
	smp_mb();
}

void slots_lock(struct vm *vm)
{
	struct vcpu *self;

	if (spin_trylock(&vm->slots_lock))
		return;
	self = own_vcpu(vm);
	if (self)
		wait_as_owner(vm, self);
	else
		while (!spin_trylock(&vm->slots_lock))
			cpu_relax();
}

void slots_unlock(struct vm *vm)
{
	spin_unlock(&vm->slots_lock);
}

/*
 * The vCPU is nowhere, or here, or its owner has answered. Nowhere: it is asked again before it enters
 * the guest, since the request stays. Acquires: pair with the release in vcpu_put() and the full exchange
 * of whoever answers.
 */
static bool at_rest(struct vcpu *v)
{
	int cpu = load_acquire(&v->cpu);

	return cpu < 0 || cpu == (int)cpu_id() || !(load_acquire(&v->requests) & VCPU_REQ_SYNC);
}

void slots_quiesce(struct vm *vm)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		vcpu_ask(vm->vcpu[i], VCPU_REQ_SYNC | VCPU_REQ_TLB);
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		while (!at_rest(vm->vcpu[i]))
			cpu_relax();
	}
}

void vm_quiesce(struct vm *vm)
{
	slots_lock(vm);
	slots_quiesce(vm);
	slots_unlock(vm);
}

void slots_wait_for_readers(void)
{
	srcu_synchronize(&guest_srcu, SRCU_ATOMIC_FAST);
}

void vm_hold(struct vm *vm, unsigned long *flags)
{
	WRITE_ONCE(vm->moving, VM_GATHERING); /* before the requests, which release it */
	slots_quiesce(vm);
	/* An interrupt handler of this CPU may not come upon what only this CPU can end. */
	*flags = arch_irq_save();
	/* Before the grace period's barrier: a section that is not waited for sees it. */
	WRITE_ONCE(vm->moving, VM_COPYING);
	slots_wait_for_readers();
}

void vm_let_go(struct vm *vm, unsigned long flags)
{
	/* Pairs with the acquire in vcpu_sync(). */
	store_release(&vm->moving, VM_STILL);
	arch_irq_restore(flags);
}
