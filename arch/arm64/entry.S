/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first instructions of the boot CPU and of every secondary: from firmware, MMU off, to C with the
 * MMU on. Nothing here may use memory before the caches agree with it, and nothing here may need an
 * address that the image was not yet relocated for.
 */
#include <asm/boot.h>
#include <asm/sysreg.h>

	.macro	adr_l reg, sym
	adrp	\reg, \sym
	add	\reg, \reg, :lo12:\sym
	.endm

	.macro	mov_w32 reg, value
	movz	\reg, #((\value) & 0xffff)
	movk	\reg, #(((\value) >> 16) & 0xffff), lsl #16
	.endm

	/*
	 * The first page is the header of a flat Image (Linux, Documentation/arch/arm64/booting.rst, "Call the
	 * kernel image") and of a PE/COFF EFI application (Microsoft PE format, "COFF File Header" on). Of this page
	 * an EFI loader loads the header alone, and may make it read-only. So what follows the header comes a second
	 * time as a section behind the image, from where it is copied to its place once the MMU is off.
	 */
	.section .text.head, "ax"
	.globl	__image_start
	.hidden	__image_start
__image_start:
	ccmp	x18, #0, #0xd, pl	/* does nothing, and reads "MZ" */
	b	entry
	.quad	0			/* text_offset */
	.long	image_size, 0		/* with .bss */
	.quad	(1 << 3) | (1 << 1)	/* anywhere in memory; 4 KiB pages; little endian */
	.quad	0, 0, 0
	.ascii	"ARMd"
	.long	pe_header - __image_start

pe_header:
	.ascii	"PE\0\0"
	.hword	0xaa64			/* AArch64 */
	.hword	3			/* sections */
	.long	0, 0, 0
	.hword	pe_sections - pe_optional
	.hword	0x206			/* executable, no line numbers, no symbols */
pe_optional:
	.hword	0x20b			/* PE32+ */
	.hword	0
	.long	pe_text_size
	.long	pe_data_size
	.long	0
	.long	efi_offset
	.long	PE_PAGE_SIZE		/* base of code */
	.quad	0			/* linked at */
	.long	PE_PAGE_SIZE		/* sections start at multiples of this */
	.long	PE_FILE_ALIGN
	.long	0, 0, 0, 0
	.long	pe_image_size
	.long	PE_FILE_ALIGN		/* headers */
	.long	0
	.hword	10			/* EFI application */
	.hword	0x100			/* at home where data can't be executed */
	.quad	0, 0, 0, 0
	.long	0
	.long	6			/* directories: none; less than these some firmware does not take */
	.quad	0, 0, 0, 0, 0, 0
pe_sections:
	.ascii	".text\0\0\0"
	.long	pe_text_size, PE_PAGE_SIZE, pe_text_size, PE_PAGE_SIZE
	.quad	0
	.long	0
	.long	0x60000020		/* code: execute, read */
	.ascii	".data\0\0\0"
	.long	pe_data_size, pe_data_offset
	.long	0			/* its size in the file: tools/pack-image knows it */
	.long	pe_data_offset
	.quad	0
	.long	0
	.long	0xc0000040		/* data: read, write */
	.ascii	".head\0\0\0"
	.long	PE_PAGE_SIZE - PE_FILE_ALIGN, image_size, PE_PAGE_SIZE - PE_FILE_ALIGN, PE_FILE_ALIGN
	.quad	0
	.long	0
	.long	0x40000040		/* data: read */
	.org	PE_FILE_ALIGN

/* From firmware, EL2, x0 = device tree. */
entry:
	mov	x21, x0
	mov	x22, #BOOT_FDT
	mrs	x19, CurrentEL
	cmp	x19, #CURRENTEL_EL2
	b.ne	wrong_el
	mrs	x20, cntpct_el0
	b	begin

	.text
/* EFI's way in: image handle, system table, on firmware's stack and tables (UEFI 2.10, 2.3.6). */
	.globl	efi_entry
	.hidden	efi_entry
efi_entry:
	mrs	x2, cntpct_el0
	mov	x6, x0
	mov	x7, x30
	bl	relocate
	mov	x0, x6
	mov	x30, x7
	b	boot_efi		/* whose caller is firmware */

/* void boot_enter(const struct efi_info *info): the end of boot services, at EL2 with the MMU on. */
	.globl	boot_enter
	.hidden	boot_enter
