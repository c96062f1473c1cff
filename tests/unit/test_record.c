/* SPDX-License-Identifier: GPL-2.0-only */
/* Records as text: the keys and their order, escaping, numbers, and lines that would not fit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../bench/harness.h"

static const struct record_origin origin = {
	.arch = "host",
	.machine = "desk \"7\"\\",
	.cpu = "tab\there",
	.firmware = "fdt",
	.cpus = 4,
	.build = "0123",
	.compiler = "cc 1",
	.flags = "-O2",
	.clock = "arch_counter",
	.clock_source = "none",
	.clock_hz = 1000000000,
};

static char text[65536];
static struct hist h;
static struct record r;

static void fill(void)
{
	hist_init(&h);
	for (u64 v = 10; v <= 13; v++)
		hist_add(&h, v);
	record_begin(&r, "name", "ticks");
	hist_summary(&h, &r.summary);
	r.hist = &h;
}

static void keys_are_all_there(void **state)
{
	size_t len;

	fill();
	record_str(&r.variant, "irqstate", "locked");
	record_num(&r.sweep, "vcpus", 4);
	record_num(&r.counters, "big", UINT64_MAX);
	r.noise_permille = 1007;
	len = record_format(&r, &origin, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_string_equal(
		text,
		"{\"bench\":\"name\",\"arch\":\"host\",\"machine\":{\"board\":\"desk \\\"7\\\"\\\\\","
		"\"cpu\":\"tab\\u0009here\",\"firmware\":\"fdt\",\"cpus\":4},"
		"\"build\":{\"id\":\"0123\",\"compiler\":\"cc 1\",\"flags\":\"-O2\"},"
		"\"clock\":{\"ticks\":\"arch_counter\",\"hz\":1000000000,\"source\":\"none\"},"
		"\"variant\":{\"irqstate\":\"locked\"},\"sweep\":{\"vcpus\":4},\"unit\":\"ticks\","
		"\"n\":4,\"min\":10,\"q1\":10,\"p50\":11,\"mean\":12,\"p90\":13,\"p99\":13,\"max\":13,"
		"\"stddev\":1,\"hist\":[[10,1],[11,1],[12,1],[13,1]],"
		"\"counters\":{\"big\":18446744073709551615},\"noise\":1.007}");
}

static void nothing_measured_is_null_and_empty(void **state)
{
	record_begin(&r, "name", "ticks");
	record_format(&r, &origin, text, sizeof(text));
	assert_non_null(strstr(text, "\"hist\":[],\"counters\":{},\"noise\":null}"));
	assert_non_null(strstr(text, "\"variant\":{},\"sweep\":{}"));
}

static void frame_and_string_cannot_be_broken(void **state)
{
	fill();
	record_str(&r.variant, "op", "a@@}\n\"\\\x80\x1b");
	record_format(&r, &origin, text, sizeof(text));
	assert_null(strchr(text, '@'));
	assert_null(strchr(text, '\n'));
	assert_non_null(strstr(text, "\"op\":\"a\\u0040\\u0040}\\u000a\\\"\\\\\\u0080\\u001b\""));
}

static void missing_string_is_empty(void **state)
{
	struct record_origin nameless = origin;

	nameless.machine = NULL;
	fill();
	record_format(&r, &nameless, text, sizeof(text));
	assert_non_null(strstr(text, "\"board\":\"\""));
}

static void short_buffer_is_terminated(void **state)
{
	size_t whole;

	fill();
	whole = record_format(&r, &origin, text, sizeof(text));
	memset(text, 'x', sizeof(text));
	assert_int_equal(record_format(&r, &origin, text, 40), whole);
	assert_int_equal(strlen(text), 39);
	assert_int_equal(text[40], 'x');
	assert_int_equal(record_format(&r, &origin, NULL, 0), whole);
}

static void fields_too_many_are_counted(void **state)
{
	fill();
	for (u32 i = 0; i < RECORD_MAX_FIELDS + 3; i++)
		record_num(&r.counters, "k", i);
	record_format(&r, &origin, text, sizeof(text));
	assert_non_null(strstr(text, "\"k\":39,\"dropped\":3}"));
}

/* Counts in "hist" add up to n, and its edges rise, however many buckets were used. */
static void wide_histogram_is_thinned(void **state)
{
	u64 count = 0, last = 0, entries = 0;
	char *s;

	hist_init(&h);
	for (u32 i = 0; i < HIST_BUCKETS; i++)
		hist_add(&h, hist_edge(i));
	record_begin(&r, "name", "ticks");
	r.hist = &h;
	record_format(&r, &origin, text, sizeof(text));
	s = strstr(text, "\"hist\":[") + 8;
	while (*s == '[' || *s == ',') {
		u64 edge = strtoul(strchr(s, '[') + 1, &s, 10);

		assert_true(!entries || edge > last);
		last = edge;
		count += strtoul(s + 1, &s, 10);
		entries++;
		s++;
	}
	assert_int_equal(count, HIST_BUCKETS);
	assert_in_range(entries, 100, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_all_there),
		cmocka_unit_test(nothing_measured_is_null_and_empty),
		cmocka_unit_test(frame_and_string_cannot_be_broken),
		cmocka_unit_test(missing_string_is_empty),
		cmocka_unit_test(short_buffer_is_terminated),
		cmocka_unit_test(fields_too_many_are_counted),
		cmocka_unit_test(wide_histogram_is_thinned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
