/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupt latency. The handlers here know three registers of the code they interrupt: r9d gets the
 * TSC, r10d becomes 1, eax and edx are scratch; rdi points to the local APIC. Interrupts are off on
 * entry and exit of the functions. Low halves of the TSC are enough.
 */
#include <x86_regs.h>

	.section .text.measure, "ax"
	.globl	measure_eoi_first, measure_time_first
measure_eoi_first:
	movl	$0, LAPIC_EOI(%rdi)
	rdtsc
	mov	%eax, %r9d
	mov	$1, %r10d
	iretq

measure_time_first:
	rdtsc
	mov	%eax, %r9d
	movl	$0, LAPIC_EOI(%rdi)
	mov	$1, %r10d
	iretq

/* u32 measure_self_ipi(u64 lapic, u32 icr): from the write that sends it to after the EOI. */
	.globl	measure_self_ipi
measure_self_ipi:
	xor	%r10d, %r10d
	sti
	rdtsc
	mov	%eax, %r8d
	mov	%esi, LAPIC_ICR(%rdi)
1:	test	%r10d, %r10d
	jz	1b
	cli
	mov	%r9d, %eax
	sub	%r8d, %eax
	ret

/* u32 measure_wait(u64 lapic): low half of the TSC at the handler of what is already armed. */
	.globl	measure_wait
measure_wait:
	xor	%r10d, %r10d
	sti
1:	test	%r10d, %r10d
	jz	1b
	cli
	mov	%r9d, %eax
	ret
