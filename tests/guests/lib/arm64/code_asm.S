/* SPDX-License-Identifier: GPL-2.0-only */
/* Pieces of guests that must be exactly these instructions: the leave loop and the FP registers. */
#include <cupel/abi.h>

	.arch_extension fp
	.arch_extension simd

	.section .rodata.leave, "a"
	.globl	leave_loop, leave_loop_end
	.balign	64
leave_loop:
	mov	x9, x0
	mov	x10, x1
1:	ldr	x11, [x10]
	movz	w0, #(HC_LEAVE & 0xffff)
	movk	w0, #(HC_LEAVE >> 16), lsl #16
	hvc	#0
	subs	x9, x9, #1
	b.ne	1b
	ret
leave_loop_end:

/* State: V0..V31, then FPCR and FPSR as words. */
	.macro	each_pair op, base
	.irp	n, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
	one_pair \op, \n, %(\n+1), \base
	.endr
	.endm
	.altmacro
	.macro	one_pair op, a, b, base
	\op	q\a, q\b, [\base, #16 * \a]
	.endm

	.section .text.fp, "ax"
	.globl	fp_load, fp_store
fp_load:
	each_pair ldp, x0
	ldr	w1, [x0, #512]
	msr	fpcr, x1
	ldr	w1, [x0, #516]
	msr	fpsr, x1
	ret
fp_store:
	each_pair stp, x0
	mrs	x1, fpcr
	str	w1, [x0, #512]
	mrs	x1, fpsr
	str	w1, [x0, #516]
	ret
