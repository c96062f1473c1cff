/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The UBSan runtime of the image. This file is compiled with the sanitizer and linked against ours; in a
 * debug build each finding is a panic, so each runs in a child.
 */
#include "host.h"

#include <limits.h>
#include <string.h>

static volatile int zero, one = 1, big = INT_MAX, lots = 99, least = INT_MIN;
static volatile int table[4];
static volatile bool flag;

static void add(void *arg)
{
	zero = big + one;
}

static void subtract(void *arg)
{
	zero = -big - 2 * one;
}

static void multiply(void *arg)
{
	zero = big * (one + 1);
}

static void divide(void *arg)
{
	one = one / zero;
}

static void negate(void *arg)
{
	zero = -least;
}

static void shift(void *arg)
{
	zero = one << lots;
}

static void shift_negative(void *arg)
{
	zero = one << -one;
}

static void index_array(void *arg)
{
	zero = table[lots];
}

static void load_bool(void *arg)
{
	memset((void *)&flag, 7, 1);
	zero = flag;
}

static void null_pointer(void *arg)
{
	volatile int *p = arg;

	zero = *p;
}

static void unreachable(void *arg)
{
	if (one)
		__builtin_unreachable();
}

static void wrap_pointer(void *arg)
{
	static char *volatile p;

	p = (char *)-16L;
	p += lots;
}

static void vla(void *arg)
{
	volatile char array[zero];

	zero = (int)sizeof(array) + (int)(uintptr_t)array;
}

static void each_is_named(void **state)
{
	static const struct {
		void (*fn)(void *arg);
		const char *what;
	} cases[] = {
		{ add, "2147483647 + 1 does not fit 'int'" },
		{ subtract, "does not fit 'int'" },
		{ multiply, "2 * 2147483647 does not fit 'int'" },
		{ divide, "1 / 0 does not fit 'int'" },
		{ negate, "-(-2147483648) does not fit 'int'" },
		{ shift, "shift of 1 by 99 in 'int'" },
		{ shift_negative, "shift of 1 by -1 in 'int'" },
		{ index_array, "index 99 is outside 'int" },
		{ load_bool, "7 is no value of" },
		{ null_pointer, "access through NULL" },
		{ unreachable, "can't be reached" },
		{ wrap_pointer, "pointer 0x" },
		{ vla, "array of 0 elements" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int code = host_dies(cases[i].fn, NULL);

		if (code != 3 ||
		    !strstr(host_last_words(), "undefined behaviour at tests/unit/test_ubsan.c:") ||
		    !strstr(host_last_words(), cases[i].what))
			fail_msg("'%s', code %d: %s", cases[i].what, code, host_last_words());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_is_named) };

	return cmocka_run_group_tests_name("ubsan", tests, host_group_setup, NULL);
}
