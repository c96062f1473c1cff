/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The list of RAM ranges that firmware parsers fill in. Pure: it runs before there is a console, and
 * its input is whatever firmware says.
 */
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <string.h>

struct platform platform;

static void remove_range(struct platform *p, u32 i)
{
	memmove(&p->mem[i], &p->mem[i + 1], (p->nr_mem - i - 1) * sizeof(p->mem[0]));
	p->nr_mem--;
}

static int insert_range(struct platform *p, u32 i, paddr_t base, paddr_t end)
{
	if (p->nr_mem == PLATFORM_MAX_MEM)
		return -ENOSPC;
	memmove(&p->mem[i + 1], &p->mem[i], (p->nr_mem - i) * sizeof(p->mem[0]));
	p->mem[i] = (struct mem_range){ base, end - base };
	p->nr_mem++;
	return 0;
}

static paddr_t range_end(const struct mem_range *r)
{
	return r->base + r->size;
}

int platform_add_mem(struct platform *p, paddr_t base, u64 size)
{
	paddr_t end = base + size;
	u32 i = 0;

	if (end < base || base > ~(paddr_t)0 - PAGE_SIZE)
		return -EINVAL;
	/* Whole pages only: what shares a page with something else is not ours. */
	base = ALIGN_UP(base, PAGE_SIZE);
	end = ALIGN_DOWN(end, PAGE_SIZE);
	if (base >= end)
		return 0;
	while (i < p->nr_mem && range_end(&p->mem[i]) < base)
		i++;
	/* Swallow every range that touches this one. */
	while (i < p->nr_mem && p->mem[i].base <= end) {
		base = min(base, p->mem[i].base);
		end = max(end, range_end(&p->mem[i]));
		remove_range(p, i);
	}
	return insert_range(p, i, base, end);
}

/* Cut [base, end) out of range i; the range may vanish, shrink or split. */
static int carve(struct platform *p, u32 i, paddr_t base, paddr_t end)
{
	struct mem_range r = p->mem[i];

	if (base > r.base && end < range_end(&r)) {
		int err = insert_range(p, i + 1, end, range_end(&r));

		if (err)
			return err;
		p->mem[i].size = base - r.base;
	} else if (base > r.base) {
		p->mem[i].size = base - r.base;
	} else if (end < range_end(&r)) {
		p->mem[i] = (struct mem_range){ end, range_end(&r) - end };
	} else {
		remove_range(p, i);
	}
	return 0;
}

int platform_reserve_mem(struct platform *p, paddr_t base, u64 size)
{
	paddr_t end = base + size;

	if (end < base || end > ~(paddr_t)0 - PAGE_SIZE)
		return -EINVAL;
	if (!size)
		return 0;
	base = ALIGN_DOWN(base, PAGE_SIZE);
	end = ALIGN_UP(end, PAGE_SIZE);
	for (u32 i = p->nr_mem; i > 0; i--) {
		const struct mem_range *r = &p->mem[i - 1];
		int err;

		if (range_end(r) <= base || r->base >= end)
			continue;
		err = carve(p, i - 1, base, end);
		if (err)
			return err;
	}
	return 0;
}
