/* SPDX-License-Identifier: GPL-2.0-only */
/* EL1 registers and the GIC as a guest uses them; read by C and assembly. */
#ifndef ARM64_REGS_H
#define ARM64_REGS_H

/* Stage 1: 39-bit VA, 1 GiB blocks at level 1 (Arm ARM D8.3.1, D17.2 MAIR, TCR, SCTLR). */
#define MAIR_VALUE   0x00000000000004ff /* 0: normal write-back, 1: device nGnRE */
#define TCR_VALUE    (25 | (1 << 8) | (1 << 10) | (3 << 12) | (1 << 23) | (2 << 32))
#define SCTLR_VALUE  (0x30d00800 | (1 << 12) | (1 << 2) | 1)
#define CPACR_FPEN   (3 << 20)
#define PTE_BLOCK    0x401 /* AF, block */
#define PTE_SH_INNER (3 << 8)
#define PTE_NORMAL   (PTE_BLOCK | PTE_SH_INNER)
#define PTE_DEVICE   (PTE_BLOCK | (1 << 2) | (3 << 53))
#define PTE_USER     (PTE_NORMAL | (1 << 6) | (1 << 53))
#define CODE_ALIAS   0x3fc0000000 /* address 0 as normal, executable memory */
#define USER_ALIAS   0x4000000000 /* where EL0 sees address 0 */

#define STACK_BYTES 16384

/* SPSR/PSTATE (C5.2.19): EL1h, EL0, and the mask bits. */
#define PSR_EL0	 0
#define PSR_EL1H 5
#define PSR_DAIF 0x3c0

/* ESR_EL1 (D17.2.37). */
#define ESR_EC_SHIFT   26
#define ESR_EC_UNKNOWN 0x00
#define ESR_EC_SYSREG  0x18
#define ESR_EC_SVC     0x15

/* GICv3 (IHI 0069, 12.9-12.11), offsets from the distributor and from each redistributor's frames. */
#define GICD_CTLR	  0x0000
#define GICD_CTLR_GRP1	  (1 << 1)
#define GICD_CTLR_ARE	  (1 << 4)
#define GICD_CTLR_RWP	  (1U << 31)
#define GICD_TYPER	  0x0004
#define GICD_IIDR	  0x0008
#define GICD_IGROUPR	  0x0080
#define GICD_ISENABLER	  0x0100
#define GICD_ICENABLER	  0x0180
#define GICD_ISPENDR	  0x0200
#define GICD_ICPENDR	  0x0280
#define GICD_ISACTIVER	  0x0300
#define GICD_ICACTIVER	  0x0380
#define GICD_IPRIORITYR	  0x0400
#define GICD_ICFGR	  0x0c00
#define GICD_IROUTER	  0x6000
#define GICD_SGIR	  0x0f00 /* GICv2 */
#define GICR_TYPER	  0x0008
#define GICR_TYPER_LAST	  (1 << 4)
#define GICR_WAKER	  0x0014
#define GICR_WAKER_ASLEEP (1 << 2)
#define GICR_SGI	  0x10000 /* second frame: registers of SGIs and PPIs, at GICD's offsets */
#define GICR_STRIDE	  0x20000

/* GICv2 CPU interface (IHI 0048, 4.4). */
#define GICC_CTLR 0x00
#define GICC_PMR  0x04
#define GICC_IAR  0x0c
#define GICC_EOIR 0x10
#define IAR_INTID 0x3ff

#define INTID_VTIMER 27
#define INTID_PTIMER 30
#define INTID_NONE   1020 /* from here: no interrupt to take */

/* CNTx_CTL_EL0 (D17.8). */
#define CTL_ENABLE  1
#define CTL_IMASK   2
#define CTL_ISTATUS 4

#endif
