/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The list of RAM ranges that firmware parsers fill in. Pure: it runs before there is a console, and
 * its input is whatever firmware says.
 */
#include <cupel/platform.h>
#include <string.h>

struct platform platform;

static void remove_range(struct platform *p, u32 i)
{
	memmove(&p->mem[i], &p->mem[i + 1], (p->nr_mem - i - 1) * sizeof(p->mem[0]));
	p->nr_mem--;
}

static u32 smallest_range(const struct platform *p)
{
	u32 least = 0;

	for (u32 i = 1; i < p->nr_mem; i++) {
		if (p->mem[i].size < p->mem[least].size)
			least = i;
	}
	return least;
}

/* When the list is full the smallest piece goes, which may be this one. */
static void insert_range(struct platform *p, u32 i, paddr_t base, paddr_t end)
{
	if (p->nr_mem == PLATFORM_MAX_MEM) {
		u32 least = smallest_range(p);
		u64 size = min(p->mem[least].size, end - base);

		p->mem_left_out += size;
		if (size == end - base)
			return;
		remove_range(p, least);
		i -= least < i;
	}
	memmove(&p->mem[i + 1], &p->mem[i], (p->nr_mem - i) * sizeof(p->mem[0]));
	p->mem[i] = (struct mem_range){ base, end - base };
	p->nr_mem++;
}

static paddr_t range_end(const struct mem_range *r)
{
	return r->base + r->size;
}

#define LAST_PAGE (~(paddr_t)0 - PAGE_SIZE + 1) /* no RAM: its end would be no number */

void platform_add_mem(struct platform *p, paddr_t base, u64 size)
{
	paddr_t end = base + size;
	u32 i = 0;

	if (size && end - 1 < base)
		return;
	/* Whole pages only: what shares a page with something else is not ours. */
	base = ALIGN_UP(min(base, LAST_PAGE), PAGE_SIZE);
	end = size && !end ? LAST_PAGE : ALIGN_DOWN(end, PAGE_SIZE);
	if (base >= end)
		return;
	while (i < p->nr_mem && range_end(&p->mem[i]) < base)
		i++;
	/* Swallow every range that touches this one. */
	while (i < p->nr_mem && p->mem[i].base <= end) {
		base = min(base, p->mem[i].base);
		end = max(end, range_end(&p->mem[i]));
		remove_range(p, i);
	}
	insert_range(p, i, base, end);
}

/* Cut [base, end) out of range i; the range may vanish, shrink or split. */
static void carve(struct platform *p, u32 i, paddr_t base, paddr_t end)
{
	struct mem_range r = p->mem[i];

	if (base > r.base) {
		p->mem[i].size = base - r.base;
		if (end < range_end(&r))
			insert_range(p, i + 1, end, range_end(&r));
	} else if (end < range_end(&r)) {
		p->mem[i] = (struct mem_range){ end, range_end(&r) - end };
	} else {
		remove_range(p, i);
	}
}

void platform_reserve_mem(struct platform *p, paddr_t base, u64 size)
{
	paddr_t end = base + size;

	if (!size)
		return;
	if (!p->nr_ram) {
		memcpy(p->ram, p->mem, sizeof(p->ram));
		p->nr_ram = p->nr_mem;
	}
	end = end < base || end > LAST_PAGE ? LAST_PAGE : ALIGN_UP(end, PAGE_SIZE);
	base = ALIGN_DOWN(base, PAGE_SIZE);
	for (u32 i = p->nr_mem; i > 0; i--) {
		const struct mem_range *r = &p->mem[i - 1];

		if (range_end(r) > base && r->base < end)
			carve(p, i - 1, base, end);
	}
}

static u64 ram_size(const struct platform *p)
{
	u64 size = 0;

	for (u32 i = 0; i < p->nr_mem; i++)
		size += p->mem[i].size;
	return size;
}

void platform_limit_mem(struct platform *p, paddr_t limit)
{
	u64 all = ram_size(p);

	platform_reserve_mem(p, limit, -limit);
	p->mem_limit = limit;
	p->mem_beyond = all - ram_size(p);
}

bool platform_has_ram(const struct platform *p, paddr_t base, u64 size)
{
	const struct mem_range *ram = p->nr_ram ? p->ram : p->mem;

	for (u32 i = 0; i < (p->nr_ram ? p->nr_ram : p->nr_mem); i++) {
		if (base - ram[i].base < ram[i].size || ram[i].base - base < size)
			return true;
	}
	return false;
}
