/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Experiments. A bench declares its name, its variants and sweeps; the harness pins, warms up, runs
 * interleaved rounds A B A B, keeps a histogram, and prints a table and one JSON line per row.
 */
#ifndef CUPEL_BENCH_H
#define CUPEL_BENCH_H

#include <cupel/types.h>

/* log2-linear histogram: 64 linear steps in each power of two (1.6 %); exact below 128. */
#define HIST_SUB_BITS 6
#define HIST_BUCKETS  ((64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

struct hist { /* all zero is an empty one */
	u64 n, min, max;
	u64 sum_hi, sum_lo; /* 128 bits */
	u64 sumsq_hi, sumsq_lo; /* 128 bits, saturating: for stddev */
	u32 bucket[HIST_BUCKETS]; /* saturating */
};

void hist_init(struct hist *h);
void hist_add(struct hist *h, u64 value);
void hist_merge(struct hist *into, const struct hist *from);
/* Smallest value of bucket i. */
u64 hist_edge(u32 i);
/* Upper edge of the bucket that holds quantile num/den, clipped to [min, max]; 0 when empty. */
u64 hist_quantile(const struct hist *h, u32 num, u32 den);
u64 hist_mean(const struct hist *h); /* rounded to nearest */
u64 hist_stddev(const struct hist *h); /* of the population, rounded down; ~0 when too large */

/* The figures of a row. */
struct summary {
	u64 n, min, q1, p50, mean, p90, p99, max, stddev;
};
void hist_summary(const struct hist *h, struct summary *s);
/* The same with exact quantiles, where every value was kept. Sorts value[]. */
void hist_summary_exact(const struct hist *h, u64 *value, u32 n, struct summary *s);

/*
 * A record: one JSON object a line between "@@" markers. record_begin() fills nothing but zeroes and
 * the bench's name; what describes machine, build and clock is added when it is printed.
 */
struct record_field {
	const char *key;
	const char *str; /* string value, or NULL for a number */
	u64 num;
};
#define RECORD_MAX_FIELDS 40
struct record_object {
	struct record_field field[RECORD_MAX_FIELDS];
	u32 nr;
};
struct record {
	const char *bench;
	const char *unit;
	struct record_object variant, sweep, counters;
	struct summary summary;
	const struct hist *hist; /* may be NULL */
	u64 noise_permille; /* A/A ratio x 1000; 0 = not measured */
};
void record_begin(struct record *r, const char *bench, const char *unit);
/* A field too many is dropped, and record_emit() says so in "dropped". */
void record_num(struct record_object *o, const char *key, u64 num);
void record_str(struct record_object *o, const char *key, const char *str);
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
