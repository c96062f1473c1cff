/* SPDX-License-Identifier: GPL-2.0-only */
/* Gates that read the TSC before an upcall goes where it always goes. */
#include <x86_regs.h>

	.macro	stamp_gate vector
	push	%rax
	push	%rdx
	rdtsc
	mov	%eax, upcall_stamp
	mov	%edx, upcall_stamp + 4
	pop	%rdx
	pop	%rax
	jmp	vector_stubs + 16 * \vector
	.endm

	.text
	.code64
	.globl	stamp_own, stamp_callback
stamp_own:
	stamp_gate VEC_UPCALL
stamp_callback:
	stamp_gate VEC_CALLBACK

	.section .bss.upcall_stamp, "aw", @nobits
	.balign	64
	.globl	upcall_stamp
upcall_stamp:
	.skip	64

	.section .note.GNU-stack, "", @progbits
