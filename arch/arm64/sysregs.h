/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of trapped system registers, and how its keys are made. Layout only. */
#ifndef ARM64_SYSREGS_H
#define ARM64_SYSREGS_H

#include <cupel/types.h>

struct vcpu;

/* Op0 and CRn first: they part the table best. */
#define SYSREG(op0, op1, crn, crm, op2) \
	((op0) << 14 | (crn) << 10 | (op1) << 7 | (crm) << 3 | (op2))
#define SYSREG_OP2(key) ((key) & 7)
#define SYSREG_CRM(key) ((key) >> 3 & 0xf)
#define SYSREG_OP1(key) ((key) >> 7 & 7)
#define SYSREG_CRN(key) ((key) >> 10 & 0xf)
#define SYSREG_OP0(key) ((key) >> 14 & 3)

struct sysreg_range {
	u32 first, last; /* keys, inclusive */
	/* *val: written by a read, else only read. false: UNDEFINED */
	bool (*access)(struct vcpu *v, u32 key, bool write, u64 *val);
};

const struct sysreg_range *sysreg_table(u32 *count);

#endif
