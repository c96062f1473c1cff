/* SPDX-License-Identifier: GPL-2.0-only */
/* Device trees: any bytes at all, then the platform that was read from them. */
#include "fuzz.h"
#include "platform_check.h"

#include <stdlib.h>
#include <string.h>

static struct platform read_into;

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	void *fdt = fuzz_copy(data, size);
	const char *why = NULL;
	int err;

	memset(&read_into, 0, sizeof(read_into));
	err = fdt_read_platform(fdt, size, &read_into, &why);
	FUZZ_CHECK(err <= 0);
	if (err)
		FUZZ_CHECK(why && *why);
	else
		check_platform(&read_into);
	free(fdt);
	return 0;
}
