/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes of a VM's slots, one at a time. What a reader may still use is never taken away under it: an
 * old array, with what belongs to it, goes when neither a section of guest_srcu nor a vCPU can hold it,
 * and a page leaves the second stage before anybody learns that it is gone. Must not wait for a reader
 * with a lock held that a reader takes.
 */
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/evtchn.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/vm.h>
#include <cupel/xen.h>

#include "core.h"
#include "slots.h"

/* --- Arrays ------------------------------------------------------------------------------------- */

static bool overlap(const struct mem_slot *a, const struct mem_slot *b)
{
	return a->gpa < b->gpa + b->size && b->gpa < a->gpa + a->size;
}

/* -EEXIST when it would overlap another, -ENOSPC when there is no room. */
static int insert(struct mem_slots *into, const struct mem_slot *s)
{
	u32 n = into->count;

	if (n == MAX_SLOTS)
		return -ENOSPC;
	for (u32 i = 0; i < n; i++) {
		if (overlap(&into->slot[i], s))
			return -EEXIST;
	}
	for (; n > 0 && into->slot[n - 1].gpa > s->gpa; n--)
		into->slot[n] = into->slot[n - 1];
	into->slot[n] = *s;
	into->count++;
	return 0;
}

static void take_out(struct mem_slots *from, gpaddr_t gpa)
{
	u32 n = 0;

	while (from->slot[n].gpa != gpa)
		n++;
	for (from->count--; n < from->count; n++)
		from->slot[n] = from->slot[n + 1];
}

struct mem_slot *slot_at(struct vm *vm, gpaddr_t gpa)
{
	for (u32 i = 0; i < vm->slots->count; i++) {
		if (vm->slots->slot[i].gpa == gpa)
			return &vm->slots->slot[i];
	}
	return NULL;
}

struct mem_slot *slot_with(struct vm *vm, gpaddr_t gpa)
{
	const struct mem_slot *s = vm_find_slot(vm, gpa);

	return s ? slot_at(vm, s->gpa) : NULL;
}

/* The array that comes next: `old` taken out, `now` put in (NULL: neither). */
static int make_next(struct vm *vm, const struct mem_slot *old, const struct mem_slot *now,
		     struct mem_slots **next)
{
	int err = 0;

	*next = pages_alloc(size_to_order(sizeof(**next)));
	if (!*next)
		return -ENOMEM;
	**next = *vm->slots;
	(*next)->generation++;
	if (old)
		take_out(*next, old->gpa);
	if (now)
		err = insert(*next, now);
	if (err)
		pages_free(*next, size_to_order(sizeof(**next)));
	return err;
}

/* --- The order of things ------------------------------------------------------------------------ */

void invalidation_begin(struct vm *vm)
{
	spin_lock(&vm->gpc_lock);
	vm->invalidating++;
	spin_unlock(&vm->gpc_lock);
}

void invalidation_end(struct vm *vm)
{
	spin_lock(&vm->gpc_lock);
	vm->invalidations++;
	vm->invalidating--;
	spin_unlock(&vm->gpc_lock);
	evtchn_memory_changed(vm);
	xen_memory_changed(vm);
}

static u32 count_dirty(const struct mem_slots *s)
{
	u32 n = 0;

	for (u32 i = 0; i < s->count; i++)
		n += s->slot[i].dirty != NULL;
	return n;
}

static void publish(struct vm *vm, struct mem_slots *next)
{
	WRITE_ONCE(vm->dirty_slots, count_dirty(next));
	/* Pairs with the acquire of every reader: slots_of(). */
	store_release(&vm->slots, next);
	/* Pairs with the acquire in gpc_refresh(): who sees this generation sees those slots. */
	store_release(&vm->generation, next->generation);
}

/* No cache and no second stage has it any more, and none will before the next publish(). */
static void take_away(struct vm *vm, const struct mem_slot *s)
{
	gpc_invalidate(vm, s->gpa, s->size);
	arch_stage2_unmap(vm, s->gpa, s->size);
	slots_quiesce(vm);
}

static int swap(struct vm *vm, const struct mem_slot *old, const struct mem_slot *now)
{
	struct mem_slots *next, *former = vm->slots;
	int err = make_next(vm, old, now, &next);

	if (err)
		return err;
	store_release(&vm->generation, former->generation | GENERATION_BUSY);
	invalidation_begin(vm);
	if (old)
		take_away(vm, old);
	publish(vm, next);
	invalidation_end(vm);
	slots_quiesce(vm);
	slots_wait_for_readers();
	pages_free(former, size_to_order(sizeof(*former)));
	return 0;
}

/* Pieces as large as they lie side by side. */
static int map_frames(struct vm *vm, const struct mem_slot *s, gpaddr_t gpa, u64 size)
{
	int err = 0;

	for (u64 done = 0, run; done < size && !err; done += run) {
		paddr_t pa = slot_pa(s, gpa + done);

		run = PAGE_SIZE;
		while (done + run < size && slot_pa(s, gpa + done + run) == pa + run)
			run += PAGE_SIZE;
		err = arch_stage2_map(vm, gpa + done, pa, run, s->flags);
	}
	return err;
}

int slot_map(struct vm *vm, const struct mem_slot *s, gpaddr_t gpa, u64 size)
{
	if (s->frame)
		return map_frames(vm, s, gpa, size);
	return arch_stage2_map(vm, gpa, s->pa + (gpa - s->gpa), size, s->flags);
}

