/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AMD SVM: the control block, intercepts and exit codes, as the manual lays them out (AMD APM vol. 2,
 * appendix B and C, 15.x where said). Private to arch/x86/svm/. Layout and declarations only.
 */
#ifndef SVM_H
#define SVM_H

#include <cupel/types.h>

/* Intercept words: APM appendix B, table B-1. Word 0: CRs, read in 15:0, write in 31:16; 1: DRs. */
#define SVM_CR_WRITE(n) BIT32(16 + (n))
#define SVM_DR_ALL	0xffffffffU

/* Word 3 (offset 00Ch) */
#define SVM_ICPT_INTR	    BIT32(0)
#define SVM_ICPT_NMI	    BIT32(1)
#define SVM_ICPT_INIT	    BIT32(3)
#define SVM_ICPT_VINTR	    BIT32(4)
#define SVM_ICPT_IDTR_WRITE BIT32(10)
#define SVM_ICPT_RDPMC	    BIT32(15)
#define SVM_ICPT_CPUID	    BIT32(18)
#define SVM_ICPT_RSM	    BIT32(19)
#define SVM_ICPT_IRET	    BIT32(20)
#define SVM_ICPT_INVD	    BIT32(22)
#define SVM_ICPT_PAUSE	    BIT32(23)
#define SVM_ICPT_HLT	    BIT32(24)
#define SVM_ICPT_INVLPGA    BIT32(26)
#define SVM_ICPT_IOIO	    BIT32(27)
#define SVM_ICPT_MSR	    BIT32(28)
#define SVM_ICPT_TASK	    BIT32(29)
#define SVM_ICPT_FERR	    BIT32(30)
#define SVM_ICPT_SHUTDOWN   BIT32(31)

/* Word 4 (offset 010h) */
#define SVM_ICPT_VMRUN	 BIT32(0)
#define SVM_ICPT_VMMCALL BIT32(1)
#define SVM_ICPT_VMLOAD	 BIT32(2)
#define SVM_ICPT_VMSAVE	 BIT32(3)
#define SVM_ICPT_STGI	 BIT32(4)
#define SVM_ICPT_CLGI	 BIT32(5)
#define SVM_ICPT_SKINIT	 BIT32(6)
#define SVM_ICPT_WBINVD	 BIT32(9)
#define SVM_ICPT_MONITOR BIT32(10)
#define SVM_ICPT_MWAIT	 BIT32(11)
#define SVM_ICPT_XSETBV	 BIT32(13)
#define SVM_ICPT_RDPRU	 BIT32(14)

/* Offset 060h: virtual interrupts, APM 15.21 */
#define SVM_V_TPR_MASK	   0xfUL
#define SVM_V_IRQ	   BIT(8)
#define SVM_V_PRIO_MAX	   (0xfUL << 16)
#define SVM_V_IGN_TPR	   BIT(20)
#define SVM_V_INTR_MASKING BIT(24)

#define SVM_SHADOW BIT(0) /* offset 068h */

#define SVM_TLB_FLUSH_NONE 0 /* offset 05Ch, APM 15.16.1 */
#define SVM_TLB_FLUSH_ALL  1
#define SVM_TLB_FLUSH_ASID 3 /* with CPUID 8000_000A EDX.FlushByAsid */

#define SVM_NP_ENABLE BIT(0)

/* EVENTINJ and EXITINTINFO: APM 15.20 */
#define SVM_EVENT_VECTOR      0xffUL
#define SVM_EVENT_TYPE	      (7UL << 8)
#define SVM_EVENT_INTR	      (0UL << 8)
#define SVM_EVENT_NMI	      (2UL << 8)
#define SVM_EVENT_EXCEPTION   (3UL << 8)
#define SVM_EVENT_SOFT	      (4UL << 8)
#define SVM_EVENT_HAS_ERROR   BIT(11)
#define SVM_EVENT_VALID	      BIT(31)
#define SVM_EVENT_ERROR_SHIFT 32

/* Exit codes: APM appendix C */
#define SVM_EXIT_CR_WRITE(n) (0x10 + (n))
#define SVM_EXIT_DR_READ(n)  (0x20 + (n))
#define SVM_EXIT_DR_WRITE(n) (0x30 + (n))
#define SVM_EXIT_EXC(n)	     (0x40 + (n))
#define SVM_EXIT_INTR	     0x60
#define SVM_EXIT_NMI	     0x61
#define SVM_EXIT_SMI	     0x62
#define SVM_EXIT_INIT	     0x63
#define SVM_EXIT_VINTR	     0x64
#define SVM_EXIT_IDTR_WRITE  0x6a
#define SVM_EXIT_RDPMC	     0x6f
#define SVM_EXIT_CPUID	     0x72
#define SVM_EXIT_RSM	     0x73
#define SVM_EXIT_IRET	     0x74
#define SVM_EXIT_INVD	     0x76
#define SVM_EXIT_PAUSE	     0x77
#define SVM_EXIT_HLT	     0x78
#define SVM_EXIT_INVLPGA     0x7a
#define SVM_EXIT_IOIO	     0x7b
#define SVM_EXIT_MSR	     0x7c
#define SVM_EXIT_TASK	     0x7d
#define SVM_EXIT_FERR	     0x7e
#define SVM_EXIT_SHUTDOWN    0x7f
#define SVM_EXIT_VMRUN	     0x80
#define SVM_EXIT_VMMCALL     0x81
#define SVM_EXIT_SKINIT	     0x86
#define SVM_EXIT_WBINVD	     0x89
#define SVM_EXIT_MONITOR     0x8a
#define SVM_EXIT_MWAIT	     0x8b
#define SVM_EXIT_MWAIT_IF    0x8c
#define SVM_EXIT_XSETBV	     0x8d
#define SVM_EXIT_RDPRU	     0x8e
#define SVM_EXIT_NPF	     0x400
/* All ones; one emulator stores only 32 of them. */
#define SVM_EXIT_INVALID32 0xffffffffU

