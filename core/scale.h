/* SPDX-License-Identifier: GPL-2.0-only */
/* Exact scaling between two frequencies, without a 128-bit division. */
#ifndef CORE_SCALE_H
#define CORE_SCALE_H

#include <cupel/types.h>

/*
 * value * mul / div, rounded down, ~0 when it does not fit: exact, since value is split at div so that
 * the product of the remainder fits 64 bits for mul * div below 2^64 (a counter of up to 18 GHz against
 * nanoseconds).
 */
static inline u64 scale(u64 value, u64 mul, u64 div)
{
	u64 whole, part = value % div * mul / div;

	if (__builtin_mul_overflow(value / div, mul, &whole) ||
	    __builtin_add_overflow(whole, part, &whole))
		return ~0UL;
	return whole;
}

#endif
