/* SPDX-License-Identifier: GPL-2.0-only */
/* Command lines, sizes, lists and words: what is meant, and everything that is malformed. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupel/config.h>
#include <cupel/errno.h>

static char line[4096];
static const char *why;

static int parse(const char *text)
{
	strncpy(line, text, sizeof(line) - 1);
	why = NULL;
	return cmdline_parse(line, &why);
}

static void words(void **state)
{
	assert_int_equal(parse("  selftest bench=exits\tkey=a=b  empty= =x \n"), 0);
	assert_string_equal(cmdline_get("selftest"), "");
	assert_string_equal(cmdline_get("bench"), "exits");
	assert_string_equal(cmdline_get("key"), "a=b");
	assert_string_equal(cmdline_get("empty"), "");
	assert_string_equal(cmdline_get(""), "x");
	assert_null(cmdline_get("none"));
	assert_null(cmdline_get("ben"));
	assert_null(cmdline_get("exits"));
}

static void nothing(void **state)
{
	assert_int_equal(parse(""), 0);
	assert_null(cmdline_get("selftest"));
	assert_int_equal(parse("   \t\n "), 0);
	assert_null(cmdline_get(""));
	assert_int_equal(parse("\"\""), 0);
	assert_null(cmdline_get(""));
}

static void quotes(void **state)
{
	assert_int_equal(parse("a=\"one two\" \"b=three four\" c=x\"y z\"w d=\"\""), 0);
	assert_string_equal(cmdline_get("a"), "one two");
	assert_string_equal(cmdline_get("b"), "three four");
	assert_string_equal(cmdline_get("c"), "xy zw");
	assert_string_equal(cmdline_get("d"), "");
}

static void unclosed_quotes(void **state)
{
	static const char *const bad[] = { "\"", "a=\"x", "a=\"x\" b\"", "\"\"\"", "x \"y z" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(parse(bad[i]), -EINVAL);
		assert_string_equal(why, "unclosed quote");
	}
	/* What came before the bad word still counts: the console may depend on it. */
	assert_int_equal(parse("console=uart a=\"x"), -EINVAL);
	assert_string_equal(cmdline_get("console"), "uart");
}

static void last_one_wins(void **state)
{
	assert_int_equal(parse("n=1 n=2 m n=3"), 0);
	assert_string_equal(cmdline_get("n"), "3");
}

static void too_many(void **state)
{
	char text[1024] = "";

	for (int i = 0; i < 64; i++)
		strcat(text, "w ");
	assert_int_equal(parse(text), 0);
	strcat(text, "w");
	assert_int_equal(parse(text), -E2BIG);
	assert_string_equal(why, "too many words");
}

static bool count_words(const char *key, const char *value, void *arg)
{
	return ++*(int *)arg < 3;
}

static void walk_stops(void **state)
{
	int n = 0;

	assert_int_equal(parse("a b c d e"), 0);
	cmdline_walk(count_words, &n);
	assert_int_equal(n, 3);
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		int err;
		u64 value;
	} cases[] = {
		{ "0", 0, 0 },
		{ "64", 0, 64 },
		{ "0x40", 0, 64 },
		{ "0X4f", 0, 79 },
		{ "16K", 0, KIB(16) },
		{ "16k", 0, KIB(16) },
		{ "2M", 0, MIB(2) },
		{ "1G", 0, GIB(1) },
		{ "3T", 0, GIB(3072) },
		{ "0x10M", 0, MIB(16) },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "0xffffffffffffffff", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "0x10000000000000000", -ERANGE, 0 },
		{ "17179869183G", 0, 17179869183 * GIB(1) },
		{ "17179869184G", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "x1", -EINVAL, 0 },
		{ "1KK", -EINVAL, 0 },
		{ "1KB", -EINVAL, 0 },
		{ "1.5G", -EINVAL, 0 },
		{ "12f", -EINVAL, 0 },
		{ "\xb2", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 v = 7;

		assert_int_equal(parse_size(cases[i].text, &v), cases[i].err);
		assert_int_equal(v, cases[i].err ? 7 : cases[i].value);
	}
}

static void numbers(void **state)
{
	u64 v = 7;

	assert_int_equal(parse_u64("4K", &v), -EINVAL);
	assert_int_equal(parse_u64("", &v), -EINVAL);
	assert_int_equal(v, 7);
	assert_int_equal(parse_u64("0x1f", &v), 0);
	assert_int_equal(v, 31);
}

