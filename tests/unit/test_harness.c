/* SPDX-License-Identifier: GPL-2.0-only */
/* An experiment's words, which are untrusted, and the order and figures of its rounds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <cupel/config.h>
#include <cupel/errno.h>

#include "../../bench/harness.h"

static const char *const keys[] = { "irqstate - how", "vcpus - list", NULL };
static const struct experiment experiment = { .name = "test", .help = "", .keys = keys };
static const char *const names[] = { "locked", "percpu", NULL };

static void line(const char *text)
{
	static char copy[256];
	const char *why;

	strcpy(copy, text);
	assert_int_equal(cmdline_parse(copy, &why), 0);
}

static void only_known_keys_pass(void **state)
{
	line("bench=test irqstate=locked vcpus=1 icount");
	assert_int_equal(bench_check_words(&experiment), 0);
	line("bench=test irqstat=locked");
	assert_int_equal(bench_check_words(&experiment), -EINVAL);
	line("bench=test irqstates");
	assert_int_equal(bench_check_words(&experiment), -EINVAL);
}

static void numbers_keep_their_range(void **state)
{
	u64 n;

	line("a=7 b=x c= d=8 e=-1 f=18446744073709551616");
	assert_int_equal(bench_number("a", 1, 7, 3, &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(bench_number("none", 1, 7, 3, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(bench_number("b", 1, 7, 3, &n), -EINVAL);
	assert_int_equal(bench_number("c", 1, 7, 3, &n), -EINVAL);
	assert_int_equal(bench_number("d", 1, 7, 3, &n), -EINVAL);
	assert_int_equal(bench_number("e", 1, 7, 3, &n), -EINVAL);
	assert_int_equal(bench_number("f", 1, ~0UL, 3, &n), -EINVAL);
}

static void lists_keep_their_range(void **state)
{
	u32 list[4], nr;

	line("a=1,2-4 b=0 c=5 d=1-9 e=, f=");
	assert_int_equal(bench_numbers("a", 4, list, 4, &nr), 0);
	assert_int_equal(nr, 4);
	assert_int_equal(list[3], 4);
	assert_int_equal(bench_numbers("none", 4, list, 4, &nr), 0);
	assert_int_equal(nr, 0);
	assert_int_equal(bench_numbers("b", 4, list, 4, &nr), -EINVAL);
	assert_int_equal(bench_numbers("c", 4, list, 4, &nr), -EINVAL);
	assert_int_equal(bench_numbers("d", 9, list, 4, &nr), -EINVAL);
	assert_int_equal(bench_numbers("e", 9, list, 4, &nr), -EINVAL);
	assert_int_equal(bench_numbers("f", 9, list, 4, &nr), -EINVAL);
}

static void words_are_taken_in_order_and_once(void **state)
{
	struct bench_choice c;

	line("a=percpu,locked b=lock c=locked,locked d= e=locked, f=lockedx");
	assert_int_equal(bench_words("a", names, "locked", &c), 0);
	assert_int_equal(c.nr, 2);
	assert_int_equal(c.pick[0], 1);
	assert_int_equal(c.pick[1], 0);
	assert_int_equal(bench_words("none", names, "locked", &c), 0);
	assert_int_equal(c.nr, 1);
	assert_int_equal(c.pick[0], 0);
	assert_int_equal(bench_words("b", names, "locked", &c), -EINVAL);
	assert_int_equal(bench_words("c", names, "locked", &c), -EINVAL);
	assert_int_equal(bench_words("d", names, "locked", &c), -EINVAL);
	assert_int_equal(bench_words("e", names, "locked", &c), -EINVAL);
	assert_int_equal(bench_words("f", names, "locked", &c), -EINVAL);
}

static void powers_end_with_the_last(void **state)
{
	u32 list[8];

	assert_int_equal(bench_powers(1, list, 8), 1);
	assert_int_equal(list[0], 1);
	assert_int_equal(bench_powers(4, list, 8), 3);
	assert_int_equal(list[2], 4);
	assert_int_equal(bench_powers(6, list, 8), 4);
	assert_int_equal(list[2], 4);
	assert_int_equal(list[3], 6);
	assert_int_equal(bench_powers(1024, list, 3), 3);
	assert_int_equal(list[2], 1024);
}

struct order {
	char text[64];
	int fail_at;
};

static int note(void *ctx, u32 variant, u32 round)
{
	struct order *o = ctx;
	char one[3] = { (char)('A' + variant), round == BENCH_WARMUP ? 'w' : (char)('0' + round) };

	strcat(o->text, one);
	return (int)strlen(o->text) / 2 == o->fail_at ? -EIO : 0;
}

static void rounds_are_interleaved_after_a_warm_up(void **state)
{
	struct order o = { .fail_at = -1 };

	assert_int_equal(bench_interleave(3, 2, note, &o), 0);
	assert_string_equal(o.text, "AwBwA0B0A1B1A2B2");
	o = (struct order){ .fail_at = 4 };
	assert_int_equal(bench_interleave(3, 2, note, &o), -EIO);
	assert_string_equal(o.text, "AwBwA0B0");
}

static void medians_and_noise_of_rounds(void **state)
{
	static const u64 value[] = { 100, 110, 104, 1000, 102, 121 };
	struct bench_rounds r = { .nr = { 0 } };

	assert_int_equal(bench_rounds_median(&r), 0);
	assert_int_equal(bench_rounds_noise(&r), 0);
	for (u32 i = 0; i < 6; i++)
		bench_rounds_add(&r, i, value[i]);
	assert_int_equal(bench_rounds_half(&r, 0), 102);
	assert_int_equal(bench_rounds_half(&r, 1), 121);
	assert_int_equal(bench_rounds_median(&r), 107);
	assert_int_equal(bench_rounds_noise(&r), 1186);
	for (u32 i = 0; i < 3 * BENCH_MAX_ROUNDS; i++)
		bench_rounds_add(&r, i, 7);
	assert_int_equal(bench_rounds_median(&r), 7);
}

static void scaling_does_not_wrap(void **state)
{
	assert_true(bench_scale(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
	assert_int_equal(bench_scale(7, 3, 2), 10);
	assert_int_equal(bench_scale(7, 3, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_known_keys_pass),
		cmocka_unit_test(numbers_keep_their_range),
		cmocka_unit_test(lists_keep_their_range),
		cmocka_unit_test(words_are_taken_in_order_and_once),
		cmocka_unit_test(powers_end_with_the_last),
		cmocka_unit_test(rounds_are_interleaved_after_a_warm_up),
		cmocka_unit_test(medians_and_noise_of_rounds),
		cmocka_unit_test(scaling_does_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
