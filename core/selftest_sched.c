/* SPDX-License-Identifier: GPL-2.0-only */
/* Self-tests of the scheduler's ways to wait, without a guest: those are test guests of their own. */
#include <cupel/atomic.h>
#include <cupel/clock.h>
#include <cupel/ktap.h>
#include <cupel/percpu.h>
#include <cupel/sched.h>
#include <cupel/smp.h>

#include "core.h"

#define ROUNDS 50

static u32 ball; /* which turn it is; even: the boot CPU's */

static bool my_turn(void *arg)
{
	return (READ_ONCE(ball) & 1) == 0;
}

static void pass_back(void *arg)
{
	atomic_fetch_add_release(&ball, 1U);
	sched_poke(*(u32 *)arg);
}

/*
 * The boot CPU idles until another has answered: a poke that is lost would leave it asleep for good, as
 * would a call that is lost.
 */
SELFTEST(idle_cpus_wake_each_other)
{
	u32 self = cpu_id();

	if (nr_cpus_online == 1) {
		t->skipped = "one CPU";
		return;
	}
	for (u32 i = 0; i < ROUNDS; i++) {
		for_each_online_cpu(c) {
			if ((u32)c == self)
				continue;
			WRITE_ONCE(ball, 1);
			CHECK(t, smp_call_async((u32)c, pass_back, &self) == 0);
			sched_loop_until(my_turn, NULL);
			smp_call_wait((u32)c);
		}
		if (nr_cpus_online > 16 && i > 2)
			break;
	}
	CHECK(t, my_turn(NULL));
}

SELFTEST(nothing_to_run)
{
	CHECK(t, !sched_turn() || !sched_turn());
}

SELFTEST(conversions_round_down_and_saturate)
{
	u64 second = arch_counter_hz();

	CHECK(t, ticks_to_ns(second) == NSEC_PER_SEC);
	CHECK(t, ns_to_ticks(NSEC_PER_SEC) == second);
	CHECK(t, ns_to_ticks(0) == 0 && ticks_to_ns(0) == 0);
	CHECK(t, second >= NSEC_PER_SEC || ticks_to_ns(~0UL) == ~0UL);
	CHECK(t, second <= NSEC_PER_SEC || ns_to_ticks(~0UL) == ~0UL);
}
