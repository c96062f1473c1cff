/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hypervisor's own page tables: EL2 (nVHE) or EL2&0 (VHE) stage 1, 4 KiB granule, 48-bit virtual
 * addresses, four levels. Descriptor layout: Arm ARM (DDI 0487) D8.3.
 */
#ifndef ASM_MM_H
#define ASM_MM_H

#include <asm/boot.h>
#include <cupel/types.h>

#define VA_BITS		48
#define PT_LEVELS	4
#define PT_ENTRIES	512
#define PT_SHIFT(level) (39 - 9 * (level))

#define PTE_VALID     BIT(0)
#define PTE_TABLE     BIT(1) /* levels 0..2: a table; level 3: must be set in a page */
#define PTE_ATTR(n)   ((u64)(n) << 2)
#define PTE_AP_EL0    BIT(6) /* VHE: EL0 may access; nVHE: RES1 */
#define PTE_AP_RO     BIT(7)
#define PTE_SH_INNER  (3UL << 8)
#define PTE_AF	      BIT(10)
#define PTE_PXN	      BIT(53) /* VHE only */
#define PTE_XN	      BIT(54) /* VHE: UXN */
#define PTE_ADDR_MASK 0x0000fffffffff000UL

/* Indices into MAIR_EL2, in the order that MM_MAIR has. */
#define MM_ATTR_NORMAL 0
#define MM_ATTR_DEVICE 1
#define MM_MAIR	       ((u64)MAIR_NORMAL_WB | (u64)MAIR_DEVICE_NGNRE << 8)

enum map_kind {
	MAP_RW, /* normal memory, read-write, never executable */
	MAP_RO,
	MAP_RX,
	MAP_DEVICE, /* Device-nGnRE, read-write */
	MAP_BOOT_RWX, /* only until mm_init(): everything at once */
};

struct pgtable {
	u64 *root;
	u64 *(*alloc_table)(void); /* a zeroed page, or NULL */
	bool e2h; /* descriptors of the EL2&0 regime */
};

/*
 * Map [va, va+size) with the largest blocks that fit. What is mapped already must have been mapped the
 * same way: -EEXIST otherwise. -ENOMEM, -EINVAL for an unaligned or too high address.
 */
int pgtable_map(struct pgtable *pt, u64 va, paddr_t pa, u64 size, enum map_kind kind);
/* Call fn for each valid leaf. */
void pgtable_walk(const struct pgtable *pt, void (*fn)(u64 va, u64 size, u64 pte, void *arg),
		  void *arg);
/* The registers that put a table in force. */
void pgtable_regs(const struct pgtable *pt, struct mmu_regs *r);
/* Descriptor bits a leaf of this kind has, without address, valid and type. */
u64 pgtable_attr(bool e2h, enum map_kind kind);

/* The tables in force. */
extern struct pgtable host_pgtable;

/* Build the final tables out of `platform` and switch to them. Boot CPU, MMU on with the boot tables. */
void mm_init(void);
/* What secondary CPUs load. */
extern struct mmu_regs host_mmu;

/* Map a stack for `cpu` in the window; its top, or 0 when out of memory. *base is its lowest byte. */
u64 mm_map_stack(u32 cpu, void **base);
/*
 * The word in a spin table that `cpu` waits for, page 0 included, as a device: what is written is what a
 * CPU without caches reads. NULL when it can't be mapped.
 */
volatile u64 *mm_map_release(u32 cpu, paddr_t pa);
/* Whether va is in the mapped half of `cpu`'s stack slot; whether it is in the guard of any. */
bool mm_on_stack(u32 cpu, u64 va);
bool mm_in_guard(u64 va);

#endif
