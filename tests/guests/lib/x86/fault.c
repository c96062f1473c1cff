/* SPDX-License-Identifier: GPL-2.0-only */
/* The x86 half of fault.c: undefined instructions, MSRs and ports that are not there. */
#include <fault.h>
#include <guest.h>

static const u8 bytes[][16] = {
	{ 0x0f, 0x0b }, /* UD2 */
	{ 0x0f, 0xff, 0xc0 }, /* UD0 */
	{ 0x0f, 0x04 }, /* unallocated */
	{ 0x06 }, /* PUSH ES: invalid in 64-bit mode */
};
const void *const fault_garbage[] = { bytes[0], bytes[1], bytes[2], bytes[3] };
const u32 fault_nr_garbage = ARRAY_SIZE(fault_garbage);

/* VMMCALL has no privilege check of its own (APM volume 3): the hypervisor must make it. */
void fault_user_code(void)
{
	__asm__ volatile("vmmcall; int $0x80" : : "a"(HC_EXIT), "D"(99), "S"(0), "d"(0) : "memory");
}

void drop_vectors(void)
{
	static const struct {
		u16 limit;
		u64 base;
	} __packed none = { 0, 0 };

	__asm__ volatile("lidt %0" : : "m"(none));
}

#define NO_PORT 0x5000 /* nothing is there */

struct msr_access {
	u32 msr;
	u64 value;
};

static void do_rdmsr(void *arg)
{
	struct msr_access *a = arg;

	a->value = rdmsr(a->msr);
}

static void do_wrmsr(void *arg)
{
	struct msr_access *a = arg;

	wrmsr(a->msr, a->value);
}

static void msrs(void)
{
	static const u32 unknown[] = { 0x4b564d55, 0x00001fff, 0xc0001fff, 0xc0011fff, 0xdeadbeef };

	for (u32 i = 0; i < ARRAY_SIZE(unknown); i++) {
		struct msr_access a = { unknown[i], 0 };
		struct fault f = { 0 };
		bool r = try_call(do_rdmsr, &a, &f) && f.cause == VEC_GP;
		bool w = try_call(do_wrmsr, &a, &f) && f.cause == VEC_GP;

		report(r, "RDMSR %x gives #GP (value %lx)", unknown[i], a.value);
		report(w, "WRMSR %x gives #GP", unknown[i]);
	}
}

/* Values that a register must refuse (APM volume 2, 3.1.7, 5.3, 16.3.1). */
static void msr_values(void)
{
	static const struct msr_access bad[] = {
		{ MSR_EFER, 1UL << 40 },
		{ MSR_APIC_BASE, 1UL << 60 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		struct msr_access a = bad[i];
		struct fault f = { 0 };

		report(try_call(do_wrmsr, &a, &f) && f.cause == VEC_GP, "WRMSR %x of %lx gives #GP",
		       a.msr, a.value);
	}
}

static void do_out(void *arg)
{
	outb((u64)arg, 0x55);
}

static void do_in(void *arg)
{
	inb((u64)arg);
}

static void port_write(void)
{
	must_stop(do_out, NO_PORT);
}

static void port_read(void)
{
	must_stop(do_in, NO_PORT);
}

/* RAX must be the address of a VMCB to get past the checks that come before an intercept. */
static void svm(void)
{
	static const u8 insn[][8] = {
		{ 0x31, 0xc0, 0x0f, 0x01, 0xd8 }, /* VMRUN */
		{ 0x31, 0xc0, 0x0f, 0x01, 0xda }, /* VMLOAD */
		{ 0x31, 0xc0, 0x0f, 0x01, 0xdb }, /* VMSAVE */
		{ 0x31, 0xc0, 0x0f, 0x01, 0xdc }, /* STGI */
		{ 0x31, 0xc0, 0x0f, 0x01, 0xdd }, /* CLGI */
		{ 0x31, 0xc0, 0x0f, 0x01, 0xdf }, /* INVLPGA */
	};
	struct fault f = { 0 };

	for (u32 i = 0; i < ARRAY_SIZE(insn); i++) {
		bool faulted = try_call((void (*)(void *))insn[i], NULL, &f);

		report(faulted && f.cause == VEC_UD, "SVM instruction %u is undefined (cause %lx)",
		       i, f.cause);
	}
}

static void do_outs(void *arg)
{
	__asm__ volatile("outsb" : "+S"(arg) : "d"(0x3f8) : "memory");
}

/* The hypervisor reads the operand in the CPU's stead: by the same rules (APM volume 3, OUTS). */
static void outs_address(void)
{
	struct fault f = { 0 };
	bool faulted = try_call(do_outs, (void *)BIT(63), &f);

	report(faulted && f.cause == VEC_GP, "OUTS from no canonical address gives #GP (cause %lx)",
	       f.cause);
	faulted = try_call(do_outs, (void *)FAULT_UNMAPPED, &f);
	report(faulted && f.cause == VEC_PF, "OUTS from an unmapped address gives #PF (cause %lx)",
	       f.cause);
}

const struct fault_mode fault_modes[] = {
	{ "msr", msrs },
	{ "msr-value", msr_values },
	{ "port-write", port_write },
	{ "port-read", port_read },
	{ "svm", svm },
	{ "outs", outs_address },
};
const u32 fault_nr_modes = ARRAY_SIZE(fault_modes);
