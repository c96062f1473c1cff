/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Experiments. A bench declares its name, its variants and sweeps; the harness pins, warms up, runs
 * interleaved rounds A B A B, keeps a histogram, and prints a table and one JSON line per row.
 */
#ifndef CUPEL_BENCH_H
#define CUPEL_BENCH_H

#include <cupel/types.h>

/* log2-linear histogram: 16 linear steps in each power of two; exact below 16. */
#define HIST_SUB_BITS 4
#define HIST_BUCKETS  ((64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

struct hist {
	u64 n, min, max;
	u64 sum; /* saturates */
	u64 sumsq_hi, sumsq_lo; /* 128-bit sum of squares, for stddev */
	u32 bucket[HIST_BUCKETS];
};

void hist_init(struct hist *h);
void hist_add(struct hist *h, u64 value);
void hist_merge(struct hist *into, const struct hist *from);
/* Value at quantile num/den: upper edge of its bucket, clipped to [min, max]. Exact for n = 0: 0. */
u64 hist_quantile(const struct hist *h, u32 num, u32 den);
u64 hist_mean(const struct hist *h);
u64 hist_stddev(const struct hist *h);

/* A record: one JSON object a line between "@@" markers. Keys as in the table of docs/experiments.md. */
struct record_field {
	const char *key;
	const char *str; /* string value, or NULL for a number */
	u64 num;
};
#define RECORD_MAX_FIELDS 40
struct record {
	const char *bench;
	const char *unit;
	struct record_field variant[RECORD_MAX_FIELDS], sweep[RECORD_MAX_FIELDS], counter[RECORD_MAX_FIELDS];
	u32 nr_variant, nr_sweep, nr_counter;
	const struct hist *hist;
	u64 noise_permille; /* A/A ratio x 1000; 0 = not measured */
};
void record_emit(const struct record *r);

struct experiment {
	const char *name;
	const char *help; /* one line */
	const char *const *keys; /* key=value words it understands, NULL terminated, "key - help" */
	/* 0, or -errno after printing one clear line. Runs on the boot CPU, thread context. */
	int (*run)(void);
};

#define EXPERIMENT(sym) \
	static const struct experiment *const experiment_##sym __used __section("experiments") = &sym

#endif
