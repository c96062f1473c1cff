/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stage 1 of a guest, walked in software through its slots: for when the hardware's walk met the second
 * stage, because a page of the guest's tables is on its way just then. Reads tables only by copies, and
 * goes no further than the levels that there are, whatever they say.
 */
#include "hyp.h"

/* TCR_EL1, D19.2.138. The fields of TTBR1 are 16 bits above those of TTBR0, but for TG1 and TBI1. */
#define TCR_TSZ(tcr)  ((tcr) & 0x3f)
#define TCR_EPD	      BIT(7)
#define TCR_TG(tcr)   ((tcr) >> 14 & 3)
#define TCR_HIGH      16
#define TCR_TBI(high) BIT((high) ? 38 : 37)
#define TCR_HA	      BIT(39)
#define TCR_HD	      BIT(40)

/* VMSAv8-64 descriptors, D8.3.1 */
#define DESC_VALID	BIT(0)
#define DESC_TABLE	BIT(1)
#define DESC_READONLY	BIT(7)
#define DESC_AF		BIT(10)
#define DESC_DBM	BIT(51)
#define DESC_APTABLE_RO BIT(62)
#define DESC_ADDR	0x0000fffffffff000UL

struct regime {
	u64 tcr; /* its half in the low bits of TTBR0's */
	u64 table;
	u32 granule; /* bits of an address in a page */
	u32 input; /* bits of an address that is translated */
};

/* False: addresses there are none of this half. */
static bool find_regime(const u64 *sys, u64 va, struct regime *r)
{
	/* TG1 and TG0 number the granules differently; 0: no such granule. */
	static const u8 granules[2][4] = { { 12, 16, 14, 0 }, { 0, 14, 12, 16 } };
	bool high = va >> 55 & 1;
	u64 tcr = sys[GUEST_TCR] >> (high ? TCR_HIGH : 0);
	u64 sign, unused;

	r->tcr = sys[GUEST_TCR];
	r->table = sys[high ? GUEST_TTBR1 : GUEST_TTBR0] & DESC_ADDR;
	r->granule = granules[high][TCR_TG(tcr)];
	r->input = 64 - (u32)TCR_TSZ(tcr);
	if ((tcr & TCR_EPD) || !r->granule || r->input > 48 || r->input < 25)
		return false;
	sign = high ? ~0UL : 0;
	unused = ~0UL << r->input & (r->tcr & TCR_TBI(high) ? ~0UL >> 8 : ~0UL);
	return !((va ^ sign) & unused);
}

static bool may(const struct regime *r, u64 desc, bool table_ro, bool write)
{
	bool writable = !(desc & DESC_READONLY) || ((desc & DESC_DBM) && (r->tcr & TCR_HD));

	return ((desc & DESC_AF) || (r->tcr & TCR_HA)) && (!write || (writable && !table_ro));
}

/* Address bits of va in [from, to). */
static u64 bits(u64 va, u32 from, u32 to)
{
	return va & ~(~0UL << to) & ~0UL << from;
}

static bool walk(struct vm *vm, const struct regime *r, u64 va, bool write, gpaddr_t *gpa)
{
	u32 stride = r->granule - 3, levels = DIV_ROUND_UP(r->input - r->granule, stride);
	u32 top = r->input;
	bool table_ro = false;
	u64 table = r->table, desc;

	for (u32 shift = r->granule + (levels - 1) * stride;; shift -= stride, top = shift + stride) {
		bool last = shift == r->granule;

		if (vm_copy_from(vm, &desc, table + (bits(va, shift, top) >> shift << 3),
				 sizeof(desc)) ||
		    !(desc & DESC_VALID) || (last && !(desc & DESC_TABLE)))
			return false;
		if (last || !(desc & DESC_TABLE)) {
			*gpa = bits(desc & DESC_ADDR, shift, 48) | bits(va, 0, shift);
			return may(r, desc, table_ro, write);
		}
		table_ro |= desc & DESC_APTABLE_RO;
		table = bits(desc & DESC_ADDR, r->granule, 48);
	}
}

bool guest_walk(struct vcpu *v, u64 va, bool write, gpaddr_t *gpa)
{
	struct regime r;

	world_put(v->arch.cur);
	return find_regime(v->arch.cur->sys, va, &r) && walk(v->vm, &r, va, write, gpa);
}
