/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory-mapped registers of the GIC, for the chips and for what a guest sees. GICv3: Arm IHI 0069
 * (issue H), chapter 12. GICv2: Arm IHI 0048 (issue B), chapter 4. Layouts only.
 */
#ifndef DRIVERS_GIC_GIC_REGS_H
#define DRIVERS_GIC_GIC_REGS_H

#include <cupel/types.h>

/* INTID ranges, IHI 0069 2.2 */
#define GIC_NR_SGIS	 16
#define GIC_SPI_BASE	 32
#define GIC_NR_LINES	 1020 /* SGIs, PPIs and SPIs */
#define GIC_SPURIOUS_MIN 1020 /* 1020-1023: special, not to be ended */

/* Distributor, IHI 0069 12.9, IHI 0048 4.3. The per-interrupt banks sit at the same offsets in a
 * GICv3 redistributor's SGI frame. */
#define GICD_CTLR	0x0000
#define GICD_TYPER	0x0004
#define GICD_IIDR	0x0008
#define GICD_IGROUPR	0x0080 /* 1 bit an interrupt */
#define GICD_ISENABLER	0x0100
#define GICD_ICENABLER	0x0180
#define GICD_ISPENDR	0x0200
#define GICD_ICPENDR	0x0280
#define GICD_ISACTIVER	0x0300
#define GICD_ICACTIVER	0x0380
#define GICD_IPRIORITYR 0x0400 /* 8 bits */
#define GICD_ITARGETSR	0x0800 /* 8 bits, GICv2 */
#define GICD_ICFGR	0x0c00 /* 2 bits */
#define GICD_SGIR	0x0f00 /* GICv2 */
#define GICD_IROUTER	0x6000 /* 64 bits, GICv3, from INTID 32 on: base + 8 * INTID */
#define GICD_PIDR2	0xffe8

#define GICD_CTLR_ENABLE     BIT32(0) /* GICv2: the group that the access may manage */
#define GICD_CTLR_ENABLE_G1A BIT32(1) /* GICv3: non-secure group 1 */
#define GICD_CTLR_ARE	     BIT32(4)
#define GICD_CTLR_RWP	     BIT32(31)
#define GICD_TYPER_LINES(t)  (min(32 * (((t) & 0x1f) + 1), (u32)GIC_NR_LINES))
#define GICD_SGIR_OTHERS     (1U << 24)
#define GICD_SGIR_TARGETS(m) ((u32)(m) << 16)
#define GIC_PIDR2_ARCH(v)    (((v) >> 4) & 0xf)

/* Redistributor, IHI 0069 12.10, 12.11: RD frame, then SGI frame, then two more with VLPIs */
#define GICR_CTLR      0x0000
#define GICR_IIDR      0x0004
#define GICR_TYPER     0x0008
#define GICR_WAKER     0x0014
#define GICR_PIDR2     0xffe8
#define GICR_SGI_FRAME 0x10000
#define GICR_FRAME     0x10000

#define GICR_CTLR_RWP	    BIT32(3)
#define GICR_TYPER_VLPIS    BIT(1)
#define GICR_TYPER_LAST	    BIT(4)
#define GICR_TYPER_AFF(t)   ((t) >> 32) /* Aff3.Aff2.Aff1.Aff0 */
#define GICR_WAKER_SLEEP    BIT32(1)
#define GICR_WAKER_CHILDREN BIT32(2)

/* GICv2 CPU interface, IHI 0048 4.4 */
#define GICC_CTLR      0x0000
#define GICC_PMR       0x0004
#define GICC_BPR       0x0008
#define GICC_IAR       0x000c
#define GICC_EOIR      0x0010
#define GICC_RPR       0x0014
#define GICC_APR       0x00d0
#define GICC_IIDR      0x00fc
#define GICC_DIR       0x1000
#define GIC_LAST_ALIAS 0xf000 /* of a page that shows all over 64 KiB */

#define GICC_CTLR_ENABLE  BIT32(0)
#define GICC_CTLR_EOIMODE BIT32(9)
#define GICC_IAR_INTID	  0x3ff

/* System register interface, IHI 0069 12.2 */
#define ICC_SRE_SRE	    BIT(0)
#define ICC_SRE_DFB	    BIT(1)
#define ICC_SRE_DIB	    BIT(2)
#define ICC_SRE_EL2_EN	    BIT(3)
#define ICC_CTLR_CBPR	    BIT(0)
#define ICC_CTLR_EOIMODE    BIT(1)
#define ICC_CTLR_PRIBITS(c) ((((c) >> 8) & 7) + 1)
#define ICC_CTLR_RSS	    BIT(18)
#define ICC_SGI1R_OTHERS    BIT(40)
#define ICC_SGI1R_INTID(n)  ((u64)(n) << 24)

#endif
