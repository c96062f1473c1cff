/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self-tests of the guest half: stage 2, VMIDs, the table of trapped registers, the device tree, timers.
 * Translations are asked of the hardware (AT S12E1R) with a vCPU loaded that never runs.
 */
#include "selftest_vm.h"

#include "hyp.h"
#include "stage2.h"
#include "sysregs.h"

#include <cupel/abi.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <libfdt.h>
#include <string.h>

#include "../../drivers/timer/arm_vtimer.h"

/* --- A VM ------------------------------------------------------------------------------------- */

static bool set_up(struct vm *vm)
{
	const char *why;

	vm->vcpu = page_alloc();
	for (u32 i = 0; vm->vcpu && i < vm->config.vcpus; i++) {
		vm->vcpu[i] = vcpu_new(vm, i);
		if (!vm->vcpu[i])
			return false;
		vm->nr_vcpus++;
		arch_vcpu_init(vm->vcpu[i]);
	}
	if (!vm->nr_vcpus || stage2_init(vm) || vgic_vm_init(vm, &why))
		return false;
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		vgic_vcpu_reset(vm->vcpu[i]);
		vtimer_reset(vm->vcpu[i]);
		world_reset(vm->vcpu[i]->arch.cur, 0, 0);
	}
	return true;
}

struct vm *selftest_vm_create(u32 vcpus, enum irqchip_kind irqchip)
{
	struct vm *vm = pages_alloc(size_to_order(sizeof(*vm)));

	if (!vm)
		return NULL;
	strlcpy(vm->config.name, "selftest", sizeof(vm->config.name));
	vm->config.vcpus = vcpus;
	vm->config.irqchip = irqchip;
	vm->set_active = irq_set_percpu_state;
	if (set_up(vm))
		return vm;
	selftest_vm_destroy(vm);
	return NULL;
}

void selftest_vm_destroy(struct vm *vm)
{
	stage2_destroy(vm);
	vgic_vm_destroy(vm);
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		pages_free(vm->vcpu[i], size_to_order(sizeof(struct vcpu)));
	if (vm->vcpu)
		page_free(vm->vcpu);
	pages_free(vm, size_to_order(sizeof(*vm)));
}

void selftest_load(struct vcpu *v)
{
	arch_irq_disable();
	v->cpu = (int)cpu_id();
	arch_vcpu_load(v);
}

void selftest_put(struct vcpu *v)
{
	arch_vcpu_put(v);
	v->cpu = -1;
	arch_irq_enable();
}

/* --- Stage 2 ---------------------------------------------------------------------------------- */

#define GPA GIB(2)

static u32 level_of(struct vm *vm, gpaddr_t gpa)
{
	u32 level;

	return stage2_lookup(&vm->arch.s2[0], gpa, &level) ? level : 0;
}

static u64 desc_of(struct vm *vm, gpaddr_t gpa)
{
	u32 level;

	return stage2_lookup(&vm->arch.s2[0], gpa, &level);
}

SELFTEST(stage2_uses_the_largest_block_that_fits)
{
	struct vm *vm = selftest_vm_create(1, IRQCHIP_EXTERNAL);

	CHECK(t, vm);
	if (!vm)
		return;
	CHECK(t, !arch_stage2_map(vm, GPA, GIB(4), GIB(1) + MIB(4) + KIB(8), 0));
	CHECK(t, level_of(vm, GPA) == 1);
	CHECK(t, level_of(vm, GPA + GIB(1) - 1) == 1);
	CHECK(t, level_of(vm, GPA + GIB(1)) == 2);
	CHECK(t, level_of(vm, GPA + GIB(1) + MIB(4)) == 3);
	CHECK(t, level_of(vm, GPA + GIB(1) + MIB(4) + KIB(4)) == 3);
	CHECK(t, level_of(vm, GPA + GIB(1) + MIB(4) + KIB(8)) == 0);
	CHECK(t, level_of(vm, GPA - 1) == 0);
	CHECK(t, arch_stage2_map(vm, GPA + MIB(2), 0, KIB(4), 0) == -EEXIST);
	CHECK(t, arch_stage2_map(vm, BIT(stage2_ipa_bits()) - KIB(4), 0, KIB(8), 0) == -EINVAL);
	CHECK(t, !arch_stage2_map(vm, BIT(stage2_ipa_bits()) - KIB(4), 0, KIB(4), SLOT_READONLY));
	CHECK(t, !(desc_of(vm, BIT(stage2_ipa_bits()) - 1) & S2_AP_WRITE));
	selftest_vm_destroy(vm);
}

