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

#define ID_AA64MMFR1_EL1 S3_0_C0_C7_1
#define TCR_HA_HD	 (3UL << 39)
#define DESC_AF		 (1UL << 10)

/* FEAT_HAFDBS, Arm ARM D8.5.2. */
bool access_by_hardware(void)
{
	if (!(read_icc(ID_AA64MMFR1_EL1) & 0xf))
		return false;
	write_sysreg(tcr_el1, read_sysreg(tcr_el1) | TCR_HA_HD);
	isb();
	return true;
}

/* The table of start.S: one level of 1 GiB blocks. */
const volatile u64 *forget_access(const volatile void *p, u64 *flag)
{
	volatile u64 *entry = (volatile u64 *)page_table_root() + ((u64)p >> 30);

	*flag = DESC_AF;
	__atomic_fetch_and(entry, ~*flag, __ATOMIC_SEQ_CST);
	dsb();
	__asm__ volatile("tlbi vmalle1is; dsb ish; isb" : : : "memory");
	return entry;
}
