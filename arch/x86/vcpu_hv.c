/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the leaves from 0x40000000 on tell a guest of the hypervisors that it can talk to: Xen's ABI,
 * KVM's steal time, Cupel's own, each 0x100 leaves apart, in that order, those that its VM has. A guest
 * finds each by its signature. (Xen: public/arch-x86/cpuid.h)
 */
#include <asm/cpu.h>
#include <asm/virt.h>
#include <asm/xen.h>
#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/evtchn.h>
#include <cupel/vm.h>

#define LEAF_HV 0x40000000
#define SPACING 0x100

#define LEAF_SIZES 0x80000008 /* EAX[7:0]: width of a guest's physical addresses */

#define CUPEL_MAX     0x10
#define CUPEL_VERSION 1
#define CUPEL_TIMING  0x10 /* TSC and APIC timer in kHz, as other hypervisors have it there */

#define KVM_MAX	      1
#define KVM_STEAL     BIT32(5)
#define KVM_TLB_FLUSH BIT32(9) /* a bit of the steal record */

#define XEN_VERSION 4 << 16 | 17
/* Leaf 3.0, EAX: the host's TSC is reliable; EBX: the guest reads it itself. */
#define XEN_TSC_RELIABLE BIT32(1)
#define XEN_TSC_NATIVE	 2

static struct cpuid_regs cupel_leaf(u32 base, u32 n)
{
	u32 khz = arch_counter_hz() / 1000;

	switch (n) {
	case 0: /* "CupelCupelCu" in EBX, ECX, EDX */
		return (struct cpuid_regs){ base + CUPEL_MAX, 0x65707543, 0x7075436c, 0x75436c65 };
	case 1: return (struct cpuid_regs){ .eax = CUPEL_VERSION };
	case CUPEL_TIMING: /* the APIC timer counts TSC ticks */
		return (struct cpuid_regs){ khz, khz, 0, 0 };
	default: return (struct cpuid_regs){ 0 };
	}
}

static struct cpuid_regs kvm_leaf(u32 base, u32 n)
{
	switch (n) {
	case 0: /* "KVMKVMKVM" */
		return (struct cpuid_regs){ base + KVM_MAX, 0x4b4d564b, 0x564b4d56, 0x4d };
	case 1: return (struct cpuid_regs){ .eax = KVM_STEAL | KVM_TLB_FLUSH };
	default: return (struct cpuid_regs){ 0 };
	}
}

static struct cpuid_regs xen_time_leaf(const struct vcpu *v, u32 sub)
{
	u32 khz = arch_counter_hz() / 1000;
	struct time_scale s = guest_time_scale();

	switch (sub) {
	case 0: return (struct cpuid_regs){ XEN_TSC_RELIABLE, XEN_TSC_NATIVE, khz, 0 };
	case 1: /* system time 0 in ticks of the guest, and its scale */
		return (struct cpuid_regs){ v->arch.tsc_offset, v->arch.tsc_offset >> 32, s.mul,
					    (u8)s.shift };
	case 2: return (struct cpuid_regs){ .eax = khz };
	default: return (struct cpuid_regs){ 0 };
	}
}

static struct cpuid_regs xen_leaf(const struct vcpu *v, u32 n, u32 sub)
{
	switch (n) {
	case 0:
		return (struct cpuid_regs){ LEAF_HV + XEN_CPUID_MAX, XEN_CPUID_EBX, XEN_CPUID_ECX,
					    XEN_CPUID_EDX };
	case 1: return (struct cpuid_regs){ .eax = XEN_VERSION };
	case 2: return (struct cpuid_regs){ 1, XEN_MSR_HYPERCALL, 0, 0 };
	case 3: return xen_time_leaf(v, sub);
	case 4:
		return (struct cpuid_regs){ XEN_CPUID_HVM_VCPU_ID | XEN_CPUID_HVM_DOMID |
						    XEN_CPUID_HVM_UPCALL_VECTOR,
					    v->id, evtchn_domid(v->vm), 0 };
	case 5: return (struct cpuid_regs){ .ebx = guest_cpuid(v, 0, LEAF_SIZES, 0).eax & 0xff };
	default: return (struct cpuid_regs){ 0 };
	}
}

struct cpuid_regs guest_hv_leaf(const struct vcpu *v, u32 leaf, u32 sub)
{
	const struct vm_config *c = &v->vm->config;
	u32 base = LEAF_HV, n = leaf - LEAF_HV;

	if (c->xen) {
		if (n < SPACING)
			return xen_leaf(v, n, sub);
		base += SPACING;
		n -= SPACING;
	}
	if (c->steal) {
		if (n < SPACING)
			return kvm_leaf(base, n);
		base += SPACING;
		n -= SPACING;
	}
	return cupel_leaf(base, n);
}
