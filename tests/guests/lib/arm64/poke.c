/* SPDX-License-Identifier: GPL-2.0-only */
/* The arm64 half of poke.c: GIC, UART, ICC and timer registers, PSCI. Leaves the MMU alone. */
#include <guest.h>
#include <poke.h>

const struct poke_window poke_windows[] = {
	{ GUEST_ARM64_GICD, 0x10000, 3, true },
	{ GUEST_ARM64_GICR, 0x20000, 3, true },
	{ GUEST_ARM64_UART + 4, 0xffc, 2, true }, /* not the data register */
	{ GUEST_ARM64_ROM, 0x1000, 3, false },
};
const u32 poke_nr_windows = ARRAY_SIZE(poke_windows);

void poke_write(u64 addr, u32 width, u64 v)
{
	switch (width) {
	case 1: __asm__ volatile("strb %w0, [%1]" : : "r"(v), "r"(addr) : "memory"); break;
	case 2: __asm__ volatile("strh %w0, [%1]" : : "r"(v), "r"(addr) : "memory"); break;
	case 4: __asm__ volatile("str %w0, [%1]" : : "r"(v), "r"(addr) : "memory"); break;
	default: __asm__ volatile("str %0, [%1]" : : "r"(v), "r"(addr) : "memory"); break;
	}
}

void poke_read(u64 addr, u32 width)
{
	u64 v;

	switch (width) {
	case 1: __asm__ volatile("ldrsb %0, [%1]" : "=r"(v) : "r"(addr) : "memory"); break;
	case 2: __asm__ volatile("ldrsh %w0, [%1]" : "=r"(v) : "r"(addr) : "memory"); break;
	case 4: __asm__ volatile("ldr %w0, [%1]" : "=r"(v) : "r"(addr) : "memory"); break;
	default: __asm__ volatile("ldr %0, [%1]" : "=r"(v) : "r"(addr) : "memory"); break;
	}
}

#define REGS(X)                                                                                 \
	X(S3_0_C4_C6_0) /* ICC_PMR */                                                           \
	X(S3_0_C12_C8_3) /* BPR0 */                                                             \
	X(S3_0_C12_C8_4) /* AP0R0 */                                                            \
	X(S3_0_C12_C9_0) /* AP1R0 */                                                            \
	X(S3_0_C12_C9_1) /* AP1R1 */                                                            \
	X(S3_0_C12_C8_0) /* IAR0 */                                                             \
	X(S3_0_C12_C8_1) /* EOIR0 */                                                            \
	X(S3_0_C12_C8_2) /* HPPIR0 */                                                           \
	X(S3_0_C12_C11_1) /* DIR */                                                             \
	X(S3_0_C12_C11_3) /* RPR */                                                             \
	X(S3_0_C12_C11_5) /* SGI1R */                                                           \
	X(S3_0_C12_C11_6) /* ASGI1R */                                                          \
	X(S3_0_C12_C11_7) /* SGI0R */                                                           \
	X(S3_0_C12_C12_0) /* IAR1 */                                                            \
	X(S3_0_C12_C12_1) /* EOIR1 */                                                           \
	X(S3_0_C12_C12_2) /* HPPIR1 */                                                          \
	X(S3_0_C12_C12_3) /* BPR1 */                                                            \
	X(S3_0_C12_C12_4) /* CTLR */                                                            \
	X(S3_0_C12_C12_5) /* SRE */                                                             \
	X(S3_0_C12_C12_6) /* IGRPEN0 */                                                         \
	X(S3_0_C12_C12_7) /* IGRPEN1 */                                                         \
	X(CNTP_CTL_EL0)                                                                         \
	X(CNTP_CVAL_EL0)                                                                        \
	X(CNTP_TVAL_EL0)                                                                        \
	X(CNTV_CTL_EL0) X(CNTV_CVAL_EL0) X(CNTV_TVAL_EL0) X(CNTKCTL_EL1) X(                     \
		S3_3_C14_C0_1) /* CNTPCT */ X(S3_0_C0_C0_0) /* MIDR */ X(S3_0_C0_C0_5)          \
		X(S3_0_C0_C4_0) X(S3_0_C0_C7_0) X(S3_0_C0_C7_7) X(ACTLR_EL1) X(                 \
			S3_3_C9_C12_0) /* PMCR */ X(S3_3_C9_C13_0) X(S3_3_C14_C15_7)            \
			X(S2_0_C0_C2_2) /* MDSCR */ X(S2_0_C1_C0_4) /* OSLAR */ X(S2_0_C0_C0_5) \
				X(S3_0_C10_C4_4) /* MPAM */ X(S3_0_C5_C4_1) X(S3_1_C0_C0_1)     \
					X(S3_2_C0_C0_0) X(S3_0_C1_C2_0) /* ZCR */ X(            \
						S3_0_C9_C9_0) /* PMSCR */ X(S3_0_C9_C11_0)

static void poke_sysreg(void)
{
	u64 v = poke_value(), which = poke_random() % 64, i = 0;
	bool write = poke_random() & 1;

	if (write)
		v &= ~(1UL << 40); /* no SGI to all others: they are asleep for good */
#define POKE(r)                                                                   \
	if (i++ == which) {                                                       \
		if (write)                                                        \
			__asm__ volatile("msr " #r ", %0" : : "r"(v) : "memory"); \
		else                                                              \
			__asm__ volatile("mrs %0, " #r : "=r"(v) : : "memory");   \
	}
	REGS(POKE)
}

/* Any function of PSCI that does not end this VM or vCPU by its meaning, and others of SMCCC. */
static void poke_psci(void)
{
	static const u64 fns[] = { 0x84000000, 0xc4000003, 0xc4000004, 0x84000005, 0xc4000005,
				   0x84000006, 0x84000007, 0x8400000a, 0xc4000012, 0x84000013,
				   0x80000000, 0x80000001, 0x8600ff01, 0xc5000020, 0xc5000021 };
	u64 r = poke_random();
	u64 fn = r & 1 ? fns[(r >> 8) % ARRAY_SIZE(fns)] : poke_value();

	if ((fn & ~0x40000000UL) - 0x84000001 < 2 || (fn & ~0x40000000UL) - 0x84000008 < 2 ||
	    (fn & ~0x40000000UL) - 0x8400000c < 3 || (fn & ~0x40000000UL) - 0x84000012 < 2 ||
	    (u32)fn == HC_EXIT || (fn & ~0x40000000UL) == 0x84000003)
		return;
	hypercall(fn, poke_value(), poke_value(), poke_value());
}

void poke_arch(void)
{
	if (poke_random() % 4)
		poke_sysreg();
	else
		poke_psci();
}