SELFTEST(stage2_unmaps_part_of_a_block)
{
	struct vm *vm = selftest_vm_create(1, IRQCHIP_EXTERNAL);
	struct vmid_account before = vmid_account;
	gpaddr_t hole = GPA + MIB(6) + KIB(12);

	CHECK(t, vm);
	if (!vm)
		return;
	CHECK(t, !arch_stage2_map(vm, GPA, GIB(4), GIB(1), 0));
	arch_stage2_unmap(vm, hole, KIB(8));
	CHECK(t, level_of(vm, hole) == 0);
	CHECK(t, level_of(vm, hole + KIB(4)) == 0);
	CHECK(t, level_of(vm, hole - 1) == 3);
	CHECK(t, level_of(vm, hole + KIB(8)) == 3);
	CHECK(t, level_of(vm, GPA) == 2);
	CHECK(t, (desc_of(vm, hole - 1) & S2_ADDR_MASK) == GIB(4) + MIB(6) + KIB(8));
	CHECK(t, !arch_stage2_map(vm, hole, GIB(6), KIB(4), 0));
	CHECK(t, (desc_of(vm, hole) & S2_ADDR_MASK) == GIB(6));
	CHECK(t, vmid_account.owed > before.owed);
	CHECK(t, vmid_account.owed - before.owed == vmid_account.done - before.done);
	selftest_vm_destroy(vm);
}

static u64 translate(gpaddr_t gpa, bool write)
{
	if (write)
		__asm__ volatile("at s12e1w, %0\n\tisb" : : "r"(gpa) : "memory");
	else
		__asm__ volatile("at s12e1r, %0\n\tisb" : : "r"(gpa) : "memory");
	return read_sysreg(par_el1);
}

#define S1_TABLE GIB(3) /* guest-physical, of a stage 1 that maps [GPA, GPA + 1 GiB) to itself */

/* A stage 1 of one block. */
static bool add_stage1(struct vm *vm, u64 *table)
{
	u64 *sys = vm->vcpu[0]->arch.cur->sys;

	table[GPA >> 30] = GPA | BIT(10) | 3UL << 8 | S2_VALID; /* AF, inner shareable, block */
	sys[GUEST_MAIR] = 0xff;
	sys[GUEST_TCR] = TCR_T0SZ(39) | TCR_IRGN0_WBWA | TCR_ORGN0_WBWA | TCR_SH0_INNER | BIT(23);
	sys[GUEST_TTBR0] = S1_TABLE;
	sys[GUEST_SCTLR] |= SCTLR_M;
	return !arch_stage2_map(vm, S1_TABLE, va_to_pa(table), KIB(4), 0);
}

/* Faults are left to guests (fault.c): an AT that ends in a fault of stage 2 ends QEMU 10.0 too. */
SELFTEST(stage2_translates_as_it_says)
{
	struct vm *vm = selftest_vm_create(1, IRQCHIP_EXTERNAL);
	void *page = page_alloc();
	u64 *table = page_alloc();
	u64 rw, ro;

	CHECK(t, vm && page && table);
	if (!vm || !page || !table)
		return;
	CHECK(t, add_stage1(vm, table));
	CHECK(t, !arch_stage2_map(vm, GPA, va_to_pa(page), KIB(4), 0));
	CHECK(t, !arch_stage2_map(vm, GPA + KIB(4), va_to_pa(page), KIB(4), SLOT_READONLY));
	selftest_load(vm->vcpu[0]);
	rw = translate(GPA, true);
	ro = translate(GPA + KIB(4), false);
	selftest_put(vm->vcpu[0]);
	CHECK(t, !(rw & PAR_F) && (rw & PAR_ADDR) == va_to_pa(page));
	CHECK(t, !(ro & PAR_F) && (ro & PAR_ADDR) == va_to_pa(page));
	selftest_vm_destroy(vm);
	page_free(page);
	page_free(table);
}

