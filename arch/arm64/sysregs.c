/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System registers that trap. One table, sorted, has all that exist for a guest; what is not in it is
 * UNDEFINED. ID registers say what this vCPU has, which is less than the machine: whatever is not kept
 * safe (SVE, SME, pointer authentication, PMU, RAS, nesting) is left out.
 */
#include "sysregs.h"

#include "hyp.h"

#include <string.h>

#include "../../drivers/timer/arm_vtimer.h"

/* ID_AA64* as a guest reads them, by CRm and op2; all others of this space read as zero. */
static u64 id_regs[8][8];

#define F(shift) (0xfUL << (shift))

/* Fields that a guest may see as they are: D19.2.58 (ISAR0) on. */
#define PFR0_KEEP  (F(16) | F(20) | F(24) | F(48) | F(60))
#define PFR0_EL01  0x11UL /* EL0 and EL1 in AArch64 alone */
#define PFR0_CSV2  56
#define PFR1_KEEP  (F(0) | F(4))
#define DFR0_VALUE (6UL | 1UL << 12 | 1UL << 20) /* Armv8 debug, the two breakpoints it demands */
#define ISAR0_KEEP                                                                             \
	(F(4) | F(8) | F(12) | F(16) | F(20) | F(28) | F(32) | F(36) | F(40) | F(44) | F(48) | \
	 F(52) | F(56) | F(60))
#define ISAR1_KEEP     (F(0) | F(12) | F(16) | F(20) | F(32) | F(36) | F(40) | F(44) | F(48) | F(52))
#define MMFR0_KEEP     (F(4) | F(8) | F(12) | F(16) | F(24) | F(44))
#define MMFR0_TGRAN4   28
#define MMFR0_TGRAN16  20
#define MMFR0_PA_36BIT 1U
#define MMFR1_KEEP     (F(12) | F(20))
#define MMFR1_HAFDBS   0
#define MMFR2_KEEP \
	(F(0) | F(4) | F(8) | F(16) | F(20) | F(28) | F(32) | F(36) | F(48) | F(52) | F(60))

static u64 at_most(u64 reg, u32 shift, u32 limit)
{
	return (u64)min(arm64_id_field(reg, shift), limit) << shift;
}

static bool id_access(struct vcpu *v, u32 key, bool write, u64 *val)
{
	if (write)
		return false;
	*val = id_regs[SYSREG_CRM(key)][SYSREG_OP2(key)];
	return true;
}

static bool raz_wi(struct vcpu *v, u32 key, bool write, u64 *val)
{
	if (!write)
		*val = 0;
	return true;
}

/* Self-hosted debug: nothing is ever armed. OSLSR_EL1 says that the lock is there and open. */
#define OSLSR_OSLM1 8
static bool debug_access(struct vcpu *v, u32 key, bool write, u64 *val)
{
	if (!write)
		*val = key == SYSREG(2, 0, 1, 1, 4) ? OSLSR_OSLM1 : 0;
	return true;
}

static bool sgi1r_access(struct vcpu *v, u32 key, bool write, u64 *val)
{
	if (!write || v->vm->arch.vgic->model != VGIC_MODEL_V3)
		return false;
	vgic_icc_sgi(v, *val, true);
	return true;
}

static bool icc_access(struct vcpu *v, u32 key, bool write, u64 *val)
{
	return vgic_icc_access(v, ICC_REG(SYSREG_CRN(key), SYSREG_CRM(key), SYSREG_OP2(key)), write,
			       val);
}

/* CNTP_TVAL, CTL and CVAL, where the physical timer is not the hardware's. */
static bool timer_access(struct vcpu *v, u32 key, bool write, u64 *val)
{
	enum vtimer_reg reg = (enum vtimer_reg)SYSREG_OP2(key);

	if (v->arch.timer[TIMER_PHYS].direct)
		return false;
	if (write)
		vtimer_write(v, reg, *val);
	else
		*val = vtimer_read(v, reg);
	return true;
}

