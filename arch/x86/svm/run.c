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
#include <cupel/evtchn.h>

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

/* 0: not known without a walk through the guest's page tables. */
static inline u32 insn_length(const struct vcpu *v, const struct vmcb *b)
{
	const struct insn *i;

	if (svm_features.nrips)
		return b->next_rip - b->save.rip;
	i = svm_current_insn(v, b);
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

/* Done, unless somebody wants the vCPU out. */
static inline enum svm_light done(const struct vcpu *v)
{
	return READ_ONCE(v->requests) ? SVM_LEAVE : SVM_AGAIN;
}

static __noinline enum svm_light light_cpuid(struct vcpu *v, struct vmcb *b)
{
	u32 len = insn_length(v, b);
	u64 *gpr = v->arch.gpr;
	struct cpuid_regs r;

	if (!len)
		return SVM_HEAVY;
	v->exits[EXITS_CPUID]++;
	r = guest_cpuid(v, b->save.cr4, b->save.rax, gpr[GPR_RCX]);
	b->save.rax = r.eax;
	gpr[GPR_RBX] = r.ebx;
	gpr[GPR_RCX] = r.ecx;
	gpr[GPR_RDX] = r.edx;
	skip_to(v, b, b->save.rip + len);
	return done(v);
}

/* From the kernel's memory of a 64-bit guest; false: it takes the long way. */
static inline bool read_word(struct vcpu *v, const struct vmcb *b, u64 linear, u32 *word)
{
	u64 in_page = linear & (PAGE_SIZE - 1);
	const u8 *page;

	if (unlikely(in_page > PAGE_SIZE - sizeof(*word)))
		return false;
	page = walk_lookup(v, linear, b->save.cr3, walk_mode(b->save.cr4, b->save.rflags));
	if (unlikely(!page))
		page = walk_cache_fill(v, linear);
	if (unlikely(!page))
		return false;
	*word = READ_ONCE(*(const u32 *)(page + in_page));
	return true;
}

/* EVTCHNOP_send by a 64-bit kernel: takes no lock, and never waits. */
static __noinline enum svm_light light_send(struct vcpu *v, struct vmcb *b)
{
	u64 at = v->arch.gpr[GPR_RSI];
	u32 len, port;

	if (b->save.rax != XEN_event_channel_op || v->arch.gpr[GPR_RDI] != EVTCHNOP_send ||
	    b->save.cpl || !svm_long_mode(b))
		return SVM_HEAVY;
	len = insn_length(v, b);
	if (!len || !read_word(v, b, at, &port))
		return SVM_HEAVY;
	v->exits[EXITS_HYPERCALL]++;
	b->save.rax = evtchn_send(v->vm, port);
	skip_to(v, b, b->save.rip + len);
	return done(v);
}

/* Of Cupel's the null hypercall only: what it costs is what a world switch costs. */
static __noinline enum svm_light light_hypercall(struct vcpu *v, struct vmcb *b)
{
	u32 len;

	if ((u32)b->save.rax != HC_NULL || b->save.cpl)
		return v->xen ? light_send(v, b) : SVM_HEAVY;
	len = insn_length(v, b);
	if (!len)
		return SVM_HEAVY;
	v->exits[EXITS_HYPERCALL]++;
	b->save.rax = 0;
	skip_to(v, b, b->save.rip + len);
	return done(v);
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
	if (msr == MSR_EFER)
		v->arch.scratch = b->save.efer & ~EFER_SVME;
	else if (!guest_msr_read(v, msr, &v->arch.scratch))
		return false;
	b->save.rax = (u32)v->arch.scratch;
	v->arch.gpr[GPR_RDX] = v->arch.scratch >> 32;
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

static __noinline enum svm_light light_msr(struct vcpu *v, struct vmcb *b)
{
	u32 len = insn_length(v, b);
	u32 msr = v->arch.gpr[GPR_RCX];
	bool ok;

	if (!len)
		return SVM_HEAVY;
	v->exits[EXITS_MSR]++;
	svm_tpr_from_guest(v, b);
	ok = b->exit_info1 ? msr_write(v, b, msr) : msr_read(v, b, msr);
	if (!ok) {
		if (guest_msr_is_pv(msr)) {
			v->exits[EXITS_MSR]--; /* it is counted there */
			return SVM_HEAVY;
		}
		svm_exception(v, X86_EXC_GP, true, 0);
		return done(v);
	}
	skip_to(v, b, b->save.rip + len);
	if (b->exit_info1)
		apic_written(v, b);
	return done(v);
}

/* IN only: a write may be the one that prints a line. */
static __noinline enum svm_light light_io(struct vcpu *v, struct vmcb *b)
{
	u64 info = b->exit_info1;

	if ((info & (SVM_IO_IN | SVM_IO_STRING)) != SVM_IO_IN)
		return SVM_HEAVY;
	v->exits[EXITS_IO]++;
	if (guest_pio(v, SVM_IO_PORT(info), SVM_IO_SIZE(info), false) == EMULATE_DONE)
		skip_to(v, b, b->exit_info2);
	return done(v);
}

static bool apic_access(struct vcpu *v, const struct insn *i, u32 reg)
{
	struct vlapic *l = v->arch.lapic;

	if (i->to_memory)
		return vlapic_write(l, reg, (u32)(i->has_imm ? i->imm : gpr_get(v, i->reg)));
	if (!vlapic_read(l, reg, &v->arch.scratch))
		return false;
	gpr_set(v, i->reg, (u32)v->arch.scratch);
	return true;
}

/* A plain 32-bit move to or from a register of the xAPIC page; the rest goes the way of all MMIO. */
static __noinline enum svm_light light_apic(struct vcpu *v, struct vmcb *b)
{
	const struct insn *i;

	if (b->exit_info2 - VLAPIC_PAGE >= PAGE_SIZE || b->exit_info2 & 0xf ||
	    b->exit_int_info & SVM_EVENT_VALID || b->exit_info1 & (SVM_NPF_WALK | SVM_NPF_FETCH))
		return SVM_HEAVY;
	i = svm_current_insn(v, b);
	if (!i || i->op != INSN_MOV || i->mem_size != 4 || !vlapic_xapic(v->arch.lapic))
		return SVM_HEAVY;
	svm_tpr_from_guest(v, b);
	if (!apic_access(v, i, b->exit_info2 & (PAGE_SIZE - 1)))
		return SVM_HEAVY;
	v->exits[EXITS_APIC]++;
	skip_to(v, b, b->save.rip + i->len);
	if (i->to_memory)
		apic_written(v, b);
	return done(v);
}

static __noinline enum svm_light light_window(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_WINDOW]++;
	svm_window_close(b);
	svm_deliver(v);
	return done(v);
}

/*
 * Called from entry.S after every exit. The mode stays VCPU_IN_GUEST: who sets a request now finds
 * that and sends a kick, which is held back while GIF is clear and ends the next entry at once.
 */
u32 svm_light_exit(struct arch_vcpu *a)
{
	struct vcpu *v = container_of(a, struct vcpu, arch);
	struct vmcb *b = a->cur->control;

	b->tlb_control = SVM_TLB_FLUSH_NONE;
	switch (b->exit_code) {
	case SVM_EXIT_CPUID: return light_cpuid(v, b);
	case SVM_EXIT_VMMCALL: return light_hypercall(v, b);
	case SVM_EXIT_MSR: return light_msr(v, b);
	case SVM_EXIT_IOIO: return light_io(v, b);
	case SVM_EXIT_NPF: return light_apic(v, b);
	case SVM_EXIT_VINTR: return light_window(v, b);
	default: return SVM_HEAVY;
	}
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
