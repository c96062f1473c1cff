/* SPDX-License-Identifier: GPL-2.0-only */
/* The arm64 half of fault.c: undefined words, and system registers that are not there. */
#include <fault.h>
#include <guest.h>

static const u32 words[][4] __aligned(16) = {
	{ 0x00000000 }, /* UDF */
	{ 0xffffffff },
	{ 0x02000000 }, /* reserved encoding space */
	{ 0xd4c00000 }, /* exception generation, unallocated opc */
};
const void *const fault_garbage[] = { words[0], words[1], words[2], words[3] };
const u32 fault_nr_garbage = ARRAY_SIZE(fault_garbage);

/* HVC is undefined at EL0 (Arm ARM C6.2.135): the hypervisor must not even see it. */
void fault_user_code(void)
{
	__asm__ volatile("mov x0, #0; hvc #0; svc #0" : : : "x0", "memory");
}

void drop_vectors(void)
{
	write_sysreg(vbar_el1, FAULT_WILD);
	isb();
}

/* Each must be UNDEFINED for a guest: unallocated, EL2 only, or of a feature the guest has not. */
#define SYSREGS(X)                                               \
	X(s3_0_c15_c15_7, "implementation defined, unallocated") \
	X(s3_3_c15_c2_0, "implementation defined, EL0")          \
	X(s3_0_c4_c2_7, "unallocated op2")                       \
	X(s3_7_c14_c2_0, "secure timer")                         \
	X(hcr_el2, "HCR_EL2")                                    \
	X(cntvoff_el2, "CNTVOFF_EL2")                            \
	X(s3_4_c12_c11_0, "ICH_HCR_EL2")                         \
	X(scr_el3, "SCR_EL3")

#define READER(reg, what)                       \
	static void read_##reg(void *arg)       \
	{                                       \
		*(u64 *)arg = read_sysreg(reg); \
	}                                       \
	static void write_##reg(void *arg)      \
	{                                       \
		write_sysreg(reg, 0);           \
	}
SYSREGS(READER)

static void try_register(void (*fn)(void *), const char *how, const char *what)
{
	struct fault f = { 0 };
	u64 v = 0;
	bool faulted = try_call(fn, &v, &f);

	report(faulted && fault_is_undefined(&f),
	       "%s of %s is undefined (%d, cause %lx, value %lx)", how, what, faulted, f.cause, v);
}

static void sysregs(void)
{
#define TRY(reg, what)                          \
	try_register(read_##reg, "read", what); \
	try_register(write_##reg, "write", what);
	SYSREGS(TRY)
}

/* A store pair to a device has no syndrome that says what it does. */
static void do_pair(void *p)
{
	__asm__ volatile("stp xzr, xzr, [%0]" : : "r"(p) : "memory");
}

static void device_pair(void)
{
	must_stop(do_pair, FAULT_DEVICE);
}

static void do_smc(void *arg)
{
	register u64 x0 __asm__("x0") = *(u64 *)arg;

	__asm__ volatile("smc #0" : "+r"(x0) : : "x1", "x2", "x3", "memory");
	*(u64 *)arg = x0;
}

/* There is no EL3 for a guest: an SMC is undefined, or answered by the hypervisor. */
static void smc(void)
{
	static const u64 unknown[] = { 0xc2001234, 0x8600ffff, 0x3f000000, 0xffffffff };

	for (u32 i = 0; i < ARRAY_SIZE(unknown); i++) {
		u64 v = unknown[i];
		struct fault f;
		bool faulted = try_call(do_smc, &v, &f);

		report(faulted ? fault_is_undefined(&f) : (s32)v == -1,
		       "SMC %lx is refused (%d, %lx)", unknown[i], faulted, v);
	}
}

/* PSCI with nonsense: each answered by an error, none by anything else (DEN0022, 5.2). */
static void psci(void)
{
	static const struct {
		const char *what;
		u64 fn, a, b, c;
		s64 want;
	} calls[] = {
		{ "CPU_ON of itself", 0xc4000003, 0, 0x40200000, 0, -4 },
		{ "CPU_ON of nobody", 0xc4000003, 0xff00ffffff, 0x40200000, 0, -2 },
		{ "AFFINITY_INFO of nobody", 0xc4000004, 0xff00ffffff, 0, 0, -2 },
		{ "AFFINITY_INFO of itself", 0xc4000004, 0, 0, 0, 0 },
		{ "PSCI_FEATURES of nothing", 0x8400000a, 0x8400ffff, 0, 0, -1 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(calls); i++) {
		s32 r = hypercall(calls[i].fn, calls[i].a, calls[i].b, calls[i].c);

		report(r == calls[i].want, "%s: %d", calls[i].what, r);
	}
}

static void write_word(void *at)
{
	*(volatile u64 *)at = 0;
}

/* DEN 0057: the record is the hypervisor's to write. */
static void write_stolen_time(void)
{
	must_stop(write_word, GUEST_ARM64_STEAL + 8);
}

const struct fault_mode fault_modes[] = {
	{ "sysreg", sysregs }, { "device-pair", device_pair },	     { "smc", smc },
	{ "psci", psci },      { "steal-write", write_stolen_time },
};
const u32 fault_nr_modes = ARRAY_SIZE(fault_modes);
