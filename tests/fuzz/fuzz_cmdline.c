/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line: split, walked, each word found again and its value read as every kind there is. */
#include "fuzz.h"

#include <cupel/config.h>
#include <stdlib.h>
#include <string.h>

static bool use(const char *key, const char *value, void *arg)
{
	static const char *const names[] = { "full", "external", NULL };
	u32 list[8], count = 0;
	u64 number;
	u32 *words = arg;

	++*words;
	FUZZ_CHECK(cmdline_get(key));
	FUZZ_CHECK(parse_size(value, &number) <= 0);
	FUZZ_CHECK(parse_u64(value, &number) <= 0);
	if (!parse_list(value, list, ARRAY_SIZE(list), &count))
		FUZZ_CHECK(count <= ARRAY_SIZE(list));
	FUZZ_CHECK(parse_word(value, names) < 2);
	return true;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *line = fuzz_text(data, size);
	const char *why = NULL;
	u32 words = 0;

	if (cmdline_parse(line, &why))
		FUZZ_CHECK(why && *why);
	cmdline_walk(use, &words);
	FUZZ_CHECK(words <= size);
	free(line);
	return 0;
}
