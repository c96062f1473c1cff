/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entry of an arm64 guest at EL1 with the MMU off (x0 = device tree, or 0), of its secondary vCPUs
 * (x0 = number of the vCPU, from CPU_ON), the exception vectors, and try_call(). No C runs before
 * the identity map and caches are on.
 *
 * The map: the first GiB is device memory, all above is normal memory, so that an access outside RAM
 * gets to the second stage. The upper half of the address space shows the lower half again to EL0:
 * EL1 may not execute what EL0 can write (Arm ARM D8.4, permission checks).
 */
#include <arm64_regs.h>

#define FRAME_SIZE 272

	.section .start, "ax"
	.globl _start
_start:
	mov	x20, x0
	mov	x19, #0
	adr	x21, runtime_main
	b	enable_mmu

	.globl secondary_start
secondary_start:
	mov	x20, x0
	mov	x19, x0
	adr	x21, runtime_secondary

enable_mmu:
	msr	tpidr_el1, x19
	ldr	x0, =MAIR_VALUE
	msr	mair_el1, x0
	ldr	x0, =TCR_VALUE
	msr	tcr_el1, x0
	adrp	x0, page_table
	msr	ttbr0_el1, x0
	isb
	tlbi	vmalle1
	dsb	nsh
	isb
	ldr	x0, =SCTLR_VALUE
	msr	sctlr_el1, x0
	isb
	mov	x0, #CPACR_FPEN
	msr	cpacr_el1, x0
	adr	x0, vectors
	msr	vbar_el1, x0
	isb
	ldr	x1, =stacks
	add	x0, x19, #1
	mov	x2, #STACK_BYTES
	madd	x1, x0, x2, x1
	mov	sp, x1
	mov	x29, #0
	mov	x30, #0
	mov	x0, x20
	br	x21

	.macro	vector kind
	.balign	128
	sub	sp, sp, #FRAME_SIZE
	stp	x0, x1, [sp]
	mov	x0, #\kind
	b	exception_common
	.endm

	.text
	.balign	2048
	.globl	vectors
vectors:
	.irp	kind, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vector	\kind
	.endr

exception_common:
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x8, x9, [sp, #64]
	stp	x10, x11, [sp, #80]
	stp	x12, x13, [sp, #96]
	stp	x14, x15, [sp, #112]
	stp	x16, x17, [sp, #128]
	stp	x18, x19, [sp, #144]
	stp	x20, x21, [sp, #160]
	stp	x22, x23, [sp, #176]
	stp	x24, x25, [sp, #192]
	stp	x26, x27, [sp, #208]
	stp	x28, x29, [sp, #224]
	mrs	x2, elr_el1
	stp	x30, x2, [sp, #240]
	mrs	x2, spsr_el1
	str	x2, [sp, #256]
	mov	x1, sp
	bl	arm_exception
	ldr	x2, [sp, #256]
	msr	spsr_el1, x2
	ldp	x30, x2, [sp, #240]
	msr	elr_el1, x2
	ldp	x2, x3, [sp, #16]
	ldp	x4, x5, [sp, #32]
	ldp	x6, x7, [sp, #48]
	ldp	x8, x9, [sp, #64]
	ldp	x10, x11, [sp, #80]
	ldp	x12, x13, [sp, #96]
	ldp	x14, x15, [sp, #112]
	ldp	x16, x17, [sp, #128]
	ldp	x18, x19, [sp, #144]
	ldp	x20, x21, [sp, #160]
	ldp	x22, x23, [sp, #176]
	ldp	x24, x25, [sp, #192]
	ldp	x26, x27, [sp, #208]
	ldp	x28, x29, [sp, #224]
	ldp	x0, x1, [sp]
	add	sp, sp, #FRAME_SIZE
	eret

/* bool try_call_asm(fn, arg, u64 *sp): true when the fault handler came back by try_resume. */
	.globl try_call_asm
try_call_asm:
	stp	x29, x30, [sp, #-112]!
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	mov	x29, sp
	mov	x3, x0
	mov	x0, x1
	mov	x4, sp
	str	x4, [x2]
	blr	x3
	mov	x0, #0
1:	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	x29, x30, [sp], #112
	ret

	.globl try_resume
try_resume:
	mov	sp, x0
	mov	x0, #1
	b	1b

	.section .data.page_table, "aw"
	.balign	4096
page_table:
	.quad	PTE_DEVICE
	.set	gib, 1
	.rept	254
	.quad	(gib << 30) | PTE_NORMAL
	.set	gib, gib + 1
	.endr
	.quad	PTE_NORMAL
	.set	gib, 0
	.rept	256
	.quad	(gib << 30) | PTE_USER
	.set	gib, gib + 1
	.endr
