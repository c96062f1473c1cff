/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self-tests of the host half: address space, traps, interrupt controller, tick and CPUs, on the machine
 * that runs. They leave everything as they found it.
 */
#include "../../drivers/gic/gic.h"

#include <asm/host.h>
#include <asm/mm.h>
#include <asm/trap.h>
#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/config.h>
#include <cupel/ktap.h>
#include <cupel/percpu.h>
#include <cupel/platform.h>
#include <cupel/smp.h>
#include <string.h>

#define MSEC 1000000UL

/* --- Address space -------------------------------------------------------------------------- */

struct rights {
	u64 writable_and_executable, executable, writable;
};

static bool pte_executable(u64 pte)
{
	return !(pte & (arm64_vhe ? PTE_PXN : PTE_XN));
}

static void count_rights(u64 va, u64 size, u64 pte, void *arg)
{
	struct rights *r = arg;
	bool writable = !(pte & PTE_AP_RO);

	r->writable += writable ? size : 0;
	r->executable += pte_executable(pte) ? size : 0;
	r->writable_and_executable += writable && pte_executable(pte) ? size : 0;
}

SELFTEST(arm64_no_page_is_writable_and_executable)
{
	struct rights r = { 0 };

	pgtable_walk(&host_pgtable, count_rights, &r);
	CHECK(t, r.writable_and_executable == 0);
	CHECK(t, r.executable == (u64)(__text_end - __text_start));
	CHECK(t, r.writable > 0);
	CHECK(t, read_sysreg(sctlr_el2) & SCTLR_WXN);
}

static void load(void *p)
{
	READ_ONCE(*(u64 *)p);
}

static void store(void *p)
{
	WRITE_ONCE(*(u64 *)p, 0);
}

static void call(void *p)
{
	((void (*)(void))p)();
}

/* True when the access faults in the given way, at that address. */
static bool faults(void (*access)(void *), void *p, u32 type)
{
	struct trap_info info;

	return !arm64_try(access, p, &info) && FSC_TYPE(ESR_ABT_FSC(info.esr)) == type &&
	       info.far == (u64)p;
}

SELFTEST(arm64_null_page_is_unmapped)
{
	CHECK(t, faults(load, NULL, FSC_TRANSLATION));
	CHECK(t, faults(store, (void *)(PAGE_SIZE - 8), FSC_TRANSLATION));
}

SELFTEST(arm64_text_and_rodata_are_read_only)
{
	CHECK(t, faults(store, __text_start, FSC_PERMISSION));
	CHECK(t, faults(store, __rodata_start, FSC_PERMISSION));
}

SELFTEST(arm64_data_is_not_executable)
{
	CHECK(t, faults(call, __data_start, FSC_PERMISSION));
	CHECK(t, faults(call, __rodata_start, FSC_PERMISSION));
}

SELFTEST(arm64_stack_has_a_guard_below)
{
	u64 bottom = ALIGN_DOWN((u64)__builtin_frame_address(0), STACK_SIZE);

	CHECK(t, mm_on_stack(cpu_id(), bottom));
	CHECK(t, mm_in_guard(bottom - 8));
	CHECK(t, faults(store, (void *)(bottom - 8), FSC_TRANSLATION));
	CHECK(t, faults(store, (void *)(bottom - STACK_SIZE), FSC_TRANSLATION));
}

SELFTEST(arm64_device_map_refuses_what_is_mapped_otherwise)
{
	CHECK(t, !arch_map_device((paddr_t)__text_start, PAGE_SIZE));
	CHECK(t, !arch_map_device(platform.mem[0].base, PAGE_SIZE));
	CHECK(t, !arch_map_device(BIT(VA_BITS), PAGE_SIZE));
	CHECK(t, !arch_map_device(0, PAGE_SIZE));
}

SELFTEST(arm64_backtrace_stays_in_text)
{
	unsigned long pc[16];
	unsigned int n = arch_backtrace(pc, ARRAY_SIZE(pc));

	CHECK(t, n >= 2);
	for (unsigned int i = 0; i < n; i++)
		CHECK(t, pc[i] >= (u64)__text_start && pc[i] < (u64)__text_end);
}

/* --- Interrupts and the tick ---------------------------------------------------------------- */

/* What keeps an interrupt from coming again on this machine. */
static enum irq_state quiet_state(void)
{
	return platform.gic.kind == GIC_BCM2836 ? IRQ_STATE_MASKED : IRQ_STATE_ACTIVE;
}

static bool state_follows(struct irq_desc *d, irq_set_state_t set, enum irq_state which)
{
	bool on = false, off = true;

	return set(d, which, true) == 0 && irq_get_state(d, which, &on) == 0 &&
	       set(d, which, false) == 0 && irq_get_state(d, which, &off) == 0 && on && !off;
}

/* The EL1 physical timer's PPI, which is quiet while no guest runs; pending, it must not be taken. */
SELFTEST(gic_states_of_a_ppi)
{
	struct irq_desc *d = irq_to_desc(platform.timer.phys_ns);
	unsigned long flags = arch_irq_save();
	bool gic = quiet_state() == IRQ_STATE_ACTIVE;

	CHECK(t, state_follows(d, irq_set_state, quiet_state()));
	CHECK(t, state_follows(d, irq_set_percpu_state, quiet_state()));
	CHECK(t, state_follows(d, irq_set_percpu_state, IRQ_STATE_PENDING) == gic);
	CHECK(t, (irq_set_state(d, IRQ_STATE_ACTIVE, false) == 0) == gic);
	irq_disable(d->irq);
	arch_irq_restore(flags);
}

