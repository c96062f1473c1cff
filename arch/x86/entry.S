/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the IDT leads: exceptions save every register, interrupts only those that C may change. Both
 * end with the stack 16-byte aligned at the call, and leave a frame that a backtrace can walk.
 * Never entered from user mode or with a guest's GS base: there is no SWAPGS here.
 */
#include "boot.h"

#define X86_FIRST_INTERRUPT 32
#define STUB_SIZE	    16

/* APM vol. 2, 8.2: #DF, #TS, #NP, #SS, #GP, #PF, #AC, #CP, #VC, #SX push an error code. */
#define HAS_ERROR_CODE 0x60227d00

	.text
	.globl x86_idt_stubs
	.balign STUB_SIZE
x86_idt_stubs:
	.set vector, 0
	.rept 256
	.balign STUB_SIZE
	.if vector >= X86_FIRST_INTERRUPT
	pushq $vector
	jmp interrupt_common
	.else
	.if ((HAS_ERROR_CODE >> vector) & 1) == 0
	pushq $0
	.endif
	pushq $vector
	jmp exception_common
	.endif
	.set vector, vector + 1
	.endr

exception_common:
	cld
	pushq %rax
	pushq %rbx
	pushq %rcx
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %rbp
	pushq %r8
	pushq %r9
	pushq %r10
	pushq %r11
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, %rdi
	pushq 17 * 8(%rdi) /* a frame of the interrupted code: its RIP and RBP */
	pushq %rbp
	movq %rsp, %rbp
	call x86_exception
	addq $16, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %r11
	popq %r10
	popq %r9
	popq %r8
	popq %rbp
	popq %rdi
	popq %rsi
	popq %rdx
	popq %rcx
	popq %rbx
	popq %rax
	addq $16, %rsp
	iretq

interrupt_common:
	pushq %rbp
	cld
	pushq %rax
	pushq %rcx
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %r8
	pushq %r9
	pushq %r10
	pushq %r11
	movl 10 * 8(%rsp), %edi
	pushq 11 * 8(%rsp) /* the same frame */
	pushq %rbp
	movq %rsp, %rbp
	call x86_interrupt
	addq $16, %rsp
	popq %r11
	popq %r10
	popq %r9
	popq %r8
	popq %rdi
	popq %rsi
	popq %rdx
	popq %rcx
	popq %rax
	popq %rbp
	addq $8, %rsp
	iretq

/*
 * bool x86_try_call(void (*fn)(void *), void *arg, struct x86_try_regs *regs): true when fn comes
 * back; x86_exception() resumes at x86_try_resume with the saved registers for false.
 */
	.globl x86_try_call, x86_try_resume
x86_try_call:
	movq %rbx, 0(%rdx)
	movq %rbp, 8(%rdx)
	movq %rsp, 16(%rdx)
	movq %r12, 24(%rdx)
	movq %r13, 32(%rdx)
	movq %r14, 40(%rdx)
	movq %r15, 48(%rdx)
	subq $8, %rsp
	movq %rdi, %rax
	movq %rsi, %rdi
	call *%rax
	addq $8, %rsp
	movl $1, %eax
	ret
x86_try_resume:
	xorl %eax, %eax
	ret

	.section .note.GNU-stack, "", @progbits
