/* SPDX-License-Identifier: GPL-2.0-only */
/* The torture framework and the tortures of core/, on threads: what a run says, and when it fails. */
#include "host.h"

#include <string.h>

#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/smp.h>
#include <cupel/torture.h>

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

static void srcu(void **state)
{
	if (run("torture=srcu seconds=4"))
		fail_msg("%s", host_console());
	expect("torture srcu: 4 s on 5 CPUs");
	expect("srcu: broken_caught happened\n");
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
		cmocka_unit_test(srcu),
	};

	return cmocka_run_group_tests_name("torture", tests, setup, NULL);
}
