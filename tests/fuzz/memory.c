/* SPDX-License-Identifier: GPL-2.0-only */
/* The input as a machine's memory. */
#include "memory.h"
#include "platform_check.h"

#include <stdlib.h>
#include <string.h>

static struct platform read_into;

static const void *phys(void *ctx, paddr_t pa, size_t len)
{
	struct fuzz_memory *m = ctx;
	void *copy;

	if (pa < m->base)
		return NULL;
	pa -= m->base;
	if (pa > m->size || len > m->size - pa || m->copies == FUZZ_MAX_COPIES)
		return NULL;
	copy = fuzz_copy(m->data + pa, len);
	m->copy[m->copies++] = copy;
	return copy;
}

static void free_copies(struct fuzz_memory *m)
{
	while (m->copies)
		free(m->copy[--m->copies]);
}

void fuzz_read_platform(fuzz_reader read, struct fuzz_memory *m, paddr_t pa)
{
	struct acpi_access access = { .phys = phys, .ctx = m };
	const char *why = NULL;
	int err;

	memset(&read_into, 0, sizeof(read_into));
	err = read(&access, pa, &read_into, &why);
	FUZZ_CHECK(err <= 0);
	if (err)
		FUZZ_CHECK(why && *why);
	else
		check_platform(&read_into);
	free_copies(m);
}
