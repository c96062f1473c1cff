/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of RAM ranges: against a bitmap that knows nothing of ranges. */
#include "host.h"

#include <string.h>

#include <cupel/platform.h>

#define PAGES 256

static struct platform p;
static bool model[PAGES];

static void reset(void)
{
	memset(&p, 0, sizeof(p));
	memset(model, 0, sizeof(model));
}

static void check(void)
{
	static bool listed[PAGES];
	u64 last = 0;

	memset(listed, 0, sizeof(listed));
	for (u32 i = 0; i < p.nr_mem; i++) {
		const struct mem_range *r = &p.mem[i];

		assert_true(r->size && IS_ALIGNED(r->base | r->size, PAGE_SIZE));
		/* Sorted, and with a gap: touching ranges are one. */
		assert_true(!i || r->base > last);
		last = r->base + r->size;
		for (u64 n = r->base / PAGE_SIZE; n < last / PAGE_SIZE; n++)
			listed[n] = true;
	}
	assert_memory_equal(listed, model, sizeof(model));
}

static void merges(void **state)
{
	reset();
	platform_add_mem(&p, 0x3000, 0x1000);
	platform_add_mem(&p, 0x1000, 0x1000);
	assert_int_equal(p.nr_mem, 2);
	platform_add_mem(&p, 0x2000, 0x1000);
	assert_int_equal(p.nr_mem, 1);
	assert_int_equal(p.mem[0].base, 0x1000);
	assert_int_equal(p.mem[0].size, 0x3000);
}

static void partial_pages(void **state)
{
	reset();
	platform_add_mem(&p, 0x1800, 0x2000); /* one whole page */
	assert_int_equal(p.nr_mem, 1);
	assert_int_equal(p.mem[0].base, 0x2000);
	assert_int_equal(p.mem[0].size, 0x1000);
	platform_add_mem(&p, 0x5001, 0x1ffe); /* none */
	assert_int_equal(p.nr_mem, 1);
	platform_add_mem(&p, 0x4000, 0x4000);
	platform_reserve_mem(&p, 0x5fff, 2); /* one byte in each of two pages */
	assert_int_equal(p.nr_mem, 3);
	assert_int_equal(p.mem[2].base, 0x7000);
}

static void wraps_and_limits(void **state)
{
	reset();
	platform_add_mem(&p, UINT64_MAX - 0xfff, 0x2000);
	platform_add_mem(&p, UINT64_MAX - 1, 1);
	platform_add_mem(&p, UINT64_MAX - 0xfff, 0x1000); /* the last page, which has no end */
	platform_add_mem(&p, 0x1001, UINT64_MAX - 0xfff);
	platform_add_mem(&p, 0, 0);
	platform_add_mem(&p, UINT64_MAX, 0);
	assert_int_equal(p.nr_mem, 0);
	platform_add_mem(&p, 0, 1UL << 63);
	assert_int_equal(p.mem[0].size, 1UL << 63);
	platform_reserve_mem(&p, UINT64_MAX, 1);
	platform_reserve_mem(&p, UINT64_MAX - 0xfff, 0xfff);
	platform_reserve_mem(&p, UINT64_MAX - 0xfff, 0x1000);
	platform_reserve_mem(&p, 0, 0);
	assert_int_equal(p.nr_mem, 1);
	assert_int_equal(p.mem[0].size, 1UL << 63);
	/* Up to the end of all, and beyond it. */
	for (u64 size = UINT64_MAX - 0x4fff; size > UINT64_MAX - 0x5000; size += 0x2800) {
		reset();
		platform_add_mem(&p, 0, UINT64_MAX);
		assert_int_equal(p.mem[0].size, UINT64_MAX - 0xfff);
		platform_reserve_mem(&p, 0x5000, size);
		assert_int_equal(p.nr_mem, 1);
		assert_int_equal(p.mem[0].size, 0x5000);
	}
}

static void beyond_reach(void **state)
{
	reset();
	platform_add_mem(&p, 0x1000, 0x5000);
	platform_limit_mem(&p, 0x8000);
	assert_int_equal(p.mem_beyond, 0);
	platform_add_mem(&p, 0x7000, 0x3000);
	platform_add_mem(&p, UINT64_MAX - 0x2fff, 0x3000);
	platform_limit_mem(&p, 0x8000);
	assert_int_equal(p.mem_limit, 0x8000);
	assert_int_equal(p.mem_beyond, 0x4000); /* all but the last page */
	assert_int_equal(p.nr_mem, 2);
	assert_int_equal(p.mem[1].size, 0x1000);
}

static void fill(void)
{
	reset();
	for (u64 i = 0; i < PLATFORM_MAX_MEM; i++)
		platform_add_mem(&p, (i + 1) * 0x10000, 0x4000);
	assert_int_equal(p.nr_mem, PLATFORM_MAX_MEM);
	assert_int_equal(p.mem_left_out, 0);
}