SELFTEST(gic_percpu_state_takes_the_lock_only_on_gicv2)
{
	struct irq_desc *d = irq_to_desc(platform.timer.phys_ns);
	u32 before = d->lock.next;
	bool masked = quiet_state() == IRQ_STATE_MASKED;

	CHECK(t, irq_set_percpu_state(d, quiet_state(), masked) == 0);
	CHECK(t, (d->lock.next == before) == (platform.gic.kind != GIC_V2));
	before = d->lock.next;
	CHECK(t, irq_set_state(d, quiet_state(), masked) == 0);
	CHECK(t, d->lock.next == before + 1);
}

struct alarm {
	struct soft_timer timer;
	u64 fired_at; /* 0 = not yet */
};

static void alarm_fires(struct soft_timer *timer)
{
	WRITE_ONCE(container_of(timer, struct alarm, timer)->fired_at, arch_counter());
}

static bool alarm_within(struct alarm *a, u64 ns)
{
	u64 deadline = arch_counter() + ns_to_ticks(ns);

	while (!READ_ONCE(a->fired_at) && arch_counter() < deadline)
		cpu_relax();
	return READ_ONCE(a->fired_at);
}

SELFTEST(arm64_tick_fires_not_before_its_time)
{
	struct alarm a = { .timer.fn = alarm_fires };
	u64 deadline = arch_counter() + ns_to_ticks(MSEC);

	soft_timer_arm(&a.timer, deadline);
	CHECK(t, alarm_within(&a, 1000 * MSEC));
	CHECK(t, a.fired_at >= deadline);
	soft_timer_cancel(&a.timer);
}

/* What the guest timer rests on: an active (or masked) interrupt whose level is high does not come again. */
SELFTEST(gic_active_ppi_does_not_fire_until_deactivated)
{
	struct irq_desc *d = irq_to_desc(platform.timer.hyp_phys);
	struct alarm a = { .timer.fn = alarm_fires };
	bool pending = false;

	CHECK(t, irq_set_percpu_state(d, quiet_state(), true) == 0);
	dsb(sy);
	soft_timer_arm(&a.timer, arch_counter());
	CHECK(t, !alarm_within(&a, 2 * MSEC));
	if (quiet_state() == IRQ_STATE_ACTIVE)
		CHECK(t, irq_get_state(d, IRQ_STATE_PENDING, &pending) == 0 && pending);
	CHECK(t, irq_set_percpu_state(d, quiet_state(), false) == 0);
	CHECK(t, alarm_within(&a, 1000 * MSEC));
	soft_timer_cancel(&a.timer);
}

static bool irq_count_moves(u32 cpu, u64 before)
{
	u64 deadline = arch_counter() + ns_to_ticks(1000 * MSEC);

	while (READ_ONCE(*per_cpu_ptr(irq_count, cpu)) == before && arch_counter() < deadline)
		cpu_relax();
	return READ_ONCE(*per_cpu_ptr(irq_count, cpu)) != before;
}

SELFTEST(arm64_kick_arrives_on_every_cpu)
{
	for_each_online_cpu(cpu) {
		u64 before = READ_ONCE(*per_cpu_ptr(irq_count, cpu));

		arch_cpu_kick((u32)cpu);
		CHECK(t, irq_count_moves((u32)cpu, before));
	}
}

/* --- CPUs ----------------------------------------------------------------------------------- */

struct cpu_facts {
	u64 mpidr, hcr, sctlr, ttbr;
	u32 cpu;
	bool on_own_stack;
};

static void learn_facts(void *arg)
{
	struct cpu_facts *f = arg;

	f->mpidr = read_sysreg(mpidr_el1) & MPIDR_AFFINITY_MASK;
	f->hcr = read_sysreg(hcr_el2);
	f->sctlr = read_sysreg(sctlr_el2);
	f->ttbr = read_sysreg(ttbr0_el2);
	f->cpu = cpu_id();
	f->on_own_stack = mm_on_stack(f->cpu, (u64)__builtin_frame_address(0));
}

SELFTEST(arm64_every_cpu_is_set_up_alike)
{
	for_each_online_cpu(cpu) {
		struct cpu_facts f = { 0 };

		CHECK(t, smp_call((u32)cpu, learn_facts, &f) == 0);
		CHECK(t, f.cpu == (u32)cpu);
		CHECK(t, f.mpidr == platform.cpus[cpu].hwid);
		CHECK(t, ((f.hcr & HCR_E2H) != 0) == arm64_vhe);
		CHECK(t, (f.hcr & ARM64_HCR_HOST) == ARM64_HCR_HOST && !(f.hcr & HCR_TGE));
		CHECK(t, f.sctlr == host_mmu.sctlr && f.ttbr == host_mmu.ttbr);
		CHECK(t, f.on_own_stack);
	}
}

SELFTEST(arm64_mode_is_what_was_asked)
{
	const char *mode = cmdline_get("arm64.mode");
	bool can = arm64_id_field(arm64_ids.mmfr1, MMFR1_VH);

	CHECK(t, arm64_vhe == (can && !(mode && !strcmp(mode, "nvhe"))));
}
