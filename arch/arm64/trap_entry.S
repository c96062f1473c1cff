/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The EL2 vectors. Exceptions of the hypervisor itself are saved in a struct trap_frame and handled in
 * C; exits from a guest go to the guest half by one branch, with nothing touched. Vector layout: Arm
 * ARM (DDI 0487) D1.3.1.5.
 */
#include <asm/boot.h>
#include <asm/gprs.h>

	.macro	adr_l reg, sym
	adrp	\reg, \sym
	add	\reg, \reg, :lo12:\sym
	.endm

/*
 * Make room for the frame, and look at one bit of SP without a free register: in a good stack slot it
 * is set (STACK_SHIFT). An overflow found here has nowhere to save to but the overflow stack.
 */
	.macro	host_vector handler
	.balign	128
	sub	sp, sp, #FRAME_SIZE
	add	sp, sp, x0
	sub	x0, sp, x0
	tbz	x0, #STACK_SHIFT, bad_stack
	sub	x0, sp, x0
	sub	sp, sp, x0
	b	\handler
	.endm

	.macro	guest_vector target
	.balign	128
	b	\target
	.endm

	.section .text.vectors, "ax"
	.balign	2048
	.globl	trap_vectors
	.hidden	trap_vectors
trap_vectors:
	/* Current EL with SP_EL0: never used */
	host_vector entry_bad_sp0
	host_vector entry_bad_sp0
	host_vector entry_bad_sp0
	host_vector entry_bad_sp0
	/* Current EL with SP_EL2 */
	host_vector entry_sync
	host_vector entry_irq
	host_vector entry_fiq
	host_vector entry_serror
	/* Lower EL in AArch64, then in AArch32 (a guest's EL0) */
	.rept	2
	guest_vector arm64_guest_exit_sync
	guest_vector arm64_guest_exit_irq
	guest_vector arm64_guest_exit_fiq
	guest_vector arm64_guest_exit_serror
	.endr
	.balign	128

	.macro	save_frame
	each_gpr_pair stp
	add	x21, sp, #FRAME_SIZE
	mrs	x22, elr_el2
	mrs	x23, spsr_el2
	stp	x30, x21, [sp, #16 * 15]
	stp	x22, x23, [sp, #FRAME_ELR]
	stp	x29, x22, [sp, #FRAME_LINK]
	add	x29, sp, #FRAME_LINK
	.endm

	.macro	save_syndrome
	mrs	x24, esr_el2
	mrs	x25, far_el2
	stp	x24, x25, [sp, #FRAME_ESR]
	.endm

	.macro	fatal handler
	save_frame
	save_syndrome
	mov	x0, sp
	b	\handler
	.endm

entry_sync:
	save_frame
	save_syndrome
	mov	x0, sp
	bl	trap_sync
	b	restore_frame

entry_irq:
	save_frame
	bl	arm64_host_irq
restore_frame:
	ldp	x22, x23, [sp, #FRAME_ELR]
	ldr	x30, [sp, #16 * 15]
	msr	elr_el2, x22
	msr	spsr_el2, x23
	each_gpr_pair ldp
	add	sp, sp, #FRAME_SIZE
	eret

entry_fiq:
	fatal	trap_fiq
entry_serror:
	fatal	trap_serror
entry_bad_sp0:
	fatal	trap_bad_sp0

/*
 * sp = the bad stack pointer + x0's old value, x0 = the bad stack pointer. The machine is about to
 * panic: registers of a guest serve as scratch.
 */
bad_stack:
	msr	tpidr_el0, x0
	sub	x0, sp, x0
	msr	tpidrro_el0, x0
	adr_l	x0, trap_overflow_top
	mov	sp, x0
	mrs	x0, tpidr_el2
	add	x0, sp, x0
	ldr	x0, [x0]
	mov	sp, x0
	mrs	x0, tpidrro_el0
	sub	sp, sp, #FRAME_SIZE
	save_frame
	save_syndrome
	mrs	x21, tpidr_el0
	add	x21, x21, #FRAME_SIZE
	str	x21, [sp, #FRAME_SP]
	mov	x0, sp
	b	trap_bad_stack

	.text
/*
 * bool try_call(void (*fn)(void *), void *arg, u64 *regs): regs[] keeps what a caller may rely on, for
 * try_resume() to come back to when fn ends in an exception.
 */
	.globl	try_call
	.hidden	try_call
try_call:
	stp	x19, x20, [x2, #16 * 0]
	stp	x21, x22, [x2, #16 * 1]
	stp	x23, x24, [x2, #16 * 2]
	stp	x25, x26, [x2, #16 * 3]
	stp	x27, x28, [x2, #16 * 4]
	stp	x29, x30, [x2, #16 * 5]
	mov	x3, sp
	str	x3, [x2, #16 * 6]
	stp	x29, x30, [sp, #-16]!
	mov	x29, sp
	mov	x4, x0
	mov	x0, x1
	blr	x4
	ldp	x29, x30, [sp], #16
	mov	w0, #1
	ret

/* Entered by an exception return with x0 = regs[] */
	.globl	try_resume
	.hidden	try_resume
try_resume:
	ldp	x19, x20, [x0, #16 * 0]
	ldp	x21, x22, [x0, #16 * 1]
	ldp	x23, x24, [x0, #16 * 2]
	ldp	x25, x26, [x0, #16 * 3]
	ldp	x27, x28, [x0, #16 * 4]
	ldp	x29, x30, [x0, #16 * 5]
	ldr	x3, [x0, #16 * 6]
	mov	sp, x3
	mov	w0, #0
	ret
