/* SPDX-License-Identifier: GPL-2.0-only */
/* Stage-2 descriptors and control, 4 KiB granule: Arm ARM D8.3 (descriptors), D19.2.155 (VTCR_EL2). */
#ifndef ARM64_STAGE2_H
#define ARM64_STAGE2_H

#include <cupel/types.h>

/* Levels 1 to 3: 39 bits of address out of one root page. */
#define S2_ROOT_LEVEL	1
#define S2_LAST_LEVEL	3
#define S2_MAX_BITS	39
#define S2_ENTRIES	512
#define S2_SHIFT(level) (12 + 9 * (S2_LAST_LEVEL - (level)))

#define S2_VALID      BIT(0)
#define S2_TABLE      BIT(1) /* levels 1 and 2: a table; level 3: always set */
#define S2_ATTR(n)    ((u64)(n) << 2)
#define S2_NORMAL_WB  0xf
#define S2_DEVICE     0x1 /* nGnRE */
#define S2_FWB_NORMAL 0x6 /* with HCR_EL2.FWB: write-back whatever stage 1 says */
#define S2_FWB_DEVICE 0x1
#define S2_AP_READ    BIT(6)
#define S2_AP_WRITE   BIT(7)
#define S2_SH_INNER   (3UL << 8)
#define S2_AF	      BIT(10)
#define S2_XN	      BIT(54)
#define S2_ADDR_MASK  0x0000fffffffff000UL

#define VTCR_T0SZ(bits) (64UL - (bits))
#define VTCR_SL0_L1	(1UL << 6)
#define VTCR_IRGN0_WBWA (1UL << 8)
#define VTCR_ORGN0_WBWA (1UL << 10)
#define VTCR_SH0_INNER	(3UL << 12)
#define VTCR_PS_SHIFT	16
#define VTCR_VS		BIT(19)
#define VTCR_RES1	BIT(31)

#define VTTBR_VMID_SHIFT 48
#define VTTBR_CNP	 BIT(0)

#endif
