/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self-tests of the walker through a guest's page tables and of the nested page tables: tables are
 * made by hand in a VM that never runs.
 */
#include "svm/internal.h"
#include <asm/msr.h>
#include <asm/trap.h>
#include <cupel/abi.h>
#include <cupel/errno.h>
#include <cupel/ktap.h>
#include <cupel/mm.h>
#include <cupel/vm.h>

#define TABLES 0x10000UL /* 4 KiB each, level by level */
#define P      1UL
#define RW     2UL
#define US     4UL
#define A      0x20UL
#define D      0x40UL
#define PS     0x80UL
#define NX     BIT(63)
#define LINEAR 0x00007f1234567abcUL

static const u8 ret_code[] = { 0xc3 };

static struct vm *make_vm(struct selftest_ctx *t)
{
	struct vm_config c = { .name = "walk", .memory = MIB(2), .vcpus = 1 };
	const char *why;
	int err;
	struct vm *vm = vm_create(&c, ret_code, sizeof(ret_code), &err, &why);

	CHECK(t, vm);
	return vm;
}

static u64 *table(struct vm *vm, u32 n)
{
	return vm_gpa_to_va(vm, TABLES + n * PAGE_SIZE, PAGE_SIZE, true);
}

/* Four levels for LINEAR; `leaf` is the last entry's flags. */
static void map_long(struct vm *vm, u64 upper, u64 leaf)
{
	for (u32 n = 0; n < 3; n++)
		table(vm, n)[LINEAR >> (39 - 9 * n) & 511] = (TABLES + (n + 1) * PAGE_SIZE) | upper;
	table(vm, 3)[LINEAR >> 12 & 511] = 0x42000 | leaf;
}

static struct guest_paging long_mode(void)
{
	return (struct guest_paging){
		.cr0 = CR0_PE | CR0_PG | CR0_WP,
		.cr3 = TABLES,
		.cr4 = CR4_PAE,
		.efer = EFER_LME | EFER_LMA | EFER_NXE,
	};
}

SELFTEST(walk_long_mode)
{
	struct guest_paging p = long_mode();
	struct vm *vm = make_vm(t);
	gpaddr_t gpa = 0;
	u32 error;

	if (!vm)
		return;
	map_long(vm, P | RW | US, P | RW);
	CHECK(t, !guest_walk(vm->vcpu[0], &p, LINEAR, WALK_READ, &gpa, &error));
	CHECK(t, gpa == 0x42abc);
	CHECK(t, table(vm, 3)[LINEAR >> 12 & 511] == (0x42000 | P | RW | A));
	CHECK(t, !guest_walk(vm->vcpu[0], &p, LINEAR, WALK_WRITE, &gpa, &error));
	CHECK(t, table(vm, 3)[LINEAR >> 12 & 511] == (0x42000 | P | RW | A | D));
	CHECK(t, table(vm, 0)[LINEAR >> 39 & 511] & A);
	/* 2 MiB: the third level is the last */
	table(vm, 2)[LINEAR >> 21 & 511] = 0x40000000 | P | RW | PS;
	CHECK(t, !guest_walk(vm->vcpu[0], &p, LINEAR, WALK_READ, &gpa, &error));
	CHECK(t, gpa == 0x40000000 + (LINEAR & 0x1fffff));
	vm_destroy(vm);
}

static u32 fault_of(struct vm *vm, const struct guest_paging *p, u32 access)
{
	gpaddr_t gpa;
	u32 error = ~0U;

	return guest_walk(vm->vcpu[0], p, LINEAR, access, &gpa, &error) == -EFAULT ? error : ~0U;
}

SELFTEST(walk_rights)
{
	struct guest_paging p = long_mode();
	struct vm *vm = make_vm(t);

	if (!vm)
		return;
	map_long(vm, P | RW | US, P | US | NX);
	CHECK(t, fault_of(vm, &p, WALK_READ) == ~0U);
	CHECK(t, fault_of(vm, &p, WALK_WRITE) == (X86_PF_PRESENT | X86_PF_WRITE));
	CHECK(t, fault_of(vm, &p, WALK_FETCH) == (X86_PF_PRESENT | X86_PF_FETCH));
	p.cr0 &= ~(u64)CR0_WP;
	CHECK(t, fault_of(vm, &p, WALK_WRITE) == ~0U);
	p.cr4 |= CR4_SMAP;
	CHECK(t, fault_of(vm, &p, WALK_READ) == X86_PF_PRESENT);
	p.rflags |= BIT(18);
	CHECK(t, fault_of(vm, &p, WALK_READ) == ~0U);
	map_long(vm, P | RW | US, P);
	p.cpl = 3;
	CHECK(t, fault_of(vm, &p, WALK_READ) == (X86_PF_PRESENT | X86_PF_USER));
	CHECK(t, fault_of(vm, &p, WALK_READ | WALK_SYSTEM) == ~0U);
	map_long(vm, P | RW | US, 0);
	CHECK(t, fault_of(vm, &p, WALK_WRITE) == (X86_PF_WRITE | X86_PF_USER));
	vm_destroy(vm);
}

