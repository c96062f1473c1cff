/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other CPUs' way in: a start-up IPI puts them in real mode at the trampoline's page, from where
 * they jump to the image itself (paging still off) and on to long mode. A CPU that isn't the one the
 * mailbox is made out to (a late comer that was given up) parks itself.
 */
#include <asm/cpu.h>
#include "boot.h"

	.section .rodata.trampoline, "a"
	.code16
	.globl x86_trampoline, x86_trampoline_end
x86_trampoline:
	cli
	cld
	movw %cs, %ax
	movw %ax, %ds
	lgdtl ap_gdt_ptr - x86_trampoline
	movl %cr0, %eax
	orl $CR0_PE, %eax
	movl %eax, %cr0
	ljmpl $X86_SEL_CODE32, $ap_entry32
	.balign 4
ap_gdt_ptr:
	.word 4 * 8 - 1
	.long boot_gdt
x86_trampoline_end:

	.text
	.code32
ap_entry32:
	movl $X86_SEL_DATA, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	xorl %ecx, %ecx
	movl x86_ap_id_leaf, %eax
	cmpl $0xb, %eax
	cpuid
	je 1f
	movl %ebx, %edx
	shrl $CPUID_1_EBX_APIC_ID_SHIFT, %edx
1:	cmpl %edx, x86_ap_id
	jne park
	/* claim it: pairs with the release store of x86_ap_armed in arch_cpu_start() */
	xorl %eax, %eax
	xchgl %eax, x86_ap_armed
	testl %eax, %eax
	jz park
	movl x86_host_cr3, %eax
	movl %eax, %cr3
	movl $x86_boot_ap_stack_end, %esp
	call long_mode_on
	lgdt boot_gdt_ptr
	ljmp $X86_SEL_CODE64, $ap_entry64
park:
	cli
	hlt
	jmp park

	.code64
ap_entry64:
	movl $X86_SEL_DATA, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movl %eax, %fs
	movl %eax, %gs
	movq x86_ap_stack, %rsp
	movl x86_ap_cpu, %edi
	xorl %ebp, %ebp
	call x86_ap_start
	ud2

	.section .bss.ap, "aw", @nobits
	.balign 8
	.globl x86_ap_stack, x86_ap_id, x86_ap_id_leaf, x86_ap_cpu, x86_ap_armed
x86_ap_stack:
	.skip 8
x86_ap_id:
	.skip 4
x86_ap_id_leaf:
	.skip 4
x86_ap_cpu:
	.skip 4
x86_ap_armed:
	.skip 4
	.skip 8
x86_boot_ap_stack_end: /* one return address, one CPU at a time */

	.section .note.GNU-stack, "", @progbits
