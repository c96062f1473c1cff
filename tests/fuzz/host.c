/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of the fuzz targets; only the C library of the host stands below them. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *fuzz_copy(const void *data, size_t size)
{
	void *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	return copy;
}

char *fuzz_text(const void *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

void fuzz_fail(const char *what)
{
	fprintf(stderr, "fuzz: not true: %s\n", what);
	abort();
}

/* glibc has it since 2.38 only. The prototype is that of include/libc/string.h. */
size_t strlcpy(char *dst, const char *src, size_t size);

size_t strlcpy(char *dst, const char *src, size_t size)
{
	size_t length = strlen(src);

	if (size) {
		size_t kept = length < size ? length : size - 1;

		memcpy(dst, src, kept);
		dst[kept] = '\0';
	}
	return length;
}
