/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entering a guest, and the exits served without leaving the world switch's loop. Everything in
 * svm_light_exit()'s reach runs with GIF clear: it may use per-CPU variables and locks, must be
 * short, and must not let interrupts in. What it cannot do at once it leaves to exit.c, untouched.
 */
#include "internal.h"
#include "offsets.h"
#include <asm/trap.h>
#include <asm/vlapic.h>
#include <cupel/abi.h>

#define OFFSET_IS(field, off) \
	_Static_assert(offsetof(struct arch_vcpu, field) == (off), "entry.S finds " #field " here")

OFFSET_IS(gpr[GPR_RCX], VCPU_RCX);
OFFSET_IS(gpr[GPR_RDX], VCPU_RDX);
OFFSET_IS(gpr[GPR_RBX], VCPU_RBX);
OFFSET_IS(gpr[GPR_RBP], VCPU_RBP);
OFFSET_IS(gpr[GPR_RSI], VCPU_RSI);
OFFSET_IS(gpr[GPR_RDI], VCPU_RDI);
OFFSET_IS(gpr[GPR_R8], VCPU_R8);
OFFSET_IS(gpr[GPR_R15], VCPU_R15);
OFFSET_IS(control_pa, VCPU_CONTROL_PA);
OFFSET_IS(guest_gs_base, VCPU_GUEST_GS_BASE);
OFFSET_IS(host_gs_base, VCPU_HOST_GS_BASE);
OFFSET_IS(host_save_pa, VCPU_HOST_SAVE_PA);

#define RFLAGS_TF BIT(8)
#define RFLAGS_RF BIT(16)

static inline const struct insn *current_insn(const struct vcpu *v, const struct vmcb *b)
{
	return insn_lookup(v, b->save.rip, b->save.cs.base, svm_cs_bits(b), b->save.cr3);
}

/* 0: not known without a walk through the guest's page tables. */
static inline u32 insn_length(const struct vcpu *v, const struct vmcb *b)
{
	const struct insn *i;

	if (svm_features.nrips)
		return b->next_rip - b->save.rip;
	i = current_insn(v, b);
	return i ? i->len : 0;
}

/* The emulated instruction is done: past it, and past what it inhibited. */
static inline void skip_to(struct vcpu *v, struct vmcb *b, u64 rip)
{
	b->save.rip = b->save.cs.attrib & SVM_ATTR_L ? rip : (u32)rip;
	b->int_state = 0;
	if (unlikely(b->save.rflags & (RFLAGS_TF | RFLAGS_RF)))
		svm_end_step(v, b);
}

void svm_skip(struct vcpu *v, struct vmcb *b, u32 len)
{
	skip_to(v, b, b->save.rip + len);
}

static bool light_cpuid(struct vcpu *v, struct vmcb *b)
{
	u32 len = insn_length(v, b);
	u64 *gpr = v->arch.gpr;
	struct cpuid_regs out;

	if (!len)
		return false;
	v->exits[EXITS_CPUID]++;
	guest_cpuid(v, b->save.cr4, b->save.rax, gpr[GPR_RCX], &out);
	b->save.rax = out.eax;
	gpr[GPR_RBX] = out.ebx;
	gpr[GPR_RCX] = out.ecx;
	gpr[GPR_RDX] = out.edx;
	skip_to(v, b, b->save.rip + len);
	return true;
}

/* The null hypercall only: what it costs is what a world switch costs. */
static bool light_hypercall(struct vcpu *v, struct vmcb *b)
{
	u32 len;

	if ((u32)b->save.rax != HC_NULL || b->save.cpl)
		return false;
	len = insn_length(v, b);
	if (!len)
		return false;
	v->exits[EXITS_HYPERCALL]++;
	b->save.rax = 0;
	skip_to(v, b, b->save.rip + len);
	return true;
}

/* The APIC was written to: what it holds may be deliverable now. */
static inline void apic_written(struct vcpu *v, struct vmcb *b)
{
	svm_tpr_to_guest(v, b);
	if (v->arch.lapic->irr.used)
		svm_deliver(v);
}

static bool msr_read(struct vcpu *v, struct vmcb *b, u32 msr)
{
	u64 value;

	if (msr == MSR_EFER)
		value = b->save.efer & ~EFER_SVME;
	else if (!guest_msr_read(v, msr, &value))
		return false;
	b->save.rax = (u32)value;
	v->arch.gpr[GPR_RDX] = value >> 32;
	return true;
}

static bool msr_write(struct vcpu *v, struct vmcb *b, u32 msr)
{
	u64 value = (u32)b->save.rax | v->arch.gpr[GPR_RDX] << 32;

	if (msr == MSR_EFER)
		return svm_efer_write(v, b, value);
	if (!guest_msr_write(v, msr, value))
		return false;
	b->tsc_offset = v->arch.tsc_offset;
	b->save.pat = v->arch.pat;
	return true;
}

static bool light_msr(struct vcpu *v, struct vmcb *b)
{
	u32 len = insn_length(v, b);
	u32 msr = v->arch.gpr[GPR_RCX];
	bool done;

	if (!len)
		return false;
	v->exits[EXITS_MSR]++;
	svm_tpr_from_guest(v, b);
	done = b->exit_info1 ? msr_write(v, b, msr) : msr_read(v, b, msr);
	if (!done) {
		svm_exception(v, X86_EXC_GP, true, 0);
		return true;
	}
	skip_to(v, b, b->save.rip + len);
	if (b->exit_info1)
		apic_written(v, b);
	return true;
}

/* IN only: a write may be the one that prints a line. */
static bool light_io(struct vcpu *v, struct vmcb *b)
{
	u64 info = b->exit_info1;

	if ((info & (SVM_IO_IN | SVM_IO_STRING)) != SVM_IO_IN)
		return false;
	v->exits[EXITS_IO]++;
	if (guest_pio(v, SVM_IO_PORT(info), SVM_IO_SIZE(info), false) == EMULATE_DONE)
		skip_to(v, b, b->exit_info2);
	return true;
}

/* A plain 32-bit move to or from a register of the xAPIC page; the rest goes the way of all MMIO. */
static bool light_apic(struct vcpu *v, struct vmcb *b)
{
	struct vlapic *l = v->arch.lapic;
	u32 reg = b->exit_info2 & (PAGE_SIZE - 1);
	const struct insn *i;
	u64 value;

	if (b->exit_info2 - VLAPIC_PAGE >= PAGE_SIZE || b->exit_int_info & SVM_EVENT_VALID ||
	    b->exit_info1 & (SVM_NPF_WALK | SVM_NPF_FETCH))
		return false;
	i = current_insn(v, b);
	if (!i || i->op != INSN_MOV || i->mem_size != 4 || !vlapic_xapic(l))
		return false;
	svm_tpr_from_guest(v, b);
	if (i->to_memory) {
		value = i->has_imm ? i->imm : gpr_get(v, i->reg);
		if (!vlapic_write(l, reg, (u32)value))
			return false;
	} else {
		if (!vlapic_read(l, reg, &value))
			return false;
		gpr_set(v, i->reg, (u32)value);
	}
	v->exits[EXITS_APIC]++;
	skip_to(v, b, b->save.rip + i->len);
	if (i->to_memory)
		apic_written(v, b);
	return true;
}

static bool light_window(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_WINDOW]++;
	svm_window_close(b);
	svm_deliver(v);
	return true;
}

