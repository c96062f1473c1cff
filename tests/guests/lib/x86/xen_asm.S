/* SPDX-License-Identifier: GPL-2.0-only */
/* u64 xen_call_at(slot, a, b, c, d): call a slot of the hypercall page; RDI RSI RDX R10 are its arguments. */
	.text
	.code64
	.globl	xen_call_at
	.type	xen_call_at, @function
xen_call_at:
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	jmp	*%rax
	.size	xen_call_at, . - xen_call_at

	.section .note.GNU-stack, "", @progbits
