/* SPDX-License-Identifier: GPL-2.0-only */
/* The torture framework and the tortures of core/, on threads: what a run says, and when it fails. */
#include "host.h"

#include <stdio.h>
#include <string.h>

#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/percpu.h>
#include <cupel/platform.h>
#include <cupel/smp.h>
#include <cupel/torture.h>

#define CPUS 5

static void expect(const char *want)
{
	if (!strstr(host_console(), want))
		fail_msg("no '%s' in: %s", want, host_console());
}

static int run(const char *words)
{
	static char line[256];
	const char *why;

	strcpy(line, words);
	assert_int_equal(cmdline_parse(line, &why), 0);
	host_console_clear();
	return torture_main(cmdline_get("torture"));
}

/* The console is longer than what a failure's message may be. */
static void expect_pass(const char *words)
{
	if (!run(words))
		return;
	fputs(host_console(), stderr);
	fail_msg("%s failed", words);
}

/* --- What a run says ---------------------------------------------------------------------------- */

enum { STEPS, TICKS, NOTHING, BAD };

static const struct torture_count fine_counts[] = {
	[STEPS] = { "steps", TORTURE_MUST, "steps taken" },
	[TICKS] = { "ticks", TORTURE_MUST, "interrupts" },
	[NOTHING] = { "nothing", TORTURE_INFO, "never counted" },
	[BAD] = { "bad", TORTURE_NEVER, "must not be" },
	{ NULL },
};
static const struct torture_count idle_counts[] = {
	{ "idle", TORTURE_MUST, "never happens" },
	{ "alone", TORTURE_MUST_SMP, "neither" },
	{ NULL },
};

static u32 on_cpus, begun, ended;
static bool goes_bad;

static int fine_setup(void)
{
	begun++;
	on_cpus = 0;
	return 0;
}

static int sick_setup(void)
{
	return -ENOMEM;
}

static void fine_step(struct torture_worker *w)
{
	assert_int_equal(w->cpu, cpu_id());
	assert_true(arch_irqs_enabled());
	assert_true(cpu_online(w->cpu));
	atomic_fetch_or_relaxed(&on_cpus, BIT32(w->cpu));
	torture_count(STEPS);
	if (goes_bad && torture_one_in(&w->random, 100))
		torture_fail(BAD, "step %u of it", 7);
	torture_delay(&w->random, 1000);
}

static void fine_tick(struct torture_worker *w)
{
	assert_int_equal(w->cpu, cpu_id());
	assert_false(arch_irqs_enabled());
	torture_count(TICKS);
}

static void fine_finish(void)
{
	ended++;
}

static void idle_step(struct torture_worker *w)
{
	cpu_relax();
}

static void stuck_step(struct torture_worker *w)
{
	for (;;)
		cpu_relax();
}

static const struct torture fine = { "fine",	"what passes", fine_counts, fine_setup,	  fine_step,
				     fine_tick, NULL,	       fine_finish, .parks = true };
static const struct torture idle = {
	"idle", "what races nothing", idle_counts, fine_setup, idle_step, NULL, NULL, fine_finish
};
static const struct torture sick = { "sick",	 "what can't begin", idle_counts,
				     sick_setup, idle_step,	     NULL,
				     NULL,	 fine_finish };
static const struct torture stuck = { "stuck",	  "what hangs", idle_counts, fine_setup,
				      stuck_step, NULL,		NULL,	     fine_finish };
TORTURE(fine);
TORTURE(idle);
TORTURE(sick);
TORTURE(stuck);

static void a_run_that_passes(void **state)
{
	goes_bad = false;
	begun = ended = 0;
	expect_pass("torture=fine seconds=1 seed=0x51");
	assert_int_equal(on_cpus, (1U << CPUS) - 1);
	assert_int_equal(begun, 1);
	assert_int_equal(ended, 1);
	assert_int_equal(nr_cpus_online, CPUS);
	expect("torture fine: 1 s on 5 CPUs, seed=0x51: what passes\n");
	expect("  nothing                     0  never counted\n");
	expect("\nok 1 fine: steps happened\nok 2 fine: ticks happened\nok 3 fine: bad never\n"
	       "ok 4 fine: parks happened\n1..4\n");
}

static void what_must_not_be(void **state)
{
	goes_bad = true;
	assert_int_equal(run("torture=fine seconds=1"), -EIO);
	expect("# fine: bad: CPU ");
	expect(": step 7 of it\n");
	expect("\nnot ok 3 fine: bad never\n");
	goes_bad = false;
}

static void what_never_happened(void **state)
{
	assert_int_equal(run("torture=idle seconds=1"), -EIO);
	expect("\nnot ok 1 idle: idle happened\nnot ok 2 idle: alone happened\n1..2\n");
}

static void several(void **state)
{
	begun = 0;
	expect_pass("torture=fine,fine seconds=1");
	assert_int_equal(begun, 2);
	expect("\nok 5 fine: steps happened\n");
	expect("\n1..8\n");
	assert_int_equal(run("torture=sick,fine seconds=1"), -ENOMEM);
	assert_int_equal(begun, 2);
}

static void bad_words(void **state)
{
	assert_int_equal(run("torture=nothing"), -EINVAL);
	expect("torture=nothing: no torture of that name; there are:\n");
	expect("  srcu - read sections against every kind of wait\n");
	expect_pass("torture=fine, seconds=1");
	assert_int_equal(run("torture="), -EINVAL);
	assert_int_equal(run("torture=fin"), -EINVAL);
	assert_int_equal(run("torture=fine,,fine"), -EINVAL);
	assert_int_equal(run("torture=fine seconds=0"), -EINVAL);
	expect("seconds=0: not a number from 1 to 1000000\n");
	assert_int_equal(run("torture=fine seconds=soon"), -EINVAL);
	assert_int_equal(run("torture=fine stall=0"), -EINVAL);
	assert_int_equal(run("torture=fine seed=0"), -EINVAL);
}

/* --- On one CPU --------------------------------------------------------------------------------- */

/* In a child there are no threads: the other CPUs have never come up. */
static void on_one_cpu(void *words)
{
	for (u32 i = 1; i < CPUS; i++)
		platform.cpus[i].online = false;
	nr_cpus_online = 1;
	arch_machine_exit(run(words) ? 1 : 0);
}

static void a_step_without_end(void **state)
{
	assert_int_equal(host_dies(on_one_cpu, "torture=stuck seconds=1 stall=1"), 1);
	assert_non_null(strstr(host_last_words(), "# stuck: CPU 0 has been in one step for "));
	assert_non_null(strstr(host_last_words(), "\nnot ok 2 stuck: a step without end never\n"));
}

static void alone(void **state)
{
	if (host_dies(on_one_cpu, "torture=srcu seconds=2")) {
		fputs(host_last_words(), stderr);
		fail();
	}
	assert_null(strstr(host_last_words(), "handed_over happened"));
}

/* --- Tortures ----------------------------------------------------------------------------------- */

static void srcu(void **state)
{
	expect_pass("torture=srcu seconds=4");
	expect("torture srcu: 4 s on 5 CPUs");
	expect("srcu: broken_caught happened\n");
}

static int setup(void **state)
{
	host_setup(CPUS, MIB(32));
	smp_start_all();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_that_passes),
		cmocka_unit_test(what_must_not_be),
		cmocka_unit_test(what_never_happened),
		cmocka_unit_test(several),
		cmocka_unit_test(bad_words),
		cmocka_unit_test(a_step_without_end),
		cmocka_unit_test(alone),
		cmocka_unit_test(srcu),
	};

	return cmocka_run_group_tests_name("torture", tests, setup, NULL);
}