/* Sorted by key; ranges do not overlap, and none has more than one Op0 and CRn. */
static const struct sysreg_range table[] = {
	{ SYSREG(2, 0, 0, 0, 0), SYSREG(2, 0, 0, 15, 7), debug_access },
	{ SYSREG(2, 3, 0, 1, 0), SYSREG(2, 3, 0, 5, 0), debug_access },
	{ SYSREG(2, 0, 1, 0, 0), SYSREG(2, 0, 1, 4, 4), debug_access },
	{ SYSREG(2, 0, 7, 8, 6), SYSREG(2, 0, 7, 14, 6), debug_access },
	{ SYSREG(3, 0, 0, 1, 0), SYSREG(3, 0, 0, 7, 7), id_access },
	{ SYSREG(3, 0, 1, 0, 1), SYSREG(3, 0, 1, 0, 1), raz_wi }, /* ACTLR_EL1 */
	{ SYSREG(3, 0, 4, 6, 0), SYSREG(3, 0, 4, 6, 0), icc_access }, /* ICC_PMR_EL1 */
	{ SYSREG(3, 0, 12, 8, 0), SYSREG(3, 0, 12, 11, 4), icc_access },
	{ SYSREG(3, 0, 12, 11, 5), SYSREG(3, 0, 12, 11, 5), sgi1r_access },
	{ SYSREG(3, 0, 12, 11, 6), SYSREG(3, 0, 12, 12, 7), icc_access },
	{ SYSREG(3, 3, 14, 2, 0), SYSREG(3, 3, 14, 2, 2), timer_access },
	{ ~0U, ~0U, NULL }, /* ends every search */
};

const struct sysreg_range *sysreg_table(u32 *count)
{
	*count = ARRAY_SIZE(table) - 1;
	return table;
}

/* The first row of each Op0 and CRn; where there is none, the last row, which nothing matches. */
#define BUCKET(key) ((key) >> 10 & 0x1f)
static u8 first_row[32];

static void index_table(void)
{
	memset(first_row, ARRAY_SIZE(table) - 1, sizeof(first_row));
	for (u32 i = ARRAY_SIZE(table) - 1; i--;)
		first_row[BUCKET(table[i].first)] = (u8)i;
}

static inline const struct sysreg_range *find(u32 key)
{
	const struct sysreg_range *r = &table[first_row[BUCKET(key)]];

	while (key > r->last)
		r++;
	return key >= r->first ? r : NULL;
}

void sysregs_init(void)
{
	const struct arm64_ids *id = &arm64_ids;

	index_table();
	id_regs[4][0] = (id->pfr0 & PFR0_KEEP) | PFR0_EL01 | at_most(id->pfr0, PFR0_CSV2, 1);
	id_regs[4][1] = id->pfr1 & PFR1_KEEP;
	id_regs[5][0] = DFR0_VALUE;
	id_regs[6][0] = id->isar0 & ISAR0_KEEP;
	id_regs[6][1] = id->isar1 & ISAR1_KEEP;
	/* 0xf in TGran4 says that there is none; 1 would say 52 bits. */
	id_regs[7][0] = (id->mmfr0 & MMFR0_KEEP) | at_most(id->mmfr0, 0, MMFR0_PA_36BIT) |
			at_most(id->mmfr0, MMFR0_TGRAN16, 1);
	if (arm64_id_field(id->mmfr0, MMFR0_TGRAN4) == 0xf)
		id_regs[7][0] |= F(MMFR0_TGRAN4);
	id_regs[7][1] = (id->mmfr1 & MMFR1_KEEP) | at_most(id->mmfr1, MMFR1_HAFDBS, 2);
	id_regs[7][2] = id->mmfr2 & MMFR2_KEEP;
}

/* ISS of a trapped MSR, MRS or system instruction: D19.2.37 */
#define ISS_READ(iss) ((iss) & 1)
#define ISS_RT(iss)   ((iss) >> 5 & 0x1f)
static inline u32 iss_key(u64 iss)
{
	return SYSREG((u32)(iss >> 20 & 3), (u32)(iss >> 14 & 7), (u32)(iss >> 10 & 0xf),
		      (u32)(iss >> 1 & 0xf), (u32)(iss >> 17 & 7));
}

static __noinline int unknown_sysreg(struct vcpu *v)
{
	v->exits[EXIT_UNDEF]++;
	guest_inject_undef();
	return guest_resume(v);
}

int exit_sysreg(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	u32 key = iss_key(esr), rt = ISS_RT(esr);
	const struct sysreg_range *r = find(key);
	u64 *reg = &ctx->regs[rt];

	v->exits[EXIT_SYSREG]++;
	if (unlikely(rt == 31)) {
		reg = &v->arch.scratch;
		*reg = 0;
	}
	/* In place: the handler of a read writes the guest's register, that of a write reads it. */
	if (unlikely(!r || !r->access(v, key, !ISS_READ(esr), reg)))
		return unknown_sysreg(v);
	guest_skip_insn();
	return guest_resume(v);
}
