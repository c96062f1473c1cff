/* SPDX-License-Identifier: GPL-2.0-only */
/* The page allocator: aligned, zeroed, disjoint, all of it given back, and no page twice. */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#include <cupel/mm.h>
#include <cupel/percpu.h>

static void orders(void **state)
{
	static const struct {
		u64 size;
		unsigned int order;
	} cases[] = {
		{ 0, 0 },    { 1, 0 },	   { 4096, 0 },	  { 4097, 1 },	     { 8192, 1 },
		{ 8193, 2 }, { 12288, 2 }, { MIB(1), 8 }, { MIB(1) + 1, 9 }, { GIB(1), 18 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(size_to_order(cases[i].size), cases[i].order);
}

static bool is_zero(const u64 *p, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*p); i++) {
		if (p[i])
			return false;
	}
	return true;
}

struct block {
	u8 *va;
	unsigned int order;
	u8 mark;
};

static bool holds_mark(const struct block *b)
{
	for (size_t i = 0; i < PAGE_SIZE << b->order; i += 512) {
		if (b->va[i] != b->mark)
			return false;
	}
	return true;
}

static void take(struct block *b, u64 *seed)
{
	b->order = (unsigned int)(host_random(seed) % 6);
	b->va = pages_alloc(b->order);
	if (!b->va)
		return;
	assert_true(IS_ALIGNED((uintptr_t)b->va, PAGE_SIZE << b->order));
	assert_true(is_zero((const u64 *)b->va, PAGE_SIZE << b->order));
	b->mark = (u8)(host_random(seed) | 1);
	memset(b->va, b->mark, PAGE_SIZE << b->order);
}

static void give(struct block *b)
{
	if (!b->va)
		return;
	assert_true(holds_mark(b));
	pages_free(b->va, b->order);
	b->va = NULL;
}

static void churn(u32 cpu, void *arg)
{
	struct block blocks[40] = { { 0 } };
	u64 seed = cpu * 77 + 1;

	for (int i = 0; i < 4000; i++) {
		struct block *b = &blocks[host_random(&seed) % ARRAY_SIZE(blocks)];

		if (b->va)
			give(b);
		else
			take(b, &seed);
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		give(&blocks[i]);
}

static void nothing_is_lost(void **state)
{
	struct mm_stats before = mm_stats(), after;

	churn(0, NULL);
	host_on_cpus(4, churn, NULL);
	after = mm_stats();
	assert_int_equal(before.free_pages, after.free_pages);
	assert_int_equal(before.total_pages, after.total_pages);
}

static void all_of_it(void **state)
{
	u64 have = mm_stats().free_pages, got = 0;
	void **list = calloc(have, sizeof(*list));

	while (got < have && (list[got] = page_alloc()))
		got++;
	assert_int_equal(got, have);
	assert_null(page_alloc());
	assert_int_equal(mm_stats().free_pages, 0);
	/* In an order that gives the buddies no help. */
	for (u64 i = 0; i < got; i += 2)
		page_free(list[i]);
	for (u64 i = 1; i < got; i += 2)
		page_free(list[i]);
	assert_int_equal(mm_stats().free_pages, have);
	/* Merged again: most of it fits one block. */
	list[0] = pages_alloc(size_to_order(MIB(16)));
	assert_non_null(list[0]);
	pages_free(list[0], size_to_order(MIB(16)));
	free(list);
}

static void too_much(void **state)
{
	assert_null(pages_alloc(25));
	assert_null(pages_alloc(~0U));
	assert_null(pages_alloc(size_to_order(GIB(1))));
	pages_free(NULL, 0);
}

static void free_twice(void *arg)
{
	void *p = page_alloc();

	page_free(p);
	page_free(p);
}

static void free_other_order(void *arg)
{
	pages_free(pages_alloc(2), 1);
}

static void free_middle(void *arg)
{
	u8 *p = pages_alloc(2);

	page_free(p + PAGE_SIZE);
}

static void free_foreign(void *arg)
{
	static u8 __aligned(4096) mine[4096];

	page_free(mine);
}

static void misuse_is_caught(void **state)
{
	void (*const wrong[])(void *) = { free_twice, free_other_order, free_middle, free_foreign };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(host_dies(wrong[i], NULL), 3);
		assert_non_null(strstr(host_last_words(), "page_alloc.c"));
	}
}

static void percpu_areas_are_apart(void **state)
{
	assert_int_equal(percpu_init(0), -22);
	assert_int_equal(percpu_init(NR_CPUS + 1), -22);
	for (u32 cpu = 0; cpu < 9; cpu++) {
		assert_int_equal(*per_cpu_ptr(cpu_number, cpu), cpu);
		assert_true(
			IS_ALIGNED(percpu_offset[cpu] + (unsigned long)__start_percpu, CACHE_LINE));
	}
	assert_int_equal(cpu_id(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders),	    cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(all_of_it),	    cmocka_unit_test(too_much),
		cmocka_unit_test(misuse_is_caught), cmocka_unit_test(percpu_areas_are_apart),
	};

	return cmocka_run_group_tests_name("page_alloc", tests, host_group_setup, NULL);
}
