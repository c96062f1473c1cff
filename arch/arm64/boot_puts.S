/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text before there is a console, at any Exception level, MMU off or on: to each PL011 that is where a
 * board in the list has one. Registers only. It must never write where no PL011 has been seen: RAM may be
 * there, or nothing; an abort while looking is an answer too.
 */
#include <asm/boot.h>
#include <asm/sysreg.h>

#include "../../drivers/uart/pl011.h"

	.text
/* void boot_early_puts(const char *s): polled, bounded. */
	.globl	boot_early_puts
	.hidden	boot_early_puts
boot_early_puts:
	mov	x8, x0
	mov	x9, x30
	mov	x10, #0
1:	mov	x0, x10
	bl	boot_early_uart
	cbz	x0, 4f
	mov	x10, x0
	mov	x11, x8
2:	ldrb	w2, [x11], #1
	cbz	w2, 1b
	mov	w3, #0x100000
3:	ldr	w4, [x10, #PL011_FR]
	tst	w4, #PL011_FR_TXFF
	b.eq	5f
	subs	w3, w3, #1
	b.ne	3b
	b	1b			/* stuck */
5:	str	w2, [x10, #PL011_DR]
	b	2b
4:	ret	x9

/* u64 boot_early_uart(u64 after): the next address in the list behind `after` (0: the first) with a PL011. */
	.globl	boot_early_uart
	.hidden	boot_early_uart
boot_early_uart:
	adrp	x5, early_vectors
	add	x5, x5, :lo12:early_vectors
	mrs	x1, CurrentEL
	cmp	x1, #CURRENTEL_EL2
	b.lo	1f
	b.hi	2f
	mrs	x6, vbar_el2
	msr	vbar_el2, x5
	b	3f
1:	mrs	x6, vbar_el1
	msr	vbar_el1, x5
	b	3f
2:	mrs	x6, vbar_el3
	msr	vbar_el3, x5
3:	isb
	adr	x18, boot_probe_failed
	adrp	x7, boot_early_uarts
	add	x7, x7, :lo12:boot_early_uarts
4:	ldr	w2, [x7], #4		/* skip up to and with `after` */
	cbz	x0, 6f
	cmp	x2, x0
	b.ne	4b
	.globl	boot_probe_failed
	.hidden	boot_probe_failed
boot_probe_failed:			/* where early_vectors go while x18 says so */
5:	ldr	w2, [x7], #4
6:	cbz	w2, 8f
	add	x3, x2, #PL011_PCELLID0
	mov	x4, #0
	mov	w0, #12
7:	ldr	w5, [x3, w0, uxtw]
	and	w5, w5, #0xff
	orr	w4, w5, w4, lsl #8
	subs	w0, w0, #4
	b.pl	7b
	mov	w5, #(PL011_PCELLID & 0xffff)
	movk	w5, #(PL011_PCELLID >> 16), lsl #16
	cmp	w4, w5
	b.ne	5b
8:	mov	x18, xzr
	mov	x0, x2
	cmp	x1, #CURRENTEL_EL2
	b.lo	1f
	b.hi	2f
	msr	vbar_el2, x6
	b	3f
1:	msr	vbar_el1, x6
	b	3f
2:	msr	vbar_el3, x6
3:	isb
	ret

	.section .rodata.boot_uarts, "a"
	.balign	4
	.globl	boot_early_uarts
	.hidden	boot_early_uarts
boot_early_uarts:			/* C: const u32 [], 0 at the end */
	.long	CONFIG_EARLY_PL011
	.long	0x3f201000		/* Raspberry Pi 3 */
	.long	0x60000000		/* sbsa-ref */
	.long	0xfe201000		/* Raspberry Pi 4 */
	.long	0xff000000		/* Versal */
	.long	0
