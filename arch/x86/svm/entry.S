/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The world switch. u32 svm_run_*(struct arch_vcpu *) enters the guest and stays in this loop for as
 * long as svm_light_exit() says that the exit is dealt with; what it returned otherwise is the result.
 *
 * Called with interrupts off and GIF set; returns so, with the guest's state in the VMCB. In between
 * GIF is clear: no interrupt, not even an NMI, is taken. Interrupts are on at VMRUN only, so that a
 * pending one ends guest mode (APM vol. 2, 15.21.1). RAX, RSP and RIP move with the VMCB.
 *
 * What VMLOAD moves (FS, GS, TR, LDTR, the system call MSRs) stays the guest's while
 * svm_light_exit() runs, but for the GS base, because per-CPU variables hang on it. With FSGSBASE
 * that costs six instructions an exit; without, svm_run_vmload moves the whole state each time.
 */
#include "offsets.h"

.macro load_guest_registers
	movq	VCPU_RCX(%rdi), %rcx
	movq	VCPU_RDX(%rdi), %rdx
	movq	VCPU_RBX(%rdi), %rbx
	movq	VCPU_RBP(%rdi), %rbp
	movq	VCPU_RSI(%rdi), %rsi
	movq	VCPU_R8(%rdi), %r8
	movq	VCPU_R9(%rdi), %r9
	movq	VCPU_R10(%rdi), %r10
	movq	VCPU_R11(%rdi), %r11
	movq	VCPU_R12(%rdi), %r12
	movq	VCPU_R13(%rdi), %r13
	movq	VCPU_R14(%rdi), %r14
	movq	VCPU_R15(%rdi), %r15
	movq	VCPU_RDI(%rdi), %rdi
.endm

/* RAX: struct arch_vcpu; it is in RDI afterwards. */
.macro save_guest_registers
	movq	%rdi, VCPU_RDI(%rax)
	movq	%rax, %rdi
	movq	%rcx, VCPU_RCX(%rdi)
	movq	%rdx, VCPU_RDX(%rdi)
	movq	%rbx, VCPU_RBX(%rdi)
	movq	%rbp, VCPU_RBP(%rdi)
	movq	%rsi, VCPU_RSI(%rdi)
	movq	%r8, VCPU_R8(%rdi)
	movq	%r9, VCPU_R9(%rdi)
	movq	%r10, VCPU_R10(%rdi)
	movq	%r11, VCPU_R11(%rdi)
	movq	%r12, VCPU_R12(%rdi)
	movq	%r13, VCPU_R13(%rdi)
	movq	%r14, VCPU_R14(%rdi)
	movq	%r15, VCPU_R15(%rdi)
.endm

.macro world_switch name, fsgsbase
	.text
	.global	\name
	.type	\name, @function
	.balign	16
\name:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rdi
	clgi
	movq	VCPU_CONTROL_PA(%rdi), %rax
	.if \fsgsbase
	vmload	%rax
	jmp	2f
1:
	movq	VCPU_GUEST_GS_BASE(%rdi), %rcx
	wrgsbase %rcx
2:
	.else
1:
	vmload	%rax
	.endif
	load_guest_registers
	sti
	vmrun	%rax
	cli
	.if !\fsgsbase
	vmsave	%rax
	.endif
	movq	(%rsp), %rax
	save_guest_registers
	.if \fsgsbase
	rdgsbase %rcx
	movq	%rcx, VCPU_GUEST_GS_BASE(%rdi)
	movq	VCPU_HOST_GS_BASE(%rdi), %rcx
	wrgsbase %rcx
	.else
	movq	VCPU_HOST_SAVE_PA(%rdi), %rax
	vmload	%rax
	.endif
	call	svm_light_exit
	movl	%eax, %ecx
	movq	(%rsp), %rdi
	movq	VCPU_CONTROL_PA(%rdi), %rax
	testl	%ecx, %ecx
	je	1b
	.if \fsgsbase
	movq	VCPU_GUEST_GS_BASE(%rdi), %rdx
	wrgsbase %rdx
	vmsave	%rax
	movq	VCPU_HOST_SAVE_PA(%rdi), %rax
	vmload	%rax
	.endif
	stgi
	movl	%ecx, %eax
	popq	%rdi
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret
	.size	\name, . - \name
.endm

	world_switch svm_run_gsbase, 1
	world_switch svm_run_vmload, 0

	.section .note.GNU-stack, "", @progbits
