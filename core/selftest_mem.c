/* SPDX-License-Identifier: GPL-2.0-only */
/* Self-tests of the page allocator and per-CPU areas on the machine itself, on all its CPUs at once. */
#include <cupel/ktap.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <cupel/smp.h>
#include <string.h>

#include "selftest.h"

static bool all_zero(const u64 *p, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*p); i++) {
		if (p[i])
			return false;
	}
	return true;
}

SELFTEST(page_alloc_zeroes_and_aligns)
{
	for (unsigned int order = 0; order <= 6; order++) {
		size_t size = PAGE_SIZE << order;
		void *p = pages_alloc(order);

		CHECK(t, p);
		if (!p)
			return;
		CHECK(t, IS_ALIGNED((uintptr_t)p, size));
		CHECK(t, all_zero(p, size));
		memset(p, 0xa5, size);
		pages_free(p, order);
		p = pages_alloc(order);
		CHECK(t, p && all_zero(p, size));
		pages_free(p, order);
	}
}

/* Each CPU marks its pages with its number: a page that two CPUs own shows a foreign mark. */
static void churn_pages(u32 cpu, void *arg)
{
	struct selftest_ctx *t = arg;
	u64 *page[8] = { NULL };

	for (u32 i = selftest_rounds(800); i; i--) {
		u32 slot = (i * 7 + cpu) % ARRAY_SIZE(page);

		if (page[slot]) {
			CHECK(t, page[slot][0] == cpu && page[slot][511] == cpu);
			page_free(page[slot]);
			page[slot] = NULL;
			continue;
		}
		page[slot] = page_alloc();
		CHECK(t, page[slot]);
		if (page[slot])
			page[slot][0] = page[slot][511] = cpu;
	}
	for (u32 i = 0; i < ARRAY_SIZE(page); i++)
		page_free(page[i]);
}

SELFTEST(page_alloc_on_all_cpus)
{
	u64 free = mm_stats().free_pages;

	selftest_on_all_cpus(churn_pages, t);
	CHECK(t, mm_stats().free_pages == free);
}

static DEFINE_PER_CPU(u64, own_word);

static void write_own_word(u32 cpu, void *arg)
{
	struct selftest_ctx *t = arg;

	for (u32 i = 0; i < 1000; i++) {
		this_cpu(own_word) += cpu;
		CHECK(t, cpu_id() == cpu);
	}
}

SELFTEST(percpu_areas_are_apart)
{
	for_each_online_cpu(c)
		*per_cpu_ptr(own_word, c) = 0;
	selftest_on_all_cpus(write_own_word, t);
	for_each_online_cpu(c)
		CHECK(t, *per_cpu_ptr(own_word, c) == 1000UL * (u32)c);
}
