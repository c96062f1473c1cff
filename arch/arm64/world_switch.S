/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The world switch. While the guest runs SP_EL2 points at its struct guest_ctx, so that an exit stores
 * its registers without a free one; the hypervisor's stack pointer waits in there. EL1's system
 * registers are not touched here: they stay loaded from vcpu_load() to vcpu_put().
 *
 * An exit that is served at once goes vector -> save -> C -> restore -> ERET. Interrupts stay masked
 * from the exception to the ERET, so nothing can find SP_EL2 pointing at the context.
 */
#include "hyp.h"

#include <asm/gprs.h>
#include <asm/sysreg.h>

	.text

	.macro	save_guest
	each_gpr_pair stp
	str	x30, [sp, #16 * 15]
	mov	x19, sp
	.endm

/*
 * x19 = the context, x0 = its vCPU, on the hypervisor's stack. The frame that world_enter() pushed goes
 * on in a backtrace: x29 is its record.
 */
	.macro	guest_exit name
	.globl	arm64_guest_exit_\name
	.hidden	arm64_guest_exit_\name
arm64_guest_exit_\name:
	save_guest
	ldr	x29, [x19, #CTX_HOST_SP]
	ldr	x0, [x19, #CTX_VCPU]
	mov	x1, x19
	mov	sp, x29
	.endm

/* A handler's answer in w0: negative enters the guest again. */
	.macro	guest_exit_end
	tbnz	w0, #31, reenter
	b	leave
	.endm

/* int world_enter(struct guest_ctx *ctx) */
	.globl	world_enter
	.hidden	world_enter
world_enter:
	stp	x29, x30, [sp, #-96]!
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	mov	x19, x0
	mov	x1, sp
	ldp	x2, x3, [x19, #CTX_PC]
	str	x1, [x19, #CTX_HOST_SP]
	msr	elr_el2, x2
	msr	spsr_el2, x3
reenter:
	mov	sp, x19
	each_gpr_pair ldp
	ldr	x30, [sp, #16 * 15]
	eret
	/* Nothing behind an ERET may be run ahead of it. */
	dsb	nsh
	isb

leave:
	mrs	x2, elr_el2
	mrs	x3, spsr_el2
	stp	x2, x3, [x19, #CTX_PC]
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	x29, x30, [sp], #96
	ret

	guest_exit sync
	mrs	x2, esr_el2
	adr	x3, guest_exit_table	/* the image is smaller than what ADR reaches */
	lsr	w4, w2, #ESR_EC_SHIFT
	ldr	x3, [x3, x4, lsl #3]
	blr	x3
	guest_exit_end

	guest_exit irq
	bl	guest_exit_irq
	guest_exit_end

	guest_exit fiq
	bl	guest_exit_fiq
	guest_exit_end

	guest_exit serror
	bl	guest_exit_serror
	guest_exit_end

	.arch_extension fp
	.arch_extension simd

	.macro	each_v insn
	\insn	q0, q1, [x0, #32 * 0]
	\insn	q2, q3, [x0, #32 * 1]
	\insn	q4, q5, [x0, #32 * 2]
	\insn	q6, q7, [x0, #32 * 3]
	\insn	q8, q9, [x0, #32 * 4]
	\insn	q10, q11, [x0, #32 * 5]
	\insn	q12, q13, [x0, #32 * 6]
	\insn	q14, q15, [x0, #32 * 7]
	\insn	q16, q17, [x0, #32 * 8]
	\insn	q18, q19, [x0, #32 * 9]
	\insn	q20, q21, [x0, #32 * 10]
	\insn	q22, q23, [x0, #32 * 11]
	\insn	q24, q25, [x0, #32 * 12]
	\insn	q26, q27, [x0, #32 * 13]
	\insn	q28, q29, [x0, #32 * 14]
	\insn	q30, q31, [x0, #32 * 15]
	.endm

/* void fp_save(struct fp_state *) */
	.globl	fp_save
	.hidden	fp_save
fp_save:
	each_v	stp
	mrs	x1, fpsr
	mrs	x2, fpcr
	add	x0, x0, #512
	stp	x1, x2, [x0]
	ret

/* void fp_restore(const struct fp_state *) */
	.globl	fp_restore
	.hidden	fp_restore
fp_restore:
	each_v	ldp
	add	x0, x0, #512
	ldp	x1, x2, [x0]
	msr	fpsr, x1
	msr	fpcr, x2
	ret
