/* SPDX-License-Identifier: GPL-2.0-only */
/* The leave loop: exactly these instructions. */
#include <cupel/abi.h>

	.section .rodata.leave, "a"
	.globl	leave_loop, leave_loop_end
	.balign	64
leave_loop:
1:	mov	(%rsi), %rcx
	mov	$HC_LEAVE, %eax
	vmmcall
	dec	%rdi
	jnz	1b
	ret
leave_loop_end:
