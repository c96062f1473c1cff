/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hypervisor's address space: RAM one to one, read-write and never executable; the image's segments
 * by their rights; devices; stacks in a window of their own between unmapped guards; page 0 never. What
 * is mapped stays mapped.
 */
#include <asm/host.h>
#include <asm/mm.h>
#include <asm/sysreg.h>
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/lock.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

struct pgtable host_pgtable;
struct mmu_regs host_mmu;

static spinlock_t mm_lock = SPINLOCK_INIT("mm"); /* guards host_pgtable once cupel_main() runs */

/* Tables of mm_init() come from a piece of RAM cut out for it before the page allocator exists. */
static struct {
	paddr_t next, end;
} arena;

static u64 *arena_alloc_table(void)
{
	u64 *table = (u64 *)arena.next;

	if (arena.next == arena.end)
		return NULL;
	for (u32 i = 0; i < PT_ENTRIES; i++)
		table[i] = 0;
	arena.next += PAGE_SIZE;
	return table;
}

static u64 *page_alloc_table(void)
{
	return page_alloc();
}

/* Two tables for each unaligned edge at levels 2 and 3, and one per 512 GiB, of each range. */
static u64 arena_size(void)
{
	u64 tables = 32; /* root, image, modules, console */

	for (u32 i = 0; i < platform.nr_mem; i++)
		tables += 5 + platform.mem[i].size / GIB(512);
	return ALIGN_UP(tables * PAGE_SIZE, MIB(2));
}

/* Whole 2 MiB blocks, so that the boot tables' few spare pages are enough to reach it. */
static void arena_init(void)
{
	u64 size = arena_size();

	for (u32 i = platform.nr_mem; i-- > 0;) {
		const struct mem_range *m = &platform.mem[i];
		paddr_t base = ALIGN_UP(m->base, MIB(2));

		if (base + size > m->base + m->size)
			continue;
		arena.next = base;
		arena.end = base + size;
		if (pgtable_map(&host_pgtable, base, base, size, MAP_BOOT_RWX))
			cannot_start("no room in the boot page tables");
		return;
	}
	cannot_start("no RAM block of %lu KiB for page tables", (unsigned long)(size >> 10));
}

static void must_map(struct pgtable *pt, paddr_t from, paddr_t to, enum map_kind kind,
		     const char *what)
{
	int r;

	from = ALIGN_DOWN(from, PAGE_SIZE);
	to = ALIGN_UP(to, PAGE_SIZE);
	r = pgtable_map(pt, from, from, to - from, kind);
	if (r)
		cannot_start("can't map %s at 0x%lx-0x%lx: %s", what, (unsigned long)from,
			     (unsigned long)to, r == -EEXIST ? "RAM is there" : "no memory");
}

static void map_image(struct pgtable *pt)
{
	must_map(pt, (paddr_t)__text_start, (paddr_t)__text_end, MAP_RX, "text");
	must_map(pt, (paddr_t)__rodata_start, (paddr_t)__rodata_end, MAP_RO, "read-only data");
	must_map(pt, (paddr_t)__data_start, (paddr_t)__image_end, MAP_RW, "data");
}

static void map_platform(struct pgtable *pt)
{
	for (u32 i = 0; i < platform.nr_mem; i++) {
		const struct mem_range *m = &platform.mem[i];

		must_map(pt, m->base, m->base + m->size, MAP_RW, "RAM");
	}
	for (u32 i = 0; i < platform.nr_modules; i++) {
		const struct module *m = &platform.modules[i];

		must_map(pt, m->base, m->base + m->size, MAP_RO, "module");
	}
	for (u32 i = 0; i < boot_nr_uarts; i++)
		must_map(pt, boot_uarts[i].base, boot_uarts[i].base + BOOT_UART_SIZE, MAP_DEVICE,
			 "console");
}

void mm_init(void)
{
	struct pgtable final = { .alloc_table = arena_alloc_table, .e2h = arm64_vhe };
	paddr_t tables;

	arena_init();
	tables = arena.next;
	final.root = arena_alloc_table();
	map_image(&final);
	map_platform(&final);

	pgtable_regs(&final, &host_mmu);
	host_mmu.hcr = ARM64_HCR_HOST | (arm64_vhe ? HCR_E2H : 0);
	host_mmu.sctlr |= SCTLR_WXN;
	mmu_switch(&host_mmu);

	final.alloc_table = page_alloc_table;
	host_pgtable = final;
	platform_reserve_mem(&platform, tables, arena.next - tables);
}

volatile void *arch_map_device(paddr_t pa, u64 size)
{
	paddr_t from = ALIGN_DOWN(pa, PAGE_SIZE);
	paddr_t to = ALIGN_UP(pa + size, PAGE_SIZE);
	int r;

	if (!from || to <= from)
		return NULL;
	if (!host_pgtable.root)
		return (volatile void *)pa; /* boot_wrong_el(): the MMU is off */
	spin_lock(&mm_lock);
	r = pgtable_map(&host_pgtable, from, from, to - from, MAP_DEVICE);
	spin_unlock(&mm_lock);
	return r ? NULL : (volatile void *)pa;
}

static u64 stack_slot(u32 cpu)
{
	return STACK_WINDOW + (u64)cpu * STACK_SLOT;
}

u64 mm_map_stack(u32 cpu, void **base)
{
	u64 bottom = stack_slot(cpu) + STACK_SIZE;
	int r;

	*base = pages_alloc(size_to_order(STACK_SIZE));
	if (!*base)
		return 0;
	spin_lock(&mm_lock);
	r = pgtable_map(&host_pgtable, bottom, va_to_pa(*base), STACK_SIZE, MAP_RW);
	spin_unlock(&mm_lock);
	if (r) {
		pages_free(*base, size_to_order(STACK_SIZE));
		return 0;
	}
	return bottom + STACK_SIZE;
}

volatile u64 *mm_map_release(u32 cpu, paddr_t pa)
{
	u64 va = STACK_WINDOW + (u64)NR_CPUS * STACK_SLOT + (u64)cpu * PAGE_SIZE;
	u64 offset = pa % PAGE_SIZE;
	int r;

	spin_lock(&mm_lock);
	r = pgtable_map(&host_pgtable, va, pa - offset, PAGE_SIZE, MAP_DEVICE);
	spin_unlock(&mm_lock);
	return r ? NULL : (volatile u64 *)(va + offset);
}

bool mm_on_stack(u32 cpu, u64 va)
{
	return va - stack_slot(cpu) - STACK_SIZE < STACK_SIZE;
}

bool mm_in_guard(u64 va)
{
	return va - STACK_WINDOW < (u64)NR_CPUS * STACK_SLOT && !(va & STACK_SIZE);
}
