/* SPDX-License-Identifier: GPL-2.0-only */
/* Selectors, control registers, MSRs and the local APIC as a guest uses them; C and assembly. */
#ifndef X86_REGS_H
#define X86_REGS_H

#define SEL_CODE64    0x08
#define SEL_DATA      0x10
#define SEL_CODE32    0x18
#define SEL_USER_DATA 0x23
#define SEL_USER_CODE 0x2b
#define SEL_TSS	      0x30

/* APM volume 2, 3.1. */
#define CR0_VALUE	 0x80010033 /* PG WP NE ET MP PE */
#define CR4_VALUE	 0x620 /* OSXMMEXCPT OSFXSR PAE */
#define CR4_OSXSAVE	 (1 << 18)
#define MSR_EFER	 0xc0000080
#define EFER_LME	 (1 << 8)
#define MSR_GS_BASE	 0xc0000101
#define MSR_APIC_BASE	 0x1b
#define APIC_BASE_BSP	 (1 << 8)
#define APIC_BASE_X2APIC (1 << 10)
#define APIC_BASE_ENABLE (1 << 11)
#define MSR_TSC_DEADLINE 0x6e0

#define STACK_BYTES 16384
#define TRAMPOLINE  0x8000 /* where an AP starts in real mode */

/* Vectors. */
#define VEC_DB	     1
#define VEC_NMI	     2
#define VEC_UD	     6
#define VEC_GP	     13
#define VEC_PF	     14
#define VEC_UPCALL   0x62 /* of event channels: a vCPU's own, through the local APIC, */
#define VEC_CALLBACK 0xf3 /* or the one that all vCPUs share */
#define VEC_TIMER    0xd0
#define VEC_IPI	     0xe0 /* + number of the IPI */
#define VEC_SPURIOUS 0xff

/* Local APIC (APM volume 2, 16.3): offsets in xAPIC mode; MSR 0x800 + offset / 16 in x2APIC mode. */
#define LAPIC_BASE	0xfee00000
#define MSR_X2APIC	0x800
#define LAPIC_ID	0x020
#define LAPIC_VERSION	0x030
#define LAPIC_TPR	0x080
#define LAPIC_PPR	0x0a0
#define LAPIC_EOI	0x0b0
#define LAPIC_LDR	0x0d0
#define LAPIC_DFR	0x0e0
#define LAPIC_SVR	0x0f0
#define LAPIC_ISR	0x100
#define LAPIC_TMR	0x180
#define LAPIC_IRR	0x200
#define LAPIC_ESR	0x280
#define LAPIC_ICR	0x300
#define LAPIC_ICR2	0x310
#define LAPIC_LVTT	0x320
#define LAPIC_LVT0	0x350
#define LAPIC_LVT1	0x360
#define LAPIC_LVTERR	0x370
#define LAPIC_TMICT	0x380
#define LAPIC_TMCCT	0x390
#define LAPIC_TDCR	0x3e0
#define X2APIC_SELF_IPI 0x3f0

#define SVR_ENABLE    (1 << 8)
#define LVT_MASKED    (1 << 16)
#define LVTT_ONESHOT  (0 << 17)
#define LVTT_PERIODIC (1 << 17)
#define LVTT_DEADLINE (2 << 17)
#define TDCR_DIV1     0xb
#define ICR_FIXED     (0 << 8)
#define ICR_NMI	      (4 << 8)
#define ICR_INIT      (5 << 8)
#define ICR_SIPI      (6 << 8)
#define ICR_ASSERT    (1 << 14)
#define ICR_LEVEL     (1 << 15)
#define ICR_BUSY      (1 << 12)
#define ICR_SELF      (1 << 18)
#define ICR_ALL	      (2 << 18)
#define ICR_OTHERS    (3 << 18)

#endif
