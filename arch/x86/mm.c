/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hypervisor's own address space: RAM mapped where it is, read-write and never executable; the
 * image by the rights of its sections; page 0 unmapped; devices where they are, uncached; stacks in a
 * window with guard pages. Mappings are only ever added, never changed, so that no other CPU's TLB can
 * be stale. Must not be used for guests' memory.
 */
#include <asm/cpu.h>
#include <asm/msr.h>
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/lock.h>
#include <cupel/mm.h>
#include <cupel/printk.h>

#include "boot.h"
#include "mm.h"

u64 x86_host_cr3;

/* Below 4 GiB, so that other CPUs can load it from 32-bit code. */
static u64 root_table[PT_ENTRIES] __aligned(PAGE_SIZE);

static u32 max_leaf_level; /* 3 = 1 GiB pages, 2 = 2 MiB pages */

/* Guards the host page tables once more than one CPU runs. */
static spinlock_t mm_lock = SPINLOCK_INIT("x86_mm");

u64 x86_boot_map_size(void)
{
	bool has_1g = cpuid_checked(0x80000001, 0).edx & CPUID_8000_0001_EDX_1G;

	return has_1g ? GIB(512) : BOOT_MAP_SIZE_2M;
}

/* The table under an entry, made when there is none; NULL when memory is out or a leaf is there. */
static u64 *next_table(u64 *entry)
{
	u64 *table;

	if (*entry & PTE_PRESENT)
		return *entry & PTE_LARGE ? NULL : pa_to_va(*entry & PTE_ADDR);
	table = page_alloc();
	if (table)
		WRITE_ONCE(*entry, va_to_pa(table) | PTE_PRESENT | PTE_WRITE);
	return table;
}

/* The largest leaf that starts at va and doesn't go beyond size. */
static u32 leaf_level(u64 va, u64 pa, u64 size)
{
	u32 l = max_leaf_level;

	while (l > 1 && (((va | pa) & (BIT(PT_SHIFT(l)) - 1)) || size < BIT(PT_SHIFT(l))))
		l--;
	return l;
}

static int map_leaf(u64 va, u64 pa, u32 level, u64 flags)
{
	u64 *table = root_table, *entry;

	for (u32 l = PT_LEVELS; l > level; l--) {
		table = next_table(&table[PT_INDEX(va, l)]);
		if (!table)
			return -ENOMEM;
	}
	entry = &table[PT_INDEX(va, level)];
	if (*entry & PTE_PRESENT)
		return -EEXIST;
	WRITE_ONCE(*entry, pa | flags | PTE_PRESENT | (level > 1 ? PTE_LARGE : 0));
	return 0;
}

static int map_range(u64 va, u64 pa, u64 size, u64 flags)
{
	while (size) {
		u32 level = leaf_level(va, pa, size);
		u64 step = BIT(PT_SHIFT(level));
		int err = map_leaf(va, pa, level, flags);

		if (err)
			return err;
		va += step;
		pa += step;
		size -= step;
	}
	return 0;
}

/* The leaf entry that maps va, or 0. */
static u64 lookup(u64 va)
{
	u64 *table = root_table;

	for (u32 l = PT_LEVELS; l >= 1; l--) {
		u64 e = table[PT_INDEX(va, l)];

		if (!(e & PTE_PRESENT) || l == 1 || (e & PTE_LARGE))
			return e & PTE_PRESENT ? e : 0;
		table = pa_to_va(e & PTE_ADDR);
	}
	return 0;
}

static void must_map(u64 pa, u64 end, u64 flags)
{
	int err = pa < end ? map_range(pa, pa, end - pa, flags) : 0;

	if (err)
		cannot_start("no memory to map 0x%llx..0x%llx: error %d", (unsigned long long)pa,
			     (unsigned long long)end, -err);
}

