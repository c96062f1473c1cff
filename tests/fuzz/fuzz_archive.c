/* SPDX-License-Identifier: GPL-2.0-only */
/* cpio archives: opened, walked, and each file found again and read to its last byte. */
#include "fuzz.h"

#include <cupel/archive.h>
#include <stdlib.h>
#include <string.h>

/* The sum is what makes the compiler keep the reads. */
static volatile u32 sink;

static void read_all(const struct archive_file *f)
{
	const u8 *bytes = f->data;
	u32 sum = 0;

	for (size_t i = 0; i < f->size; i++)
		sum += bytes[i];
	sink = sum + strlen(f->name);
}

static void walk(const struct archive *a)
{
	struct archive_file f, again;
	size_t pos = 0;
	u32 files = 0;

	while (archive_next(a, &pos, &f)) {
		FUZZ_CHECK(pos <= a->size);
		FUZZ_CHECK(++files <= a->size);
		read_all(&f);
		FUZZ_CHECK(!archive_find(a, f.name, &again));
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	void *bytes = fuzz_copy(data, size);
	const char *why = NULL;
	struct archive a;
	size_t where = 0;

	if (archive_open(&a, bytes, size, &why, &where))
		FUZZ_CHECK(why && *why && where < size + 4);
	else
		walk(&a);
	free(bytes);
	return 0;
}
