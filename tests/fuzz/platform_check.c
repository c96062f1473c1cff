/* SPDX-License-Identifier: GPL-2.0-only */
/* The invariants of struct platform that the rest of the house relies on without asking again. */
#include "platform_check.h"

#include <string.h>

static void check_mem(const struct platform *p)
{
	FUZZ_CHECK(p->nr_mem <= PLATFORM_MAX_MEM);
	for (u32 i = 0; i < p->nr_mem; i++) {
		const struct mem_range *m = &p->mem[i];

		FUZZ_CHECK(IS_ALIGNED(m->base, PAGE_SIZE) && IS_ALIGNED(m->size, PAGE_SIZE));
		FUZZ_CHECK(m->size && m->base + m->size - 1 >= m->base);
		if (i)
			FUZZ_CHECK(p->mem[i - 1].base + p->mem[i - 1].size <= m->base);
	}
}

void check_platform(const struct platform *p)
{
	FUZZ_CHECK(p->nr_cpus <= NR_CPUS);
	FUZZ_CHECK(p->nr_modules <= PLATFORM_MAX_MODULES);
	FUZZ_CHECK(p->gic.nr_redist <= PLATFORM_MAX_REDISTS);
	FUZZ_CHECK(p->x86.nr_ioapics <= PLATFORM_MAX_IOAPICS);
	FUZZ_CHECK(memchr(p->cmdline, 0, sizeof(p->cmdline)));
	check_mem(p);
}
