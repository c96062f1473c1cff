/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What test_boards.py starts in place of QEMU's own boot code: puts CPU 1 into a spin table, and goes to the
 * image. CPU 1 is slow: it sees its word, and follows it 10.5 s later, when nobody waits for it any more,
 * but for CPU 2, which never comes. One page, the table at its end.
 */
#define CPU_ON 0xc4000003

	.text
	movz	x0, #(CPU_ON & 0xffff)
	movk	x0, #(CPU_ON >> 16), lsl #16
	mov	x1, #1
	adr	x2, slow
	smc	#0
	ldr	x0, tree
	ldr	x1, image
	br	x1

slow:	adr	x5, table
1:	ldr	x6, [x5]
	cbz	x6, 1b
	mrs	x1, cntfrq_el0
	mov	x2, #21
	mul	x1, x1, x2
	lsr	x1, x1, #1
	mrs	x2, cntpct_el0
	add	x1, x1, x2
2:	mrs	x2, cntpct_el0
	cmp	x2, x1
	b.lo	2b
	br	x6

	.balign	8
tree:	.quad	TREE
image:	.quad	IMAGE
	.org	0xff0
table:	.quad	0, 0
