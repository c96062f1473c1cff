/* SPDX-License-Identifier: GPL-2.0-only */
/* Self-tests of locks, calls, timers and interrupt state across all CPUs of the machine. */
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/irq.h>
#include <cupel/ktap.h>
#include <cupel/lock.h>
#include <cupel/percpu.h>
#include <cupel/sched.h>
#include <cupel/smp.h>

#include "selftest.h"

static struct {
	void (*fn)(u32 cpu, void *arg);
	void *arg;
	u32 go;
} everywhere;

static void run_here(void *arg)
{
	/* Pairs with the release below: all start together, and see what was set up. */
	while (!load_acquire(&everywhere.go))
		cpu_relax();
	everywhere.fn(cpu_id(), everywhere.arg);
}

void selftest_on_all_cpus(void (*fn)(u32 cpu, void *arg), void *arg)
{
	u32 self = cpu_id();

	everywhere.fn = fn;
	everywhere.arg = arg;
	WRITE_ONCE(everywhere.go, 0);
	for_each_online_cpu(c) {
		while ((u32)c != self && smp_call_async((u32)c, run_here, NULL) == -EBUSY)
			cpu_relax();
	}
	store_release(&everywhere.go, 1U); /* pairs with the acquire in run_here() */
	fn(self, arg);
	for_each_online_cpu(c) {
		if ((u32)c != self)
			smp_call_wait((u32)c);
	}
}

u32 selftest_rounds(u32 all)
{
	return max(all / nr_cpus_online, 4U);
}

/* --- Locks -------------------------------------------------------------------------------------- */

static u32 lock_rounds(void)
{
	return selftest_rounds(800);
}

static spinlock_t test_lock = SPINLOCK_INIT("selftest"); /* guards lock_sum */
static u64 lock_sum;

static void add_under_lock(u32 cpu, void *arg)
{
	for (u32 i = lock_rounds(); i; i--) {
		spin_lock(&test_lock);
		lock_sum++;
		spin_unlock(&test_lock);
	}
}

SELFTEST(spinlock_excludes_on_all_cpus)
{
	lock_sum = 0;
	selftest_on_all_cpus(add_under_lock, t);
	CHECK(t, lock_sum == (u64)lock_rounds() * nr_cpus_online);
}

static rwlock_t test_rw = RWLOCK_INIT("selftest_rw"); /* guards rw_pair */
static u64 rw_pair[2];

static void read_and_write(u32 cpu, void *arg)
{
	struct selftest_ctx *t = arg;

	for (u32 i = lock_rounds(); i; i--) {
		read_lock(&test_rw);
		CHECK(t, READ_ONCE(rw_pair[0]) == READ_ONCE(rw_pair[1]));
		read_unlock(&test_rw);
		write_lock(&test_rw);
		WRITE_ONCE(rw_pair[0], rw_pair[0] + 1);
		WRITE_ONCE(rw_pair[1], rw_pair[1] + 1);
		write_unlock(&test_rw);
	}
}

SELFTEST(rwlock_excludes_on_all_cpus)
{
	rw_pair[0] = rw_pair[1] = 0;
	selftest_on_all_cpus(read_and_write, t);
	CHECK(t, rw_pair[0] == (u64)lock_rounds() * nr_cpus_online);
}

SELFTEST(lock_counters_add_up)
{
	bool before = lock_stats_enabled;
	struct lock_count start, end;

	CHECK(t, lock_stats_init() == 0);
	WRITE_ONCE(lock_stats_enabled, true);
	start = lock_stats_sum("&test_lock");
	selftest_on_all_cpus(add_under_lock, t);
	end = lock_stats_sum("&test_lock");
	WRITE_ONCE(lock_stats_enabled, before);
	CHECK(t, end.acquired - start.acquired == (u64)lock_rounds() * nr_cpus_online);
	CHECK(t, end.contended - start.contended <= end.acquired - start.acquired);
}

/* --- Calls -------------------------------------------------------------------------------------- */

static void count_call(void *arg)
{
	atomic_fetch_add_relaxed((u64 *)arg, 1UL + cpu_id());
}

SELFTEST(smp_call_runs_there)
{
	u64 sum = 0, want = 0;

	for_each_online_cpu(c) {
		for (u32 i = 0; i < 10; i++) {
			CHECK(t, smp_call((u32)c, count_call, &sum) == 0);
			want += 1UL + (u32)c;
		}
	}
	CHECK(t, sum == want);
	CHECK(t, smp_call(NR_CPUS, count_call, &sum) == -ENODEV);
}

/* --- Timers ------------------------------------------------------------------------------------- */

