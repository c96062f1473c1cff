/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest's memory as readers find it: slots, frames, copies in and out. An array of slots is immutable
 * once published. Readers take no lock, and what they found is theirs until their section of guest_srcu
 * ends or their vCPU next serves requests: slots_change.c waits for both. Nothing here changes a slot.
 */
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/vm.h>
#include <string.h>

#include "core.h"
#include "slots.h"

int slots_init(struct vm *vm)
{
	struct mem_slots *s = pages_alloc(size_to_order(sizeof(*s)));

	if (!s)
		return -ENOMEM;
	s->generation = 1;
	vm->slots = s;
	vm->generation = 1;
	return 0;
}

void slots_created(struct vm *vm)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		atomic_fetch_and_relaxed(&vm->vcpu[i]->requests, ~(VCPU_REQ_SYNC | VCPU_REQ_TLB));
}

void slots_destroy(struct vm *vm)
{
	for (u32 i = 0; vm->slots && i < vm->slots->count; i++) {
		frames_free(&vm->slots->slot[i]);
		dirty_bitmap_free(&vm->slots->slot[i]);
	}
	page_mover_destroy(vm);
	while (vm->nr_memory) {
		struct vm_memory *m = &vm->memory[--vm->nr_memory];

		pages_free(m->va, m->order);
	}
	if (vm->slots)
		pages_free(vm->slots, size_to_order(sizeof(*vm->slots)));
	vm->slots = NULL;
}

void *vm_memory_alloc(struct vm *vm, unsigned int order)
{
	void *va;

	if (vm->nr_memory == VM_MAX_MEMORY)
		return NULL;
	va = pages_alloc(order);
	if (va)
		vm->memory[vm->nr_memory++] = (struct vm_memory){ va, order };
	return va;
}

static const struct mem_slots *slots_of(struct vm *vm)
{
	/* Pairs with the release in publish() of slots_change.c. */
	return load_acquire(&vm->slots);
}

static const struct mem_slot *find(const struct mem_slots *slots, gpaddr_t gpa)
{
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

const struct mem_slot *vm_find_slot(struct vm *vm, gpaddr_t gpa)
{
	return find(slots_of(vm), gpa);
}

/* Bytes from gpa on that lie side by side in the machine's memory: a moved page stands alone. */
static u64 contiguous(const struct mem_slot *s, gpaddr_t gpa)
{
	/* Pairs with the release in frames_make(). */
	if (likely(!load_acquire(&s->frame)))
		return s->size - (gpa - s->gpa);
	return PAGE_SIZE - (gpa & (PAGE_SIZE - 1));
}

static bool may(const struct mem_slot *s, bool write)
{
	return s && !(write && (s->flags & SLOT_READONLY));
}

void *vm_gpa_to_va(struct vm *vm, gpaddr_t gpa, u64 len, bool write)
{
	const struct mem_slot *s = vm_find_slot(vm, gpa);

	if (!may(s, write) || len > contiguous(s, gpa))
		return NULL;
	return pa_to_va(slot_pa(s, gpa));
}

static bool is_memory(const struct mem_slots *slots, gpaddr_t gpa, u64 len, bool write)
{
	while (len) {
		const struct mem_slot *s = find(slots, gpa);
		u64 part;

		if (!may(s, write))
			return false;
		part = min(len, s->size - (gpa - s->gpa));
		gpa += part;
		len -= part;
	}
	return true;
}

bool vm_is_memory(struct vm *vm, gpaddr_t gpa, u64 len, bool write)
{
	srcu_token_t token = guest_read_lock();
	bool yes = is_memory(slots_of(vm), gpa, len, write);

	guest_read_unlock(token);
	return yes;
}

/*
 * A section in which no page is under way from one frame to another. Waits outside of it: who moves the
 * page waits for the sections.
 */
static srcu_token_t begin_access(struct vm *vm)
{
	for (;;) {
		srcu_token_t token = guest_read_lock();

		/* After the count, whose barrier pairs with that of the grace period in vm_hold(). */
		if (likely(READ_ONCE(vm->moving) != VM_COPYING))
			return token;
		guest_read_unlock(token);
		cpu_relax();
	}
}

/* Host pointer to gpa, which is memory; *len is cut to what lies there in one piece. */
static void *piece(const struct mem_slots *slots, gpaddr_t gpa, u64 *len, bool write)
{
	const struct mem_slot *s = find(slots, gpa);

	*len = min(*len, contiguous(s, gpa));
	if (write && s->dirty)
		slot_mark_dirty(s, gpa, *len);
	return pa_to_va(slot_pa(s, gpa));
}

static void copy_from(const struct mem_slots *slots, void *to, gpaddr_t gpa, u64 len)
{
	while (len) {
		u64 part = len;

		memcpy(to, piece(slots, gpa, &part, false), part);
		to = (u8 *)to + part;
		gpa += part;
		len -= part;
	}
}

int vm_copy_from(struct vm *vm, void *to, gpaddr_t gpa, u64 len)
{
	srcu_token_t token = begin_access(vm);
	const struct mem_slots *slots = slots_of(vm);
	bool there = is_memory(slots, gpa, len, false);

	if (there)
		copy_from(slots, to, gpa, len);
	guest_read_unlock(token);
	return there ? 0 : -EFAULT;
}

static void copy_to(const struct mem_slots *slots, gpaddr_t gpa, const void *from, u64 len)
{
	while (len) {
		u64 part = len;
		void *to = piece(slots, gpa, &part, true);

		if (from) {
			memcpy(to, from, part);
			from = (const u8 *)from + part;
		} else {
			memset(to, 0, part);
		}
		gpa += part;
		len -= part;
	}
}

int vm_copy_to(struct vm *vm, gpaddr_t gpa, const void *from, u64 len)
{
	srcu_token_t token = begin_access(vm);
	const struct mem_slots *slots = slots_of(vm);
	bool there = is_memory(slots, gpa, len, true);

	if (there)
		copy_to(slots, gpa, from, len);
	guest_read_unlock(token);
	return there ? 0 : -EFAULT;
}