/* Tables that lead nowhere end the walk; they never lead out of the guest. */
SELFTEST(walk_stays_inside)
{
	struct guest_paging p = long_mode();
	struct vm *vm = make_vm(t);
	gpaddr_t gpa;
	u32 error;

	if (!vm)
		return;
	p.cr3 = 0xfffffffffff000;
	CHECK(t, guest_walk(vm->vcpu[0], &p, LINEAR, WALK_READ, &gpa, &error) == -ENXIO);
	p.cr3 = TABLES;
	table(vm, 0)[LINEAR >> 39 & 511] = 0xf0000000000 | P;
	CHECK(t, guest_walk(vm->vcpu[0], &p, LINEAR, WALK_READ, &gpa, &error) == -ENXIO);
	/* Nor may a walk write to what the guest itself may not: its accessed bits would. */
	table(vm, 0)[LINEAR >> 39 & 511] = GUEST_X86_ROM | P | RW;
	CHECK(t, guest_walk(vm->vcpu[0], &p, LINEAR & ~GENMASK(38, 0), WALK_READ, &gpa, &error) ==
			 -ENXIO);
	CHECK(t, *(u64 *)vm_gpa_to_va(vm, GUEST_X86_ROM, 8, false) == GUEST_ROM_MAGIC);
	vm_destroy(vm);
}

SELFTEST(walk_canonical)
{
	struct guest_paging p = long_mode();
	struct vm *vm = make_vm(t);
	gpaddr_t gpa;
	u32 error;

	if (!vm)
		return;
	map_long(vm, P | RW | US, P | RW);
	CHECK(t, guest_walk(vm->vcpu[0], &p, LINEAR | BIT(63), WALK_READ, &gpa, &error) == -ERANGE);
	CHECK(t, guest_walk(vm->vcpu[0], &p, LINEAR | BIT(47), WALK_READ, &gpa, &error) == -ERANGE);
	CHECK(t, guest_walk(vm->vcpu[0], &p, LINEAR | ~GENMASK(46, 0), WALK_READ, &gpa, &error) ==
			 -EFAULT);
	vm_destroy(vm);
}

SELFTEST(walk_32bit_and_pae)
{
	struct guest_paging p = { .cr0 = CR0_PE | CR0_PG, .cr3 = TABLES, .cr4 = CR4_PSE };
	u32 linear = 0xc0123456;
	struct vm *vm = make_vm(t);
	gpaddr_t gpa = 0;
	u32 error;

	if (!vm)
		return;
	((u32 *)table(vm, 0))[linear >> 22] = (TABLES + PAGE_SIZE) | P | RW;
	((u32 *)table(vm, 1))[linear >> 12 & 1023] = 0x55000 | P | RW;
	CHECK(t, !guest_walk(vm->vcpu[0], &p, linear, WALK_WRITE, &gpa, &error));
	CHECK(t, gpa == 0x55456);
	CHECK(t, ((u32 *)table(vm, 1))[linear >> 12 & 1023] == (0x55000 | P | RW | A | D));
	((u32 *)table(vm, 0))[linear >> 22] = 0x01400000 | P | RW | PS;
	CHECK(t, !guest_walk(vm->vcpu[0], &p, linear, WALK_READ, &gpa, &error));
	CHECK(t, gpa == 0x01400000 + (linear & 0x3fffff));
	p.cr4 = CR4_PAE;
	p.cr3 = TABLES + 0x20;
	table(vm, 0)[4 + (linear >> 30)] = (TABLES + PAGE_SIZE) | P;
	table(vm, 1)[linear >> 21 & 511] = (TABLES + 2 * PAGE_SIZE) | P | RW;
	table(vm, 2)[linear >> 12 & 511] = 0x66000 | P | RW;
	CHECK(t, !guest_walk(vm->vcpu[0], &p, linear, WALK_WRITE, &gpa, &error));
	CHECK(t, gpa == 0x66456);
	vm_destroy(vm);
}

/* The largest pages that fit, split when a part of one goes, and all of it given back. */
SELFTEST(npt_pages)
{
	static struct vm vm; /* only its root is used */
	u64 before = mm_stats().free_pages;

	CHECK(t, !npt_create(&vm));
	CHECK(t, !npt_map(&vm, 0, 0x40000000, GIB(1) + MIB(2) + PAGE_SIZE, true));
	CHECK(t, vm.arch.root[0].pages == (svm_features.pages_1g ? 3 : 4));
	CHECK(t,
	      (npt_lookup(&vm, 0x12345678) & GENMASK(51, 21)) ==
		      ((0x40000000 + 0x12345678UL) & GENMASK(51, svm_features.pages_1g ? 30 : 21)));
	npt_unmap(&vm, 0x12345000, PAGE_SIZE);
	CHECK(t, !npt_lookup(&vm, 0x12345678));
	CHECK(t, (npt_lookup(&vm, 0x12344000) & GENMASK(51, 12)) == 0x40000000 + 0x12344000UL);
	CHECK(t, (npt_lookup(&vm, 0x12346000) & GENMASK(51, 12)) == 0x40000000 + 0x12346000UL);
	CHECK(t, npt_lookup(&vm, 0x12400000) & PS);
	npt_unmap(&vm, 0, GIB(2));
	CHECK(t, !npt_lookup(&vm, 0) && !npt_lookup(&vm, GIB(1)) && !npt_lookup(&vm, 0x12346000));
	CHECK(t, npt_map(&vm, BIT(48) - PAGE_SIZE, 0, 2 * PAGE_SIZE, true) == -ERANGE);
	npt_destroy(&vm);
	vm.arch.root[0].pages = 0;
	CHECK(t, mm_stats().free_pages == before);
}
