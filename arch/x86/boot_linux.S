/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cupel.efi by the Linux/x86 boot protocol (Documentation/arch/x86/boot.rst, version 2.06): QEMU's -kernel
 * hands no initrd to its firmware, BIOS or UEFI, for a file without this header. The first page is the
 * "setup", which a BIOS loader enters in real mode; what follows it in the file is put at 1 MiB, a page
 * lower than linked, and entered there in 32-bit mode, ESI = boot_params.
 */
#include <asm/cpu.h>
#include "boot.h"

#define SETUP_SECTORS 7 /* behind the first: a page */
#define LOADED_HIGH   0x01
#define INITRD_MAX    0x7fffffff
#define CMDLINE_SIZE  2047
#define PAGE_SIZE     4096
#define LINKED_AT     0x100000 /* the image; and where this protocol puts what is behind the setup */
#define E820_MAX      128
#define E820_SIZE     20
#define SMAP	      0x534d4150 /* "SMAP": ACPI 6.5, 15.1 */

/* Offset in the file, and in the loader's segment. */
#define SETUP(label) ((label) - linux_header + 0x1f0)

	.section .head.setup, "ax"
	.code16
linux_header:
	.org 0x1f1 - 0x1f0
	.byte SETUP_SECTORS
	.word 0 /* root_flags */
	.long 0 /* syssize: the size of the file says it as well */
	.word 0, 0xffff, 0 /* ram_size, vid_mode, root_dev */
	.word 0xaa55
	.byte 0xeb, setup_code - 1f /* a short jump */
1:	.ascii "HdrS"
	.word 0x0206
	.long 0 /* realmode_swtch */
	.word 0, 0 /* start_sys_seg, kernel_version */
	.byte 0, LOADED_HIGH
	.word 0 /* setup_move_size */
	.long LINKED_AT /* code32_start */
	.long 0, 0 /* ramdisk_image, ramdisk_size */
	.long 0 /* bootsect_kludge */
	.word 0 /* heap_end_ptr */
	.byte 0, 0
	.long 0 /* cmd_line_ptr */
	.long INITRD_MAX
	.long 0 /* kernel_alignment */
	.byte 0, 0 /* not relocatable */
	.word 0
	.long CMDLINE_SIZE
setup_code:
	jmp setup_main
	.org BOOT_PARAMS_E820 - 0x1f0 /* the memory map goes here */
	.skip E820_MAX * E820_SIZE
setup_gdt: /* the protocol's selectors: 0x10 code, 0x18 data */
	.quad 0, 0
	.quad 0x00cf9b000000ffff, 0x00cf93000000ffff
setup_gdt_ptr:
	.word setup_gdt_ptr - setup_gdt - 1
	.long 0

/* The first page is our boot_params as well: what loaders see in it is no longer of use. */
setup_main:
	cld
	xorl %eax, %eax
	movl %eax, BOOT_PARAMS_RSDP
	movl %eax, BOOT_PARAMS_RSDP + 4
	movb %al, BOOT_PARAMS_NR_E820
	xorl %ebx, %ebx
	movw $BOOT_PARAMS_E820, %di
1:	movl $0xe820, %eax
	movl $E820_SIZE, %ecx
	movl $SMAP, %edx
	int $0x15
	jc 2f
	cmpl $SMAP, %eax
	jne 2f
	addw $E820_SIZE, %di
	incb BOOT_PARAMS_NR_E820
	cmpb $E820_MAX, BOOT_PARAMS_NR_E820
	jae 2f
	testl %ebx, %ebx
	jnz 1b
2:	movw $0x2401, %ax /* the BIOS switches address line 20 on, where there still is one */
	int $0x15
	cli
	xorl %esi, %esi
	movw %ds, %si
	shll $4, %esi
	leal SETUP(setup_gdt)(%esi), %eax
	movl %eax, SETUP(setup_gdt_ptr) + 2
	lgdtl SETUP(setup_gdt_ptr)
	movl %cr0, %eax
	orl $CR0_PE, %eax
	movl %eax, %cr0
	movw $0x18, %ax
	movw %ax, %ds
	movw %ax, %es
	movw %ax, %ss
	ljmpl $0x10, $LINKED_AT

/*
 * 32-bit entry, a page below where it is linked: nothing but the absolute addresses of the move names a
 * place. It is itself in the one page that the move leaves alone.
 */
	.section .text.first, "ax"
	.code32
	cli
	movl %esi, %ebx
	movl $__file_end - 4, %edi
	leal -PAGE_SIZE(%edi), %esi
	movl $x86_linux_words, %ecx
	std
	rep movsl
	cld
	movl $__file_end, %edi
	movl $__image_end, %ecx
	subl %edi, %ecx
	xorl %eax, %eax
	rep stosb
	movl $x86_linux_entry, %eax
	jmp *%eax

	.section .note.GNU-stack, "", @progbits