/* What can't be mapped at its new place goes back to the old one. `old` and `now` are the caller's. */
static int change(struct vm *vm, const struct mem_slot *old, const struct mem_slot *now)
{
	int err = swap(vm, old, now);

	if (err || !now)
		return err;
	err = slot_map(vm, now, now->gpa, now->size);
	if (err && !swap(vm, now, old) && old)
		slot_map(vm, old, old->gpa, old->size);
	return err;
}

/* --- Changes ------------------------------------------------------------------------------------ */

static bool is_range(gpaddr_t gpa, u64 size)
{
	return size && IS_ALIGNED(gpa | size, PAGE_SIZE) && gpa + size > gpa;
}

/* Registers would be hidden by memory. */
static bool hits_window(const struct vm *vm, gpaddr_t gpa, u64 size)
{
	for (u32 i = 0; i < vm->nr_mmio; i++) {
		if (gpa < vm->mmio[i].base + vm->mmio[i].size && vm->mmio[i].base < gpa + size)
			return true;
	}
	return false;
}

static int add(struct vm *vm, struct mem_slot *s)
{
	int err;

	if (s->flags & SLOT_DIRTY_LOG) {
		s->dirty = dirty_bitmap_alloc(s);
		if (!s->dirty)
			return -ENOMEM;
	}
	err = change(vm, NULL, s);
	if (err)
		dirty_bitmap_free(s);
	return err;
}

int vm_add_slot(struct vm *vm, const struct mem_slot *s)
{
	struct mem_slot now = { .gpa = s->gpa, .size = s->size, .pa = s->pa, .flags = s->flags };
	int err;

	if (!is_range(s->gpa, s->size) || !IS_ALIGNED(s->pa, PAGE_SIZE) ||
	    s->flags & ~(SLOT_READONLY | SLOT_DIRTY_LOG))
		return -EINVAL;
	if (hits_window(vm, s->gpa, s->size))
		return -EEXIST;
	slots_lock(vm);
	err = add(vm, &now);
	slots_unlock(vm);
	return err;
}

int vm_delete_slot(struct vm *vm, gpaddr_t gpa)
{
	const struct mem_slot *s;
	struct mem_slot old;
	int err = -ENOENT;

	slots_lock(vm);
	s = slot_at(vm, gpa);
	if (s) {
		old = *s;
		err = change(vm, &old, NULL);
	}
	if (!err) {
		frames_free(&old);
		dirty_bitmap_free(&old);
	}
	slots_unlock(vm);
	return err;
}

static int move(struct vm *vm, const struct mem_slot *old, const struct mem_slot *now)
{
	if (!is_range(now->gpa, now->size))
		return -EINVAL;
	if (hits_window(vm, now->gpa, now->size))
		return -EEXIST;
	return change(vm, old, now);
}

int vm_move_slot(struct vm *vm, gpaddr_t gpa, gpaddr_t to)
{
	const struct mem_slot *s;
	struct mem_slot old, now;
	int err = -ENOENT;

	slots_lock(vm);
	s = slot_at(vm, gpa);
	if (s) {
		old = now = *s;
		now.gpa = to;
		err = move(vm, &old, &now);
	}
	slots_unlock(vm);
	return err;
}

static int set_flags(struct vm *vm, const struct mem_slot *s, u32 flags)
{
	struct mem_slot old = *s, now = *s;
	int err;

	now.flags = flags;
	if (!(flags & SLOT_DIRTY_LOG))
		now.dirty = NULL;
	else if (!now.dirty)
		now.dirty = dirty_bitmap_alloc(s);
	if (flags & SLOT_DIRTY_LOG && !now.dirty)
		return -ENOMEM;
	err = change(vm, &old, &now);
	if (old.dirty != now.dirty)
		dirty_bitmap_free(err ? &now : &old);
	return err;
}

int vm_set_slot_flags(struct vm *vm, gpaddr_t gpa, u32 flags)
{
	const struct mem_slot *s;
	int err = -ENOENT;

	if (flags & ~(SLOT_READONLY | SLOT_DIRTY_LOG))
		return -EINVAL;
	slots_lock(vm);
	s = slot_at(vm, gpa);
	if (s)
		err = set_flags(vm, s, flags);
	slots_unlock(vm);
	return err;
}

/* --- Faults ------------------------------------------------------------------------------------- */

/* The log first: what is found there is at most what was written. */
static int fault_in(struct vm *vm, const struct mem_slot *s, gpaddr_t gpa, bool write)
{
	u32 flags = s->flags;
	int err;

	if (write && s->dirty) {
		slot_mark_dirty(s, gpa, 1);
		flags &= ~SLOT_DIRTY_LOG;
	}
	gpa = ALIGN_DOWN(gpa, PAGE_SIZE);
	err = arch_stage2_map(vm, gpa, slot_pa(s, gpa), PAGE_SIZE, flags);
	return err == -EEXIST ? 0 : err;
}

bool vm_fault(struct vcpu *v, gpaddr_t gpa, bool write)
{
	const struct mem_slot *s = vm_find_slot(v->vm, gpa);
	int err = 0;

	if (!s || (write && s->flags & SLOT_READONLY))
		return false;
	/* A change is under way: the guest comes back until it is over. */
	if (!spin_trylock(&v->vm->slots_lock))
		return true;
	s = vm_find_slot(v->vm, gpa);
	if (s && !(write && s->flags & SLOT_READONLY))
		err = fault_in(v->vm, s, gpa, write);
	spin_unlock(&v->vm->slots_lock);
	return !err;
}
