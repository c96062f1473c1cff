/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System registers of the processor: how to reach them, and their fields. Layouts only; what values
 * mean to Cupel is decided where they are written. Sections are those of the Arm ARM, DDI 0487 (issue J).
 * Also read by assembly.
 */
#ifndef ASM_SYSREG_H
#define ASM_SYSREG_H

#ifndef __ASSEMBLY__
#include <cupel/types.h>

#define SYSREG_STR_(x) #x
#define SYSREG_STR(x)  SYSREG_STR_(x)

/* The name is an assembler name, or one of the SYS_ encodings below. */
#define read_sysreg(name)                                                      \
	({                                                                     \
		u64 sysreg_;                                                   \
		__asm__ volatile("mrs %0, " SYSREG_STR(name) : "=r"(sysreg_)); \
		sysreg_;                                                       \
	})
#define write_sysreg(value, name) \
	__asm__ volatile("msr " SYSREG_STR(name) ", %x0" : : "rZ"((u64)(value)))

#define isb()	 __asm__ volatile("isb" : : : "memory")
#define dsb(opt) __asm__ volatile("dsb " #opt : : : "memory")
#define dmb(opt) __asm__ volatile("dmb " #opt : : : "memory")

#define SYSREG_BIT(n) (1UL << (n))
#else
#define SYSREG_BIT(n) (1 << (n))
#endif

/* CurrentEL, C5.2.1 */
#define CURRENTEL_EL1 (1 << 2)
#define CURRENTEL_EL2 (2 << 2)
#define CURRENTEL_EL3 (3 << 2)

/* PSTATE mask bits as DAIF and SPSR hold them, C5.2.3 */
#define PSR_F	      SYSREG_BIT(6)
#define PSR_I	      SYSREG_BIT(7)
#define PSR_A	      SYSREG_BIT(8)
#define PSR_D	      SYSREG_BIT(9)
#define PSR_IL	      SYSREG_BIT(20)
#define PSR_EL0T      0x0
#define PSR_EL1T      0x4
#define PSR_EL1H      0x5
#define PSR_EL2T      0x8
#define PSR_EL2H      0x9
#define PSR_MODE_MASK 0xf
#define PSR_AARCH32   SYSREG_BIT(4)

/* HCR_EL2, D19.2.50 */
#define HCR_VM	   SYSREG_BIT(0)
#define HCR_SWIO   SYSREG_BIT(1)
#define HCR_PTW	   SYSREG_BIT(2)
#define HCR_FMO	   SYSREG_BIT(3)
#define HCR_IMO	   SYSREG_BIT(4)
#define HCR_AMO	   SYSREG_BIT(5)
#define HCR_VF	   SYSREG_BIT(6)
#define HCR_VI	   SYSREG_BIT(7)
#define HCR_VSE	   SYSREG_BIT(8)
#define HCR_FB	   SYSREG_BIT(9)
#define HCR_BSU_IS SYSREG_BIT(10)
#define HCR_DC	   SYSREG_BIT(12)
#define HCR_TWI	   SYSREG_BIT(13)
#define HCR_TWE	   SYSREG_BIT(14)
#define HCR_TID0   SYSREG_BIT(15)
#define HCR_TID1   SYSREG_BIT(16)
#define HCR_TID2   SYSREG_BIT(17)
#define HCR_TID3   SYSREG_BIT(18)
#define HCR_TSC	   SYSREG_BIT(19)
#define HCR_TIDCP  SYSREG_BIT(20)
#define HCR_TACR   SYSREG_BIT(21)
#define HCR_TSW	   SYSREG_BIT(22)
#define HCR_TTLB   SYSREG_BIT(25)
#define HCR_TVM	   SYSREG_BIT(26)
#define HCR_TGE	   SYSREG_BIT(27)
#define HCR_TDZ	   SYSREG_BIT(28)
#define HCR_HCD	   SYSREG_BIT(29)
#define HCR_TRVM   SYSREG_BIT(30)
#define HCR_RW	   SYSREG_BIT(31)
#ifndef __ASSEMBLY__ /* above what an immediate of the assembler's macros needs */
#define HCR_CD	 SYSREG_BIT(32)
#define HCR_ID	 SYSREG_BIT(33)
#define HCR_E2H	 SYSREG_BIT(34)
#define HCR_TLOR SYSREG_BIT(35)
#define HCR_TERR SYSREG_BIT(36)
#define HCR_TEA	 SYSREG_BIT(37)
#define HCR_APK	 SYSREG_BIT(40)
#define HCR_API	 SYSREG_BIT(41)
#define HCR_NV	 SYSREG_BIT(42)
#define HCR_NV1	 SYSREG_BIT(43)
#define HCR_AT	 SYSREG_BIT(44)
#define HCR_NV2	 SYSREG_BIT(45)
#define HCR_FWB	 SYSREG_BIT(46)
#define HCR_FIEN SYSREG_BIT(47)
#define HCR_TID4 SYSREG_BIT(49)
#endif
#define HCR_E2H_SHIFT 34

