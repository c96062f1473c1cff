/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of RAM ranges: against a bitmap that knows nothing of ranges. */
#include "host.h"

#include <string.h>

#include <cupel/errno.h>
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
	assert_int_equal(platform_add_mem(&p, 0x3000, 0x1000), 0);
	assert_int_equal(platform_add_mem(&p, 0x1000, 0x1000), 0);
	assert_int_equal(p.nr_mem, 2);
	assert_int_equal(platform_add_mem(&p, 0x2000, 0x1000), 0);
	assert_int_equal(p.nr_mem, 1);
	assert_int_equal(p.mem[0].base, 0x1000);
	assert_int_equal(p.mem[0].size, 0x3000);
}

static void partial_pages(void **state)
{
	reset();
	assert_int_equal(platform_add_mem(&p, 0x1800, 0x2000), 0); /* one whole page */
	assert_int_equal(p.nr_mem, 1);
	assert_int_equal(p.mem[0].base, 0x2000);
	assert_int_equal(p.mem[0].size, 0x1000);
	assert_int_equal(platform_add_mem(&p, 0x5001, 0x1ffe), 0); /* none */
	assert_int_equal(p.nr_mem, 1);
	assert_int_equal(platform_add_mem(&p, 0x4000, 0x4000), 0);
	assert_int_equal(platform_reserve_mem(&p, 0x5fff, 2), 0); /* one byte in each of two pages */
	assert_int_equal(p.nr_mem, 3);
	assert_int_equal(p.mem[2].base, 0x7000);
}

static void wraps_and_limits(void **state)
{
	reset();
	assert_int_equal(platform_add_mem(&p, UINT64_MAX - 0xfff, 0x2000), -EINVAL);
	assert_int_equal(platform_add_mem(&p, UINT64_MAX - 1, 1), -EINVAL);
	assert_int_equal(platform_add_mem(&p, 0x1000, UINT64_MAX), -EINVAL);
	assert_int_equal(platform_add_mem(&p, 0, 0), 0);
	assert_int_equal(p.nr_mem, 0);
	assert_int_equal(platform_reserve_mem(&p, UINT64_MAX, 1), -EINVAL);
	assert_int_equal(platform_reserve_mem(&p, 0x1000, UINT64_MAX), -EINVAL);
	assert_int_equal(platform_add_mem(&p, 0, 1UL << 63), 0);
	assert_int_equal(p.mem[0].size, 1UL << 63);
}

static void full(void **state)
{
	reset();
	for (u64 i = 0; i < PLATFORM_MAX_MEM; i++)
		assert_int_equal(platform_add_mem(&p, i * 0x4000, 0x3000), 0);
	assert_int_equal(platform_add_mem(&p, 0x1000000, 0x1000), -ENOSPC);
	/* A hole would need one more entry. */
	assert_int_equal(platform_reserve_mem(&p, 0x1000, 0x1000), -ENOSPC);
	assert_int_equal(platform_reserve_mem(&p, 0x0, 0x1000), 0);
	assert_int_equal(p.nr_mem, PLATFORM_MAX_MEM);
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
				assert_int_equal(
					platform_add_mem(&p, first * PAGE_SIZE, n * PAGE_SIZE), 0);
			else
				assert_int_equal(platform_reserve_mem(&p, first * PAGE_SIZE,
								      n * PAGE_SIZE),
						 0);
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
		cmocka_unit_test(random_ranges),
	};

	return cmocka_run_group_tests_name("platform", tests, NULL, NULL);
}
