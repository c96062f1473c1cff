/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest images: any bytes, and the segments that were found in them, read to the last byte. */
#include "fuzz.h"

#include "../../core/guest_image.h"

#include <stdlib.h>

/* The sum is what makes the compiler keep the reads. */
static volatile u32 sink;

static void check_segment(const struct elf_image *img, u32 i, const u8 *file, size_t size)
{
	const struct elf_segment *s = &img->segment[i];
	const u8 *data = s->data;
	u32 sum = 0;

	FUZZ_CHECK(s->memsz >= s->filesz && s->addr + s->memsz >= s->addr);
	FUZZ_CHECK(s->addr + s->memsz <= img->end);
	if (s->filesz)
		FUZZ_CHECK(data >= file && s->filesz <= size && data - file + s->filesz <= size);
	for (u64 k = 0; k < s->filesz; k++)
		sum += data[k];
	sink = sum;
	for (u32 k = 0; k < i; k++) {
		const struct elf_segment *o = &img->segment[k];

		FUZZ_CHECK(o->addr + o->memsz <= s->addr || s->addr + s->memsz <= o->addr);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 *file = fuzz_copy(data, size);
	struct elf_image img;
	const char *why = NULL;
	int err = 0;

	if (elf_is_elf(file, size))
		err = elf_parse(file, size, &img, &why);
	else
		img.nr_segments = 0;
	FUZZ_CHECK(err <= 0);
	FUZZ_CHECK(!err || (why && *why));
	for (u32 i = 0; !err && i < img.nr_segments; i++)
		check_segment(&img, i, file, size);
	free(file);
	return 0;
}
