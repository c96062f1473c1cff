/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs that come up, CPUs that don't, and calls between them. The threads run cpu_main() for real. */
#include "host.h"

#include <string.h>

#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/percpu.h>
#include <cupel/platform.h>
#include <cupel/smp.h>

#define CPUS   6
#define BROKEN 3

static void those_that_start(void **state)
{
	int cpu, n = 0;

	assert_int_equal(nr_cpus_online, CPUS - 1);
	assert_non_null(strstr(host_console(), "CPU 3 (hardware id 0x3) did not start: "));
	assert_false(cpu_online(BROKEN));
	assert_false(cpu_online(CPUS));
	assert_false(cpu_online(UINT32_MAX));
	for_each_online_cpu(c) {
		assert_int_not_equal(c, BROKEN);
		n++;
	}
	assert_int_equal(n, CPUS - 1);
	cpu = cpu_next_online(CPUS - 1);
	assert_int_equal(cpu, -1);
}

static void note_cpu(void *arg)
{
	assert_true(arch_irqs_enabled());
	*(u32 *)arg = cpu_id();
}

static void calls_run_there(void **state)
{
	for_each_online_cpu(c) {
		u32 where = 99; /* plain: TSan sees it if the end of the call does not order */

		assert_int_equal(smp_call((u32)c, note_cpu, &where), 0);
		assert_int_equal(where, c);
		where = 99;
		assert_int_equal(smp_call_async((u32)c, note_cpu, &where), 0);
		if (c)
			smp_call_wait((u32)c);
		else
			assert_true(smp_run_calls());
		assert_int_equal(where, c);
	}
	assert_false(smp_run_calls());
}

static void nobody_there(void **state)
{
	assert_int_equal(smp_call(BROKEN, note_cpu, NULL), -ENODEV);
	assert_int_equal(smp_call_async(NR_CPUS + 5, note_cpu, NULL), -ENODEV);
	smp_call_wait(BROKEN);
}

static u32 hold, holding;

static void hold_on(void *arg)
{
	WRITE_ONCE(holding, 1);
	while (READ_ONCE(hold))
		cpu_relax();
}

static void one_waits_the_next_is_refused(void **state)
{
	u32 where = 99;

	hold = 1;
	holding = 0;
	assert_int_equal(smp_call_async(1, hold_on, NULL), 0);
	while (!READ_ONCE(holding))
		cpu_relax();
	/* It runs: another may wait, and one more may not. */
	assert_int_equal(smp_call_async(1, note_cpu, &where), 0);
	assert_int_equal(smp_call_async(1, note_cpu, NULL), -EBUSY);
	assert_int_equal(smp_call(1, note_cpu, NULL), -EBUSY);
	WRITE_ONCE(hold, 0);
	smp_call_wait(1);
	assert_int_equal(where, 1);
}

static u64 sum;

static void add_one(void *arg)
{
	sum++; /* plain: one CPU runs all of these */
}

/* From every CPU to CPU 1 at once: each call that was taken runs exactly once. */
static void call_many(void *arg)
{
	for (int i = 0; i < 300;) {
		if (smp_call(1, add_one, NULL) == 0)
			i++;
		else
			cpu_relax();
	}
}

static void from_all_sides(void **state)
{
	sum = 0;
	assert_int_equal(smp_call_async(2, call_many, NULL), 0);
	assert_int_equal(smp_call_async(4, call_many, NULL), 0);
	assert_int_equal(smp_call_async(5, call_many, NULL), 0);
	call_many(NULL);
	smp_call_wait(2);
	smp_call_wait(4);
	smp_call_wait(5);
	assert_int_equal(sum, 4 * 300);
}

/* --- Parking ------------------------------------------------------------------------------------ */

