/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A boot loader that goes to the image with the MMU and caches on, as no boot protocol allows and some do:
 * an identity map of 512 GiB in the tables at its end, the first GiB of it devices. HCR says whether E2H, and so
 * which of the two layouts of TCR_EL2 (Arm ARM D19.2.139), is in force.
 */
#define HCR_E2H_BIT 34
#define TCR	    0x3519		/* 39 bits of address, write-back, inner shareable */
#define TCR_NVHE    0x80820000		/* 40 bits out; bits 31 and 23 are RES1 */
#define TCR_VHE	    0x200800000		/* the same; no TTBR1_EL2 */
#define MAIR	    0xff04		/* 0: Device-nGnRE, 1: write-back */
#define BLOCK	    0x701		/* accessed, inner shareable */
#define BLOCK_NVHE  0x40		/* AP[1] is RES1 with one Exception level */

	.text
	ldr	x0, hcr
	msr	hcr_el2, x0
	isb
	adr	x3, table
	msr	ttbr0_el2, x3
	mov	x1, #MAIR
	msr	mair_el2, x1
	mov	x1, #BLOCK
	ldr	x2, tcr_vhe
	tbnz	x0, #HCR_E2H_BIT, 1f
	mov	x1, #(BLOCK | BLOCK_NVHE)
	ldr	x2, tcr_nvhe
1:	msr	tcr_el2, x2
	mov	x4, #0
2:	orr	x5, x1, x4, lsl #30
	cbz	x4, 3f
	orr	x5, x5, #1 << 2
3:	str	x5, [x3], #8
	add	x4, x4, #1
	cmp	x4, #512
	b.ne	2b
	tlbi	alle2
	dsb	sy
	isb
	mrs	x0, sctlr_el2
	mov	x1, #0x1005		/* M, C, I */
	orr	x0, x0, x1
	msr	sctlr_el2, x0
	isb
	ldr	x0, tree
	ldr	x1, image
	br	x1

	.balign	8
hcr:	.quad	HCR
tcr_nvhe: .quad	TCR | TCR_NVHE
tcr_vhe: .quad	TCR | TCR_VHE
tree:	.quad	TREE
image:	.quad	IMAGE
	.balign	4096
table:	.space	4096