/* Milliseconds. An emulator may have one CPU for all of the machine's, and other work besides. */
#define TIMER_PATIENCE 60000

struct timer_probe {
	struct soft_timer timer;
	u64 fired_at;
};

static void note_time(struct soft_timer *timer)
{
	WRITE_ONCE(container_of(timer, struct timer_probe, timer)->fired_at, arch_counter());
}

static void wait_for_timers(u32 cpu, void *arg)
{
	struct timer_probe p[3] = { { { .fn = note_time }, 0 },
				    { { .fn = note_time }, 0 },
				    { { .fn = note_time }, 0 } };
	struct selftest_ctx *t = arg;
	u64 start = arch_counter(), ms = ns_to_ticks(1000000);
	unsigned long flags;

	/* Off, so that all are armed before the first can fire. */
	flags = arch_irq_save();
	soft_timer_arm(&p[0].timer, start + 2 * ms);
	soft_timer_arm(&p[1].timer, start + ms);
	soft_timer_arm(&p[2].timer, start + 3 * ms);
	soft_timer_cancel(&p[2].timer);
	arch_irq_restore(flags);
	while (!READ_ONCE(p[0].fired_at) && arch_counter() - start < TIMER_PATIENCE * ms)
		cpu_relax();
	CHECK(t, p[1].fired_at >= start + ms);
	CHECK(t, p[0].fired_at >= start + 2 * ms && p[0].fired_at >= p[1].fired_at);
	CHECK(t, !p[2].fired_at && !p[0].timer.armed && !p[1].timer.armed);
}

SELFTEST(soft_timers_on_all_cpus)
{
	selftest_on_all_cpus(wait_for_timers, t);
}

static bool has_fired(void *arg)
{
	return READ_ONCE(((struct timer_probe *)arg)->fired_at);
}

/* An idle CPU wakes for its own timer. */
SELFTEST(idle_ends_with_a_timer)
{
	struct timer_probe p = { { .fn = note_time }, 0 };

	soft_timer_arm(&p.timer, arch_counter() + ns_to_ticks(2000000));
	sched_loop_until(has_fired, &p);
	CHECK(t, p.fired_at >= p.timer.deadline);
}

/* --- Interrupt state ---------------------------------------------------------------------------- */

static u32 chip_sets;

static int fake_set_state(struct irq_desc *d, enum irq_state which, bool on)
{
	atomic_fetch_add_relaxed(&chip_sets, 1U);
	return 0;
}

static void fake_bus(struct irq_desc *d)
{
}

static const struct irq_chip fake_lockless = {
	.name = "selftest lockless",
	.flags = IRQ_CHIP_PERCPU_STATE_LOCKLESS,
	.set_state = fake_set_state,
};
static const struct irq_chip fake_plain = { .name = "selftest plain", .set_state = fake_set_state };
static const struct irq_chip fake_slow = {
	.name = "selftest bus",
	.flags = IRQ_CHIP_PERCPU_STATE_LOCKLESS,
	.set_state = fake_set_state,
	.bus_lock = fake_bus,
	.bus_sync_unlock = fake_bus,
};

/* A descriptor that no interrupt of the machine has. */
static struct irq_desc fake_desc = { .lock = SPINLOCK_INIT("selftest_irq"), .flags = IRQ_PERCPU };

static u64 locks_of_setter(const struct irq_chip *chip, irq_set_state_t set)
{
	bool before = lock_stats_enabled;
	u64 start, end;

	fake_desc.chip = chip;
	WRITE_ONCE(lock_stats_enabled, true);
	start = lock_stats_sum("d->lock").acquired;
	for (u32 i = 0; i < 10; i++)
		set(&fake_desc, IRQ_STATE_ACTIVE, i & 1);
	end = lock_stats_sum("d->lock").acquired;
	WRITE_ONCE(lock_stats_enabled, before);
	return end - start;
}

SELFTEST(irq_setters_take_the_locks_they_must)
{
	unsigned long flags;

	CHECK(t, lock_stats_init() == 0);
	chip_sets = 0;
	/* Off, so that no interrupt of this machine takes a descriptor's lock meanwhile. */
	flags = arch_irq_save();
	CHECK(t, locks_of_setter(&fake_lockless, irq_set_state) == 10);
	CHECK(t, locks_of_setter(&fake_lockless, irq_set_percpu_state) == 0);
	CHECK(t, locks_of_setter(&fake_plain, irq_set_percpu_state) == 10);
	CHECK(t, locks_of_setter(&fake_slow, irq_set_percpu_state) == 10);
	arch_irq_restore(flags);
	CHECK(t, chip_sets == 40);
}
