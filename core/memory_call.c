/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HC_MEMORY: a guest has its own memory moved, made read-only or logged, by itself or by another CPU
 * while it runs. It can do harm to nobody but itself by it; what it asks for at a bad address is refused.
 */
#include <cupel/abi.h>
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <cupel/platform.h>
#include <cupel/smp.h>
#include <cupel/vm.h>

#include "core.h"

#define STORM_MAX 4096

/* --- Storms ------------------------------------------------------------------------------------- */

/* In a CPU's own loop, or by the caller. After `busy` is let go the VM may be gone. */
static void storm(void *arg)
{
	struct vm *vm = arg;
	struct vm_storm *s = &vm->storm;
	u32 left;

	while ((left = READ_ONCE(s->left)) && vm_running(vm) && !vm_move_page(vm, s->gpa))
		WRITE_ONCE(s->left, left - 1);
	WRITE_ONCE(s->left, 0);
	/* Pairs with the acquires in start_storm() and memory_calls_end(). */
	store_release(&s->busy, 0);
}

/* From the last CPU on, which is the least likely to have a vCPU of the caller's; here if there is no other. */
static void send_storm(struct vm *vm)
{
	for (u32 cpu = platform.nr_cpus; cpu--;) {
		if (cpu != cpu_id() && !smp_call_async(cpu, storm, vm))
			return;
	}
	storm(vm);
}

static s64 start_storm(struct vm *vm, gpaddr_t gpa, u64 moves)
{
	struct vm_storm *s = &vm->storm;
	u32 idle = 0;

	if (!moves)
		return READ_ONCE(s->left);
	if (moves > STORM_MAX)
		return -EINVAL;
	if (!vm_is_memory(vm, gpa, 1, false))
		return -ENOENT;
	/* Pairs with the release in storm(). */
	if (!atomic_cmpxchg_acquire(&s->busy, &idle, 1))
		return -EBUSY;
	s->gpa = gpa;
	WRITE_ONCE(s->left, (u32)moves);
	send_storm(vm);
	return 0;
}

void memory_calls_end(struct vm *vm)
{
	WRITE_ONCE(vm->storm.left, 0);
	/* Acquire: pairs with the release in storm(). It may wait for this very CPU. */
	while (load_acquire(&vm->storm.busy)) {
		if (!smp_run_calls())
			cpu_relax();
	}
}

/* --- The call ----------------------------------------------------------------------------------- */

static u32 popcount(u64 x)
{
	u32 n = 0;

	for (; x; x &= x - 1)
		n++;
	return n;
}

static s64 count_dirty(struct vm *vm, gpaddr_t gpa)
{
	const struct mem_slot *s = vm_find_slot(vm, gpa);
	u32 words, order;
	s64 n = 0;
	u64 *bitmap;
	int err;

	if (!s)
		return -ENOENT;
	words = (u32)DIV_ROUND_UP(s->size >> PAGE_SHIFT, 64);
	order = size_to_order(words * sizeof(*bitmap));
	bitmap = pages_alloc(order);
	if (!bitmap)
		return -ENOMEM;
	err = vm_dirty_log(vm, gpa, bitmap, words);
	for (u32 w = 0; !err && w < words; w++)
		n += popcount(bitmap[w]);
	pages_free(bitmap, order);
	return err ? err : n;
}

_Static_assert(SLOT_READONLY == 1 && SLOT_DIRTY_LOG == 2, "as HC_MEMORY_FLAGS has them");

s64 memory_call(struct vcpu *v, u64 what, gpaddr_t gpa, u64 arg)
{
	struct vm *vm = v->vm;

	switch (what) {
	case HC_MEMORY_MOVE_PAGE: return vm_move_page(vm, gpa);
	case HC_MEMORY_MOVE_SLOT: return vm_move_slot(vm, gpa, arg);
	case HC_MEMORY_FLAGS: return arg >> 32 ? -EINVAL : vm_set_slot_flags(vm, gpa, (u32)arg);
	case HC_MEMORY_DIRTY: return count_dirty(vm, gpa);
	case HC_MEMORY_STORM: return start_storm(vm, gpa, arg);
	default: return -EINVAL;
	}
}
