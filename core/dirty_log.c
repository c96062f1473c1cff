/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which pages of a slot have been written: a bit a page, set by the guest's first write (a fault), and by
 * everything in the hypervisor that writes to the page. A write is in the log that is fetched next
 * after it, or its bytes were there when that log was fetched: never neither.
 */
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/vm.h>

#include "core.h"
#include "slots.h"

static u64 bitmap_words(const struct mem_slot *s)
{
	return DIV_ROUND_UP(slot_pages(s), 64);
}

u64 *dirty_bitmap_alloc(const struct mem_slot *s)
{
	return pages_alloc(size_to_order(bitmap_words(s) * sizeof(u64)));
}

void dirty_bitmap_free(const struct mem_slot *s)
{
	if (s->dirty)
		pages_free(s->dirty, size_to_order(bitmap_words(s) * sizeof(u64)));
}

void slot_mark_dirty(const struct mem_slot *s, gpaddr_t gpa, u64 len)
{
	u64 first = (gpa - s->gpa) >> PAGE_SHIFT, last;

	last = len ? (gpa - s->gpa + len - 1) >> PAGE_SHIFT : first;
	for (u64 n = first; n <= last; n++) {
		if (!(READ_ONCE(s->dirty[n / 64]) & BIT(n % 64)))
			atomic_fetch_or_relaxed(&s->dirty[n / 64], BIT(n % 64));
	}
}

void vm_mark_dirty(struct vm *vm, gpaddr_t gpa)
{
	const struct mem_slot *s;

	if (likely(!READ_ONCE(vm->dirty_slots)))
		return;
	s = vm_find_slot(vm, gpa);
	if (s && s->dirty)
		slot_mark_dirty(s, gpa, 1);
}

static bool is_set(const u64 *bitmap, u64 n)
{
	return bitmap[n / 64] & BIT(n % 64);
}

/* fn on every run of pages that are in the bitmap. */
static void for_runs(struct vm *vm, const struct mem_slot *s, const u64 *bitmap,
		     void (*fn)(struct vm *vm, const struct mem_slot *s, gpaddr_t gpa, u64 size))
{
	for (u64 n = 0, end; n < slot_pages(s); n = end + 1) {
		for (end = n; end < slot_pages(s) && is_set(bitmap, end);)
			end++;
		if (end > n)
			fn(vm, s, s->gpa + n * PAGE_SIZE, (end - n) * PAGE_SIZE);
	}
}

static void unmap(struct vm *vm, const struct mem_slot *s, gpaddr_t gpa, u64 size)
{
	arch_stage2_unmap(vm, gpa, size);
}

/* Without memory for tables the pages come back by faults. */
static void map(struct vm *vm, const struct mem_slot *s, gpaddr_t gpa, u64 size)
{
	slot_map(vm, s, gpa, size);
}

/*
 * The bits are taken before the pages are caught again. Who was marked before has written by the time the
 * vCPUs and the readers have been waited for; who is marked after is in the next log.
 */
static int fetch(struct vm *vm, const struct mem_slot *s, u64 *bitmap, u32 words)
{
	if (!s->dirty || words < bitmap_words(s))
		return -EINVAL;
	for (u32 w = 0; w < words; w++)
		bitmap[w] = w < bitmap_words(s) ? atomic_xchg_full(&s->dirty[w], 0) : 0;
	for_runs(vm, s, bitmap, unmap);
	slots_quiesce(vm);
	slots_wait_for_readers();
	for_runs(vm, s, bitmap, map);
	return 0;
}

int vm_dirty_log(struct vm *vm, gpaddr_t gpa, u64 *bitmap, u32 words)
{
	const struct mem_slot *s;
	int err = -ENOENT;

	slots_lock(vm);
	s = slot_at(vm, gpa);
	if (s)
		err = fetch(vm, s, bitmap, words);
	slots_unlock(vm);
	return err;
}