/*
 * Called from entry.S after every exit. The mode stays VCPU_IN_GUEST: who sets a request now finds
 * that and sends a kick, which is held back while GIF is clear and ends the next entry at once.
 */
u32 svm_light_exit(struct arch_vcpu *a)
{
	struct vcpu *v = container_of(a, struct vcpu, arch);
	struct vmcb *b = a->cur->control;
	bool done;

	b->tlb_control = SVM_TLB_FLUSH_NONE;
	switch (b->exit_code) {
	case SVM_EXIT_CPUID: done = light_cpuid(v, b); break;
	case SVM_EXIT_VMMCALL: done = light_hypercall(v, b); break;
	case SVM_EXIT_MSR: done = light_msr(v, b); break;
	case SVM_EXIT_IOIO: done = light_io(v, b); break;
	case SVM_EXIT_NPF: done = light_apic(v, b); break;
	case SVM_EXIT_VINTR: done = light_window(v, b); break;
	default: return SVM_HEAVY;
	}
	if (!done)
		return SVM_HEAVY;
	return READ_ONCE(v->requests) ? SVM_LEAVE : SVM_AGAIN;
}

enum vcpu_exit svm_enter(struct vcpu *v)
{
	struct vmcb *b = vmcb_of(v);
	u32 left;

	if (v->arch.halted)
		return VCPU_EXIT_BLOCK;
	if (v->arch.check_flush)
		svm_flush_commit(v, b);
	left = svm_features.fsgsbase ? svm_run_gsbase(&v->arch) : svm_run_vmload(&v->arch);
	WRITE_ONCE(v->mode, VCPU_OUTSIDE);
	return left == SVM_LEAVE ? VCPU_EXIT_RESUME : svm_heavy_exit(v, b);
}