static void lists(void **state)
{
	static const struct {
		const char *text;
		int err;
		u32 n;
		u32 v[8];
	} cases[] = {
		{ "1", 0, 1, { 1 } },
		{ "1,2,4", 0, 3, { 1, 2, 4 } },
		{ "1-4", 0, 4, { 1, 2, 3, 4 } },
		{ "0,2-3,7", 0, 4, { 0, 2, 3, 7 } },
		{ "5-5", 0, 1, { 5 } },
		{ "1-8", 0, 8, { 1, 2, 3, 4, 5, 6, 7, 8 } },
		{ "4294967295", 0, 1, { UINT32_MAX } },
		{ "1-9", -E2BIG, 0, { 0 } },
		{ "1,2,3,4,5,6,7,8,9", -E2BIG, 0, { 0 } },
		{ "0-4294967295", -E2BIG, 0, { 0 } },
		{ "4294967296", -EINVAL, 0, { 0 } },
		{ "3-1", -EINVAL, 0, { 0 } },
		{ "", -EINVAL, 0, { 0 } },
		{ ",", -EINVAL, 0, { 0 } },
		{ "1,", -EINVAL, 0, { 0 } },
		{ ",1", -EINVAL, 0, { 0 } },
		{ "1-", -EINVAL, 0, { 0 } },
		{ "-1", -EINVAL, 0, { 0 } },
		{ "1--2", -EINVAL, 0, { 0 } },
		{ "1-2-3", -EINVAL, 0, { 0 } },
		{ "1 2", -EINVAL, 0, { 0 } },
		{ "a", -EINVAL, 0, { 0 } },
		{ "99999999999999999999", -ERANGE, 0, { 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 *v = malloc(8 * sizeof(*v)), n = 99; /* the sanitizer watches its end */

		assert_int_equal(parse_list(cases[i].text, v, 8, &n), cases[i].err);
		assert_int_equal(n, cases[i].err ? 99 : cases[i].n);
		if (!cases[i].err)
			assert_memory_equal(v, cases[i].v, n * sizeof(*v));
		free(v);
	}
}

static void table_of_words(void **state)
{
	static const char *const names[] = { "locked", "percpu", NULL };

	assert_int_equal(parse_word("locked", names), 0);
	assert_int_equal(parse_word("percpu", names), 1);
	assert_int_equal(parse_word("", names), -EINVAL);
	assert_int_equal(parse_word("percp", names), -EINVAL);
	assert_int_equal(parse_word("percpux", names), -EINVAL);
}

static void general_words(void **state)
{
	assert_true(cmdline_is_general("selftest"));
	assert_true(cmdline_is_general("host.mode"));
	assert_false(cmdline_is_general("host"));
	assert_false(cmdline_is_general("arm64.mode"));
	assert_false(cmdline_is_general("nonsense"));
}

/* Random bytes: nothing but -errno or 0, and every word inside the line. */
static void noise(void **state)
{
	static const char letters[] = "ab=\" \t\n,-0x9KG\\#\xff";
	u64 seed = 42;

	for (int round = 0; round < 20000; round++) {
		size_t n = host_random(&seed) % 200;
		char *text = malloc(n + 1);
		u32 list[4], count;
		u64 v;
		int err;

		for (size_t i = 0; i < n; i++)
			text[i] = letters[host_random(&seed) % (sizeof(letters) - 1)];
		text[n] = '\0';
		(void)parse_size(text, &v);
		(void)parse_u64(text, &v);
		(void)parse_list(text, list, 4, &count);
		err = cmdline_parse(text, &why);
		assert_true(err == 0 || err == -EINVAL || err == -E2BIG);
		(void)cmdline_get("a");
		free(text);
	}
	assert_int_equal(parse(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),	  cmocka_unit_test(nothing),
		cmocka_unit_test(quotes),	  cmocka_unit_test(unclosed_quotes),
		cmocka_unit_test(last_one_wins),  cmocka_unit_test(too_many),
		cmocka_unit_test(walk_stops),	  cmocka_unit_test(sizes),
		cmocka_unit_test(numbers),	  cmocka_unit_test(lists),
		cmocka_unit_test(table_of_words), cmocka_unit_test(general_words),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
