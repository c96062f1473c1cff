/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a guest is told about its CPU: one table, made once from the host's leaves by masks that name
 * every feature a guest may have, plus the few words that hang on the vCPU. What is not named here
 * does not exist for a guest, and the CR4, EFER and XCR0 bits that belong to it can't be set. No SVM,
 * no MONITOR, no performance counters. (AMD APM vol. 3, appendix E)
 */
#include <asm/cpu.h>
#include <asm/msr.h>
#include <asm/virt.h>
#include <cupel/arch.h>
#include <cupel/vm.h>

#define LEAF_BASIC 0x00000000
#define LEAF_HV	   0x40000000
#define LEAF_EXT   0x80000000

#define MAX_BASIC 0xd
#define MAX_HV	  0x3ff /* vcpu_hv.c */
#define MAX_EXT	  8

#define LEAF_FEATURES 1
#define LEAF_EXTENDED 7
#define LEAF_TOPOLOGY 0xb
#define LEAF_XSAVE    0xd

/* CPUID 1 ECX: SSE3 PCLMUL SSSE3 FMA CX16 PCID SSE4.1 SSE4.2 MOVBE POPCNT AES XSAVE AVX F16C RDRAND */
#define F1_ECX	       0x76da3203
#define F1_ECX_ALWAYS  (CPUID_1_ECX_X2APIC | CPUID_1_ECX_TSC_DEADLINE | CPUID_1_ECX_HYPERVISOR)
#define F1_ECX_PCID    BIT32(17)
#define F1_ECX_XSAVE   BIT32(26)
#define F1_ECX_OSXSAVE BIT32(27)
#define F1_ECX_AVX     BIT32(28)
/* EDX: FPU VME DE PSE TSC MSR PAE MCE CX8 APIC SEP MTRR PGE MCA CMOV PAT PSE36 CLFSH MMX FXSR SSE SSE2 */
#define F1_EDX	   0x078bfbff
#define F1_EDX_HTT BIT32(28)
/* CPUID 7 EBX: FSGSBASE BMI1 AVX2 SMEP BMI2 ERMS INVPCID RDSEED ADX SMAP CLFLUSHOPT CLWB SHA */
#define F7_EBX		0x219c07a9
#define F7_EBX_FSGSBASE BIT32(0)
#define F7_EBX_SMEP	BIT32(7)
#define F7_EBX_SMAP	BIT32(20)
#define F7_ECX		0x00400604 /* UMIP VAES VPCLMULQDQ RDPID */
#define F7_ECX_UMIP	BIT32(2)
/* CPUID D, 1: XSAVEOPT XSAVEC XGETBV1 */
#define FD1_EAX 0x7
/* CPUID 80000001 ECX: LAHF CR8 ABM SSE4A MISALIGNSSE 3DNOWPREFETCH */
#define X1_ECX 0x000001f1
/* EDX: those of leaf 1 again, SYSCALL NX MMXEXT FFXSR 1G RDTSCP LM */
#define X1_EDX	      0x2fd3fbff
#define X1_EDX_NX     BIT32(20)
#define X1_EDX_FFXSR  BIT32(25)
#define X1_EDX_RDTSCP BIT32(27)

#define XCR0_X87	 BIT(0)
#define XCR0_SSE	 BIT(1)
#define XCR0_AVX	 BIT(2)
#define XSAVE_HEADER_END 576
#define XSAVE_AVX_SIZE	 256

static struct cpuid_regs basic[MAX_BASIC + 1], ext[MAX_EXT + 1];
static u64 cr4_mask, efer_mask, xcr0_mask;

u64 guest_cr4_mask(void)
{
	return cr4_mask;
}

u64 guest_efer_mask(void)
{
	return efer_mask;
}

u64 guest_xcr0_mask(void)
{
	return xcr0_mask;
}

static void make_basic(void)
{
	for (u32 n = 0; n <= MAX_BASIC; n++)
		basic[n] = (struct cpuid_regs){ 0 };
	basic[0] = cpuid(0, 0);
	basic[0].eax = MAX_BASIC;
	basic[1] = cpuid(1, 0);
	basic[1].ebx = 0x0800; /* CLFLUSH line; id and count are the vCPU's */
	basic[1].ecx = (basic[1].ecx & F1_ECX) | F1_ECX_ALWAYS;
	basic[1].edx &= F1_EDX;
	basic[6].eax = BIT32(2); /* the APIC timer never stops */
	basic[7] = cpuid_checked(7, 0);
	basic[7].eax = 0;
	basic[7].ebx &= F7_EBX;
	basic[7].ecx &= F7_ECX;
	basic[7].edx = 0;
}

static void make_ext(void)
{
	for (u32 n = 0; n <= MAX_EXT; n++)
		ext[n] = cpuid_checked(LEAF_EXT + n, 0);
	ext[0].eax = LEAF_EXT + MAX_EXT;
	ext[1].ebx = 0;
	ext[1].ecx &= X1_ECX;
	ext[1].edx &= X1_EDX;
	ext[7] = (struct cpuid_regs){ .edx = ext[7].edx & CPUID_8000_0007_EDX_INVTSC };
	ext[8].ebx = 0;
	ext[8].ecx = 0;
	ext[8].edx = 0;
	ext[8].eax &= 0xffff;
}

/* x87 and SSE always, AVX where the host has it: 832 bytes at most. */
static void make_xsave(void)
{
	u64 host = cpuid_checked(LEAF_XSAVE, 0).eax;

	if (!(basic[1].ecx & F1_ECX_XSAVE)) {
		basic[1].ecx &= ~F1_ECX_AVX;
		return;
	}
	xcr0_mask = XCR0_X87 | XCR0_SSE;
	if (host & XCR0_AVX && basic[1].ecx & F1_ECX_AVX)
		xcr0_mask |= XCR0_AVX;
}

static void make_masks(void)
{
	u32 b7 = basic[7].ebx;

	cr4_mask = CR4_VME | CR4_PVI | CR4_TSD | CR4_DE | CR4_PSE | CR4_PAE | CR4_MCE | CR4_PGE |
		   CR4_PCE | CR4_OSFXSR | CR4_OSXMMEXCPT;
	cr4_mask |= basic[7].ecx & F7_ECX_UMIP ? CR4_UMIP : 0;
	cr4_mask |= b7 & F7_EBX_FSGSBASE ? CR4_FSGSBASE : 0;
	cr4_mask |= b7 & F7_EBX_SMEP ? CR4_SMEP : 0;
	cr4_mask |= b7 & F7_EBX_SMAP ? CR4_SMAP : 0;
	cr4_mask |= basic[1].ecx & F1_ECX_PCID ? CR4_PCIDE : 0;
	cr4_mask |= xcr0_mask ? CR4_OSXSAVE : 0;
	efer_mask = EFER_SCE | EFER_LME | (ext[1].edx & X1_EDX_NX ? EFER_NXE : 0) |
		    (ext[1].edx & X1_EDX_FFXSR ? EFER_FFXSR : 0);
}

void guest_cpuid_init(void)
{
	if (basic[0].eax)
		return; /* another CPU was first: all are taken for equal */
	make_ext();
	make_basic();
	make_xsave();
	make_masks();
}

/* Size of an XSAVE area for the components of `xcr0`. */
static u32 xsave_size(u64 xcr0)
{
	return XSAVE_HEADER_END + (xcr0 & XCR0_AVX ? XSAVE_AVX_SIZE : 0);
}

static struct cpuid_regs xsave_leaf(const struct vcpu *v, u32 sub)
{
	struct cpuid_regs none = { 0 };

	if (!xcr0_mask)
		return none;
	switch (sub) {
	case 0:
		return (struct cpuid_regs){ xcr0_mask, xsave_size(v->arch.xcr0),
					    xsave_size(xcr0_mask), 0 };
	case 1:
		return (struct cpuid_regs){ cpuid(LEAF_XSAVE, 1).eax & FD1_EAX,
					    xsave_size(v->arch.xcr0), 0, 0 };
	case 2:
		if (xcr0_mask & XCR0_AVX)
			return (struct cpuid_regs){ XSAVE_AVX_SIZE, XSAVE_HEADER_END, 0, 0 };
		return none;
	default: return none;
	}
}

/* One thread a core, all cores in one package: Intel SDM vol. 2A, CPUID leaf 0BH. */
static struct cpuid_regs topology_leaf(const struct vcpu *v, u32 sub)
{
	u32 n = v->vm->nr_vcpus;
	struct cpuid_regs r = { .ecx = sub & 0xff, .edx = v->id };

	if (sub == 0) {
		r.ebx = 1;
		r.ecx |= 1 << 8;
	} else if (sub == 1) {
		r.eax = n > 1 ? 32 - (u32)__builtin_clz(n - 1) : 0;
		r.ebx = n;
		r.ecx |= 2 << 8;
	}
	return r;
}

static struct cpuid_regs features_leaf(const struct vcpu *v, u64 cr4)
{
	struct cpuid_regs r = basic[LEAF_FEATURES];

	r.ebx |= v->id << CPUID_1_EBX_APIC_ID_SHIFT;
	if (v->vm->nr_vcpus > 1) {
		r.ebx |= min(v->vm->nr_vcpus, 255U) << 16;
		r.edx |= F1_EDX_HTT;
	}
	if (cr4 & CR4_OSXSAVE)
		r.ecx |= F1_ECX_OSXSAVE;
	return r;
}

static struct cpuid_regs basic_leaf(const struct vcpu *v, u64 cr4, u32 leaf, u32 sub)
{
	if (leaf == LEAF_EXTENDED && sub)
		return (struct cpuid_regs){ 0 };
	switch (leaf) {
	case LEAF_FEATURES: return features_leaf(v, cr4);
	case LEAF_TOPOLOGY: return topology_leaf(v, sub);
	case LEAF_XSAVE: return xsave_leaf(v, sub);
	default: return basic[leaf];
	}
}

static struct cpuid_regs ext_leaf(const struct vcpu *v, u32 n)
{
	struct cpuid_regs r = ext[n];

	if (n == 8)
		r.ecx = v->vm->nr_vcpus - 1;
	return r;
}

/* AMD answers a leaf it has not with zeros. */
struct cpuid_regs guest_cpuid(const struct vcpu *v, u64 cr4, u32 leaf, u32 sub)
{
	if (leaf <= MAX_BASIC)
		return basic_leaf(v, cr4, leaf, sub);
	if (leaf - LEAF_EXT <= MAX_EXT)
		return ext_leaf(v, leaf - LEAF_EXT);
	if (leaf - LEAF_HV <= MAX_HV)
		return guest_hv_leaf(v, leaf, sub);
	return (struct cpuid_regs){ 0 };
}
