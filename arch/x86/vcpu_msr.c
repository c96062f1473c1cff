/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Model-specific registers of a guest: one table, sorted by number, and nothing else: what it does not
 * list answers with #GP. No access reaches a register of the host. (AMD APM vol. 2, appendix A)
 */
#include <asm/cpu.h>
#include <asm/msr.h>
#include <asm/virt.h>
#include <asm/vlapic.h>
#include <asm/xen.h>
#include <cupel/arch.h>
#include <cupel/printk.h>
#include <cupel/vm.h>
#include <cupel/xen.h>

#define PAT_RESET 0x0007040600070406UL

/* Numbers that only a guest has use for. */
#define MSR_PATCH_LEVEL 0x0000008b
#define MSR_MCG_STATUS	0x0000017a
#define MSR_MTRR_VAR	0x00000200
#define MSR_MTRR_FIX64K 0x00000250
#define MSR_MTRR_FIX16K 0x00000258
#define MSR_MTRR_FIX4K	0x00000268
#define MSR_K7_EVNTSEL0 0xc0010000
#define MSR_SYSCFG	0xc0010010
#define MSR_HWCR	0xc0010015
#define MSR_NB_CFG	0xc001001f
#define MSR_INT_PENDING 0xc0010055
#define MSR_OSVW	0xc0010140
#define MSR_LS_CFG	0xc0011020
#define MSR_DE_CFG	0xc0011029

#define MISC_HWCR 8 /* in misc_msr[], after the counters */

#define MTRR_VARIABLE 8
#define MTRR_CAP      (MTRR_VARIABLE | BIT(8) | BIT(10)) /* fixed ranges, write-combining */
#define MTRR_DEF_MASK (BIT(11) | BIT(10) | 0xff)

typedef bool (*msr_read_t)(struct vcpu *v, u32 msr, u64 *value);
typedef bool (*msr_write_t)(struct vcpu *v, u32 msr, u64 value);

struct msr_entry {
	u32 first, last;
	msr_read_t read;
	msr_write_t write;
};

static bool read_zero(struct vcpu *v, u32 msr, u64 *value)
{
	*value = 0;
	return true;
}

static bool write_ignored(struct vcpu *v, u32 msr, u64 value)
{
	return true;
}

static bool write_refused(struct vcpu *v, u32 msr, u64 value)
{
	return false;
}

static bool read_tsc(struct vcpu *v, u32 msr, u64 *value)
{
	*value = arch_counter() + v->arch.tsc_offset;
	return true;
}

static bool write_tsc(struct vcpu *v, u32 msr, u64 value)
{
	v->arch.tsc_offset = value - arch_counter();
	if (v->xen)
		xen_time_changed(v);
	return true;
}

static bool read_apic_base(struct vcpu *v, u32 msr, u64 *value)
{
	*value = v->arch.lapic->base;
	return true;
}

static bool write_apic_base(struct vcpu *v, u32 msr, u64 value)
{
	return vlapic_base_write(v->arch.lapic, value);
}

static bool read_deadline(struct vcpu *v, u32 msr, u64 *value)
{
	*value = vlapic_timer_tsc(v->arch.lapic);
	return true;
}

static bool write_deadline(struct vcpu *v, u32 msr, u64 value)
{
	vlapic_timer_set_tsc(v->arch.lapic, value);
	return true;
}

static bool read_x2apic(struct vcpu *v, u32 msr, u64 *value)
{
	return vlapic_msr_read(v->arch.lapic, msr, value);
}

static bool write_x2apic(struct vcpu *v, u32 msr, u64 value)
{
	return vlapic_msr_write(v->arch.lapic, msr, value);
}

static bool read_mtrr_cap(struct vcpu *v, u32 msr, u64 *value)
{
	*value = MTRR_CAP;
	return true;
}

/* Types 2 and 3 do not exist: APM vol. 2, 7.7.1. */
static bool memory_type(u8 type)
{
	return type <= 6 && type != 2 && type != 3;
}

static bool read_mtrr_var(struct vcpu *v, u32 msr, u64 *value)
{
	*value = v->arch.mtrr_var[msr - MSR_MTRR_VAR];
	return true;
}

static bool write_mtrr_var(struct vcpu *v, u32 msr, u64 value)
{
	if (!(msr & 1) && !memory_type(value & 0xff))
		return false;
	v->arch.mtrr_var[msr - MSR_MTRR_VAR] = value;
	return true;
}

