/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exits of a guest, by class. What can be served at once is, and the guest goes on by REENTER; all else
 * goes back to core. `mode` stays VCPU_IN_GUEST meanwhile: whoever requests something kicks this CPU,
 * and the interrupt is taken as soon as the guest is entered.
 */
#include "hyp.h"

#include <asm/trap.h>
#include <asm/xen.h>
#include <cupel/abi.h>
#include <cupel/printk.h>

#include "../../drivers/timer/arm_vtimer.h"

const char *const arch_exit_names[] = {
#define X(name, text) text,
	GUEST_EXITS(X)
#undef X
		NULL,
};
_Static_assert(NR_GUEST_EXITS < EXIT_COUNTERS, "exit counters");

int guest_resume_slow(struct vcpu *v)
{
	if (v->arch.vgic.dirty)
		vgic_fold(v);
	return READ_ONCE(v->requests) ? VCPU_EXIT_RESUME : REENTER;
}

int guest_crash(struct vcpu *v, const char *fmt, ...)
{
	u64 esr = read_sysreg(esr_el2), pc = read_sysreg(elr_el2);
	char what[96];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	v->exits[EXIT_FAULT]++;
	v->arch.cur->pc = pc;
	v->arch.cur->pstate = read_sysreg(spsr_el2);
	vm_stop(v->vm, -1, "vCPU %u at pc 0x%lx: %s (ESR 0x%lx, %s)", v->id, pc, what, esr,
		esr_class_name(esr));
	return VCPU_EXIT_STOP;
}

/* ESR_ELx ISS for WFx: D19.2.37, TI */
#define WFX_TI(esr) ((esr) & 3)
#define WFX_WFI	    0

static int exit_wfx(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	v->exits[EXIT_WFI]++;
	guest_skip_insn();
	if (WFX_TI(esr) != WFX_WFI)
		return VCPU_EXIT_YIELD;
	if (vgic_lr_pending(v))
		return guest_resume(v);
	return VCPU_EXIT_BLOCK;
}

static int exit_fp(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	v->exits[EXIT_FP]++;
	hyp_fp_trap(false);
	fp_restore(&ctx->fp);
	v->arch.fp_live = true;
	return guest_resume(v);
}

/* The conduit is HVC: by SMC nothing is supported (DEN 0028 5.2). */
static int exit_smc(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	v->exits[EXIT_SMC]++;
	guest_skip_insn(); /* a trapped SMC has not been executed: D1.3.6.5 */
	ctx->regs[0] = (u64)SMCCC_NOT_SUPPORTED;
	return guest_resume(v);
}

/* What this vCPU does not have: SVE, SME, pointer authentication, AArch32 system registers. */
static int exit_undef(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	v->exits[EXIT_UNDEF]++;
	guest_inject_undef();
	return guest_resume(v);
}

static int exit_unknown(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	return guest_crash(v, "an exception that no guest should cause");
}

#define HVC_IMM(esr) ((esr) & 0xffff)
#define HVC_ODD	     BIT(0) /* set in Xen's immediate, clear in that of the hot HVC #0 */
_Static_assert(XEN_HVC &HVC_ODD, "exit_hvc()");

/* By a call of its own, which costs HVC #0 one branch and no register. */
static __noinline int odd_hvc(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	if (HVC_IMM(esr) == XEN_HVC && v->xen)
		return guest_xen_call(v, ctx);
	return guest_smccc(v, ctx);
}

static int exit_hvc(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	v->exits[EXIT_HVC]++;
	if (unlikely(esr & HVC_ODD))
		return odd_hvc(v, ctx, esr);
	return guest_smccc(v, ctx);
}

const guest_exit_fn guest_exit_table[64] = {
	[ESR_EC_UNKNOWN] = exit_unknown, [ESR_EC_WFX] = exit_wfx,
	[0x02] = exit_unknown,		 [ESR_EC_CP15_32... ESR_EC_CP14_LS] = exit_undef,
	[ESR_EC_FP] = exit_fp,		 [0x08] = exit_unknown,
	[ESR_EC_PAUTH] = exit_undef,	 [0x0a ... 0x0b] = exit_unknown,
	[ESR_EC_CP14_64] = exit_undef,	 [0x0d ... 0x15] = exit_unknown,
	[ESR_EC_HVC64] = exit_hvc,	 [ESR_EC_SMC64] = exit_smc,
	[ESR_EC_SYS64] = exit_sysreg,	 [ESR_EC_SVE] = exit_undef,
	[0x1a ... 0x1c] = exit_unknown,	 [ESR_EC_SME] = exit_undef,
	[0x1e ... 0x1f] = exit_unknown,	 [ESR_EC_IABT_LOW] = exit_insn_abort,
	[0x21 ... 0x23] = exit_unknown,	 [ESR_EC_DABT_LOW] = exit_data_abort,
	[0x25 ... 0x3f] = exit_unknown,
};

int guest_exit_irq(struct vcpu *v)
{
	v->exits[EXIT_IRQ]++;
	v->host_irqs++;
	arm64_host_irq();
	return guest_resume(v);
}

int guest_exit_fiq(struct vcpu *v)
{
	/* All interrupts of the host are in group 1: this one is not ours, and would not end. */
	return guest_crash(v, "a fast interrupt of the machine");
}

int guest_exit_serror(struct vcpu *v)
{
	return guest_crash(v, "SError");
}