/* RAM without page 0 and without the image, which has rights of its own. */
static void map_ram(u64 base, u64 end)
{
	u64 image = (u64)__image_start, image_end = (u64)__image_end;

	base = max(base, (u64)PAGE_SIZE);
	must_map(base, min(end, image), PTE_WRITE | PTE_NX);
	must_map(max(base, image_end), end, PTE_WRITE | PTE_NX);
}

static void map_image(void)
{
	must_map((u64)__image_start, (u64)__rodata_start, 0);
	must_map((u64)__rodata_start, (u64)__data_start, PTE_NX);
	must_map((u64)__data_start, (u64)__image_end, PTE_WRITE | PTE_NX);
}

void x86_mm_init(const struct mem_range *ram, u32 nr_ram)
{
	max_leaf_level = x86_boot_map_size() > BOOT_MAP_SIZE_2M ? 3 : 2;
	for (u32 i = 0; i < nr_ram; i++)
		map_ram(ram[i].base, ram[i].base + ram[i].size);
	map_image();
	x86_host_cr3 = va_to_pa(root_table);
	write_cr3(x86_host_cr3);
	x86_mm_cpu_init();
}

/* CR0 was set in boot.S; the rest of what every CPU must have, whatever firmware left behind. */
void x86_mm_cpu_init(void)
{
	write_cr4(CR4_PAE | CR4_DE | CR4_MCE | CR4_OSFXSR | CR4_OSXMMEXCPT);
}

static int map_stack_part(u32 cpu, u64 base, u64 top)
{
	u64 slot = STACK_WINDOW + (u64)cpu * STACK_SLOT;

	for (u64 off = base; off < top; off += PAGE_SIZE) {
		void *page = page_alloc();
		int err = page ? map_leaf(slot + off, va_to_pa(page), 1, PTE_WRITE | PTE_NX) :
				 -ENOMEM;

		if (err == -EEXIST) { /* an earlier try to start this CPU got that far */
			page_free(page);
			continue;
		}
		if (err)
			return err;
	}
	return 0;
}

void *x86_stack_map(u32 cpu)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&mm_lock, flags);
	err = map_stack_part(cpu, STACK_MAIN_BASE, STACK_MAIN_TOP);
	if (!err)
		err = map_stack_part(cpu, STACK_DF_BASE, STACK_DF_TOP);
	if (!err)
		err = map_stack_part(cpu, STACK_NMI_BASE, STACK_NMI_TOP);
	if (!err)
		err = map_stack_part(cpu, STACK_MC_BASE, STACK_MC_TOP);
	spin_unlock_irqrestore(&mm_lock, flags);
	return err ? NULL : (void *)(STACK_WINDOW + (u64)cpu * STACK_SLOT + STACK_MAIN_TOP);
}

bool x86_is_stack(unsigned long va)
{
	if (va >= (unsigned long)x86_boot_stack && va + 16 <= (unsigned long)x86_boot_stack_end)
		return true;
	return va >= STACK_WINDOW && va < STACK_WINDOW + (u64)NR_CPUS * STACK_SLOT && lookup(va) &&
	       lookup(va + 15);
}

/* Page by page: part of the window may be mapped already, but only as the same device. */
static int map_device_pages(u64 pa, u64 end)
{
	for (; pa < end; pa += PAGE_SIZE) {
		u64 e = lookup(pa);
		int err = 0;

		if (!e)
			err = map_leaf(pa, pa, 1, PTE_WRITE | PTE_NX | PTE_UNCACHED);
		else if ((e & PTE_UNCACHED) != PTE_UNCACHED)
			err = -EBUSY;
		if (err)
			return err;
	}
	return 0;
}

volatile void *arch_map_device(paddr_t pa, u64 size)
{
	unsigned long flags;
	int err;

	if (!size || pa + size < pa || pa + size > BIT(47))
		return NULL;
	spin_lock_irqsave(&mm_lock, flags);
	err = map_device_pages(ALIGN_DOWN(pa, PAGE_SIZE), ALIGN_UP(pa + size, PAGE_SIZE));
	spin_unlock_irqrestore(&mm_lock, flags);
	return err ? NULL : pa_to_va(pa);
}