SELFTEST(vmids_are_clean_when_they_come_back)
{
	struct vmid_account before = vmid_account;
	u16 first = 0, id = 0;
	u32 n = 0;

	CHECK(t, !vmid_alloc(&first) && first);
	/* Once round: the freed ones are flushed before any is given again. */
	do {
		vmid_free(id ? id : first);
		CHECK(t, !vmid_alloc(&id) && id);
	} while (id != first && ++n < 70000);
	CHECK(t, id == first);
	CHECK(t, vmid_account.done > before.done);
	CHECK(t, vmid_account.done <= vmid_account.owed);
	vmid_free(id);
}

/* --- Trapped registers, device tree --------------------------------------------------------------- */

SELFTEST(sysreg_table_is_sorted)
{
	u32 count, last = 0;
	const struct sysreg_range *r = sysreg_table(&count);

	for (u32 i = 0; i < count; i++) {
		CHECK(t, r[i].first <= r[i].last && r[i].access);
		CHECK(t, !i || r[i].first > last);
		CHECK(t, SYSREG_OP0(r[i].first) == SYSREG_OP0(r[i].last));
		CHECK(t, SYSREG_CRN(r[i].first) == SYSREG_CRN(r[i].last));
		last = r[i].last;
	}
}

/* Every register there is, read, and written with all kinds of nonsense. */
static void walk_table(struct vcpu *v)
{
	static const u64 values[] = { 0, 1, ~0UL, 0x5a5a5a5a5a5a5a5a, 1UL << 40, 27, 1023 };
	u32 count;
	const struct sysreg_range *r = sysreg_table(&count);

	for (u32 i = 0; i < count; i++) {
		for (u32 key = r[i].first; key <= r[i].last; key++) {
			u64 val = 0;

			r[i].access(v, key, false, &val);
			for (u32 n = 0; n < ARRAY_SIZE(values); n++) {
				val = values[n];
				r[i].access(v, key, true, &val);
			}
		}
	}
}

SELFTEST(sysregs_take_any_value)
{
	for (enum irqchip_kind kind = IRQCHIP_FULL; kind <= IRQCHIP_EXTERNAL; kind++) {
		struct vm *vm = arch_has_irqchip(kind) ? selftest_vm_create(2, kind) : NULL;

		if (!vm)
			continue;
		selftest_load(vm->vcpu[1]);
		walk_table(vm->vcpu[1]);
		vgic_fold(vm->vcpu[1]);
		selftest_put(vm->vcpu[1]);
		selftest_vm_destroy(vm);
	}
}

SELFTEST(guest_fdt_lists_what_there_is)
{
	struct vm *vm = selftest_vm_create(5, IRQCHIP_EXTERNAL);
	void *buf = pages_alloc(2);
	int cpus, node, n = 0;

	CHECK(t, vm && buf);
	if (!vm || !buf)
		return;
	vm->config.memory = MIB(64);
	strlcpy(vm->config.cmdline, "one=1 two", sizeof(vm->config.cmdline));
	CHECK(t, guest_fdt_build(vm, buf, 256) < 0);
	CHECK(t, guest_fdt_build(vm, buf, KIB(16)) > 0);
	CHECK(t, !fdt_check_header(buf));
	cpus = fdt_path_offset(buf, "/cpus");
	fdt_for_each_subnode(node, buf, cpus)
		n++;
	CHECK(t, n == 5);
	CHECK(t, !strcmp(fdt_getprop(buf, fdt_path_offset(buf, "/chosen"), "bootargs", NULL),
			 "one=1 two"));
	CHECK(t, fdt_node_offset_by_compatible(buf, -1, "arm,armv8-timer") > 0);
	CHECK(t, fdt_node_offset_by_compatible(buf, -1, "arm,pl011") > 0);
	selftest_vm_destroy(vm);
	pages_free(buf, 2);
}

/* --- The load rule -------------------------------------------------------------------------------- */

/* Active, or masked where there is no active state. */
static bool host_active(const struct vtimer *timer)
{
	bool on = false;

	irq_get_state(timer->desc, (enum irq_state)timer->host_state, &on);
	return on;
}

/* That state of the host's PPI after a load, with the timer as given and a stale state before. */
static bool active_after_load(struct vcpu *v, u32 which, bool due, bool stale)
{
	struct vtimer *timer = &v->arch.timer[which];
	bool active;

	timer->ctl = CNT_CTL_ENABLE;
	timer->cval = due ? 0 : ~0UL;
	arch_irq_disable();
	irq_set_state(timer->desc, (enum irq_state)timer->host_state, stale);
	selftest_load(v);
	active = host_active(timer);
	selftest_put(v);
	timer->ctl = 0;
	return active;
}