boot_enter:
	mov	x21, x0
	mov	x22, #BOOT_EFI
	ldr	x20, [x0, #EFI_INFO_COUNTER]

/* x20 = counter at entry, x21 = what firmware left, x22 = how. */
begin:
	msr	daifset, #0xf
	msr	spsel, #1
	adr_l	x0, early_vectors
	msr	vbar_el2, x0
	msr	tpidr_el2, xzr		/* percpu.h: 0 until the CPU has an area of its own */
	isb

	/*
	 * Firmware may have left the MMU and caches on. What was written through them, this code too, has to be in
	 * memory before they go off; and once more afterwards, for the lines that were fetched meanwhile, unasked.
	 * With the MMU off none is allocated again, so what we write below is what the MMU-on world will read.
	 */
	mrs	x0, sctlr_el2
	tbz	x0, #0, 1f		/* SCTLR_M: off already */
	bl	clean_image
1:	mov_w32	x0, SCTLR_EL2_RES1
	msr	sctlr_el2, x0
	isb
	mov_w32	x0, HCR_RW
	msr	hcr_el2, x0
	isb
	bl	clean_image
	cbz	x22, 2f

	adr_l	x0, __image_start + PE_FILE_ALIGN
	adr_l	x1, __image_end
1:	ldp	x2, x3, [x1], #16
	stp	x2, x3, [x0], #16
	tst	x0, #(PE_PAGE_SIZE - 1)
	b.ne	1b
	ic	iallu
	dsb	nsh
	isb

2:	adr_l	x0, boot_stack_top
	mov	sp, x0
	mov	x29, xzr
	mov	x30, xzr
	cbnz	x22, 2f			/* by EFI it is relocated already */
	bl	relocate
2:	bl	clear_bss

	mov	x0, x21
	mov	x1, x22
	bl	boot_early_mmu
	bl	mmu_switch
	mov	x0, x21
	mov	x1, x22
	mov	x2, x20
	mov	x30, xzr
	b	boot_main

/* x19 = CurrentEL. The device tree may name a console, so it is C that says it; the MMU stays off. */
wrong_el:
	msr	daifset, #0xf
	msr	spsel, #1
	adr_l	x0, early_vectors
	cmp	x19, #CURRENTEL_EL3
	b.eq	1f
	msr	vbar_el1, x0
	b	2f
1:	msr	vbar_el3, x0
2:	isb
	adr_l	x0, boot_stack_top
	mov	sp, x0
	mov	x29, xzr
	mov	x30, xzr
	bl	relocate
	bl	clear_bss
	bl	wrong_el_text
	mov	x1, x0
	mov	x0, x21
	b	boot_wrong_el

/* Where that ends when it fails. */
wrong_el_failed:
	bl	wrong_el_text
	bl	boot_early_puts
	b	boot_halt

wrong_el_text:
	adr_l	x0, el1_text
	adr_l	x1, el3_text
	mrs	x2, CurrentEL
	cmp	x2, #CURRENTEL_EL3
	csel	x0, x1, x0, eq
	ret

clear_bss:
	adr_l	x0, __bss_start
	adr_l	x1, __bss_end
1:	stp	xzr, xzr, [x0], #16
	cmp	x0, x1
	b.lo	1b
	ret

/* void boot_halt(void) */
	.globl	boot_halt
	.hidden	boot_halt
boot_halt:
	wfi
	b	boot_halt

/* The image was linked at 0: every place in the table (tools/pack-image) gets added where it is. x0 and x8-x12 are lost. */
relocate:
	adr_l	x0, __image_start
	adr_l	x8, __rela_start
	mov	x9, x0
	mov	w12, #0xffff		// FAR of tools/pack-image
1:	ldrh	w10, [x8], #2
	cbz	w10, 2f
	add	x9, x9, x10, lsl #3
	cmp	w10, w12
	b.eq	3f
	ldr	x11, [x9]
	add	x11, x11, x0
	str	x11, [x9]
	b	1b
3:	sub	x9, x9, #8
	b	1b
2:	ret

/* The image to the point of coherency, and EFI's page behind it. CTR_EL0.DminLine, Arm ARM D19.2.34, counts words. */
clean_image:
	adr_l	x0, __image_start
	adr_l	x1, __image_end
	add	x1, x1, x22, lsl #12	/* BOOT_EFI is 1 */
	mrs	x2, ctr_el0
	ubfx	x2, x2, #16, #4
	mov	x3, #4
	lsl	x2, x3, x2
	sub	x3, x2, #1
	bic	x0, x0, x3
1:	dc	civac, x0
	add	x0, x0, x2
	cmp	x0, x1
	b.lo	1b
	dsb	sy
	ret

	.text
/* void mmu_switch(const struct mmu_regs *r) */
	.globl	mmu_switch
	.hidden	mmu_switch
mmu_switch:
	ldp	x1, x2, [x0]		/* ttbr, hcr */
	ldp	x3, x4, [x0, #16]	/* tcr, mair */
	ldr	x5, [x0, #32]		/* sctlr */
	mov_w32	x6, SCTLR_EL2_RES1
	dsb	sy			/* table writes are done before any walk of them */
	msr	sctlr_el2, x6
	isb
	msr	hcr_el2, x2
	isb				/* E2H decides how the next registers are read */
	msr	ttbr0_el2, x1
	msr	tcr_el2, x3
	msr	mair_el2, x4
	isb
	tlbi	alle2
	ic	iallu
	dsb	nsh
	isb
	msr	sctlr_el2, x5
	isb
	ret

/* void call_on_stack(void (*fn)(void), u64 stack_top) */
	.globl	call_on_stack
	.hidden	call_on_stack
call_on_stack:
	mov	sp, x1
	mov	x29, xzr
	mov	x30, xzr
	br	x0

/*
 * From a spin table (Linux, Documentation/arch/arm64/booting.rst), MMU off, with nothing in x0. Whoever
 * comes late must find its own struct secondary_boot, not that of the CPU that is being started meanwhile.
 */
	.globl	secondary_spin_entry
	.hidden	secondary_spin_entry
secondary_spin_entry:
	mrs	x2, mpidr_el1
	ubfx	x1, x2, #0, #24		/* MPIDR_AFFINITY_MASK */
	ubfx	x2, x2, #32, #8
	orr	x1, x1, x2, lsl #32
	adr_l	x0, secondary_list - SECONDARY_NEXT
1:	ldr	x0, [x0, #SECONDARY_NEXT]
	cbz	x0, 2f
	ldr	x2, [x0, #SECONDARY_HWID]
	cmp	x1, x2
	b.ne	1b

/* PSCI CPU_ON comes here with the MMU off and x0 = struct secondary_boot. */
	.globl	secondary_entry
	.hidden	secondary_entry
secondary_entry:
	mrs	x1, CurrentEL
	cmp	x1, #CURRENTEL_EL2
	b.ne	2f			/* the boot CPU names the one it waited for in vain */
	msr	daifset, #0xf
	msr	spsel, #1
	adr_l	x1, early_vectors
	msr	vbar_el2, x1
	mov	x19, x0
	add	x0, x0, #SECONDARY_MMU
	bl	mmu_switch
	ldr	x1, [x19, #SECONDARY_STACK]
	mov	sp, x1
	mov	x0, x19
	mov	x29, xzr
	mov	x30, xzr
	b	secondary_main
2:	b	boot_halt

/* In force until trap_cpu_init(): whatever comes is fatal and is told in raw numbers. */
	.section .text.vectors, "ax"
	.balign	2048
	.globl	early_vectors
	.hidden	early_vectors
early_vectors:
	.rept	16
	.balign	128
	b	early_exception
	.endr

early_exception:
	adr_l	x3, boot_probe_failed	/* boot_puts.S looks whether a UART is there */
	cmp	x18, x3
	b.eq	boot_probe_failed
	adr_l	x3, boot_try_regs	/* boot_try() looks whether any other is */
	ldr	x0, [x3]
	cbz	x0, 1f
	str	xzr, [x3]
	b	try_resume
1:
	mrs	x3, CurrentEL
	cmp	x3, #CURRENTEL_EL2
	b.ne	wrong_el_failed
	adr_l	x3, boot_stack_top
	mov	sp, x3
	mrs	x0, esr_el2
	mrs	x1, elr_el2
	mrs	x2, far_el2
	b	boot_early_trap

	.section .bss.boot_stack, "aw", %nobits
	.balign	16
	.globl	boot_stack
	.hidden	boot_stack
boot_stack:
	.space	STACK_SIZE
	.globl	boot_stack_top
	.hidden	boot_stack_top
boot_stack_top:

	.section .rodata.boot_text, "a"
el1_text:
	.asciz	"Cupel: entered at EL1, but it needs EL2: enable virtualization (QEMU: -M virt,virtualization=on); halted\r\n"
el3_text:
	.asciz	"Cupel: entered at EL3, but it needs EL2: firmware must keep EL3 and hand over at EL2; halted\r\n"
