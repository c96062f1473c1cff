/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entry by Multiboot 1 (0.6.96, 3.2), Multiboot 2 (2.0, 3.3), PVH (Xen's x86 HVM direct boot ABI),
 * from the EFI application (boot_efi.c), or by Linux's protocol (boot_linux.S): 32-bit protected mode, paging off, EBX = information. Checks what must hold, says on COM1 what does not, and goes to long
 * mode on an identity map of its own. Must not use anything of the loader's but EAX, EBX and the
 * memory behind EBX.
 */
#include <asm/cpu.h>
#include "boot.h"

#define MULTIBOOT_MAGIC	      0x1badb002
#define MULTIBOOT_LOADED      0x2badb002
#define MULTIBOOT_PAGE_ALIGN  0x1
#define MULTIBOOT_MEMORY_INFO 0x2
#define MULTIBOOT_FLAGS	      (MULTIBOOT_PAGE_ALIGN | MULTIBOOT_MEMORY_INFO)
#define MULTIBOOT_CMDLINE     16 /* offset in the information, whose flags come first */
#define MULTIBOOT_HAS_CMDLINE 0x4
#define MULTIBOOT2_MAGIC      0xe85250d6
#define MULTIBOOT2_LOADED     0x36d76289
#define MULTIBOOT2_I386	      0
#define MULTIBOOT2_ADDRESS    2 /* header tags: 3.1.5 to 3.1.11 */
#define MULTIBOOT2_ENTRY      3
#define MULTIBOOT2_ALIGN      6
#define MULTIBOOT2_FIRST_TAG  8 /* in the information: 3.6.2, 3.6.3 */
#define MULTIBOOT2_TAG_HEADER 8
#define MULTIBOOT2_CMDLINE    1
#define PVH_MAGIC	      0x336ec578
#define PVH_CMDLINE	      24
#define PVH_NOTE_PHYS32_ENTRY 18

#define COM1	   0x3f8
#define COM1_IER   (COM1 + 1)
#define COM1_FCR   (COM1 + 2)
#define COM1_LCR   (COM1 + 3)
#define COM1_MCR   (COM1 + 4)
#define COM1_LSR   (COM1 + 5)
#define LSR_THRE   0x20
#define PATIENCE   1000000 /* port reads: a microsecond each, where a text of 100 takes 9 ms */
#define DEBUG_EXIT 0xf4

#define PTE_P	    0x001
#define PTE_W	    0x002
#define PTE_PS	    0x080
#define MSR_EFER    0xc0000080
#define EFER_LME    0x100
#define EFER_NXE    0x800
#define MSR_GS_BASE 0xc0000101

/*
 * Until long mode: the image's first page, which loaders have looked at and nobody needs any more. If RAM ends
 * inside the image this page is there when .bss is not.
 */
#define EARLY_STACK_END __text_start

	/* On its own, so that a copy of the image can do without: see cupel.efi in the Makefile. */
	.section .multiboot, "a"
	.balign 4
	.long MULTIBOOT_MAGIC
	.long MULTIBOOT_FLAGS
	.long -(MULTIBOOT_MAGIC + MULTIBOOT_FLAGS)

/*
 * The address tag lets a loader that knows nothing of ELF place the image: from where this header is in
 * the file it knows where `load_addr` is there. cupel.efi is loaded in this way.
 */
	.section .multiboot2, "a"
	.balign 8
multiboot2:
	.long MULTIBOOT2_MAGIC
	.long MULTIBOOT2_I386
	.long multiboot2_end - multiboot2
	.long -(MULTIBOOT2_MAGIC + MULTIBOOT2_I386 + (multiboot2_end - multiboot2))
	.word MULTIBOOT2_ADDRESS, 0
	.long 24
	.long multiboot2, __image_start, __file_end, __image_end
	.word MULTIBOOT2_ENTRY, 0
	.long 12
	.long x86_multiboot_entry
	.balign 8
	.word MULTIBOOT2_ALIGN, 0
	.long 8
	.word 0, 0 /* the end */
	.long 8
multiboot2_end:

	.section .note.pvh, "a", @note
	.balign 4
	.long 4, 4, PVH_NOTE_PHYS32_ENTRY
	.asciz "Xen"
	.long x86_pvh_entry

	.section .text.head, "ax"
	.code32
	.globl x86_multiboot_entry
x86_multiboot_entry:
	cli
	cld
	movl $EARLY_STACK_END, %esp
	movl %eax, %ebp
	call note_tsc
	call com1_init
	movl $BOOT_MULTIBOOT, %edi
	cmpl $MULTIBOOT_LOADED, %ebp
	je common
	movl $BOOT_MULTIBOOT2, %edi
	movl $msg_magic, %esi
	cmpl $MULTIBOOT2_LOADED, %ebp
	je common
	jmp die

	.globl x86_pvh_entry
x86_pvh_entry:
	cli
	cld
	movl $EARLY_STACK_END, %esp
	call note_tsc
	call com1_init
	movl $msg_pvh, %esi
	cmpl $PVH_MAGIC, (%ebx)
	jne die
	movl $BOOT_PVH, %edi
	jmp common

/* boot_pe.S; the time is that of the application's first instruction. */
	.globl x86_efi_entry
x86_efi_entry:
	movl $EARLY_STACK_END, %esp
	movl EFI_INFO_COUNTER(%ebx), %eax
	movl EFI_INFO_COUNTER + 4(%ebx), %edx
	movl %eax, x86_boot_tsc
	movl %edx, x86_boot_tsc + 4
	call com1_init
	movl $BOOT_EFI, %edi
	jmp common

/* boot_linux.S */
	.globl x86_linux_entry
x86_linux_entry:
	movl $EARLY_STACK_END, %esp
	call note_tsc
	call com1_init
	movl $BOOT_LINUX, %edi

/* EDI = how, EBX = information. */
common:
	movl %ebx, %ebp
	movl $msg_memory, %esi
	movl $__image_end - 4, %edx
	movl %edx, (%edx)
	cmpl %edx, (%edx)
	jne die_info
	movl $0, (%edx)
	movl $0x80000000, %eax
	cpuid
	movl $msg_long_mode, %esi
	cmpl $0x80000001, %eax
	jb die_info
	movl $0x80000001, %eax
	cpuid
	testl $CPUID_8000_0001_EDX_LM, %edx
	jz die_info
	movl $msg_nx, %esi
	testl $CPUID_8000_0001_EDX_NX, %edx
	jz die_info

	call build_map
	movl $boot_pml4, %eax
	movl %eax, %cr3
	call long_mode_on
	lgdt boot_gdt_ptr
	ljmp $X86_SEL_CODE64, $entry64

/*
 * Identity map, all rights, of 512 GiB by 1 GiB pages (EDX says whether there are any), or of 4 GiB by
 * 2 MiB pages. It lives until x86_mm_init().
 */
build_map:
	movl $boot_pdpt + PTE_P + PTE_W, boot_pml4
	testl $CPUID_8000_0001_EDX_1G, %edx
	jz 2f
	xorl %ecx, %ecx
1:	movl %ecx, %eax
	shll $30, %eax
	orl $PTE_P + PTE_W + PTE_PS, %eax
	movl %eax, boot_pdpt(, %ecx, 8)
	movl %ecx, %eax
	shrl $2, %eax
	movl %eax, boot_pdpt + 4(, %ecx, 8)
	incl %ecx
	cmpl $512, %ecx
	jb 1b
	ret
2:	xorl %ecx, %ecx
3:	movl %ecx, %eax
	shll $21, %eax
	orl $PTE_P + PTE_W + PTE_PS, %eax
	movl %eax, boot_pd(, %ecx, 8)
	incl %ecx
	cmpl $4 * 512, %ecx
	jb 3b
	xorl %ecx, %ecx
4:	movl %ecx, %eax
	shll $12, %eax
	addl $boot_pd + PTE_P + PTE_W, %eax
	movl %eax, boot_pdpt(, %ecx, 8)
	incl %ecx
	cmpl $4, %ecx
	jb 4b
	ret

/* CR3 is set. APM vol. 2, 14.6: PAE, then LME, then PG. Also used by other CPUs (boot_ap.S). */
	.globl long_mode_on
long_mode_on:
	movl %cr4, %eax
	orl $CR4_PAE, %eax
	movl %eax, %cr4
	movl $MSR_EFER, %ecx
	rdmsr
	orl $EFER_LME + EFER_NXE, %eax
	wrmsr
	movl %cr0, %eax
	andl $~(CR0_CD | CR0_NW | CR0_EM | CR0_TS | CR0_AM), %eax
	orl $CR0_PG | CR0_WP | CR0_NE | CR0_MP | CR0_PE, %eax
	movl %eax, %cr0
	ret

note_tsc:
	rdtsc
	movl %eax, x86_boot_tsc
	movl %edx, x86_boot_tsc + 4
	ret

com1_init:
	movl $com1_setup, %esi
1:	lodsw
	movl %eax, %edx
	lodsb
	outb %al, %dx
	cmpl $com1_setup_end, %esi
	jb 1b
	ret

/*
 * ESI = text, EDI = how often to ask for "ready" in all: a UART that is stuck must not keep the machine
 * from its end. A port that isn't there reads as all ones, "ready".
 */
puts:
	lodsb
	testb %al, %al
	jz 2f
	movb %al, %cl
	movl $COM1_LSR, %edx
1:	testl %edi, %edi
	jz 3f
	decl %edi
	inb %dx, %al
	testb $LSR_THRE, %al
	jz 1b
3:	movb %cl, %al
	movl $COM1, %edx
	outb %al, %dx
	jmp puts
2:	ret

/* EDI = how, EBP = information, which may be wrong in any way: EBX = command line, "" if there is none. */
find_cmdline:
	movl $no_words, %ebx
	cmpl $BOOT_MULTIBOOT2, %edi
	je find_tag
	movl $MULTIBOOT_CMDLINE, %edx
	cmpl $BOOT_MULTIBOOT, %edi
	jne 1f
	testl $MULTIBOOT_HAS_CMDLINE, (%ebp)
	jz 3f
	jmp 2f
1:	movl $PVH_CMDLINE, %edx
	cmpl $BOOT_PVH, %edi
	je 2f
	movl $EFI_INFO_CMDLINE, %edx
	cmpl $BOOT_EFI, %edi
	je 2f
	movl $BOOT_PARAMS_CMDLINE, %edx
2:	movl (%ebp, %edx), %edx
	testl %edx, %edx
	jz 3f
	movl %edx, %ebx
3:	ret

/* EAX = tag, EDX = where the information ends, ECX = the tag's size: each step is one of 8 bytes at least. */
find_tag:
	leal MULTIBOOT2_FIRST_TAG(%ebp), %eax
	movl (%ebp), %edx
	addl %ebp, %edx
1:	cmpl %edx, %eax
	jae 3b
	cmpl $MULTIBOOT2_CMDLINE, (%eax)
	jb 3b
	je 2f
	movl 4(%eax), %ecx
	cmpl $MULTIBOOT2_TAG_HEADER, %ecx
	jb 3b
	addl $7, %ecx
	jc 3b
	andl $~7, %ecx
	addl %ecx, %eax
	jnc 1b
	ret
2:	leal MULTIBOOT2_TAG_HEADER(%eax), %ebx
	ret

/* ESI = why, EDI = how, EBP = information: end the emulator too if the command line allows it. */
die_info:
	call report
	call find_cmdline
2:	movl $word_debug_exit, %esi
	movl $word_debug_exit_len, %ecx
	movl %ebx, %edi
	repe cmpsb
	je 3f
	cmpb $0, (%ebx)
	je halt
	incl %ebx
	jmp 2b
3:	movl $1, %eax
	outl %eax, $DEBUG_EXIT
	jmp halt
die:
	call report
halt:
	cli
	hlt
	jmp halt

report:
	pushl %edi
	pushl %esi
	movl $PATIENCE, %edi
	movl $msg_prefix, %esi
	call puts
	popl %esi
	call puts
	movl $msg_suffix, %esi
	call puts
	popl %edi
	ret

	.code64
entry64:
	movl $X86_SEL_DATA, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movl %eax, %fs
	movl %eax, %gs
	xorl %eax, %eax
	xorl %edx, %edx
	movl $MSR_GS_BASE, %ecx
	wrmsr
	movq $x86_boot_stack_end, %rsp
	movl %ebp, %esi
	xorl %ebp, %ebp
	call x86_start
	ud2

/* void x86_switch_stack(void *top, void (*fn)(void)) */
	.globl x86_switch_stack
x86_switch_stack:
	movq %rdi, %rsp
	xorl %ebp, %ebp
	call *%rsi
	ud2

	.section .rodata.boot, "a"
com1_setup: /* 8N1 at 115200, FIFOs on and empty, no interrupts, DTR and RTS */
	.macro com1 port, value
	.word \port
	.byte \value
	.endm
	com1 COM1_IER, 0x00
	com1 COM1_LCR, 0x83
	com1 COM1, 0x01
	com1 COM1_IER, 0x00
	com1 COM1_LCR, 0x03
	com1 COM1_FCR, 0x07
	com1 COM1_MCR, 0x03
com1_setup_end:
msg_prefix:
	.asciz "cupel: cannot start: "
msg_suffix:
	.asciz "; halted\r\n"
msg_magic:
	.asciz "not entered by a Multiboot loader (EAX is not 0x2badb002 or 0x36d76289)"
msg_pvh:
	.asciz "not entered by a PVH loader (no hvm_start_info at EBX)"
msg_memory:
	.asciz "no memory for the image: RAM that begins at 1 MiB ends inside it"
msg_long_mode:
	.asciz "this CPU has no long mode (CPUID 8000_0001h EDX bit 29)"
msg_nx:
	.asciz "this CPU has no no-execute pages (CPUID 8000_0001h EDX bit 20)"
no_words:
	.byte 0
word_debug_exit:
	.ascii "debug-exit"
	.set word_debug_exit_len, . - word_debug_exit

	.balign 8
	.globl boot_gdt, boot_gdt_ptr
boot_gdt:
	.quad 0
	.quad 0x00af9b000000ffff /* X86_SEL_CODE64 */
	.quad 0x00cf93000000ffff /* X86_SEL_DATA */
	.quad 0x00cf9b000000ffff /* X86_SEL_CODE32 */
boot_gdt_end:
	.word 0
boot_gdt_ptr:
	.word boot_gdt_end - boot_gdt - 1
	.long boot_gdt
	.long 0

	.section .data.boot, "aw"
	.balign 8
	.globl x86_boot_tsc
x86_boot_tsc:
	.quad 0

	.section .bss.boot, "aw", @nobits
	.balign 4096
boot_pml4:
	.skip 4096
boot_pdpt:
	.skip 4096
boot_pd:
	.skip 4 * 4096
	.globl x86_boot_stack, x86_boot_stack_end
x86_boot_stack:
	.skip 16384
x86_boot_stack_end:

	.section .note.GNU-stack, "", @progbits
