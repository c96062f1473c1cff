/* SPDX-License-Identifier: GPL-2.0-only */
/* Conversions against 128-bit arithmetic, and soft timers under a clock that the test moves. */
#include "host.h"

#include <string.h>

#include <cupel/clock.h>

#include "../../core/scale.h"

static u64 exact(u64 v, u64 mul, u64 div)
{
	unsigned __int128 r = (unsigned __int128)v * mul / div;

	return r > UINT64_MAX ? UINT64_MAX : (u64)r;
}

static void conversions_are_exact(void **state)
{
	static const u64 hz[] = { 1, 1000, 24000000, 62500000, 1000000000, 2899999000, 18000000000UL };
	u64 seed = 9;

	for (size_t i = 0; i < ARRAY_SIZE(hz); i++) {
		for (int round = 0; round < 20000; round++) {
			u64 v = host_random(&seed) >> (host_random(&seed) % 64);

			assert_int_equal(scale(v, NSEC_PER_SEC, hz[i]),
					 exact(v, NSEC_PER_SEC, hz[i]));
			assert_int_equal(scale(v, hz[i], NSEC_PER_SEC),
					 exact(v, hz[i], NSEC_PER_SEC));
		}
		assert_int_equal(scale(UINT64_MAX, NSEC_PER_SEC, hz[i]),
				 exact(UINT64_MAX, NSEC_PER_SEC, hz[i]));
	}
	assert_int_equal(ticks_to_ns(12345), 12345);
	assert_int_equal(ns_to_ticks(UINT64_MAX), UINT64_MAX);
}

struct probe {
	struct soft_timer timer;
	u32 fired;
	u64 at;
	struct soft_timer *cancels; /* from its callback */
	u64 again; /* re-arm for this time */
};

static u32 order[16], fired;

static void fire(struct soft_timer *t)
{
	struct probe *p = container_of(t, struct probe, timer);

	assert_false(arch_irqs_enabled());
	assert_false(t->armed);
	p->fired++;
	p->at = arch_counter();
	if (fired < ARRAY_SIZE(order))
		order[fired] = (u32)t->deadline;
	fired++;
	if (p->cancels)
		soft_timer_cancel(p->cancels);
	if (p->again)
		soft_timer_arm(t, p->again);
}

static u64 now;

static void advance(u64 to)
{
	now = to;
	host_set_time(now);
	host_take_irqs();
}

static int start(void **state)
{
	fired = 0;
	advance(now + 1000000);
	return 0;
}

static void in_order(void **state)
{
	struct probe p[5] = { { { .fn = fire } },
			      { { .fn = fire } },
			      { { .fn = fire } },
			      { { .fn = fire } },
			      { { .fn = fire } } };
	static const u64 after[] = { 50, 10, 30, 10, 40 };

	for (int i = 0; i < 5; i++)
		soft_timer_arm(&p[i].timer, now + after[i]);
	advance(now + 9);
	assert_int_equal(fired, 0);
	advance(now + 1);
	assert_int_equal(fired, 2);
	assert_true(p[1].fired && p[3].fired);
	advance(now + 100);
	assert_int_equal(fired, 5);
	assert_true(order[2] < order[3] && order[3] < order[4]);
	assert_false(p[0].timer.armed);
}

static void moved_and_cancelled(void **state)
{
	struct probe a = { { .fn = fire } }, b = { { .fn = fire } };

	soft_timer_arm(&a.timer, now + 10);
	soft_timer_arm(&a.timer, now + 100); /* later */
	soft_timer_arm(&b.timer, now + 50);
	soft_timer_arm(&b.timer, now + 5); /* earlier */
	advance(now + 20);
	assert_int_equal(a.fired, 0);
	assert_int_equal(b.fired, 1);
	soft_timer_cancel(&a.timer);
	soft_timer_cancel(&a.timer);
	soft_timer_cancel(&b.timer);
	advance(now + 1000);
	assert_int_equal(fired, 1);
}

static void callbacks_may_arm_and_cancel(void **state)
{
	struct probe victim = { { .fn = fire } }, a = { { .fn = fire }, .cancels = &victim.timer };

	soft_timer_arm(&a.timer, now + 10);
	soft_timer_arm(&victim.timer, now + 11);
	a.again = now + 200;
	advance(now + 50);
	assert_int_equal(a.fired, 1);
	assert_int_equal(victim.fired, 0);
	assert_true(a.timer.armed);
	a.again = 0;
	advance(now + 200);
	assert_int_equal(a.fired, 2);
	assert_false(a.timer.armed);
}

/* A callback that arms itself for a time gone by must not hold the CPU in its tick for good. */
static void the_past_waits_for_the_next_tick(void **state)
{
	struct probe a = { { .fn = fire } };

	a.again = now - 5;
	soft_timer_arm(&a.timer, now + 10);
	advance(now + 20);
	assert_int_equal(a.fired, 1);
	assert_true(a.timer.armed);
	advance(now + 1);
	assert_int_equal(a.fired, 2);
	a.again = 0;
	advance(now + 2);
	assert_int_equal(a.fired, 3);
	assert_false(a.timer.armed);
}

static void far_future_never_fires(void **state)
{
	struct probe a = { { .fn = fire } };

	soft_timer_arm(&a.timer, UINT64_MAX);
	advance(now + (1UL << 62));
	assert_int_equal(a.fired, 0);
	soft_timer_cancel(&a.timer);
}

static void arm_elsewhere(u32 cpu, void *arg)
{
	soft_timer_arm(arg, UINT64_MAX - 1);
}

static void cancel_wrong(void *arg)
{
	soft_timer_cancel(arg);
}

static void wrong_cpu_is_caught(void **state)
{
	static struct probe a = { { .fn = fire } };

	host_on_cpus(1, arm_elsewhere, &a.timer);
	assert_int_equal(host_dies(cancel_wrong, &a.timer), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conversions_are_exact),
		cmocka_unit_test_setup(in_order, start),
		cmocka_unit_test_setup(moved_and_cancelled, start),
		cmocka_unit_test_setup(callbacks_may_arm_and_cancel, start),
		cmocka_unit_test_setup(the_past_waits_for_the_next_tick, start),
		cmocka_unit_test_setup(far_future_never_fires, start),
		cmocka_unit_test_setup(wrong_cpu_is_caught, start),
	};

	return cmocka_run_group_tests_name("clock", tests, host_group_setup, NULL);
}
