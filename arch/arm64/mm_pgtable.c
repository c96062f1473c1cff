/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Building and walking the hypervisor's stage-1 tables. Entries only ever go from invalid to valid
 * here, so no TLB invalidation is owed (Arm ARM D8.14.1); nothing in this file may take one away. It
 * runs with the MMU off too: no locks, no console.
 */
#include <asm/mm.h>
#include <asm/sysreg.h>
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/mm.h>

u64 pgtable_attr(bool e2h, enum map_kind kind)
{
	u64 attr = PTE_AF | PTE_SH_INNER | PTE_ATTR(MM_ATTR_NORMAL);
	u64 no_exec = e2h ? PTE_XN | PTE_PXN : PTE_XN;

	if (!e2h)
		attr |= PTE_AP_EL0; /* RES1 in a regime of one Exception level, D8.4.1 */
	switch (kind) {
	case MAP_RW: return attr | no_exec;
	case MAP_RO: return attr | no_exec | PTE_AP_RO;
	case MAP_RX: return attr | PTE_AP_RO | (e2h ? PTE_XN : 0);
	case MAP_DEVICE:
		attr = (attr & ~PTE_ATTR(7)) | PTE_ATTR(MM_ATTR_DEVICE);
		return attr | no_exec;
	case MAP_BOOT_RWX: break;
	}
	return attr;
}

static u64 *entry_table(u64 entry)
{
	return (u64 *)(entry & PTE_ADDR_MASK);
}

static bool is_table(u64 entry, u32 level)
{
	return (entry & PTE_VALID) && (entry & PTE_TABLE) && level < PT_LEVELS - 1;
}

static u64 leaf(paddr_t pa, u64 attr, u32 level)
{
	return pa | attr | PTE_VALID | (level == PT_LEVELS - 1 ? PTE_TABLE : 0);
}

/* The page of a block that an entry already covers, or the entry itself, is what we wanted anyway. */
static bool same_mapping(u64 entry, u32 level, u64 va, paddr_t pa, u64 attr)
{
	u64 offset = va & (BIT(PT_SHIFT(level)) - 1);

	return entry == leaf(pa - offset, attr, level);
}

static int map_one(struct pgtable *pt, u64 va, paddr_t pa, u64 size, u64 attr, u64 *mapped)
{
	u64 *table = pt->root;

	for (u32 level = 0;; level++) {
		u64 *e = &table[(va >> PT_SHIFT(level)) % PT_ENTRIES];
		u64 span = BIT(PT_SHIFT(level));
		bool fits = level > 0 && IS_ALIGNED(va | pa, span) && size >= span;

		if (is_table(*e, level)) {
			table = entry_table(*e);
			continue;
		}
		if (*e & PTE_VALID) {
			*mapped = span - (va & (span - 1));
			return same_mapping(*e, level, va, pa, attr) ? 0 : -EEXIST;
		}
		if (fits) {
			*mapped = span;
			WRITE_ONCE(*e, leaf(pa, attr, level));
			return 0;
		}
		table = pt->alloc_table();
		if (!table)
			return -ENOMEM;
		store_release(e, (u64)table | PTE_TABLE | PTE_VALID); /* pairs with the table walker */
	}
}

int pgtable_map(struct pgtable *pt, u64 va, paddr_t pa, u64 size, enum map_kind kind)
{
	u64 attr = pgtable_attr(pt->e2h, kind);
	u64 done = 0;

	if (!IS_ALIGNED(va | pa | size, PAGE_SIZE))
		return -EINVAL;
	if (va >> VA_BITS || pa >> VA_BITS || size > BIT(VA_BITS) - max(va, pa))
		return -EINVAL;
	while (done < size) {
		u64 mapped;
		int r = map_one(pt, va + done, pa + done, size - done, attr, &mapped);

		if (r)
			return r;
		done += mapped;
	}
	/* The walker of this CPU sees the entries before any later access that needs them (D8.2.6). */
	dsb(ishst);
	isb();
	return 0;
}

static void walk_level(u64 *table, u32 level, u64 va,
		       void (*fn)(u64 va, u64 size, u64 pte, void *arg), void *arg)
{
	for (u64 i = 0; i < PT_ENTRIES; i++) {
		u64 at = va + (i << PT_SHIFT(level));

		if (is_table(table[i], level))
			walk_level(entry_table(table[i]), level + 1, at, fn, arg);
		else if (table[i] & PTE_VALID)
			fn(at, BIT(PT_SHIFT(level)), table[i], arg);
	}
}

void pgtable_walk(const struct pgtable *pt, void (*fn)(u64 va, u64 size, u64 pte, void *arg),
		  void *arg)
{
	walk_level(pt->root, 0, 0, fn, arg);
}

void pgtable_regs(const struct pgtable *pt, struct mmu_regs *r)
{
	/* 52-bit output (6) needs LPA2 descriptors, which these are not: 48 bits (5) are the most. */
	u64 ps = min(read_sysreg(id_aa64mmfr0_el1) & 0xf, 5UL);

	r->ttbr = (u64)pt->root;
	r->mair = MM_MAIR;
	r->hcr = HCR_RW | (pt->e2h ? HCR_E2H : 0);
	r->tcr = TCR_T0SZ(VA_BITS) | TCR_IRGN0_WBWA | TCR_ORGN0_WBWA | TCR_SH0_INNER;
	if (pt->e2h)
		r->tcr |= ps << TCR_EL2_E2H_IPS_SHIFT | TCR_EL2_E2H_EPD1;
	else
		r->tcr |= ps << TCR_EL2_PS_SHIFT | TCR_EL2_RES1;
	r->sctlr = SCTLR_EL2_RES1 | SCTLR_M | SCTLR_C | SCTLR_I | SCTLR_SA;
}
