/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory slots. An array is immutable once published; a change publishes a new one with the next
 * generation, and the old one stays readable until the VM is gone. Readers take no lock.
 */
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/vm.h>
#include <string.h>

#include "core.h"

/* What is allocated: an array, and the one it replaced. */
struct slots_page {
	struct mem_slots slots;
	struct slots_page *older;
};

static struct slots_page *page_of(struct mem_slots *s)
{
	return container_of(s, struct slots_page, slots);
}

int slots_init(struct vm *vm)
{
	struct slots_page *p = pages_alloc(size_to_order(sizeof(*p)));

	if (!p)
		return -ENOMEM;
	p->slots.generation = 1;
	vm->slots = &p->slots;
	vm->generation = 1;
	return 0;
}

void slots_destroy(struct vm *vm)
{
	struct slots_page *p = vm->slots ? page_of(vm->slots) : NULL;

	while (p) {
		struct slots_page *older = p->older;

		pages_free(p, size_to_order(sizeof(*p)));
		p = older;
	}
	vm->slots = NULL;
}

/* Copy with `s` in its place; -EEXIST when it overlaps another, -ENOSPC when full. */
static int insert(struct mem_slots *into, const struct mem_slots *from, const struct mem_slot *s)
{
	u32 n = 0;

	if (from->count == MAX_SLOTS)
		return -ENOSPC;
	for (; n < from->count && from->slot[n].gpa < s->gpa; n++)
		into->slot[n] = from->slot[n];
	if (n > 0 && from->slot[n - 1].gpa + from->slot[n - 1].size > s->gpa)
		return -EEXIST;
	if (n < from->count && s->gpa + s->size > from->slot[n].gpa)
		return -EEXIST;
	into->slot[n] = *s;
	for (; n < from->count; n++)
		into->slot[n + 1] = from->slot[n];
	into->count = from->count + 1;
	into->generation = from->generation + 1;
	return 0;
}

static int publish(struct vm *vm, struct slots_page *p, const struct mem_slot *s)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&vm->lock, flags);
	err = insert(&p->slots, vm->slots, s);
	if (!err) {
		p->older = page_of(vm->slots);
		/* Pairs with the acquire in vm_find_slot(). */
		store_release(&vm->slots, &p->slots);
		WRITE_ONCE(vm->generation, p->slots.generation);
	}
	spin_unlock_irqrestore(&vm->lock, flags);
	return err;
}

int vm_add_slot(struct vm *vm, const struct mem_slot *s)
{
	struct slots_page *p;
	int err;

	if (!s->size || ((s->gpa | s->size | s->pa) & (PAGE_SIZE - 1)) || s->gpa + s->size < s->gpa)
		return -EINVAL;
	p = pages_alloc(size_to_order(sizeof(*p)));
	if (!p)
		return -ENOMEM;
	err = publish(vm, p, s);
	if (err) {
		pages_free(p, size_to_order(sizeof(*p)));
		return err;
	}
	return arch_stage2_map(vm, s->gpa, s->pa, s->size, s->flags);
}

const struct mem_slot *vm_find_slot(struct vm *vm, gpaddr_t gpa)
{
	/* Pairs with the release in publish(). */
	const struct mem_slots *slots = load_acquire(&vm->slots);
	u32 lo = 0, hi = slots->count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		const struct mem_slot *s = &slots->slot[mid];

		if (gpa < s->gpa)
			hi = mid;
		else if (gpa - s->gpa >= s->size)
			lo = mid + 1;
		else
			return s;
	}
	return NULL;
}

void *vm_gpa_to_va(struct vm *vm, gpaddr_t gpa, u64 len, bool write)
{
	const struct mem_slot *s = vm_find_slot(vm, gpa);

	if (!s || len > s->size - (gpa - s->gpa) || (write && (s->flags & SLOT_READONLY)))
		return NULL;
	return (u8 *)pa_to_va(s->pa) + (gpa - s->gpa);
}

/* Host pointer to gpa; *len is cut to what lies in its slot. NULL as in vm_gpa_to_va(). */
static void *piece(struct vm *vm, gpaddr_t gpa, u64 *len, bool write)
{
	const struct mem_slot *s = vm_find_slot(vm, gpa);

	if (!s)
		return NULL;
	*len = min(*len, s->size - (gpa - s->gpa));
	return vm_gpa_to_va(vm, gpa, *len, write);
}

bool vm_is_memory(struct vm *vm, gpaddr_t gpa, u64 len, bool write)
{
	while (len) {
		u64 part = len;

		if (!piece(vm, gpa, &part, write))
			return false;
		gpa += part;
		len -= part;
	}
	return true;
}

int vm_copy_from(struct vm *vm, void *to, gpaddr_t gpa, u64 len)
{
	if (!vm_is_memory(vm, gpa, len, false))
		return -EFAULT;
	while (len) {
		u64 part = len;

		memcpy(to, piece(vm, gpa, &part, false), part);
		to = (u8 *)to + part;
		gpa += part;
		len -= part;
	}
	return 0;
}

int vm_copy_to(struct vm *vm, gpaddr_t gpa, const void *from, u64 len)
{
	if (!vm_is_memory(vm, gpa, len, true))
		return -EFAULT;
	while (len) {
		u64 part = len;
		void *to = piece(vm, gpa, &part, true);

		if (from) {
			memcpy(to, from, part);
			from = (const u8 *)from + part;
		} else {
			memset(to, 0, part);
		}
		gpa += part;
		len -= part;
	}
	return 0;
}
