/* SPDX-License-Identifier: GPL-2.0-only */
/* Timing of single operations: what a guest measures, and how it hands the values over. */
#ifndef MEASURE_H
#define MEASURE_H

#include <cupel/types.h>

struct op {
	const char *name;
	u64 (*once)(void); /* ticks that one took */
};

/* Those named by ops=a,b (all without it), samples=N values each after a warm-up; one series each. */
void measure(const struct op *ops, u32 nr);

#endif
