/* SPDX-License-Identifier: GPL-2.0-only */
/* The limits libfdt asks for. The compiler's own <limits.h> wants a C library's behind it. */
#ifndef CUPEL_LIBC_LIMITS_H
#define CUPEL_LIBC_LIMITS_H

#define INT_MAX	  __INT_MAX__
#define INT_MIN	  (-INT_MAX - 1)
#define UINT_MAX  (INT_MAX * 2U + 1U)
#define LONG_MAX  __LONG_MAX__
#define ULONG_MAX (LONG_MAX * 2UL + 1UL)

#endif
