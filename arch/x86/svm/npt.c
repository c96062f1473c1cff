/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nested paging: guest-physical to physical, in the CPU's own long-mode format with four levels and
 * the largest pages that fit. Must only ever map what a memory slot names. Called under vm->lock, which
 * guards the tables; whoever takes a mapping away flushes. (AMD APM vol. 2, 5.3 and 15.25)
 */
#include "internal.h"
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/printk.h>

#define NPT_P	 BIT(0)
#define NPT_W	 BIT(1)
#define NPT_U	 BIT(2) /* nested walks are user accesses: APM 15.25.5 */
#define NPT_LEAF BIT(7)
#define NPT_ADDR GENMASK(51, 12)

#define NPT_TOP	    3 /* level 0 maps 4 KiB, 1 2 MiB, 2 1 GiB */
#define NPT_BITS    9
#define NPT_ENTRIES (1U << NPT_BITS)
#define NPT_MAX_GPA BIT(48)

static u64 level_size(u32 level)
{
	return PAGE_SIZE << (NPT_BITS * level);
}

static u32 index_at(gpaddr_t gpa, u32 level)
{
	return gpa >> (PAGE_SHIFT + NPT_BITS * level) & (NPT_ENTRIES - 1);
}

static bool is_leaf(u64 entry, u32 level)
{
	return level == 0 || entry & NPT_LEAF;
}

static u64 *table_of(u64 entry)
{
	return pa_to_va(entry & NPT_ADDR);
}

int npt_create(struct vm *vm)
{
	vm->arch.root[0].table = page_alloc();
	return vm->arch.root[0].table ? 0 : -ENOMEM;
}

/* A table in place of an empty entry, or of a large page whose parts it then maps. */
static u64 *split(struct vm *vm, u64 *entry, u32 level)
{
	u64 *table = page_alloc();
	u64 old = *entry;

	if (!table)
		return NULL;
	for (u32 n = 0; old & NPT_P && n < NPT_ENTRIES; n++) {
		table[n] = old + n * level_size(level - 1);
		if (level == 1)
			table[n] &= ~NPT_LEAF;
	}
	vm->arch.root[0].pages++;
	/* Release: a walker, the CPU, must find the table filled. */
	store_release(entry, va_to_pa(table) | NPT_P | NPT_W | NPT_U);
	return table;
}

/* A table stands where a large page would go: it is filled, since the CPU may have it cached. */
static bool table_at(const struct vm *vm, gpaddr_t gpa, u32 level)
{
	const u64 *table = vm->arch.root[0].table;

	for (u32 at = NPT_TOP;; at--) {
		u64 entry = table[index_at(gpa, at)];

		if (!(entry & NPT_P) || is_leaf(entry, at))
			return false;
		if (at == level)
			return true;
		table = table_of(entry);
	}
}

/* The largest level that a page at gpa and pa may have, with `left` bytes to map. */
static u32 best_level(const struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 left)
{
	u32 level = svm_features.pages_1g ? 2 : 1;

	while (level && ((gpa | pa) & (level_size(level) - 1) || left < level_size(level) ||
			 table_at(vm, gpa, level)))
		level--;
	return level;
}

/* The entry for gpa at `level`, with tables made on the way; NULL = no memory. */
static u64 *entry_at(struct vm *vm, gpaddr_t gpa, u32 level)
{
	u64 *table = vm->arch.root[0].table;
	u32 at = NPT_TOP;

	for (;; at--) {
		u64 *entry = &table[index_at(gpa, at)];

		if (at == level)
			return entry;
		table = *entry & NPT_P && !is_leaf(*entry, at) ? table_of(*entry) :
								 split(vm, entry, at);
		if (!table)
			return NULL;
	}
}

/* Whether a leaf of whatever size already lets gpa through as asked. */
static bool mapped_so(const struct vm *vm, gpaddr_t gpa, bool writable)
{
	u64 entry = npt_lookup(vm, gpa);

	return entry & NPT_P && (entry & NPT_W || !writable);
}

int npt_map(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size, u32 slot_flags)
{
	bool writable = !(slot_flags & (SLOT_READONLY | SLOT_DIRTY_LOG));
	u64 flags = NPT_P | NPT_U | (writable ? NPT_W : 0);

	if (gpa + size > NPT_MAX_GPA || gpa + size < gpa)
		return -ERANGE;
	if (size == PAGE_SIZE && mapped_so(vm, gpa, writable))
		return -EEXIST;
	while (size) {
		u32 level = slot_flags & SLOT_DIRTY_LOG ? 0 : best_level(vm, gpa, pa, size);
		u64 *entry = entry_at(vm, gpa, level);

		if (!entry)
			return -ENOMEM;
		WRITE_ONCE(*entry, pa | flags | (level ? NPT_LEAF : 0));
		gpa += level_size(level);
		pa += level_size(level);
		size -= level_size(level);
	}
	return 0;
}

/* Clear one entry's worth of [gpa, end); returns where to go on. */
static gpaddr_t unmap_step(struct vm *vm, gpaddr_t gpa, gpaddr_t end)
{
	u64 *table = vm->arch.root[0].table;

	for (u32 at = NPT_TOP;; at--) {
		u64 *entry = &table[index_at(gpa, at)];
		gpaddr_t next = ALIGN_DOWN(gpa, level_size(at)) + level_size(at);

		if (!(*entry & NPT_P))
			return next;
		if (is_leaf(*entry, at) &&
		    (at == 0 || (IS_ALIGNED(gpa, level_size(at)) && next <= end))) {
			WRITE_ONCE(*entry, 0);
			return next;
		}
		table = is_leaf(*entry, at) ? split(vm, entry, at) : table_of(*entry);
		if (!table) { /* none for the rest: it goes too, and comes back by faults */
			WRITE_ONCE(*entry, 0);
			return next;
		}
	}
}

void npt_unmap(struct vm *vm, gpaddr_t gpa, u64 size)
{
	gpaddr_t end = gpa + size;

	while (gpa < end)
		gpa = unmap_step(vm, gpa, end);
}

u64 npt_lookup(const struct vm *vm, gpaddr_t gpa)
{
	const u64 *table = vm->arch.root[0].table;

	if (gpa >= NPT_MAX_GPA)
		return 0;
	for (u32 at = NPT_TOP;; at--) {
		u64 entry = READ_ONCE(table[index_at(gpa, at)]);

		if (!(entry & NPT_P) || is_leaf(entry, at))
			return entry;
		table = table_of(entry);
	}
}

static void free_below(u64 *table, u32 level)
{
	for (u32 n = 0; level && n < NPT_ENTRIES; n++)
		if (table[n] & NPT_P && !is_leaf(table[n], level))
			free_below(table_of(table[n]), level - 1);
	page_free(table);
}

void npt_destroy(struct vm *vm)
{
	if (vm->arch.root[0].table)
		free_below(vm->arch.root[0].table, NPT_TOP);
	vm->arch.root[0].table = NULL;
}
