/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EL1 state of a guest to and from the CPU, at load and put. One list of registers (asm/guest_regs.h),
 * reached by their _EL12 names from EL2 with E2H and by their own without. Nothing here runs between an
 * exit and the entry that follows it.
 */
#include "hyp.h"

#include <string.h>

_Static_assert(offsetof(struct guest_ctx, host_sp) == CTX_HOST_SP, "world_switch.S");
_Static_assert(offsetof(struct guest_ctx, pc) == CTX_PC, "world_switch.S");
_Static_assert(offsetof(struct guest_ctx, pstate) == CTX_PC + 8, "world_switch.S");
_Static_assert(offsetof(struct guest_ctx, vcpu) == CTX_VCPU, "world_switch.S");
_Static_assert(offsetof(struct fp_state, fpsr) == 512, "world_switch.S");

#define EL12(crn, crm, op2) S3_5_C##crn##_C##crm##_##op2
#define EL1(crn, crm, op2)  S3_0_C##crn##_C##crm##_##op2

#define write_if_new(value, encoding)                    \
	do {                                             \
		if (read_sysreg(encoding) != (value))    \
			write_sysreg((value), encoding); \
	} while (0)

void world_load(const struct guest_ctx *ctx)
{
	const u64 *sys = ctx->sys;

#define R(name, encoding) write_sysreg(sys[GUEST_##name], encoding);
	GUEST_REGS_COMMON(R)
#undef R
	if (arm64_vhe) {
#define R(name, crn, crm, op2) write_sysreg(sys[GUEST_##name], EL12(crn, crm, op2));
		GUEST_REGS_EL1(R)
#undef R
#define R(name, crn, crm, op2) write_if_new(sys[GUEST_##name], EL12(crn, crm, op2));
		GUEST_REGS_EL1_STICKY(R)
#undef R
	} else {
#define R(name, crn, crm, op2) write_sysreg(sys[GUEST_##name], EL1(crn, crm, op2));
		GUEST_REGS_EL1(R)
#undef R
#define R(name, crn, crm, op2) write_if_new(sys[GUEST_##name], EL1(crn, crm, op2));
		GUEST_REGS_EL1_STICKY(R)
#undef R
	}
}

void world_put(struct guest_ctx *ctx)
{
	u64 *sys = ctx->sys;

#define R(name, encoding) sys[GUEST_##name] = read_sysreg(encoding);
	GUEST_REGS_COMMON(R)
#undef R
	if (arm64_vhe) {
#define R(name, crn, crm, op2) sys[GUEST_##name] = read_sysreg(EL12(crn, crm, op2));
		GUEST_REGS_EL1(R)
		GUEST_REGS_EL1_STICKY(R)
#undef R
	} else {
#define R(name, crn, crm, op2) sys[GUEST_##name] = read_sysreg(EL1(crn, crm, op2));
		GUEST_REGS_EL1(R)
		GUEST_REGS_EL1_STICKY(R)
#undef R
	}
}

u64 world_raise(u64 esr, u64 elr, u64 spsr)
{
	if (arm64_vhe) {
		write_sysreg(esr, EL12(5, 2, 0)); /* ESR */
		write_sysreg(elr, EL12(4, 0, 1)); /* ELR */
		write_sysreg(spsr, EL12(4, 0, 0)); /* SPSR */
		return read_sysreg(EL12(12, 0, 0)); /* VBAR */
	}
	write_sysreg(esr, esr_el1);
	write_sysreg(elr, elr_el1);
	write_sysreg(spsr, spsr_el1);
	return read_sysreg(vbar_el1);
}

const char *guest_reg_name(enum guest_reg reg)
{
	static const char *const names[] = GUEST_REG_NAMES;

	return reg < NR_GUEST_REGS ? names[reg] : "?";
}

void world_reset(struct guest_ctx *ctx, u64 pc, u64 x0)
{
	memset(ctx->regs, 0, sizeof(ctx->regs));
	memset(ctx->sys, 0, sizeof(ctx->sys));
	memset(&ctx->fp, 0, sizeof(ctx->fp));
	ctx->regs[0] = x0;
	ctx->pc = pc;
	ctx->pstate = PSR_EL1H | PSR_D | PSR_A | PSR_I | PSR_F;
	ctx->sys[GUEST_SCTLR] = SCTLR_EL1_RESET;
}
