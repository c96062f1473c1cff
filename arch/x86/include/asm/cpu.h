/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPU itself: CPUID, control registers, selectors. Bits: AMD APM vol. 2, 3.1 (CRn), APM vol. 3,
 * appendix E (CPUID); leaf 15h: Intel SDM vol. 2A, CPUID.
 */
#ifndef ASM_X86_CPU_H
#define ASM_X86_CPU_H

#ifndef __ASSEMBLY__
#include <cupel/types.h>
#endif

/* Selectors of every CPU's GDT; the same everywhere, so that a VMEXIT host state can be constant. */
#define X86_SEL_CODE64 0x08
#define X86_SEL_DATA   0x10
#define X86_SEL_CODE32 0x18
#define X86_SEL_TSS    0x20

#define CR0_PE 0x00000001
#define CR0_MP 0x00000002
#define CR0_EM 0x00000004
#define CR0_TS 0x00000008
#define CR0_ET 0x00000010
#define CR0_NE 0x00000020
#define CR0_WP 0x00010000
#define CR0_AM 0x00040000
#define CR0_NW 0x20000000
#define CR0_CD 0x40000000
#define CR0_PG 0x80000000

#define CR4_VME	       0x00000001
#define CR4_PVI	       0x00000002
#define CR4_TSD	       0x00000004
#define CR4_DE	       0x00000008
#define CR4_PSE	       0x00000010
#define CR4_PAE	       0x00000020
#define CR4_MCE	       0x00000040
#define CR4_PGE	       0x00000080
#define CR4_PCE	       0x00000100
#define CR4_OSFXSR     0x00000200
#define CR4_OSXMMEXCPT 0x00000400
#define CR4_UMIP       0x00000800
#define CR4_LA57       0x00001000
#define CR4_FSGSBASE   0x00010000
#define CR4_PCIDE      0x00020000
#define CR4_OSXSAVE    0x00040000
#define CR4_SMEP       0x00100000
#define CR4_SMAP       0x00200000

/* Names the hypervisor below in EBX, ECX, EDX; there when CPUID_1_ECX_HYPERVISOR is set. */
#define CPUID_HYPERVISOR 0x40000000

#define CPUID_1_EBX_APIC_ID_SHIFT  24
#define CPUID_1_ECX_X2APIC	   (1U << 21)
#define CPUID_1_ECX_TSC_DEADLINE   (1U << 24)
#define CPUID_1_ECX_HYPERVISOR	   (1U << 31)
#define CPUID_1_EDX_APIC	   (1U << 9)
#define CPUID_8000_0001_ECX_SVM	   (1U << 2)
#define CPUID_8000_0001_EDX_NX	   (1U << 20)
#define CPUID_8000_0001_EDX_1G	   (1U << 26)
#define CPUID_8000_0001_EDX_LM	   (1U << 29)
#define CPUID_8000_0007_EDX_INVTSC (1U << 8)
#define CPUID_SVM_EDX_NPT	   (1U << 0)

#ifndef __ASSEMBLY__

struct cpuid_regs {
	u32 eax, ebx, ecx, edx;
};

static inline struct cpuid_regs cpuid(u32 leaf, u32 sub)
{
	struct cpuid_regs r;

	__asm__ volatile("cpuid"
			 : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
			 : "a"(leaf), "c"(sub));
	return r;
}

/* The leaf's registers, or zeros when the CPU doesn't have it. */
static inline struct cpuid_regs cpuid_checked(u32 leaf, u32 sub)
{
	struct cpuid_regs none = { 0 };

	if (leaf > cpuid(leaf & 0xf0000000, 0).eax)
		return none;
	return cpuid(leaf, sub);
}

#define CR_ACCESSORS(n)                                                      \
	static inline u64 read_cr##n(void)                                   \
	{                                                                    \
		u64 v;                                                       \
                                                                             \
		__asm__ volatile("movq %%cr" #n ", %0" : "=r"(v)::"memory"); \
		return v;                                                    \
	}                                                                    \
	static inline void write_cr##n(u64 v)                                \
	{                                                                    \
		__asm__ volatile("movq %0, %%cr" #n ::"r"(v) : "memory");    \
	}

CR_ACCESSORS(0)
CR_ACCESSORS(2)
CR_ACCESSORS(3)
CR_ACCESSORS(4)
CR_ACCESSORS(8)
#undef CR_ACCESSORS

static inline void x86_invlpg(const void *va)
{
	__asm__ volatile("invlpg %0" ::"m"(*(const char *)va) : "memory");
}

struct x86_desc_ptr {
	u16 limit;
	u64 base;
} __packed;

/* The physical address of the hypervisor's own top-level page table (CR3 of every CPU). */
extern u64 x86_host_cr3;

/*
 * The virtualisation backend's half, called on each CPU with interrupts off, on its own stack and
 * per-CPU area, before it is online. 0, or -errno with *why; the boot CPU's failure ends the machine
 * with that line, another CPU's only takes that CPU out.
 */
int x86_virt_cpu_init(const char **why);

#endif /* !__ASSEMBLY__ */
#endif
