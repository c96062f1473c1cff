/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FP, SSE and, where offered, AVX state in the form of FXSAVE and XSAVE (APM volume 2, 11.5.9). Only
 * the registers are compared, not what the instruction says about them.
 */
#include <guest.h>

#define CPUID_1C_XSAVE (1 << 26)
#define CPUID_1C_AVX   (1 << 28)
#define XCR0_ALL       7

/* FXSAVE: FCW at 0, MXCSR at 24, ST0.. at 32 (16 bytes, 10 used), XMM0.. at 160. XSAVE: YMM at 576. */
#define FCW_AT	     0
#define MXCSR_AT     24
#define ST_AT	     32
#define XMM_AT	     160
#define XMM_END	     416
#define XSTATE_BV_AT 512
#define YMM_AT	     576
#define YMM_END	     832

static bool has_avx(void)
{
	u32 want = CPUID_1C_XSAVE | CPUID_1C_AVX;

	return (cpuid(1, 0).c & want) == want;
}

static void enable_xsave(void)
{
	u64 cr4;

	__asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
	if (cr4 & CR4_OSXSAVE)
		return;
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4 | CR4_OSXSAVE));
	__asm__ volatile("xsetbv" : : "a"(XCR0_ALL), "d"(0), "c"(0));
}

u32 fp_state_size(void)
{
	return has_avx() ? YMM_END : XMM_END;
}

void fp_fill(u8 *state, u32 seed)
{
	u16 fcw = 0x037f | (seed & 3) << 10; /* bit 6 reads as one on every CPU */
	u32 mxcsr = 0x1f80 | (seed & 3) << 13;
	u64 xstate = XCR0_ALL;

	memset(state, 0, FP_STATE_MAX);
	for (u32 i = XMM_AT; i < XMM_END; i++)
		state[i] = seed * 31 + i * 7;
	for (u32 r = 0; r < 8; r++)
		for (u32 i = 0; i < 10; i++)
			state[ST_AT + r * 16 + i] = seed * 13 + i + r;
	memcpy(state + FCW_AT, &fcw, 2);
	memcpy(state + MXCSR_AT, &mxcsr, 4);
	if (!has_avx())
		return;
	for (u32 i = YMM_AT; i < YMM_END; i++)
		state[i] = seed * 17 + i * 3;
	memcpy(state + XSTATE_BV_AT, &xstate, 8);
}

void fp_load(const u8 *state)
{
	if (has_avx()) {
		enable_xsave();
		__asm__ volatile("xrstor64 (%0)" : : "r"(state), "a"(XCR0_ALL), "d"(0) : "memory");
	} else {
		__asm__ volatile("fxrstor64 (%0)" : : "r"(state) : "memory");
	}
}

/* FSW, FTW, FOP, instruction and operand pointers are not registers that a fill sets. */
static void forget_rest(u8 *s)
{
	memset(s + 2, 0, MXCSR_AT - 2);
	memset(s + MXCSR_AT + 4, 0, 4);
	memset(s + XMM_END, 0, XSTATE_BV_AT - XMM_END);
}

void fp_store(u8 *state)
{
	if (has_avx()) {
		enable_xsave();
		__asm__ volatile("xsave64 (%0)" : : "r"(state), "a"(XCR0_ALL), "d"(0) : "memory");
		memset(state + XSTATE_BV_AT + 8, 0, 56);
	} else {
		__asm__ volatile("fxsave64 (%0)" : : "r"(state) : "memory");
	}
	forget_rest(state);
}

void sync_code(void *p, u64 size)
{
	/* x86 keeps instruction fetch coherent; the call that follows serialises enough. */
}

u64 page_table_root(void)
{
	u64 cr3;

	__asm__ volatile("mov %%cr3, %0" : "=r"(cr3));
	return cr3 & ~0xfffUL;
}

bool access_by_hardware(void)
{
	return true;
}

/* The tables of start.S: four directories of 2 MiB pages, one after another. */
const volatile u64 *forget_access(const volatile void *p, u64 *flag)
{
	volatile u64 *entry = (volatile u64 *)(page_table_root() + 0x2000) + ((u64)p >> 21);

	*flag = 1 << 5;
	__atomic_fetch_and(entry, ~*flag, __ATOMIC_SEQ_CST);
	__asm__ volatile("mov %0, %%cr3" : : "r"(page_table_root()) : "memory");
	return entry;
}
