/* SPDX-License-Identifier: GPL-2.0-only */
/* The image's own self-tests of core, run on threads; and how results are printed. */
#include "host.h"

#include <string.h>

#include <cupel/errno.h>
#include <cupel/ktap.h>
#include <cupel/printk.h>
#include <cupel/smp.h>

#include "../../core/selftest.h"

static void expect(const char *want)
{
	if (!strstr(host_console(), want))
		fail_msg("no '%s' in: %s", want, host_console());
}

SELFTEST(unit_that_fails)
{
	CHECK(t, 1 + 1 == 3);
}

SELFTEST(unit_that_is_skipped)
{
	t->skipped = "not here";
}

static void run_by_name(const char *match, int failures, const char *want)
{
	host_console_clear();
	assert_int_equal(selftest_run(match), failures);
	expect(want);
}

static void the_image_passes(void **state)
{
	static const char *const groups[] = { "page_alloc", "percpu",  "lock",
					      "smp",	    "timer",   "idle",
					      "irq",	    "nothing", "conversions" };

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		run_by_name(groups[i], 0, "KTAP version 1\n1..");
}

static void results_are_printed(void **state)
{
	run_by_name("unit_that_fails", 1,
		    "KTAP version 1\n1..1\n# unit_that_fails: tests/unit/test_selftest.c:");
	expect(": not true: 1 + 1 == 3\nnot ok 1 unit_that_fails\n");
	run_by_name("unit_that_is_skipped", 0, "\nok 1 unit_that_is_skipped # SKIP not here\n");
	run_by_name("unit_that", 1, "1..2\n");
	run_by_name("no_such_test", -EINVAL, "selftest=no_such_test: no test of that name");
}

static void guests_cannot_forge_results(void **state)
{
	host_console_clear();
	ktap_begin(0);
	ktap_result(true, "vm: text # SKIP me", NULL);
	ktap_result(false, "vm: two\nok 99 lines", "why");
	ktap_result(true, "back\\slash", "");
	assert_int_equal(ktap_end(), 1);
	assert_string_equal(host_console(), "KTAP version 1\n"
					    "ok 1 vm: text \\# SKIP me\n"
					    "# why\n"
					    "not ok 2 vm: two?ok 99 lines\n"
					    "ok 3 back\\\\slash\n"
					    "1..3\n");
}

static void report_many(u32 cpu, void *arg)
{
	for (int i = 0; i < 50; i++)
		ktap_result(i % 10 != 0, "one of many", "diag");
}

static void numbers_have_no_gaps(void **state)
{
	const char *at;
	u32 n = 0;

	host_console_clear();
	ktap_begin(0);
	selftest_on_all_cpus(report_many, NULL);
	assert_int_equal(ktap_end(), 25);
	for (at = host_console(); (at = strstr(at, "ok ")); at++) {
		char want[32];

		snprintf(want, sizeof(want), "ok %u one of many\n", ++n);
		assert_memory_equal(at, want, strlen(want));
	}
	assert_int_equal(n, 250);
	expect("1..250\n");
}

static int setup(void **state)
{
	host_setup(5, MIB(32));
	smp_start_all();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_image_passes),
		cmocka_unit_test(results_are_printed),
		cmocka_unit_test(guests_cannot_forge_results),
		cmocka_unit_test(numbers_have_no_gaps),
	};

	return cmocka_run_group_tests_name("selftest", tests, setup, NULL);
}
