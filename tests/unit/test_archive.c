/* SPDX-License-Identifier: GPL-2.0-only */
/* cpio archives: good ones as cpio writes them, and each way to break one. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupel/archive.h>
#include <cupel/errno.h>

static u8 image[4096];
static size_t size;

static void pad(void)
{
	while (size % 4)
		image[size++] = 0;
}

/* In C's own printf: %08X is a field of the header. */
static void add(const char *name, const void *data, u32 len)
{
	u32 names = (u32)strlen(name) + 1;
	char header[111];
	int n = sprintf(header, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", 1,
			0100644, 0, 0, 1, 0, len, 0, 0, 0, 0, names, 0);

	assert_int_equal(n, 110);
	memcpy(image + size, header, 110);
	size += 110;
	memcpy(image + size, name, names);
	size += names;
	pad();
	memcpy(image + size, data, len);
	size += len;
	pad();
}

static void build(void)
{
	size = 0;
	memset(image, 0, sizeof(image));
	add("./cupel.conf", "[vm a]\n", 7);
	add("empty", "", 0);
	add("sub/hello.elf", "\177ELF....", 8);
	add("TRAILER!!!", "", 0);
}

static struct archive opened;
static const char *why;
static size_t where;
static u8 *copy;

/* From a heap copy of exactly that size, so that the sanitizer sees a read past its end. */
static int open_first(size_t n)
{
	free(copy);
	copy = malloc(n ? n : 1);
	memcpy(copy, image, n);
	return archive_open(&opened, copy, n, &why, &where);
}

static void good(void **state)
{
	struct archive_file f;
	size_t pos = 0;

	build();
	assert_int_equal(open_first(size), 0);
	assert_true(archive_next(&opened, &pos, &f));
	assert_string_equal(f.name, "cupel.conf");
	assert_int_equal(f.mode, 0100644);
	assert_true(archive_next(&opened, &pos, &f));
	assert_string_equal(f.name, "empty");
	assert_int_equal(f.size, 0);
	assert_true(archive_next(&opened, &pos, &f));
	assert_false(archive_next(&opened, &pos, &f));
	assert_int_equal(archive_find(&opened, "sub/hello.elf", &f), 0);
	assert_int_equal(f.size, 8);
	assert_memory_equal(f.data, "\177ELF....", 8);
	assert_int_equal(archive_find(&opened, "hello.elf", &f), -ENOENT);
	assert_int_equal(archive_find(&opened, "TRAILER!!!", &f), -ENOENT);
}

static void padding_behind_is_fine(void **state)
{
	build();
	assert_int_equal(open_first(sizeof(image)), 0);
}

static void empty_archive(void **state)
{
	static const struct archive none;
	struct archive_file f;
	size_t pos = 0;

	assert_false(archive_next(&none, &pos, &f));
	assert_int_equal(archive_find(&none, "x", &f), -ENOENT);
	size = 0;
	add("TRAILER!!!", "", 0);
	assert_int_equal(open_first(size), 0);
	assert_false(archive_next(&opened, &pos, &f));
}

static void every_cut_is_refused(void **state)
{
	build();
	/* Only padding may go missing from the end. */
	for (size_t n = 0; n < size - 3; n++) {
		assert_int_equal(open_first(n), -EINVAL);
		assert_true(where <= n);
		assert_non_null(why);
	}
}

static void put_field(size_t entry, int field, const char *value)
{
	memcpy(image + entry + 6 + 8 * field, value, 8);
}

static void bad_fields(void **state)
{
	static const struct {
		int field;
		const char *value, *why;
	} cases[] = {
		{ 6, "FFFFFFFF", "data cut short" }, { 6, "00001000", "data cut short" },
		{ 6, "0000000G", "not a number" },   { 6, "       7", "not a number" },
		{ 6, "0x000007", "not a number" },   { 11, "FFFFFFFF", "name cut short" },
		{ 11, "00000000", "bad name" },	     { 11, "0000000C", "bad name" },
		{ 11, "0000000E", "bad name" },	     { 11, "0000000-", "not a number" },
		{ 1, "0000000:", "not a number" },   { 6, "00000001", "no newc header" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		build();
		put_field(0, cases[i].field, cases[i].value);
		assert_int_equal(open_first(size), -EINVAL);
		if (i < ARRAY_SIZE(cases) - 1 && !strstr(why, cases[i].why))
			fail_msg("field %d = %s says: %s", cases[i].field, cases[i].value, why);
		assert_true(where <= size);
	}
}

static void wrong_formats(void **state)
{
	static const char *const magic[] = { "070707", "\xc7q\0\0\0", "\x1f\x8b\x08",
					     "070700", "<html>",      "" };

	for (size_t i = 0; i < ARRAY_SIZE(magic); i++) {
		build();
		strncpy((char *)image, magic[i], 6);
		assert_int_equal(open_first(size), -EINVAL);
		assert_string_equal(why, "no newc header");
		assert_int_equal(where, 0);
	}
	build();
	image[5] = '2'; /* newc with a checksum: same layout */
	assert_int_equal(open_first(size), 0);
}

static void no_trailer(void **state)
{
	size = 0;
	add("a", "1", 1);
	assert_int_equal(open_first(size), -EINVAL);
	assert_string_equal(why, "header cut short");
	assert_int_equal(where, size);
}

static void names(void **state)
{
	struct archive_file f;

	size = 0;
	add("././x", "1", 1);
	add("./", "", 0);
	add("TRAILER!!!", "", 0);
	assert_int_equal(open_first(size), 0);
	assert_int_equal(archive_find(&opened, "x", &f), 0);
	assert_int_equal(archive_find(&opened, "", &f), 0);
	/* A NUL inside the name. */
	build();
	image[110 + 4] = '\0';
	assert_int_equal(open_first(size), -EINVAL);
	assert_string_equal(why, "bad name");
}

static void noise(void **state)
{
	u64 seed = 11;

	for (int round = 0; round < 20000; round++) {
		struct archive_file f;
		size_t pos = 0;

		build();
		for (u64 n = host_random(&seed) % 6; n; n--)
			image[host_random(&seed) % size] = "0F1a-\0\xff."[host_random(&seed) % 8];
		if (open_first(size - host_random(&seed) % 4))
			continue;
		while (archive_next(&opened, &pos, &f)) {
			u32 sum = 0;

			for (size_t i = 0; i < f.size; i++)
				sum += ((const u8 *)f.data)[i];
			assert_true(strlen(f.name) < size && sum <= 255 * f.size);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),		 cmocka_unit_test(padding_behind_is_fine),
		cmocka_unit_test(empty_archive), cmocka_unit_test(every_cut_is_refused),
		cmocka_unit_test(bad_fields),	 cmocka_unit_test(wrong_formats),
		cmocka_unit_test(no_trailer),	 cmocka_unit_test(names),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
