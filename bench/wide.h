/* SPDX-License-Identifier: GPL-2.0-only */
/* 128-bit division by hand: the image has no libgcc, and a rate or a mean is never on a hot path. */
#ifndef BENCH_WIDE_H
#define BENCH_WIDE_H

#include <cupel/types.h>

typedef unsigned __int128 u128;

static inline u128 div128(u128 v, u64 d, u64 *rem)
{
	u64 half[2] = { (u64)v, (u64)(v >> 64) };
	u128 q = 0, r = 0;

	for (int i = 127; i >= 0; i--) {
		r = r << 1 | (half[i / 64] >> i % 64 & 1);
		q <<= 1;
		if (r >= d) {
			r -= d;
			q |= 1;
		}
	}
	*rem = r;
	return q;
}

#endif