static void parked_cpus_take_no_work(void **state)
{
	u32 where = 99, before = nr_cpus_online;

	for (u32 round = 0; round < 100; round++) {
		assert_int_equal(smp_park(4), 0);
		assert_false(cpu_online(4));
		assert_int_equal(nr_cpus_online, before - 1);
		assert_int_equal(smp_call(4, note_cpu, &where), -ENODEV);
		assert_int_equal(smp_call_async(4, note_cpu, &where), -ENODEV);
		assert_int_equal(smp_park(4), -ENODEV);
		for_each_online_cpu(c)
			assert_int_not_equal(c, 4);
		smp_call_wait(4);
		assert_int_equal(smp_unpark(4), 0);
		assert_true(cpu_online(4));
		assert_int_equal(nr_cpus_online, before);
		assert_int_equal(smp_call(4, note_cpu, &where), 0);
		assert_int_equal(where, 4);
	}
}

static void who_cannot_be_parked(void **state)
{
	assert_int_equal(smp_park(0), -EINVAL);
	assert_int_equal(smp_park(BROKEN), -ENODEV);
	assert_int_equal(smp_park(NR_CPUS + 1), -ENODEV);
	assert_int_equal(smp_unpark(1), -EINVAL);
	assert_int_equal(smp_unpark(0), -EINVAL);
	assert_int_equal(smp_unpark(BROKEN), -EINVAL);
	assert_int_equal(smp_unpark(NR_CPUS + 1), -EINVAL);
	assert_int_equal(nr_cpus_online, CPUS - 1);
}

static int of_itself;

static void park_yourself(void *arg)
{
	of_itself = smp_park(cpu_id());
}

static void nobody_parks_himself(void **state)
{
	assert_int_equal(smp_call(2, park_yourself, NULL), 0);
	assert_int_equal(of_itself, -EINVAL);
}

/* Posted while it was online, run after it has left: the poster need not know. */
static void a_call_that_was_under_way_runs(void **state)
{
	u32 where = 99;

	hold = 1;
	holding = 0;
	assert_int_equal(smp_call_async(1, hold_on, NULL), 0);
	while (!READ_ONCE(holding))
		cpu_relax();
	assert_int_equal(smp_call_async(1, note_cpu, &where), 0);
	assert_int_equal(smp_park(1), -EBUSY);
	WRITE_ONCE(hold, 0);
	smp_call_wait(1);
	assert_int_equal(where, 1);
	assert_int_equal(smp_park(1), 0);
	assert_int_equal(smp_unpark(1), 0);
}

/* A call that takes turns meanwhile: the next one runs after it, and each waiter waits for its own. */
static u32 turns, inner_ran;

static void note_inner(void *arg)
{
	WRITE_ONCE(inner_ran, READ_ONCE(turns));
}

static void take_turns(void *arg)
{
	WRITE_ONCE(holding, 1);
	while (READ_ONCE(hold)) {
		assert_false(smp_run_calls());
		cpu_relax();
	}
	for (u32 i = 0; i < 100; i++)
		assert_false(smp_run_calls());
	WRITE_ONCE(turns, 1);
}

static void a_call_that_takes_turns(void **state)
{
	turns = inner_ran = 0;
	hold = 1;
	holding = 0;
	assert_int_equal(smp_call_async(1, take_turns, NULL), 0);
	while (!READ_ONCE(holding))
		cpu_relax();
	assert_int_equal(smp_call_async(1, note_inner, NULL), 0);
	WRITE_ONCE(hold, 0);
	smp_call_wait(1);
	assert_int_equal(inner_ran, 1);
}

static int setup(void **state)
{
	static char line[] = "nr_cpus=6";
	const char *why;

	host_setup(CPUS + 2, MIB(16));
	assert_int_equal(cmdline_parse(line, &why), 0);
	host_broken_cpu = BROKEN;
	smp_start_all();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_start),
		cmocka_unit_test(calls_run_there),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(one_waits_the_next_is_refused),
		cmocka_unit_test(from_all_sides),
		cmocka_unit_test(parked_cpus_take_no_work),
		cmocka_unit_test(who_cannot_be_parked),
		cmocka_unit_test(nobody_parks_himself),
		cmocka_unit_test(a_call_that_was_under_way_runs),
		cmocka_unit_test(a_call_that_takes_turns),
	};

	return cmocka_run_group_tests_name("smp", tests, setup, NULL);
}