/* SCTLR_EL2, D19.2.121. RES1 holds for both E2H layouts (SPAN, EIS, EOS, nTWI, nTWE and such set). */
#define SCTLR_M	       SYSREG_BIT(0)
#define SCTLR_A	       SYSREG_BIT(1)
#define SCTLR_C	       SYSREG_BIT(2)
#define SCTLR_SA       SYSREG_BIT(3)
#define SCTLR_I	       SYSREG_BIT(12)
#define SCTLR_WXN      SYSREG_BIT(19)
#define SCTLR_EL2_RES1 0x30c50830

/* SCTLR_EL1 after reset, as far as it is architected: D19.2.120 */
#define SCTLR_EL1_RESET 0x30d00800

/* MAIR_EL2, D19.2.97 */
#define MAIR_DEVICE_NGNRE 0x04
#define MAIR_NORMAL_WB	  0xff

/* TCR_EL2, D19.2.139; the two layouts differ in where the output size sits and in the RES1 bits. */
#define TCR_T0SZ(va_bits) (64 - (va_bits))
#define TCR_IRGN0_WBWA	  SYSREG_BIT(8)
#define TCR_ORGN0_WBWA	  SYSREG_BIT(10)
#define TCR_SH0_INNER	  (3 << 12)
#ifndef __ASSEMBLY__
#define TCR_EL2_PS_SHIFT      16
#define TCR_EL2_RES1	      (SYSREG_BIT(31) | SYSREG_BIT(23))
#define TCR_EL2_E2H_EPD1      SYSREG_BIT(23)
#define TCR_EL2_E2H_IPS_SHIFT 32
#endif

/* ESR_ELx, D19.2.37 */
#define ESR_EC_SHIFT	26
#define ESR_EC(esr)	(((esr) >> ESR_EC_SHIFT) & 0x3f)
#define ESR_ISS(esr)	((esr) & 0x1ffffff)
#define ESR_IL		SYSREG_BIT(25)
#define ESR_EC_UNKNOWN	0x00
#define ESR_EC_WFX	0x01
#define ESR_EC_FP	0x07
#define ESR_EC_PAUTH	0x09
#define ESR_EC_BTI	0x0d
#define ESR_EC_ILLEGAL	0x0e
#define ESR_EC_SVC64	0x15
#define ESR_EC_HVC64	0x16
#define ESR_EC_SMC64	0x17
#define ESR_EC_SYS64	0x18
#define ESR_EC_SVE	0x19
#define ESR_EC_ERET	0x1a
#define ESR_EC_SME	0x1d
#define ESR_EC_IABT_LOW 0x20
#define ESR_EC_IABT_CUR 0x21
#define ESR_EC_PC_ALIGN 0x22
#define ESR_EC_DABT_LOW 0x24
#define ESR_EC_DABT_CUR 0x25
#define ESR_EC_SP_ALIGN 0x26
#define ESR_EC_FP64	0x2c
#define ESR_EC_SERROR	0x2f
#define ESR_EC_BRK64	0x3c

