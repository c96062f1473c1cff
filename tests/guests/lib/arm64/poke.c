/* SPDX-License-Identifier: GPL-2.0-only */
/* The arm64 half of poke.c: GIC, UART, ICC and timer registers, PSCI. Leaves the MMU alone. */
#include <guest.h>
#include <poke.h>

#define GICC	 0x08010000
#define GICC_DIR 0x1000

const struct poke_window *poke_window(u64 r)
{
	static const struct poke_window windows[2][4] = {
		{
			{ GUEST_ARM64_GICD, 0x10000, 3, true },
			{ GUEST_ARM64_GICR, 0x20000, 3, true },
			{ GUEST_ARM64_UART + 4, 0xffc, 2, true }, /* not the data register */
			{ GUEST_ARM64_ROM, PAGE_SIZE, 3, false },
		},
		{
			{ GUEST_ARM64_GICD, PAGE_SIZE, 3, true },
			{ GICC, GICC_DIR + 4, 2, true },
			{ GUEST_ARM64_UART + 4, 0xffc, 2, true },
			{ GUEST_ARM64_ROM, PAGE_SIZE, 3, false },
		},
	};

	return &windows[gic_v2][r % 4];
}

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

/* System registers by their encoding: the instruction is made, and run. */
struct sysreg {
	u32 op0, op1, crn, crm, op2;
};

/* Those whose writes can't make this guest lose its own footing: GIC, timers, PMU, ids, unallocated. */
static bool may_write(const struct sysreg *r)
{
	if (r->op0 != 3)
		return false;
	return (r->op1 == 0 && r->crn == 12 && r->crm >= 8) ||
	       (r->op1 == 0 && r->crn == 4 && r->crm == 6) || r->crn == 0 || r->crn == 9 ||
	       r->crn == 11 || r->crn == 14 || r->crn == 15;
}

/* QEMU aborts over a reserved bit in ICC_BPR1_EL1 (icv_gprio_mask()); SGIs to all others wake nobody. */
static u64 sane_value(const struct sysreg *r, u64 v)
{
	if (r->op1 == 0 && r->crn == 12 && (r->crm == 8 || r->crm == 12) && r->op2 == 3)
		return v & 7;
	return v & ~(1UL << 40);
}

static void access_sysreg(const struct sysreg *r, bool write, u64 v)
{
	static u32 code[2] __aligned(64);
	void (*fn)(u64 v) = (void *)code;

	code[0] = 0xd5000000 | !write << 21 | r->op0 << 19 | r->op1 << 16 | r->crn << 12 |
		  r->crm << 8 | r->op2 << 5; /* MRS/MSR x0 (C6.2) */
	code[1] = 0xd65f03c0; /* RET */
	sync_code(code, sizeof(code));
	fn(v);
}

static void poke_sysreg(void)
{
	static const struct sysreg likely[] = {
		{ 3, 0, 12, 12, 0 }, { 3, 0, 12, 12, 1 }, { 3, 0, 12, 12, 2 }, { 3, 0, 12, 12, 3 },
		{ 3, 0, 12, 12, 4 }, { 3, 0, 12, 12, 5 }, { 3, 0, 12, 12, 7 }, { 3, 0, 12, 11, 1 },
		{ 3, 0, 12, 11, 5 }, { 3, 0, 12, 9, 0 },  { 3, 0, 4, 6, 0 },   { 3, 3, 14, 2, 0 },
		{ 3, 3, 14, 2, 1 },  { 3, 3, 14, 2, 2 },  { 3, 3, 14, 3, 0 },  { 3, 3, 14, 3, 1 },
		{ 3, 3, 14, 3, 2 },  { 3, 3, 14, 0, 1 },  { 3, 0, 0, 4, 0 },   { 3, 0, 0, 7, 0 },
	};
	u64 pick = poke_random();
	struct sysreg r = likely[pick % ARRAY_SIZE(likely)];
	bool write = pick >> 63;

	if (pick >> 61 & 1)
		r = (struct sysreg){ 2 + (pick & 1), pick >> 8 & 7, pick >> 12 & 15,
				     pick >> 16 & 15, pick >> 20 & 7 };
	if (write && !may_write(&r))
		write = false;
	access_sysreg(&r, write, sane_value(&r, poke_value()));
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