/* EXITINFO1 of SVM_EXIT_IOIO: APM 15.10.2 */
#define SVM_IO_IN      BIT(0)
#define SVM_IO_STRING  BIT(2)
#define SVM_IO_REP     BIT(3)
#define SVM_IO_SIZE(i) (((i) >> 4) & 7) /* 1, 2 or 4 bytes: one bit each */
#define SVM_IO_PORT(i) ((u16)((i) >> 16))

/* EXITINFO1 of SVM_EXIT_NPF: the #PF error code, and APM 15.25.6 */
#define SVM_NPF_WRITE BIT(1)
#define SVM_NPF_FETCH BIT(4)
#define SVM_NPF_WALK  BIT(33) /* while the guest's own page tables were read */

/* CPUID 8000_000A EDX: APM vol. 3, E.4.9 */
#define SVM_CPUID_NPT	     BIT32(0)
#define SVM_CPUID_NRIPS	     BIT32(3)
#define SVM_CPUID_FLUSH_ASID BIT32(6)

#define SVM_IOPM_ORDER	2 /* 12 KiB, in a 16 KiB block: APM 15.10.1 */
#define SVM_MSRPM_ORDER 1 /* 8 KiB: APM 15.11 */

/* Segment attributes as the VMCB packs them: type and S, DPL, P in 7:0; AVL, L, D, G in 11:8. */
#define SVM_ATTR_CODE32 0xc9b
#define SVM_ATTR_DATA32 0xc93
#define SVM_ATTR_CODE16 0x09b
#define SVM_ATTR_DATA16 0x093
#define SVM_ATTR_TSS32	0x08b
#define SVM_ATTR_LDT	0x082
#define SVM_ATTR_L	BIT32(9)
#define SVM_ATTR_D	BIT32(10)

struct vmcb_seg { /* APM table B-2: attributes are descriptor bits 55:52 and 47:40, packed */
	u16 selector;
	u16 attrib;
	u32 limit;
	u64 base;
};

struct vmcb {
	u32 icpt_cr, icpt_dr, icpt_exc, icpt3, icpt4, icpt5;
	u8 rsvd0[0x3c - 0x18];
	u16 pause_threshold, pause_count;
	u64 iopm_pa, msrpm_pa, tsc_offset;
	u32 asid;
	u8 tlb_control;
	u8 rsvd1[3];
	u64 int_ctl;
	u64 int_state;
	u64 exit_code, exit_info1, exit_info2, exit_int_info;
	u64 np_control;
	u8 rsvd2[0xa8 - 0x98];
	u64 event_inj, ncr3, lbr_control;
	u32 clean, rsvd3;
	u64 next_rip;
	u8 rsvd4[0x400 - 0xd0];
	struct {
		struct vmcb_seg es, cs, ss, ds, fs, gs, gdtr, ldtr, idtr, tr;
		u8 rsvd0[0xcb - 0xa0];
		u8 cpl;
		u32 rsvd1;
		u64 efer;
		u8 rsvd2[0x148 - 0xd8];
		u64 cr4, cr3, cr0, dr7, dr6, rflags, rip;
		u8 rsvd3[0x1d8 - 0x180];
		u64 rsp;
		u8 rsvd4[0x1f8 - 0x1e0];
		u64 rax, star, lstar, cstar, sfmask, kernel_gs_base;
		u64 sysenter_cs, sysenter_esp, sysenter_eip, cr2;
		u8 rsvd5[0x268 - 0x248];
		u64 pat;
		u8 rsvd6[0xc00 - 0x270];
	} save;
};

_Static_assert(offsetof(struct vmcb, iopm_pa) == 0x40, "APM table B-1");
_Static_assert(offsetof(struct vmcb, exit_code) == 0x70, "APM table B-1");
_Static_assert(offsetof(struct vmcb, event_inj) == 0xa8, "APM table B-1");
_Static_assert(offsetof(struct vmcb, next_rip) == 0xc8, "APM table B-1");
_Static_assert(offsetof(struct vmcb, save.efer) == 0x4d0, "APM table B-2");
_Static_assert(offsetof(struct vmcb, save.rip) == 0x578, "APM table B-2");
_Static_assert(offsetof(struct vmcb, save.rax) == 0x5f8, "APM table B-2");
_Static_assert(offsetof(struct vmcb, save.cr2) == 0x640, "APM table B-2");
_Static_assert(offsetof(struct vmcb, save.pat) == 0x668, "APM table B-2");
_Static_assert(sizeof(struct vmcb) == 0x1000, "one page");

#endif
