/* SPDX-License-Identifier: GPL-2.0-only */
/* For assembly: the general registers of an exception frame, which begins with x0 to x29 at SP. */
#ifndef ASM_GPRS_H
#define ASM_GPRS_H

/* clang-format off */
	.macro	each_gpr_pair insn
	\insn	x0, x1, [sp, #16 * 0]
	\insn	x2, x3, [sp, #16 * 1]
	\insn	x4, x5, [sp, #16 * 2]
	\insn	x6, x7, [sp, #16 * 3]
	\insn	x8, x9, [sp, #16 * 4]
	\insn	x10, x11, [sp, #16 * 5]
	\insn	x12, x13, [sp, #16 * 6]
	\insn	x14, x15, [sp, #16 * 7]
	\insn	x16, x17, [sp, #16 * 8]
	\insn	x18, x19, [sp, #16 * 9]
	\insn	x20, x21, [sp, #16 * 10]
	\insn	x22, x23, [sp, #16 * 11]
	\insn	x24, x25, [sp, #16 * 12]
	\insn	x26, x27, [sp, #16 * 13]
	\insn	x28, x29, [sp, #16 * 14]
	.endm
/* clang-format on */

#endif
