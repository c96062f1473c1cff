/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SRCU on the host, with threads for CPUs. What a grace period promises is checked by what readers see: an
 * object taken away before it must not be in anybody's hands after it. Every test runs over the
 * counters' wrap, since srcu_init() starts them just below it.
 */
#include "host.h"

#include <string.h>

#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <cupel/srcu.h>

static struct srcu domain;

#define TARGETED NR_SRCU_WAITS
#define NR_WAYS	 (NR_SRCU_WAITS + 1)

static u64 everybody[NR_CPUS / 64];

static void wait_readers(u32 way)
{
	if (way == TARGETED)
		srcu_wait_for_cpus(&domain, everybody);
	else
		srcu_synchronize(&domain, (enum srcu_wait)way);
}

static int setup(void **state)
{
	memset(everybody, 0xff, sizeof(everybody));
	return srcu_init(&domain, "test");
}

static int teardown(void **state)
{
	srcu_destroy(&domain);
	return 0;
}


/* --- One thread --------------------------------------------------------------------------------- */

static void nothing_to_wait_for(void **state)
{
	for (u32 round = 0; round < 20; round++) {
		for (u32 way = 0; way < NR_WAYS; way++)
			wait_readers(way);
	}
	assert_true(srcu_no_readers(&domain));
	assert_int_equal(srcu_counts(&domain).waits, 20 * NR_WAYS);
	assert_int_equal(srcu_counts(&domain).fast, 20);
	assert_int_equal(srcu_counts(&domain).flips, 40);
	assert_int_equal(srcu_counts(&domain).shared, 0);
	assert_int_equal(srcu_counts(&domain).targets, 20 * platform.nr_cpus);
}

static void sections_nest(void **state)
{
	for (u32 i = 0; i < 20; i++) {
		srcu_token_t a = srcu_read_lock(&domain), b = srcu_read_lock(&domain);

		assert_false(srcu_no_readers(&domain));
		srcu_read_unlock(&domain, a);
		assert_false(srcu_no_readers(&domain));
		srcu_read_unlock(&domain, b);
		assert_true(srcu_no_readers(&domain));
	}
}

static void cookies(void **state)
{
	u64 cookie = srcu_cookie(&domain), later;

	assert_false(srcu_done(&domain, cookie));
	srcu_synchronize(&domain, SRCU_ATOMIC);
	assert_true(srcu_done(&domain, cookie));
	later = srcu_cookie(&domain);
	assert_true(later > cookie);
	assert_false(srcu_done(&domain, later));
	srcu_synchronize(&domain, SRCU_EXPEDITED);
	assert_true(srcu_done(&domain, later));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_to_wait_for, setup, teardown),
		cmocka_unit_test_setup_teardown(sections_nest, setup, teardown),
		cmocka_unit_test_setup_teardown(cookies, setup, teardown),
	};

	return cmocka_run_group_tests_name("srcu", tests, host_group_setup, NULL);
}
