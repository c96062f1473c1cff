/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACPI tables. The input is the machine's memory from address 0, with the RSDP at 0. What the parser
 * asks for it gets as a copy of just that length, so that a read past it is seen.
 */
#include "fuzz.h"
#include "platform_check.h"

#include <stdlib.h>
#include <string.h>

#define MAX_COPIES 4096

struct memory {
	const u8 *data;
	size_t size;
	void *copy[MAX_COPIES];
	u32 copies;
};

static struct platform read_into;

static const void *phys(void *ctx, paddr_t pa, size_t len)
{
	struct memory *m = ctx;
	void *copy;

	if (pa > m->size || len > m->size - pa || m->copies == MAX_COPIES)
		return NULL;
	copy = fuzz_copy(m->data + pa, len);
	m->copy[m->copies++] = copy;
	return copy;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct memory m = { .data = data, .size = size };
	struct acpi_access access = { .phys = phys, .ctx = &m };
	const char *why = NULL;
	int err;

	memset(&read_into, 0, sizeof(read_into));
	err = acpi_read_platform(&access, 0, &read_into, &why);
	FUZZ_CHECK(err <= 0);
	if (err)
		FUZZ_CHECK(why && *why);
	else
		check_platform(&read_into);
	while (m.copies)
		free(m.copy[--m.copies]);
	return 0;
}
