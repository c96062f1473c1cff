/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Physical pages: a buddy allocator over the machine's RAM. One byte of state per page sits at the
 * start of each range of RAM; free blocks are linked through their own first bytes. It must never
 * hand out a page twice, nor one that still holds somebody's data.
 */
#include <cupel/arch.h>
#include <cupel/lock.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <string.h>

#define MAX_ORDER 24 /* 64 GiB */

/* State of a block's first page: its order, and one of these. Other pages of a block: 0. */
#define STATE_FREE  0x40
#define STATE_TAKEN 0x80

struct free_block {
	struct free_block *next, *prev;
};

struct zone {
	u64 first, end; /* page numbers; the pages before `first` hold `state` */
	u8 *state;
};

/* Guards everything below. A leaf. */
static spinlock_t page_lock = SPINLOCK_INIT("page_alloc");
static struct zone zones[PLATFORM_MAX_MEM];
static u32 nr_zones;
static struct free_block *free_list[MAX_ORDER + 1];
static u64 total_pages, free_pages;

unsigned int size_to_order(u64 size)
{
	u64 pages = size ? (size - 1) >> PAGE_SHIFT : 0;

	return pages ? 64 - (unsigned int)__builtin_clzl(pages) : 0;
}

static struct free_block *pfn_to_block(u64 pfn)
{
	return pa_to_va(pfn << PAGE_SHIFT);
}

static u64 block_to_pfn(const void *va)
{
	return va_to_pa(va) >> PAGE_SHIFT;
}

static u8 *state_of(const struct zone *z, u64 pfn)
{
	return &z->state[pfn - z->first];
}

static struct zone *find_zone(u64 pfn)
{
	for (u32 i = 0; i < nr_zones; i++) {
		if (pfn >= zones[i].first && pfn < zones[i].end)
			return &zones[i];
	}
	return NULL;
}

static void list_add(struct zone *z, u64 pfn, unsigned int order)
{
	struct free_block *b = pfn_to_block(pfn);

	b->prev = NULL;
	b->next = free_list[order];
	if (b->next)
		b->next->prev = b;
	free_list[order] = b;
	*state_of(z, pfn) = (u8)(STATE_FREE | order);
}

static void list_del(struct zone *z, u64 pfn, unsigned int order)
{
	struct free_block *b = pfn_to_block(pfn);

	if (b->next)
		b->next->prev = b->prev;
	if (b->prev)
		b->prev->next = b->next;
	else
		free_list[order] = b->next;
	*state_of(z, pfn) = 0;
}

static bool buddy_is_free(const struct zone *z, u64 buddy, unsigned int order)
{
	return buddy >= z->first && buddy + (1UL << order) <= z->end &&
	       *state_of(z, buddy) == (STATE_FREE | order);
}

static void give_block(struct zone *z, u64 pfn, unsigned int order)
{
	free_pages += 1UL << order;
	while (order < MAX_ORDER) {
		u64 buddy = pfn ^ (1UL << order);

		if (!buddy_is_free(z, buddy, order))
			break;
		list_del(z, buddy, order);
		pfn = min(pfn, buddy);
		order++;
	}
	list_add(z, pfn, order);
}

/* Hand a run of pages over in the largest blocks that are aligned to their size. */
static void give_run(struct zone *z)
{
	for (u64 pfn = z->first; pfn < z->end;) {
		unsigned int order = pfn ? (unsigned int)__builtin_ctzl(pfn) : MAX_ORDER;

		order = min(order, (unsigned int)MAX_ORDER);
		while (pfn + (1UL << order) > z->end)
			order--;
		give_block(z, pfn, order);
		pfn += 1UL << order;
	}
}

static void add_zone(const struct mem_range *r)
{
	/* Page 0 is never mapped: a null pointer must fault. */
	u64 start = max(r->base >> PAGE_SHIFT, (u64)1), end = (r->base + r->size) >> PAGE_SHIFT;
	u64 pages = end > start ? end - start : 0;
	u64 state_pages = DIV_ROUND_UP(pages, PAGE_SIZE);
	struct zone *z = &zones[nr_zones];

	if (pages <= state_pages)
		return;
	z->state = pa_to_va(start << PAGE_SHIFT);
	z->first = start + state_pages;
	z->end = end;
	memset(z->state, 0, end - z->first);
	total_pages += end - z->first;
	nr_zones++;
	give_run(z);
}

static void tell_what_is_left_out(const struct platform *p)
{
	if (p->mem_beyond)
		printk("%llu MiB of RAM beyond %llu GiB are left out\n",
		       (unsigned long long)(p->mem_beyond / MIB(1)),
		       (unsigned long long)(p->mem_limit / GIB(1)));
	if (p->mem_left_out)
		printk("%llu KiB of RAM in more than %u pieces are left out\n",
		       (unsigned long long)(p->mem_left_out / KIB(1)), PLATFORM_MAX_MEM);
}

void page_alloc_init(const struct platform *p)
{
	unsigned long flags;

	tell_what_is_left_out(p);
	spin_lock_irqsave(&page_lock, flags);
	for (u32 i = 0; i < p->nr_mem; i++)
		add_zone(&p->mem[i]);
	spin_unlock_irqrestore(&page_lock, flags);
}

static void *take_block(unsigned int order)
{
	unsigned int have = order;
	struct zone *z;
	u64 pfn;

	while (have <= MAX_ORDER && !free_list[have])
		have++;
	if (have > MAX_ORDER)
		return NULL;
	pfn = block_to_pfn(free_list[have]);
	z = find_zone(pfn);
	list_del(z, pfn, have);
	while (have > order) {
		have--;
		list_add(z, pfn + (1UL << have), have);
	}
	*state_of(z, pfn) = (u8)(STATE_TAKEN | order);
	free_pages -= 1UL << order;
	return pfn_to_block(pfn);
}

void *pages_alloc(unsigned int order)
{
	unsigned long flags;
	void *va;

	if (order > MAX_ORDER)
		return NULL;
	spin_lock_irqsave(&page_lock, flags);
	va = take_block(order);
	spin_unlock_irqrestore(&page_lock, flags);
	if (va)
		memset(va, 0, PAGE_SIZE << order);
	return va;
}

void pages_free(void *va, unsigned int order)
{
	unsigned long flags;
	struct zone *z;
	u64 pfn;

	if (!va)
		return;
	pfn = block_to_pfn(va);
	spin_lock_irqsave(&page_lock, flags);
	z = find_zone(pfn);
	/* A page freed twice, or not as it was taken: going on would hand it to two owners. */
	BUG_ON(!z || *state_of(z, pfn) != (STATE_TAKEN | order));
	give_block(z, pfn, order);
	spin_unlock_irqrestore(&page_lock, flags);
}

struct mm_stats mm_stats(void)
{
	struct mm_stats s;
	unsigned long flags;

	spin_lock_irqsave(&page_lock, flags);
	s.total_pages = total_pages;
	s.free_pages = free_pages;
	spin_unlock_irqrestore(&page_lock, flags);
	return s;
}
