/* SPDX-License-Identifier: GPL-2.0-only */
/* Our formatted output against the C library's, and where it must not follow it. */
#include "host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <cupel/printk.h>

/* This build renames the name in source text only: the C library still has its own. */
static int (*libc_vsnprintf)(char *buf, size_t size, const char *fmt, va_list ap);

static int setup(void **state)
{
	*(void **)&libc_vsnprintf = dlsym(RTLD_DEFAULT, "vsnprintf");
	return libc_vsnprintf ? 0 : -1;
}

static void both(const char *fmt, ...)
{
	char ours[1024], theirs[1024];
	va_list ap, again;
	int n, m;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(ours, sizeof(ours), fmt, ap);
	m = libc_vsnprintf(theirs, sizeof(theirs), fmt, again);
	va_end(again);
	va_end(ap);
	assert_string_equal(ours, theirs);
	assert_int_equal(n, m);
}

static void integers(void **state)
{
	static const char *const fmts[] = {
		"%d",	"%i",	 "%5d",	    "%-5d|",  "%05d", "%+d",  "% d",
		"%.3d", "%8.3d", "%-8.3d|", "%08.3d", "%.0d", "%u",   "%x",
		"%X",	"%#x",	 "%#10x",   "%#010x", "%o",   "%.5x", "%-#10x|",
	};
	static const int values[] = { 0, 1, -1, 42, -42, 123456, INT32_MAX, INT32_MIN };

	for (size_t i = 0; i < ARRAY_SIZE(fmts); i++)
		for (size_t j = 0; j < ARRAY_SIZE(values); j++)
			if (values[j] || !strchr(fmts[i], '#'))
				both(fmts[i], values[j]);
}

static void lengths(void **state)
{
	both("%ld %lu %lx", INT64_MIN, UINT64_MAX, UINT64_MAX);
	both("%lld %llu %llX", (long long)INT64_MAX, UINT64_MAX, 0x123456789abcdefULL);
	both("%zu %zx %td %jd", (size_t)-1, (size_t)4096, (ptrdiff_t)-5, (intmax_t)-6);
	both("%hd %hu %hhd %hhu %hhx", 0x12345, 0x12345, 0x1ff, 0x1ff, 0xabc);
}

static void texts(void **state)
{
	both("plain");
	both("100%%");
	both("%s|%10s|%-10s|%.2s|%10.2s|%.0s|", "abc", "abc", "abc", "abc", "abc", "abc");
	both("%c%c%5c|%-5c|", 'a', '\n', 'b', 'c');
	both("%*d|%-*d|%*d|%.*s|%.*s|", 6, 1, 6, 2, -6, 3, 2, "xyz", -1, "whole");
	both("%p", (void *)0xdeadbeef);
}

static void expect(const char *want, const char *fmt, ...)
{
	char buf[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	assert_string_equal(buf, want);
}

static void what_is_not_known(void **state)
{
	expect("(null)", "%s", NULL);
	expect("0x0", "%p", NULL);
	/* No argument is taken, and the text says what could not be printed. */
	expect("%q 7", "%q %d", 7);
	expect("%f", "%f");
	expect("%n", "%n");
	expect("%", "%");
	expect("50%", "50%");
	expect("%-08", "%-08");
	expect("%lll 3", "%lll %d", 3);
}

static int length_of(const char *fmt, ...)
{
	char buf[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return n;
}

static void wild_numbers_are_bounded(void **state)
{
	assert_int_equal(length_of("%999999999999d", 1), 512);
	assert_int_equal(length_of("%.999999999999d", 1), 512);
	assert_int_equal(length_of("%*d", INT32_MIN, 1), 512);
	assert_int_equal(length_of("%*d", INT32_MAX, 1), 512);
}

static void never_past_the_end(void **state)
{
	for (size_t size = 0; size < 12; size++) {
		char buf[16];
		size_t kept = size ? min(size - 1, (size_t)10) : 0;

		memset(buf, '#', sizeof(buf));
		assert_int_equal(snprintf(buf, size, "0123%d", 456789), 10);
		assert_memory_equal(buf, "0123456789", kept);
		if (size)
			assert_int_equal(buf[kept], '\0');
		for (size_t i = size; i < sizeof(buf); i++)
			assert_int_equal(buf[i], '#');
	}
	assert_int_equal(snprintf(NULL, 0, "%s", "length only"), 11);
}

static void console_gets_it_whole(void **state)
{
	char long_text[3000];

	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	host_console_clear();
	printk("%s|%d\n", long_text, 5);
	assert_int_equal(strlen(host_console()), sizeof(long_text) - 1 + 3);
	console_write("raw\n", 4);
	assert_non_null(strstr(host_console(), "x|5\nraw\n"));
}

static void print_many(u32 cpu, void *arg)
{
	for (int i = 0; i < 200; i++)
		printk("cpu %u says %d and no more\n", cpu, i);
}

static void lines_are_not_torn(void **state)
{
	const char *line;
	int count = 0;

	host_console_clear();
	host_on_cpus(4, print_many, NULL);
	for (line = host_console(); *line; line = strchr(line, '\n') + 1) {
		int cpu, i, used = 0;

		assert_int_equal(sscanf(line, "cpu %d says %d and no more%n", &cpu, &i, &used), 2);
		assert_int_equal(line[used], '\n');
		count++;
	}
	assert_int_equal(count, 800);
}

static void die(void *arg)
{
	panic("the cause is %s", "known");
}

static void die_while_printing(void *arg)
{
	/* The fault comes from inside a console driver: the lock is held. */
	printk("%s", (const char *)arg);
}

static void evil_putc(struct console *c, char ch)
{
	static bool dying;

	if (dying)
		return;
	dying = true;
	panic("died while printing");
}

static struct console evil = { .name = "evil", .putc = evil_putc };

static void panics_speak(void **state)
{
	assert_int_equal(host_dies(die, NULL), 3);
	assert_non_null(strstr(host_last_words(), "panic: CPU 0: the cause is known"));
	assert_non_null(strstr(host_last_words(), "backtrace, build a5a5a5a5"));
	console_register(&evil);
	assert_int_equal(host_dies(die_while_printing, "x"), 3);
	assert_non_null(strstr(host_last_words(), "died while printing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),
		cmocka_unit_test(lengths),
		cmocka_unit_test(texts),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(wild_numbers_are_bounded),
		cmocka_unit_test(never_past_the_end),
		cmocka_unit_test(console_gets_it_whole),
		cmocka_unit_test(lines_are_not_torn),
		cmocka_unit_test(panics_speak),
	};

	host_setup(9, MIB(4));
	return cmocka_run_group_tests_name("printf", tests, setup, NULL);
}
