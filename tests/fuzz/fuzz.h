/* SPDX-License-Identifier: GPL-2.0-only */
/* What the fuzz targets share: each gets bytes nobody vouches for, and must survive them. */
#ifndef FUZZ_H
#define FUZZ_H

#include <cupel/types.h>

/* A copy of exactly this size, so that a sanitizer sees a read past its end. */
void *fuzz_copy(const void *data, size_t size);
/* The same with a NUL behind it. */
char *fuzz_text(const void *data, size_t size);
/* Ends the run as a crash does, with the reproducer kept. */
__noreturn void fuzz_fail(const char *what);
#define FUZZ_CHECK(cond)                  \
	do {                              \
		if (!(cond))              \
			fuzz_fail(#cond); \
	} while (0)

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif
