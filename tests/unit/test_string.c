/* SPDX-License-Identifier: GPL-2.0-only */
/* Our memory and string functions against the C library's, at every alignment that matters. */
#include "host.h"

#include <stdlib.h>
#include <string.h>

/* core/string.c as this build names it. */
void *cupel_memcpy(void *dst, const void *src, size_t n);
void *cupel_memmove(void *dst, const void *src, size_t n);
void *cupel_memset(void *dst, int c, size_t n);
int cupel_memcmp(const void *a, const void *b, size_t n);
void *cupel_memchr(const void *s, int c, size_t n);
size_t cupel_strlen(const char *s);
size_t cupel_strnlen(const char *s, size_t max);
int cupel_strcmp(const char *a, const char *b);
int cupel_strncmp(const char *a, const char *b, size_t n);
char *cupel_strchr(const char *s, int c);
char *cupel_strrchr(const char *s, int c);
char *cupel_strstr(const char *s, const char *find);
unsigned long cupel_strtoul(const char *s, char **end, int base);
size_t strlcpy(char *dst, const char *src, size_t size);

#define AREA 512

static u8 ours[AREA], theirs[AREA], source[AREA];

static void fill(u64 seed)
{
	for (int i = 0; i < AREA; i++) {
		source[i] = (u8)host_random(&seed);
		ours[i] = theirs[i] = (u8)host_random(&seed);
	}
}

static void copies_and_fills(void **state)
{
	for (size_t to = 0; to < 17; to++) {
		for (size_t from = 0; from < 17; from++) {
			for (size_t n = 0; n < 200; n += n < 40 ? 1 : 37) {
				fill(1 + to + from * 17 + n * 289);
				assert_ptr_equal(cupel_memcpy(ours + to, source + from, n),
						 ours + to);
				memcpy(theirs + to, source + from, n);
				assert_memory_equal(ours, theirs, AREA);
				assert_ptr_equal(cupel_memset(ours + to, (int)n, from * 9),
						 ours + to);
				memset(theirs + to, (int)n, from * 9);
				assert_memory_equal(ours, theirs, AREA);
			}
		}
	}
}

static void moves_overlap(void **state)
{
	for (size_t to = 0; to < 40; to++) {
		for (size_t from = 0; from < 40; from++) {
			fill(1 + to + from * 40);
			cupel_memmove(ours + to, ours + from, 150);
			memmove(theirs + to, theirs + from, 150);
			assert_memory_equal(ours, theirs, AREA);
		}
	}
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void comparisons(void **state)
{
	static const char *const words[] = { "",    "a",    "b",    "ab",    "aa",
					     "abc", "\xff", "\x7f", "ab\xff" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(words); j++) {
			const char *a = words[i], *b = words[j];

			assert_int_equal(sign(cupel_strcmp(a, b)), sign(strcmp(a, b)));
			assert_ptr_equal(cupel_strstr(a, b), strstr(a, b));
			for (size_t n = 0; n < 4; n++)
				assert_int_equal(sign(cupel_strncmp(a, b, n)),
						 sign(strncmp(a, b, n)));
			assert_int_equal(sign(cupel_memcmp(a, b, min(strlen(a), strlen(b)))),
					 sign(memcmp(a, b, min(strlen(a), strlen(b)))));
		}
	}
}

static void searches(void **state)
{
	const char *s = "one/two/three";

	assert_int_equal(cupel_strlen(s), strlen(s));
	assert_int_equal(cupel_strnlen(s, 3), 3);
	assert_int_equal(cupel_strnlen(s, 99), strlen(s));
	assert_ptr_equal(cupel_strchr(s, '/'), s + 3);
	assert_ptr_equal(cupel_strrchr(s, '/'), s + 7);
	assert_ptr_equal(cupel_strchr(s, '\0'), s + strlen(s));
	assert_ptr_equal(cupel_strrchr(s, '\0'), s + strlen(s));
	assert_null(cupel_strchr(s, 'x'));
	assert_null(cupel_strrchr(s, 'x'));
	assert_ptr_equal(cupel_memchr(s, 'w', 13), s + 5);
	assert_null(cupel_memchr(s, 'w', 5));
	assert_ptr_equal(cupel_strstr(s, "thr"), s + 8);
	assert_null(cupel_strstr(s, "threee"));
}

static void bounded_copy(void **state)
{
	char buf[4] = "xyz";

	assert_int_equal(strlcpy(buf, "abcdef", 0), 6);
	assert_string_equal(buf, "xyz");
	assert_int_equal(strlcpy(buf, "abcdef", sizeof(buf)), 6);
	assert_string_equal(buf, "abc");
	assert_int_equal(strlcpy(buf, "", sizeof(buf)), 0);
	assert_string_equal(buf, "");
}

static void numbers(void **state)
{
	static const char *const texts[] = {
		"0",
		"1",
		"18446744073709551615",
		"18446744073709551616",
		"0x10",
		"0xffffffffffffffff",
		"0x10000000000000000",
		"010",
		"  42rest",
		"-1",
		"+7",
		"",
		"x",
		"0x",
		"0xg",
		"\t\n9",
	};
	static const int bases[] = { 0, 8, 10, 16, 36 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(bases); j++) {
			char *end, *want_end;
			unsigned long want = strtoul(texts[i], &want_end, bases[j]);

			assert_int_equal(cupel_strtoul(texts[i], &end, bases[j]), want);
			assert_ptr_equal(end, want_end);
		}
	}
	assert_int_equal(cupel_strtoul("12", NULL, 10), 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_and_fills), cmocka_unit_test(moves_overlap),
		cmocka_unit_test(comparisons),	    cmocka_unit_test(searches),
		cmocka_unit_test(bounded_copy),	    cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests_name("string", tests, NULL, NULL);
}
