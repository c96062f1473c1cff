/* SPDX-License-Identifier: GPL-2.0-only */
/* The C side of code_asm.S (what it must not do: use an FP register). */
#include <guest.h>

#define FPCR_AT	  512
#define FPSR_AT	  516
#define FPCR_BITS 0x03c00000 /* FZ, DN... : rounding mode and flush to zero; traps stay off */
#define FPSR_BITS 0x0800009f /* QC and the cumulative flags */

u32 fp_state_size(void)
{
	return FPSR_AT + 4;
}

void fp_fill(u8 *state, u32 seed)
{
	u32 fpcr = seed << 22 & FPCR_BITS, fpsr = (seed | seed << 27) & FPSR_BITS;

	for (u32 i = 0; i < FPCR_AT; i++)
		state[i] = seed * 31 + i * 7;
	memcpy(state + FPCR_AT, &fpcr, 4);
	memcpy(state + FPSR_AT, &fpsr, 4);
}

void sync_code(void *p, u64 size)
{
	for (u64 a = (u64)p; a < (u64)p + size; a += 16)
		__asm__ volatile("dc cvau, %0" : : "r"(a) : "memory");
	__asm__ volatile("dsb ish; ic iallu; dsb ish; isb" : : : "memory");
}

u64 page_table_root(void)
{
	return read_sysreg(ttbr0_el1) & 0xfffffffff000;
}
