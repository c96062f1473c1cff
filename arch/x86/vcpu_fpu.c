/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FP, SSE and AVX state. The hypervisor is built not to touch these registers, so that a vCPU's stay
 * where they are for as long as it is loaded; put saves them, and load brings them back only if
 * another vCPU has been there since. Host code must never use them. (AMD APM vol. 2, 11.4 and 11.5)
 */
#include <asm/cpu.h>
#include <asm/virt.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <string.h>

#define XCR0_X87 BIT(0)
#define XCR0_SSE BIT(1)
#define XCR0_AVX BIT(2)

#define FCW_RESET   0x037f /* as FNINIT leaves it; RESET itself says 0040h */
#define MXCSR_RESET 0x1f80

/* An XSAVE area; the FXSAVE area is its first 512 bytes. */
struct fpu_state {
	u16 fcw;
	u8 rest0[22];
	u32 mxcsr;
	u8 rest1[484];
	u64 xstate_bv, xcomp_bv;
	u8 rest2[48 + 256];
} __aligned(64);
_Static_assert(sizeof(struct fpu_state) == 832, "legacy area, header, AVX");

/* The vCPU whose state this CPU's registers hold, with what is in memory the same. */
static DEFINE_PER_CPU(const struct vcpu *, fpu_owner);

static void xsetbv(u64 value)
{
	__asm__ volatile("xsetbv" ::"c"(0), "a"((u32)value), "d"((u32)(value >> 32)));
}

void fpu_cpu_init(void)
{
	write_cr0((read_cr0() & ~(u64)(CR0_EM | CR0_TS)) | CR0_MP);
	write_cr4(read_cr4() | CR4_OSFXSR | CR4_OSXMMEXCPT);
	if (!guest_xcr0_mask())
		return;
	write_cr4(read_cr4() | CR4_OSXSAVE);
	xsetbv(guest_xcr0_mask());
}

int fpu_vcpu_init(struct vcpu *v)
{
	v->arch.fpu = pages_alloc(size_to_order(sizeof(*v->arch.fpu)));
	if (!v->arch.fpu)
		return -ENOMEM;
	fpu_vcpu_reset(v);
	return 0;
}

void fpu_vcpu_destroy(struct vcpu *v)
{
	if (v->arch.fpu)
		pages_free(v->arch.fpu, size_to_order(sizeof(*v->arch.fpu)));
	v->arch.fpu = NULL;
}

static void restore(const struct vcpu *v)
{
	const struct fpu_state *s = v->arch.fpu;
	u64 mask = guest_xcr0_mask();

	if (!mask)
		__asm__ volatile("fxrstor64 %0" ::"m"(*s));
	else
		__asm__ volatile("xrstor64 %0" ::"m"(*s), "a"((u32)mask), "d"((u32)(mask >> 32)));
}

static void save(struct vcpu *v)
{
	struct fpu_state *s = v->arch.fpu;
	u64 mask = guest_xcr0_mask();

	if (!mask)
		__asm__ volatile("fxsave64 %0" : "=m"(*s));
	else
		__asm__ volatile("xsave64 %0" : "+m"(*s) : "a"((u32)mask), "d"((u32)(mask >> 32)));
}

void fpu_vcpu_reset(struct vcpu *v)
{
	struct fpu_state *s = v->arch.fpu;

	memset(s, 0, sizeof(*s));
	s->fcw = FCW_RESET;
	s->mxcsr = MXCSR_RESET;
	v->arch.xcr0 = XCR0_X87;
	v->arch.fpu_cpu = -1;
	if (v->cpu < 0)
		return;
	/* Loaded: what it is reset to must be in the registers, all components included. */
	if (guest_xcr0_mask())
		xsetbv(guest_xcr0_mask());
	restore(v);
	if (guest_xcr0_mask())
		xsetbv(v->arch.xcr0);
}

void fpu_load(struct vcpu *v)
{
	if (v->arch.fpu_cpu != v->cpu || this_cpu(fpu_owner) != v) {
		restore(v);
		this_cpu(fpu_owner) = v;
		v->arch.fpu_cpu = v->cpu;
	}
	if (v->arch.xcr0 != guest_xcr0_mask() && guest_xcr0_mask())
		xsetbv(v->arch.xcr0);
}

/* All components are saved, not only those the guest has enabled now: it may enable the rest again. */
void fpu_put(struct vcpu *v)
{
	if (v->arch.xcr0 != guest_xcr0_mask() && guest_xcr0_mask())
		xsetbv(guest_xcr0_mask());
	save(v);
}

/* x87 is always there, and AVX needs SSE: APM vol. 2, 11.5.2. */
bool fpu_set_xcr0(struct vcpu *v, u64 value)
{
	if (!(value & XCR0_X87) || value & ~guest_xcr0_mask() ||
	    (value & XCR0_AVX && !(value & XCR0_SSE)))
		return false;
	v->arch.xcr0 = value;
	xsetbv(value);
	return true;
}