/* 250h, 258h, 259h and 268h to 26Fh. */
static u32 fixed_index(u32 msr)
{
	if (msr == MSR_MTRR_FIX64K)
		return 0;
	return msr < MSR_MTRR_FIX4K ? msr - MSR_MTRR_FIX16K + 1 : msr - MSR_MTRR_FIX4K + 3;
}

static bool read_mtrr_fixed(struct vcpu *v, u32 msr, u64 *value)
{
	*value = v->arch.mtrr_fixed[fixed_index(msr)];
	return true;
}

static bool write_mtrr_fixed(struct vcpu *v, u32 msr, u64 value)
{
	for (u32 n = 0; n < 8; n++)
		if (!memory_type(value >> (8 * n)))
			return false;
	v->arch.mtrr_fixed[fixed_index(msr)] = value;
	return true;
}

static bool read_mtrr_def(struct vcpu *v, u32 msr, u64 *value)
{
	*value = v->arch.mtrr_def;
	return true;
}

static bool write_mtrr_def(struct vcpu *v, u32 msr, u64 value)
{
	if (value & ~MTRR_DEF_MASK || !memory_type(value & 0xff))
		return false;
	v->arch.mtrr_def = value;
	return true;
}

static bool read_pat(struct vcpu *v, u32 msr, u64 *value)
{
	*value = v->arch.pat;
	return true;
}

/* Types 2 and 3 do not exist, 7 is UC-: APM vol. 2, 7.8.1. */
static bool write_pat(struct vcpu *v, u32 msr, u64 value)
{
	for (u32 n = 0; n < 8; n++) {
		u8 type = value >> (8 * n);

		if (type > 7 || type == 2 || type == 3)
			return false;
	}
	v->arch.pat = value;
	return true;
}

static bool read_tsc_aux(struct vcpu *v, u32 msr, u64 *value)
{
	*value = v->arch.tsc_aux;
	return true;
}

static bool write_tsc_aux(struct vcpu *v, u32 msr, u64 value)
{
	if (value >> 32)
		return false;
	v->arch.tsc_aux = value;
	guest_tsc_aux_load(value);
	return true;
}

/* K7 event selects and counters: they hold what was written and count nothing. */
static bool read_counter(struct vcpu *v, u32 msr, u64 *value)
{
	*value = v->arch.misc_msr[msr - MSR_K7_EVNTSEL0];
	return true;
}

static bool write_counter(struct vcpu *v, u32 msr, u64 value)
{
	v->arch.misc_msr[msr - MSR_K7_EVNTSEL0] = value;
	return true;
}

static bool read_hwcr(struct vcpu *v, u32 msr, u64 *value)
{
	*value = v->arch.misc_msr[MISC_HWCR];
	return true;
}

static bool write_hwcr(struct vcpu *v, u32 msr, u64 value)
{
	v->arch.misc_msr[MISC_HWCR] = value;
	return true;
}

/* SVM is off and locked: nothing to find there before nesting. */
static bool read_vm_cr(struct vcpu *v, u32 msr, u64 *value)
{
	*value = VM_CR_LOCK | VM_CR_SVMDIS;
	return true;
}

/* LFENCE serialises dispatch: APM vol. 2, appendix A, DE_CFG. */
static bool read_de_cfg(struct vcpu *v, u32 msr, u64 *value)
{
	*value = BIT(1);
	return true;
}

