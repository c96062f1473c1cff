/* SPDX-License-Identifier: GPL-2.0-only */
/* What libfdt asks of <stdlib.h>; bodies in core/string.c. */
#ifndef CUPEL_LIBC_STDLIB_H
#define CUPEL_LIBC_STDLIB_H

#include <stddef.h>

unsigned long strtoul(const char *s, char **end, int base);

#endif