static bool has(paddr_t base, u64 size)
{
	for (u32 i = 0; i < p.nr_mem; i++) {
		if (p.mem[i].base == base)
			return p.mem[i].size == size;
	}
	return false;
}

/* The smallest piece goes, wherever it is, and how much that was is known. */
static void full(void **state)
{
	static const paddr_t small[] = { 0x10000, 0x400000, PLATFORM_MAX_MEM * 0x10000 };

	for (u32 i = 0; i < ARRAY_SIZE(small); i++) {
		fill();
		platform_reserve_mem(&p, small[i], 0x1000);
		platform_add_mem(&p, 0x408000, 0x5000);
		assert_true(has(0x408000, 0x5000) && !has(small[i] + 0x1000, 0x3000));
		assert_int_equal(p.mem_left_out, 0x3000);
		assert_int_equal(p.nr_mem, PLATFORM_MAX_MEM);
	}
	fill();
	platform_add_mem(&p, 0x1000000, 0x1000);
	assert_int_equal(p.mem_left_out, 0x1000);
	assert_false(has(0x1000000, 0x1000));
	platform_add_mem(&p, 0x14000, 0xc000); /* joins two */
	assert_true(has(0x10000, 0x14000));
	platform_add_mem(&p, 0x1000000, 0x1000);
	assert_true(has(0x1000000, 0x1000));
	assert_int_equal(p.mem_left_out, 0x1000);
}

/* A hole makes one piece more. */
static void hole_in_full(void **state)
{
	static const struct {
		paddr_t hole, keeps, size, loses;
	} cases[] = {
		{ 0x401000, 0x402000, 0x2000, 0x400000 }, /* what is before it */
		{ 0x402000, 0x400000, 0x2000, 0x403000 }, /* what is behind it */
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		fill();
		platform_reserve_mem(&p, cases[i].hole, 0x1000);
		assert_int_equal(p.nr_mem, PLATFORM_MAX_MEM);
		assert_int_equal(p.mem_left_out, 0x1000);
		assert_true(has(cases[i].keeps, cases[i].size));
		assert_false(has(cases[i].loses, 0x1000));
	}
	/* And of ranges behind and before the one that goes, all that was asked for is cut. */
	fill();
	platform_reserve_mem(&p, 0x10000, 0x3000);
	platform_reserve_mem(&p, 0x401000, 0x1000);
	assert_false(has(0x13000, 0x1000));
	assert_true(has(0x402000, 0x2000) && has(0x400000, 0x1000));
}

static void where_ram_is(void **state)
{
	reset();
	assert_false(platform_has_ram(&p, 0, ~0UL));
	platform_add_mem(&p, 0x4000, 0x2000);
	platform_add_mem(&p, 0x8000, 0x1000);
	for (u32 pass = 0; pass < 2; pass++) {
		assert_false(platform_has_ram(&p, 0x3f00, 0x100));
		assert_true(platform_has_ram(&p, 0x3f00, 0x101));
		assert_true(platform_has_ram(&p, 0x4000, 0x1000));
		assert_true(platform_has_ram(&p, 0x5fff, 1));
		assert_false(platform_has_ram(&p, 0x6000, 0x2000));
		assert_true(platform_has_ram(&p, 0, 0x10000));
		assert_true(platform_has_ram(&p, 0x8fff, 0x1000));
		assert_false(platform_has_ram(&p, 0x9000, 0x1000));
		assert_false(platform_has_ram(&p, ~0UL - 0xff, 0x100));
		/* Whoever has it. */
		platform_reserve_mem(&p, 0x4000, 0x1000);
		platform_reserve_mem(&p, 0x8000, 0x1000);
	}
}

static void random_ranges(void **state)
{
	u64 seed = 5;

	for (int round = 0; round < 300; round++) {
		reset();
		for (int step = 0; step < 60; step++) {
			u64 first = host_random(&seed) % PAGES, n = host_random(&seed) % 20;
			bool add = host_random(&seed) % 2;

			n = min(n, PAGES - first);
			if (add)
				platform_add_mem(&p, first * PAGE_SIZE, n * PAGE_SIZE);
			else
				platform_reserve_mem(&p, first * PAGE_SIZE, n * PAGE_SIZE);
			memset(&model[first], add, n);
			check();
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges),	    cmocka_unit_test(partial_pages),
		cmocka_unit_test(wraps_and_limits), cmocka_unit_test(full),
		cmocka_unit_test(hole_in_full),	    cmocka_unit_test(beyond_reach),
		cmocka_unit_test(where_ram_is),	    cmocka_unit_test(random_ranges),
	};

	return cmocka_run_group_tests_name("platform", tests, NULL, NULL);
}
