/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The EL1 and EL0 system registers that belong to a guest's register context and stay in the CPU
 * between vcpu_load() and vcpu_put(). One list: the save area, both ways to reach the registers and
 * the dump are made from it, so that no list stands twice. Nothing here may act.
 *
 * GUEST_REGS_EL1: R(name, CRn, CRm, op2). From EL2 with HCR_EL2.E2H the guest's register has the
 * _EL12 name (op1 = 5), without it the _EL1 name (op1 = 0): Arm ARM D23.1, "register aliasing".
 * GUEST_REGS_COMMON: R(name, encoding). One name from either kind of EL2.
 */
#ifndef ASM_GUEST_REGS_H
#define ASM_GUEST_REGS_H

#define GUEST_REGS_EL1(R)       \
	R(SCTLR, 1, 0, 0)       \
	R(CPACR, 1, 0, 2)       \
	R(TTBR0, 2, 0, 0)       \
	R(TTBR1, 2, 0, 1)       \
	R(SPSR, 4, 0, 0)        \
	R(ELR, 4, 0, 1)         \
	R(AFSR0, 5, 1, 0)       \
	R(AFSR1, 5, 1, 1)       \
	R(ESR, 5, 2, 0)         \
	R(FAR, 6, 0, 0)         \
	R(MAIR, 10, 2, 0)       \
	R(AMAIR, 10, 3, 0)      \
	R(VBAR, 12, 0, 0)       \
	R(CONTEXTIDR, 13, 0, 1) \
	R(CNTKCTL, 14, 1, 0)

/*
 * As GUEST_REGS_EL1, but written only when they differ: some implementations (QEMU's among them)
 * forget all translations on a write.
 */
#define GUEST_REGS_EL1_STICKY(R) R(TCR, 2, 0, 2)

#define GUEST_REGS_COMMON(R)          \
	R(SP_EL0, S3_0_C4_C1_0)       \
	R(SP_EL1, S3_4_C4_C1_0)       \
	R(TPIDR_EL0, S3_3_C13_C0_2)   \
	R(TPIDRRO_EL0, S3_3_C13_C0_3) \
	R(TPIDR_EL1, S3_0_C13_C0_4)   \
	R(PAR_EL1, S3_0_C7_C4_0)      \
	R(CSSELR_EL1, S3_2_C0_C0_0)

enum guest_reg {
#define R(name, ...) GUEST_##name,
	GUEST_REGS_EL1(R) GUEST_REGS_EL1_STICKY(R) GUEST_REGS_COMMON(R)
#undef R
		NR_GUEST_REGS
};

/* Initializer of an array by enum guest_reg. */
#define GUEST_REG_NAME(name, ...) [GUEST_##name] = #name,
/* clang-format off */
#define GUEST_REG_NAMES                                                         \
	{                                                                       \
		GUEST_REGS_EL1(GUEST_REG_NAME)                     \
		GUEST_REGS_EL1_STICKY(GUEST_REG_NAME)              \
		GUEST_REGS_COMMON(GUEST_REG_NAME) \
	}
/* clang-format on */

#endif