/* ISS of aborts, D19.2.37 "ISS encoding for an exception from a Data Abort" */
#define ESR_ABT_FSC(esr)  ((esr) & 0x3f)
#define ESR_ABT_WNR	  SYSREG_BIT(6)
#define ESR_ABT_S1PTW	  SYSREG_BIT(7)
#define ESR_ABT_CM	  SYSREG_BIT(8)
#define ESR_ABT_EA	  SYSREG_BIT(9)
#define ESR_ABT_FNV	  SYSREG_BIT(10)
#define ESR_DABT_AR	  SYSREG_BIT(14)
#define ESR_DABT_SF	  SYSREG_BIT(15)
#define ESR_DABT_SRT(esr) (((esr) >> 16) & 0x1f)
#define ESR_DABT_SSE	  SYSREG_BIT(21)
#define ESR_DABT_SAS(esr) (((esr) >> 22) & 3)
#define ESR_DABT_ISV	  SYSREG_BIT(24)
#define FSC_TYPE(fsc)	  ((fsc) & 0x3c)
#define FSC_TRANSLATION	  0x04
#define FSC_ACCESS_FLAG	  0x08
#define FSC_PERMISSION	  0x0c
#define FSC_EXTERNAL	  0x10
#define FSC_ALIGNMENT	  0x21

/* ID registers: shifts of 4-bit fields. ID_AA64PFR0_EL1 D19.2.70, ID_AA64MMFR* D19.2.65 on. */
#define PFR0_EL3       12
#define PFR0_GIC       24
#define PFR0_SVE       32
#define PFR1_SME       24
#define MMFR0_PARANGE  0
#define MMFR0_FGT      56
#define MMFR0_ECV      60
#define MMFR1_VMIDBITS 4
#define MMFR1_VH       8
#define MMFR1_XNX      28
#define MMFR1_HCX      40
#define MMFR2_NV       24
#define MMFR2_ST       28
#define MMFR2_FWB      40
#define MMFR2_EVT      56
#define MMFR4_E2H0     24

/* MPIDR_EL1, D19.2.99: Aff3 in [39:32], Aff2..0 in [23:0] */
#define MPIDR_AFFINITY_MASK	0xff00ffffffUL
#define MPIDR_AFF(mpidr, level) (((mpidr) >> ((level) == 3 ? 32 : 8 * (level))) & 0xff)

/* CNTHP_CTL_EL2 and its kin, D19.12 */
#define CNT_CTL_ENABLE	SYSREG_BIT(0)
#define CNT_CTL_IMASK	SYSREG_BIT(1)
#define CNT_CTL_ISTATUS SYSREG_BIT(2)

/* GIC CPU interface, Arm IHI 0069 (GICv3) 12.2 */
#define SYS_ICC_PMR_EL1	    S3_0_C4_C6_0
#define SYS_ICC_AP0R0_EL1   S3_0_C12_C8_4
#define SYS_ICC_AP1R0_EL1   S3_0_C12_C9_0
#define SYS_ICC_AP1R1_EL1   S3_0_C12_C9_1
#define SYS_ICC_AP1R2_EL1   S3_0_C12_C9_2
#define SYS_ICC_AP1R3_EL1   S3_0_C12_C9_3
#define SYS_ICC_DIR_EL1	    S3_0_C12_C11_1
#define SYS_ICC_RPR_EL1	    S3_0_C12_C11_3
#define SYS_ICC_SGI1R_EL1   S3_0_C12_C11_5
#define SYS_ICC_IAR1_EL1    S3_0_C12_C12_0
#define SYS_ICC_EOIR1_EL1   S3_0_C12_C12_1
#define SYS_ICC_HPPIR1_EL1  S3_0_C12_C12_2
#define SYS_ICC_BPR1_EL1    S3_0_C12_C12_3
#define SYS_ICC_CTLR_EL1    S3_0_C12_C12_4
#define SYS_ICC_SRE_EL1	    S3_0_C12_C12_5
#define SYS_ICC_IGRPEN0_EL1 S3_0_C12_C12_6
#define SYS_ICC_IGRPEN1_EL1 S3_0_C12_C12_7
#define SYS_ICC_SRE_EL2	    S3_4_C12_C9_5

/* Names the assembler only knows for later architecture versions. */
#define SYS_ID_AA64MMFR2_EL1 S3_0_C0_C7_2
#define SYS_ID_AA64MMFR3_EL1 S3_0_C0_C7_3
#define SYS_ID_AA64MMFR4_EL1 S3_0_C0_C7_4
#define SYS_ID_AA64ISAR2_EL1 S3_0_C0_C6_2
#define SYS_CNTP_CTL_EL02    S3_5_C14_C2_1
#define SYS_CNTV_CTL_EL02    S3_5_C14_C3_1

#endif
