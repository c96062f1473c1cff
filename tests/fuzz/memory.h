/* SPDX-License-Identifier: GPL-2.0-only */
/* A machine's memory for parsers that read it through struct acpi_access: the input, and nothing else. */
#ifndef FUZZ_MEMORY_H
#define FUZZ_MEMORY_H

#include "fuzz.h"

#include <cupel/platform.h>

#define FUZZ_MAX_COPIES 4096

struct fuzz_memory {
	paddr_t base; /* where the input is; not 0 */
	const u8 *data;
	size_t size;
	void *copy[FUZZ_MAX_COPIES];
	u32 copies;
};

typedef int (*fuzz_reader)(const struct acpi_access *a, paddr_t pa, struct platform *p,
			   const char **why);
/*
 * Reads what is at `pa` into an empty struct platform, and checks the answer. What the parser asks for it gets as
 * a copy of just that length, so that a read past it is seen.
 */
void fuzz_read_platform(fuzz_reader read, struct fuzz_memory *m, paddr_t pa);

#endif
