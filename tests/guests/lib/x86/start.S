/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entry of an x86 guest by the PVH protocol (32-bit protected mode, EBX = hvm_start_info), of its
 * other vCPUs from SIPI, the exception and interrupt stubs, and try_call(). The first 4 GiB are
 * mapped one to one, for user mode too.
 */
#include <x86_regs.h>

	.section .note.pvh, "a", @note
	.balign	4
	.long	4, 8, 18 /* "Xen", XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz	"Xen"
	.quad	_start

	.section .start, "ax"
	.code32
	.globl	_start
_start:
	cli
	mov	%ebx, %ebp
	mov	$stacks + STACK_BYTES, %esp
	mov	$page_tables + 0x2000, %edi
	mov	$0x87, %eax
	mov	$2048, %ecx
1:	mov	%eax, (%edi)
	movl	$0, 4(%edi)
	add	$0x200000, %eax
	add	$8, %edi
	loop	1b
	movl	$page_tables + 0x1007, page_tables
	movl	$page_tables + 0x2007, page_tables + 0x1000
	movl	$page_tables + 0x3007, page_tables + 0x1008
	movl	$page_tables + 0x4007, page_tables + 0x1010
	movl	$page_tables + 0x5007, page_tables + 0x1018
	xor	%esi, %esi

/* EBP = argument, ESI = number of this vCPU, ESP = its stack. */
enter_long_mode:
	mov	$CR4_VALUE, %eax
	mov	%eax, %cr4
	mov	$page_tables, %eax
	mov	%eax, %cr3
	mov	$MSR_EFER, %ecx
	rdmsr
	or	$EFER_LME, %eax
	wrmsr
	mov	$CR0_VALUE, %eax
	mov	%eax, %cr0
	lgdt	gdt_pointer
	ljmp	$SEL_CODE64, $long_mode

	.code64
long_mode:
	mov	$SEL_DATA, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	xor	%eax, %eax
	mov	%eax, %fs
	mov	%eax, %gs
	lidt	idt_pointer
	mov	%ebp, %edi
	xor	%ebp, %ebp
	test	%esi, %esi
	jnz	1f
	call	runtime_main
1:	mov	%esi, %edi
	call	runtime_secondary

	.code32
ap_protected_mode:
	mov	$SEL_DATA, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	ap_cpu, %esi
	mov	%esi, %eax
	inc	%eax
	imul	$STACK_BYTES, %eax
	lea	stacks(%eax), %esp
	jmp	enter_long_mode

/* Copied to TRAMPOLINE; real mode, CS = TRAMPOLINE / 16. */
	.section .rodata.trampoline, "a"
	.code16
	.globl	trampoline, trampoline_end
trampoline:
	cli
	mov	%cs, %ax
	mov	%ax, %ds
	lgdtl	trampoline_gdt - trampoline
	mov	%cr0, %eax
	or	$1, %eax
	mov	%eax, %cr0
	ljmpl	$SEL_CODE32, $ap_protected_mode
trampoline_gdt:
	.word	gdt_end - gdt - 1
	.long	gdt
trampoline_end:

	.section .data.tables, "aw"
	.balign	8
	.globl	gdt
gdt:	.quad	0
	.quad	0x00af9b000000ffff /* code, 64 bit */
	.quad	0x00cf93000000ffff /* data */
	.quad	0x00cf9b000000ffff /* code, 32 bit */
	.quad	0x00cff3000000ffff /* user data */
	.quad	0x00affb000000ffff /* user code, 64 bit */
	.quad	0, 0 /* TSS of vCPU 0, filled in */
gdt_end:
gdt_pointer:
	.word	gdt_end - gdt - 1
	.quad	gdt
	.globl	idt_pointer
idt_pointer:
	.word	4095
	.quad	idt

	.section .bss.page_tables, "aw", @nobits
	.balign	4096
page_tables:
	.skip	0x6000

	.text
	.code64
	.globl	vector_stubs
	.balign	16
vector_stubs:
	.set	vec, 0
	.rept	256
	.balign	16
	.if	!(vec == 8 || (vec >= 10 && vec <= 14) || vec == 17 || vec == 21)
	push	$0
	.endif
	push	$vec
	jmp	trap_common
	.set	vec, vec + 1
	.endr

trap_common:
	push	%rax
	push	%rcx
	push	%rdx
	push	%rbx
	push	%rbp
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	cld
	mov	%rsp, %rdi
	call	x86_trap
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rbp
	pop	%rbx
	pop	%rdx
	pop	%rcx
	pop	%rax
	add	$16, %rsp
	iretq

/* bool try_call_asm(fn, arg, u64 *sp): true when the fault handler came back by try_resume. */
	.globl	try_call_asm, try_resume
try_call_asm:
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	sub	$8, %rsp
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rsp, (%rdx)
	call	*%rax
	xor	%eax, %eax
1:	add	$8, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
try_resume:
	mov	$1, %eax
	jmp	1b