static void check_load_rule(struct selftest_ctx *t, enum irqchip_kind kind)
{
	struct vm *vm = selftest_vm_create(1, kind);

	CHECK(t, vm);
	if (!vm)
		return;
	for (u32 i = 0; i < NR_TIMERS; i++) {
		if (!vm->vcpu[0]->arch.timer[i].direct)
			continue;
		CHECK(t, active_after_load(vm->vcpu[0], i, true, false));
		CHECK(t, active_after_load(vm->vcpu[0], i, true, true));
		CHECK(t, !active_after_load(vm->vcpu[0], i, false, false));
		CHECK(t, !active_after_load(vm->vcpu[0], i, false, true));
	}
	selftest_vm_destroy(vm);
}

SELFTEST(vtimer_load_writes_the_active_state)
{
	check_load_rule(t, IRQCHIP_EXTERNAL);
	if (arch_has_irqchip(IRQCHIP_FULL))
		check_load_rule(t, IRQCHIP_FULL);
}

/* The host takes the timer's PPI now though the timer has nothing to say: what it leaves active. */
static bool active_after_spurious(struct vcpu *v, u32 which, bool *taken)
{
	struct vtimer *timer = &v->arch.timer[which];
	bool pending = true;

	irq_set_state(timer->desc, IRQ_STATE_PENDING, true);
	for (u32 tries = 0; tries < 1000 && pending; tries++) {
		arch_irq_enable(); /* interrupts are taken in here */
		arch_irq_disable();
		irq_get_state(timer->desc, IRQ_STATE_PENDING, &pending);
	}
	*taken = !pending;
	return host_active(timer);
}

/*
 * With a vCPU loaded nobody else will deactivate it: left active, it would swallow the next tick. With
 * none there is nothing to look at, and the next load writes what holds then.
 */
static void check_spurious(struct selftest_ctx *t, struct vcpu *v, u32 which)
{
	bool taken;

	CHECK(t, !active_after_load(v, which, false, true));
	arch_irq_disable();
	selftest_load(v);
	CHECK(t, !active_after_spurious(v, which, &taken));
	CHECK(t, taken);
	selftest_put(v);
	arch_irq_disable();
	active_after_spurious(v, which, &taken);
	CHECK(t, taken);
	CHECK(t, !active_after_load(v, which, false, true));
	arch_irq_enable();
}

SELFTEST(vtimer_spurious_interrupt_is_deactivated)
{
	struct vm *vm;

	if (platform.gic.kind == GIC_BCM2836) {
		t->skipped = "an interrupt can't be made pending here";
		return;
	}
	vm = selftest_vm_create(1, IRQCHIP_EXTERNAL);
	CHECK(t, vm);
	if (!vm)
		return;
	for (u32 i = 0; i < NR_TIMERS; i++)
		if (vm->vcpu[0]->arch.timer[i].direct)
			check_spurious(t, vm->vcpu[0], i);
	selftest_vm_destroy(vm);
}

SELFTEST(vtimer_deadlines_do_not_overflow)
{
	struct vm *vm = selftest_vm_create(1, IRQCHIP_EXTERNAL);
	struct vtimer *timer;
	struct vcpu *v;

	CHECK(t, vm);
	if (!vm)
		return;
	v = vm->vcpu[0];
	timer = &v->arch.timer[TIMER_VIRT];
	v->arch.vgic.irq[timer->intid] |= VIRQ_ENABLED;
	v->arch.vgic.soft.grpen = 3;
	v->arch.vgic.soft.pmr = 0xff;
	vm->arch.vgic->ctlr = 3;
	CHECK(t, vtimer_deadline(v) == ~0UL);
	timer->ctl = CNT_CTL_ENABLE;
	timer->offset = arch_counter() / 2;
	timer->cval = ~0UL;
	CHECK(t, vtimer_deadline(v) == ~0UL && !vtimer_wakeable(v));
	timer->cval = 0;
	CHECK(t, vtimer_deadline(v) <= arch_counter() && vtimer_wakeable(v));
	timer->cval = arch_counter() - timer->offset + GIB(4);
	CHECK(t, vtimer_deadline(v) == timer->cval + timer->offset && !vtimer_wakeable(v));
	timer->ctl |= CNT_CTL_IMASK;
	CHECK(t, vtimer_deadline(v) == ~0UL);
	selftest_vm_destroy(vm);
}
