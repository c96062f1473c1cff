/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Vectors that read the virtual counter before an interrupt goes where it always goes. Every other
 * exception does so at once.
 */
#include <arm64_regs.h>

	.text
	.balign	2048
	.globl	stamp_vectors
stamp_vectors:
	.set	slot, 0
	.rept	16
	.balign	128
	.if	slot == 5	/* IRQ, from EL1 with its own stack (Arm ARM D1.3.1.6) */
	stp	x9, x10, [sp, #-16]!
	mrs	x9, cntvct_el0
	adrp	x10, upcall_stamp
	str	x9, [x10, #:lo12:upcall_stamp]
	ldp	x9, x10, [sp], #16
	.endif
	b	vectors + slot * 128
	.set	slot, slot + 1
	.endr

/* void stamp_upcalls(void) */
	.globl	stamp_upcalls
stamp_upcalls:
	adrp	x0, stamp_vectors
	add	x0, x0, #:lo12:stamp_vectors
	msr	vbar_el1, x0
	isb
	ret

	.section .bss.upcall_stamp, "aw", @nobits
	.balign	64
	.globl	upcall_stamp
upcall_stamp:
	.skip	64
