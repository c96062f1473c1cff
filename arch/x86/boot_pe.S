/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The image as an EFI application: a PE/COFF header at its front (Microsoft PE format, "COFF File
 * Header" on), firmware's way into it, and the way from there to where it was linked. All of this runs
 * wherever firmware has put the image, so that nothing here may name an address of its own absolutely.
 */
#include <asm/cpu.h>
#include "boot.h"

#define PE_AMD64	  0x8664
#define PE_EXECUTABLE	  0x0002
#define PE_PLUS		  0x020b
#define PE_EFI_APP	  10
#define PE_NX_COMPAT	  0x0100
#define PE_CODE_RX	  0x60000020
#define PE_DATA_R	  0x40000040
#define PE_DATA_RW	  0xc0000040
#define PE_FILE_ALIGNMENT 512

	/* The sizes and addresses here are the linker script's: offsets from the start of the image. */
	.section .head.pe, "a"
	.ascii "MZ"
	.org 0x3c
	.long 0x40
	.ascii "PE\0\0"
	.word PE_AMD64
	.word (pe_sections_end - pe_sections) / 40
	.long 0, 0, 0
	.word pe_sections - pe_optional
	.word PE_EXECUTABLE
pe_optional:
	.word PE_PLUS, 0
	.long pe_text_size, pe_data_size, 0
	.long pe_entry
	.long pe_text
	.quad 0 /* anywhere: there is nothing to relocate */
	.long 4096, PE_FILE_ALIGNMENT
	.long 0, 0, 0, 0
	.long pe_image_size
	.long pe_text
	.long 0
	.word PE_EFI_APP, PE_NX_COMPAT
	.quad 0, 0, 0, 0
	.long 0, 0 /* no directories */

	.macro pe_section name, start, size, file_size, flags
	.ascii "\name"
	.org pe_sections + 40 * pe_nr + 8
	.long \size, \start, \file_size, \start, 0, 0, 0, \flags
	.set pe_nr, pe_nr + 1
	.endm
	.set pe_nr, 0
pe_sections:
	pe_section .text, pe_text, pe_text_size, pe_text_size, PE_CODE_RX
	pe_section .rodata, pe_rodata, pe_rodata_size, pe_rodata_size, PE_DATA_R
	pe_section .data, pe_data, pe_data_size, pe_data_file_size, PE_DATA_RW
pe_sections_end:

	.section .text.efi, "ax"
	.code64
/* u64 EFIAPI x86_efi_application(EFI_HANDLE image, EFI_SYSTEM_TABLE *table): UEFI 2.10, 2.3.4 */
	.globl x86_efi_application
x86_efi_application:
	pushq %rdi
	pushq %rsi
	subq $8, %rsp
	movq %rdx, %rsi
	rdtsc
	shlq $32, %rdx
	orq %rax, %rdx
	movq %rcx, %rdi
	call x86_efi_main
	addq $8, %rsp
	popq %rsi
	popq %rdi
	ret

/*
 * void x86_efi_relay(struct efi_info *info, void *copy): this runs in `copy`, which holds all that is in the
 * file and lies below 4 GiB. APM vol. 2, 14.7: to 32-bit code, out of paging, and the stack is gone.
 */
	.globl x86_efi_relay
x86_efi_relay:
	cli
	cld
	movl %edi, %ebx
	movq %rsi, %rdx
	subq $__image_start, %rdx
	leaq boot_gdt(%rdx), %rax
	pushq %rax
	subq $8, %rsp
	movw $X86_SEL_TSS - 1, 6(%rsp)
	lgdt 6(%rsp)
	leaq x86_relay32(%rdx), %rax
	pushq $X86_SEL_CODE32
	pushq %rax
	lretq

	.code32
x86_relay32:
	movl $X86_SEL_DATA, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movl %cr0, %eax
	andl $~CR0_PG, %eax
	movl %eax, %cr0
	xorl %eax, %eax
	movl %eax, %cr4 /* five levels, keys and what else firmware liked */
	movl $__image_start, %edi
	movl $__file_end, %ecx
	subl %edi, %ecx
	rep movsb
	movl $__image_end, %ecx
	subl %edi, %ecx
	rep stosb
	ljmp $X86_SEL_CODE32, $x86_efi_entry

	.section .note.GNU-stack, "", @progbits
