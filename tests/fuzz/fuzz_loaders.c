/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What boot loaders and the EFI application leave. The first byte says which loader it was; the rest is the
 * machine's memory from INFO on, where its information begins.
 */
#include "fuzz.h"
#include "memory.h"

#define INFO 0x1000

static const fuzz_reader readers[] = { multiboot_read_platform, multiboot2_read_platform,
				       pvh_read_platform, linux_read_platform, efi_read_platform };

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_memory m = { .base = INFO, .data = data + 1, .size = size - 1 };

	if (size)
		fuzz_read_platform(readers[data[0] % ARRAY_SIZE(readers)], &m, INFO);
	return 0;
}
