/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control and debug registers that a guest may not write by itself: EFER, CR4, CR8 and, until it first
 * asks for them, the debug registers. Only bits of features that the guest is offered go through.
 * (AMD APM vol. 2, 3.1 and 13.1)
 */
#include "internal.h"
#include <asm/vlapic.h>

#define CR4_FLUSHES (CR4_PSE | CR4_PAE | CR4_PGE | CR4_PCIDE | CR4_SMEP | CR4_SMAP)
#define DR7_ENABLES 0xff

bool svm_efer_write(struct vcpu *v, struct vmcb *b, u64 value)
{
	u64 old = b->save.efer;

	if (value & ~(guest_efer_mask() | EFER_LMA))
		return false;
	if ((value ^ old) & EFER_LME && b->save.cr0 & CR0_PG)
		return false;
	b->save.efer = (value & ~EFER_LMA) | (old & EFER_LMA) | EFER_SVME;
	if ((value ^ old) & (EFER_NXE | EFER_LME))
		svm_flush(v);
	return true;
}

bool svm_cr4_write(struct vcpu *v, struct vmcb *b, u64 value)
{
	u64 changed = value ^ b->save.cr4;

	if (value & ~guest_cr4_mask())
		return false;
	if (b->save.efer & EFER_LMA && !(value & CR4_PAE))
		return false;
	if (changed & value & CR4_PCIDE && (!(b->save.efer & EFER_LMA) || b->save.cr3 & 0xfff))
		return false;
	b->save.cr4 = value;
	if (changed & CR4_FLUSHES)
		svm_flush(v);
	insn_cache_flush(v);
	return true;
}

bool svm_cr8_write(struct vcpu *v, struct vmcb *b, u64 value)
{
	if (value > 15)
		return false;
	v->arch.lapic->tpr = value << 4;
	svm_tpr_to_guest(v, b);
	svm_deliver(v);
	return true;
}

static void load_debug_registers(const u64 *dr)
{
	__asm__ volatile("movq %0, %%dr0; movq %1, %%dr1; movq %2, %%dr2; movq %3, %%dr3" ::"r"(dr[0]),
			 "r"(dr[1]), "r"(dr[2]), "r"(dr[3]));
}

/* DR6 and DR7 move with the VMCB; the hypervisor itself has no use for the other four. */
void svm_dr_give(struct vcpu *v, struct vmcb *b)
{
	load_debug_registers(v->arch.dr);
	v->arch.dr_loaded = true;
	b->icpt_dr = 0;
}

void svm_dr_load(struct vcpu *v, struct vmcb *b)
{
	if (b->save.dr7 & DR7_ENABLES)
		svm_dr_give(v, b);
}

void svm_dr_put(struct vcpu *v, struct vmcb *b)
{
	u64 *dr = v->arch.dr;

	if (!v->arch.dr_loaded)
		return;
	__asm__ volatile("movq %%dr0, %0; movq %%dr1, %1; movq %%dr2, %2; movq %%dr3, %3"
			 : "=r"(dr[0]), "=r"(dr[1]), "=r"(dr[2]), "=r"(dr[3]));
	v->arch.dr_loaded = false;
	b->icpt_dr = SVM_DR_ALL;
}
