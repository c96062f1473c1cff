/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Physical pages. The hypervisor's address space is an identity map of RAM (read-write, never
 * executable) with the image's own sections mapped by their rights; stacks live in a window of their
 * own with unmapped guard pages between them.
 */
#ifndef CUPEL_MM_H
#define CUPEL_MM_H

#include <cupel/platform.h>
#include <cupel/types.h>

/* Hand all of p->mem[] to the allocator, and say what RAM is not in it. Boot CPU, once. */
void page_alloc_init(const struct platform *p);

/*
 * 2^order contiguous pages, aligned to their size, zeroed; NULL when there are none. Takes a spinlock;
 * not from an interrupt handler.
 */
void *pages_alloc(unsigned int order);
void pages_free(void *va, unsigned int order);
/* The smallest order that holds `size` bytes. */
unsigned int size_to_order(u64 size);
static inline void *page_alloc(void)
{
	return pages_alloc(0);
}
static inline void page_free(void *va)
{
	pages_free(va, 0);
}

/* Bounds of the image, from the linker script; what the file holds ends where .bss begins. */
extern char __image_start[], __bss_start[], __image_end[];

struct mm_stats {
	u64 total_pages;
	u64 free_pages;
};
struct mm_stats mm_stats(void);

#endif
