/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest's stage 1 as the software walk reads it, against the hardware's own word for the same address:
 * AT is the judge, so that nothing here may know what the right answer is.
 */
#include "hyp.h"
#include "selftest_vm.h"

#include <cupel/mm.h>

#define TABLES	GIB(3) /* guest-physical */
#define MEMORY	GIB(1)
#define VALID	BIT(0)
#define TABLE	BIT(1)
#define RO	BIT(7)
#define AF	BIT(10)
#define ALL_RO	BIT(62)
#define ENTRIES 512

/* Levels 3 to 0, a page each: every kind of entry once. */
static void fill(u64 (*level)[ENTRIES])
{
	u64 *l3 = level[0], *l2 = level[1], *l1 = level[2], *l0 = level[3];

	l3[0] = MEMORY | AF | TABLE | VALID;
	l3[1] = (MEMORY + KIB(4)) | AF | RO | TABLE | VALID;
	l3[2] = (MEMORY + KIB(8)) | TABLE | VALID; /* never accessed */
	l3[3] = (MEMORY + KIB(12)) | AF | VALID; /* reserved */
	l2[0] = (MEMORY + MIB(2)) | AF | VALID;
	l2[1] = TABLES | TABLE | VALID;
	l2[2] = (MEMORY + MIB(4)) | AF | RO | VALID;
	l2[3] = GIB(5) | TABLE | VALID; /* a table where there is no memory */
	l1[1] = MEMORY | AF | VALID;
	l1[2] = MEMORY | AF | RO | VALID;
	l1[3] = (TABLES + KIB(4)) | TABLE | VALID;
	l1[4] = (TABLES + KIB(4)) | ALL_RO | TABLE | VALID;
	l1[5] = MEMORY | VALID;
	l0[0] = (TABLES + KIB(8)) | TABLE | VALID;
}

static void set_regime(struct vcpu *v, u32 va_bits)
{
	u64 *sys = v->arch.cur->sys;

	sys[GUEST_MAIR] = 0xff;
	sys[GUEST_TCR] = TCR_T0SZ(va_bits) | TCR_IRGN0_WBWA | TCR_ORGN0_WBWA | TCR_SH0_INNER |
			 BIT(23); /* EPD1 */
	sys[GUEST_TTBR0] = TABLES + (va_bits > 39 ? KIB(12) : KIB(8));
	sys[GUEST_SCTLR] |= SCTLR_M;
}

/* What AT says, and nothing of what Cupel makes of it. */
static bool hardware(u64 va, bool write, gpaddr_t *gpa)
{
	u64 par;

	if (write)
		__asm__ volatile("at s1e1w, %0\n\tisb" : : "r"(va) : "memory");
	else
		__asm__ volatile("at s1e1r, %0\n\tisb" : : "r"(va) : "memory");
	par = read_sysreg(par_el1);
	*gpa = (par & PAR_ADDR) | (va & (PAGE_SIZE - 1));
	return !(par & PAR_F);
}

static u32 differences(struct vcpu *v, u32 va_bits)
{
	static const u64 offsets[] = { 0x123,		KIB(4) + 8,
				       MIB(2),		MIB(2) + KIB(4) + 8,
				       MIB(2) + KIB(8), MIB(2) + KIB(12),
				       MIB(4) + 0x777,	GIB(1) - 8 };
	static const u64 bases[] = {
		0,	 GIB(1),  GIB(2),  GIB(3),  GIB(4),	GIB(5),	 GIB(6),
		BIT(38), BIT(39), BIT(47), BIT(48), ~0UL << 48, BIT(63), 0x5aUL << 56 | GIB(1)
	};
	u32 n = 0;

	set_regime(v, va_bits);
	selftest_load(v);
	__asm__ volatile("tlbi vmalls12e1\n\tdsb nsh\n\tisb" : : : "memory");
	for (u32 i = 0; i < 2 * ARRAY_SIZE(bases) * ARRAY_SIZE(offsets); i++) {
		u64 va = bases[i / 2 / ARRAY_SIZE(offsets)] + offsets[i / 2 % ARRAY_SIZE(offsets)];
		bool write = i % 2, hw, sw;
		gpaddr_t hw_gpa, sw_gpa;

		hw = hardware(va, write, &hw_gpa);
		sw = guest_walk(v, va, write, &sw_gpa);
		n += hw != sw || (hw && hw_gpa != sw_gpa);
	}
	selftest_put(v);
	return n;
}

SELFTEST(walks_in_software_as_in_hardware)
{
	struct vm *vm = selftest_vm_create(1, IRQCHIP_EXTERNAL);
	u64(*level)[ENTRIES] = pages_alloc(2);
	struct mem_slots *slots = pages_alloc(size_to_order(sizeof(*slots)));

	CHECK(t, vm && level && slots);
	if (!vm || !level || !slots)
		return;
	fill(level);
	slots->count = 1;
	slots->slot[0] = (struct mem_slot){ .gpa = TABLES, .size = KIB(16), .pa = va_to_pa(level) };
	vm->slots = slots;
	CHECK(t, !arch_stage2_map(vm, TABLES, va_to_pa(level), KIB(16), 0));
	CHECK(t, !differences(vm->vcpu[0], 39));
	CHECK(t, !differences(vm->vcpu[0], 48));
	vm->slots = NULL;
	selftest_vm_destroy(vm);
	pages_free(slots, size_to_order(sizeof(*slots)));
	pages_free(level, 2);
}
