/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Model-specific registers. Numbers: AMD APM vol. 2, appendix A.1; TSC deadline and the x2APIC range:
 * Intel SDM vol. 3A, 11.5.4.1 and 11.12.1. Only plain accesses here: one that may fault goes
 * through rdmsr_safe().
 */
#ifndef ASM_X86_MSR_H
#define ASM_X86_MSR_H

#include <cupel/types.h>

#define MSR_TSC		   0x00000010
#define MSR_APIC_BASE	   0x0000001b
#define MSR_MTRR_CAP	   0x000000fe
#define MSR_SYSENTER_CS	   0x00000174
#define MSR_SYSENTER_ESP   0x00000175
#define MSR_SYSENTER_EIP   0x00000176
#define MSR_MCG_CAP	   0x00000179
#define MSR_DEBUGCTL	   0x000001d9
#define MSR_PAT		   0x00000277
#define MSR_MTRR_DEF_TYPE  0x000002ff
#define MSR_TSC_DEADLINE   0x000006e0
#define MSR_X2APIC_BASE	   0x00000800
#define MSR_KVM_STEAL	   0x4b564d03
#define MSR_EFER	   0xc0000080
#define MSR_STAR	   0xc0000081
#define MSR_LSTAR	   0xc0000082
#define MSR_CSTAR	   0xc0000083
#define MSR_SFMASK	   0xc0000084
#define MSR_FS_BASE	   0xc0000100
#define MSR_GS_BASE	   0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102
#define MSR_TSC_AUX	   0xc0000103
#define MSR_VM_CR	   0xc0010114
#define MSR_VM_HSAVE_PA	   0xc0010117

/* EFER: APM vol. 2, 3.1.7 */
#define EFER_SCE   BIT(0)
#define EFER_LME   BIT(8)
#define EFER_LMA   BIT(10)
#define EFER_NXE   BIT(11)
#define EFER_SVME  BIT(12)
#define EFER_LMSLE BIT(13)
#define EFER_FFXSR BIT(14)

/* VM_CR: APM vol. 2, 15.30.1 */
#define VM_CR_LOCK   BIT(3)
#define VM_CR_SVMDIS BIT(4)

/* APIC_BASE: APM vol. 2, 16.3.1; bit 10: 16.9 */
#define APIC_BASE_BSC	 BIT(8)
#define APIC_BASE_EXTD	 BIT(10)
#define APIC_BASE_ENABLE BIT(11)
#define APIC_BASE_ADDR	 GENMASK(51, 12)

static inline u64 rdmsr(u32 msr)
{
	u32 lo, hi;

	__asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr) : "memory");
	return (u64)hi << 32 | lo;
}

static inline void wrmsr(u32 msr, u64 value)
{
	__asm__ volatile("wrmsr" ::"c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

/* 0, or -EFAULT when the CPU answers with #GP. Thread context, after the IDT is loaded. */
int rdmsr_safe(u32 msr, u64 *value);
int wrmsr_safe(u32 msr, u64 value);

#endif
