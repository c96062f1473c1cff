/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupt latency to the first instruction of the handler. The vectors here know two registers of
 * the code they interrupt: x9 gets the counter, x10 becomes 1; x12 and x13 are scratch. Interrupts are
 * masked on entry and exit of the functions. What is named _v2 is for a GICv2.
 */
#include <arm64_regs.h>

#define ICC_SGI1R S3_0_C12_C11_5
#define ICC_IAR1  S3_0_C12_C12_0
#define ICC_EOIR1 S3_0_C12_C12_1
#define GICC_HIGH 0x0801 /* the upper half of its address, as in gic.c; the lower one is 0 */
#define GICC_IAR  0x0c
#define GICC_EOIR 0x10

	.section .text.measure, "ax"
	.balign	2048
	.globl	measure_vectors
measure_vectors:
	.skip	0x280
	mrs	x9, cntvct_el0
	mrs	x12, ICC_IAR1
	msr	cntv_ctl_el0, xzr
	isb
	msr	ICC_EOIR1, x12
	mov	x10, #1
	eret
	.balign	2048
	.globl	measure_vectors_v2
measure_vectors_v2:
	.skip	0x280
	mrs	x9, cntvct_el0
	mov	x12, #GICC_HIGH << 16
	ldr	w13, [x12, #GICC_IAR]
	msr	cntv_ctl_el0, xzr
	isb
	str	w13, [x12, #GICC_EOIR]
	mov	x10, #1
	eret
	.balign	2048

/* u64 measure_sgi(u64 sgi1r): from the write that sends it. */
	.globl	measure_sgi
measure_sgi:
	mov	x10, #0
	msr	daifclr, #2
	isb
	mrs	x11, cntvct_el0
	msr	ICC_SGI1R, x0
1:	cbz	x10, 1b
	msr	daifset, #2
	sub	x0, x9, x11
	ret

/* u64 measure_sgi_v2(u64 val, u64 gicd_sgir): likewise. */
	.globl	measure_sgi_v2
measure_sgi_v2:
	mov	x10, #0
	msr	daifclr, #2
	isb
	mrs	x11, cntvct_el0
	str	w0, [x1]
1:	cbz	x10, 1b
	msr	daifset, #2
	sub	x0, x9, x11
	ret

/* u64 measure_timer(u64 deadline): spinning. */
	.globl	measure_timer
measure_timer:
	mov	x10, #0
	mov	x11, #CTL_ENABLE
	msr	cntv_cval_el0, x0
	msr	cntv_ctl_el0, x11
	msr	daifclr, #2
	isb
1:	cbz	x10, 1b
	msr	daifset, #2
	sub	x0, x9, x0
	ret

/* u64 measure_timer_wfi(u64 deadline): asleep. Masked while it looks, so that no wake-up is lost. */
	.globl	measure_timer_wfi
measure_timer_wfi:
	mov	x10, #0
	mov	x11, #CTL_ENABLE
	msr	cntv_cval_el0, x0
	msr	cntv_ctl_el0, x11
	isb
1:	wfi
	msr	daifclr, #2
	isb
	msr	daifset, #2
	cbz	x10, 1b
	sub	x0, x9, x0
	ret