static const struct msr_entry table[] = {
	{ MSR_TSC, MSR_TSC, read_tsc, write_tsc },
	{ MSR_APIC_BASE, MSR_APIC_BASE, read_apic_base, write_apic_base },
	{ MSR_PATCH_LEVEL, MSR_PATCH_LEVEL, read_zero, write_ignored },
	{ MSR_MTRR_CAP, MSR_MTRR_CAP, read_mtrr_cap, write_refused },
	{ MSR_MCG_CAP, MSR_MCG_CAP, read_zero, write_refused },
	{ MSR_MCG_STATUS, MSR_MCG_STATUS, read_zero, write_ignored },
	{ MSR_DEBUGCTL, MSR_DEBUGCTL, read_zero, write_ignored },
	{ MSR_MTRR_VAR, MSR_MTRR_VAR + 2 * MTRR_VARIABLE - 1, read_mtrr_var, write_mtrr_var },
	{ MSR_MTRR_FIX64K, MSR_MTRR_FIX64K, read_mtrr_fixed, write_mtrr_fixed },
	{ MSR_MTRR_FIX16K, MSR_MTRR_FIX16K + 1, read_mtrr_fixed, write_mtrr_fixed },
	{ MSR_MTRR_FIX4K, MSR_MTRR_FIX4K + 7, read_mtrr_fixed, write_mtrr_fixed },
	{ MSR_PAT, MSR_PAT, read_pat, write_pat },
	{ MSR_MTRR_DEF_TYPE, MSR_MTRR_DEF_TYPE, read_mtrr_def, write_mtrr_def },
	{ MSR_TSC_DEADLINE, MSR_TSC_DEADLINE, read_deadline, write_deadline },
	{ MSR_X2APIC_BASE, MSR_X2APIC_BASE + 0xff, read_x2apic, write_x2apic },
	{ MSR_TSC_AUX, MSR_TSC_AUX, read_tsc_aux, write_tsc_aux },
	{ MSR_K7_EVNTSEL0, MSR_K7_EVNTSEL0 + 7, read_counter, write_counter },
	{ MSR_SYSCFG, MSR_SYSCFG, read_zero, write_ignored },
	{ MSR_HWCR, MSR_HWCR, read_hwcr, write_hwcr },
	{ MSR_NB_CFG, MSR_NB_CFG, read_zero, write_ignored },
	{ MSR_INT_PENDING, MSR_INT_PENDING, read_zero, write_ignored },
	{ MSR_VM_CR, MSR_VM_CR, read_vm_cr, write_refused },
	{ MSR_OSVW, MSR_OSVW + 1, read_zero, write_refused },
	{ MSR_LS_CFG, MSR_LS_CFG, read_zero, write_ignored },
	{ MSR_DE_CFG, MSR_DE_CFG, read_de_cfg, write_ignored },
};

static const struct msr_entry *find(u32 msr)
{
	u32 lo = 0, hi = ARRAY_SIZE(table);

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		const struct msr_entry *e = &table[mid];

		if (msr < e->first)
			hi = mid;
		else if (msr > e->last)
			lo = mid + 1;
		else
			return e;
	}
	return NULL;
}

bool guest_msr_read(struct vcpu *v, u32 msr, u64 *value)
{
	const struct msr_entry *e = find(msr);

	return e && e->read(v, msr, value);
}

bool guest_msr_write(struct vcpu *v, u32 msr, u64 value)
{
	const struct msr_entry *e = find(msr);

	return e && e->write(v, msr, value);
}

bool guest_msr_is_pv(u32 msr)
{
	return msr == XEN_MSR_HYPERCALL || msr == MSR_KVM_STEAL;
}

/* Without its word in the configuration a VM has no such register. */
static bool has_pv_msr(const struct vcpu *v, u32 msr)
{
	return msr == XEN_MSR_HYPERCALL ? v->vm->config.xen : v->arch.steal != NULL;
}

bool guest_pv_msr_read(struct vcpu *v, u32 msr, u64 *value)
{
	if (!has_pv_msr(v, msr))
		return false;
	*value = msr == XEN_MSR_HYPERCALL ? 0 : guest_steal_msr(v);
	return true;
}

bool guest_pv_msr_write(struct vcpu *v, u32 msr, u64 value)
{
	if (!has_pv_msr(v, msr))
		return false;
	return msr == XEN_MSR_HYPERCALL ? xen_hypercall_page(v, value) :
					  guest_steal_set_msr(v, value);
}

void guest_msr_reset(struct vcpu *v)
{
	v->arch.pat = PAT_RESET;
	v->arch.tsc_aux = 0;
	v->arch.mtrr_def = 0;
	__builtin_memset(v->arch.mtrr_var, 0, sizeof(v->arch.mtrr_var));
	__builtin_memset(v->arch.mtrr_fixed, 0, sizeof(v->arch.mtrr_fixed));
	__builtin_memset(v->arch.misc_msr, 0, sizeof(v->arch.misc_msr));
}

/* For fuzzers and tests: every range that a guest can reach. */
bool guest_msr_range(u32 n, u32 *first, u32 *last)
{
	if (n >= ARRAY_SIZE(table))
		return false;
	*first = table[n].first;
	*last = table[n].last;
	return true;
}
