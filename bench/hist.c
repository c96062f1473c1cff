/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Log2-linear histograms: what an experiment keeps of its samples, and the figures a row prints. No
 * allocation, no floating point, no clock: also built for the host. Must never lose a sample
 * silently: counters and sums saturate instead of wrapping.
 */
#include "wide.h"

#include <cupel/bench.h>
#include <string.h>

#define SUB (1U << HIST_SUB_BITS)

static u128 join(u64 hi, u64 lo)
{
	return (u128)hi << 64 | lo;
}

static u64 isqrt128(u128 v)
{
	u128 root = 0;

	for (int i = 63; i >= 0; i--) {
		u128 try = root | (u128)1 << i;

		if (try * try <= v)
			root = try;
	}
	return root;
}

static u32 index_of(u64 value)
{
	u32 top;

	if (value < SUB)
		return value;
	top = 63 - __builtin_clzll(value);
	return ((top - HIST_SUB_BITS + 1) << HIST_SUB_BITS) +
	       ((value >> (top - HIST_SUB_BITS)) & (SUB - 1));
}

u64 hist_edge(u32 i)
{
	u32 octave = i >> HIST_SUB_BITS;

	if (!octave)
		return i;
	return (u64)(SUB + (i & (SUB - 1))) << (octave - 1);
}

static u64 upper_edge(u32 i)
{
	return i + 1 < HIST_BUCKETS ? hist_edge(i + 1) - 1 : ~0UL;
}

static void add_sums(struct hist *h, u128 sum, u128 sumsq)
{
	u128 s = join(h->sum_hi, h->sum_lo) + sum;
	u128 q = join(h->sumsq_hi, h->sumsq_lo);

	q = q + sumsq < q ? ~(u128)0 : q + sumsq;
	h->sum_hi = s >> 64;
	h->sum_lo = s;
	h->sumsq_hi = q >> 64;
	h->sumsq_lo = q;
}

static void add_bucket(struct hist *h, u32 i, u32 count)
{
	u32 now = h->bucket[i] + count;

	h->bucket[i] = now < count ? ~0U : now;
}

static void add_range(struct hist *h, u64 n, u64 lowest, u64 highest)
{
	if (!h->n || lowest < h->min)
		h->min = lowest;
	if (!h->n || highest > h->max)
		h->max = highest;
	h->n += n;
}

void hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

void hist_add(struct hist *h, u64 value)
{
	add_range(h, 1, value, value);
	add_sums(h, value, (u128)value * value);
	add_bucket(h, index_of(value), 1);
}

void hist_merge(struct hist *into, const struct hist *from)
{
	if (!from->n)
		return;
	add_range(into, from->n, from->min, from->max);
	add_sums(into, join(from->sum_hi, from->sum_lo), join(from->sumsq_hi, from->sumsq_lo));
	for (u32 i = 0; i < HIST_BUCKETS; i++)
		add_bucket(into, i, from->bucket[i]);
}

/* Rank of quantile num/den among n values: the smallest r with r >= n * num / den, at least 1. */
static u64 rank_of(u64 n, u32 num, u32 den)
{
	u64 rem;
	u64 r = div128((u128)n * num, den, &rem);

	r += rem != 0;
	return r ? r : 1;
}

u64 hist_quantile(const struct hist *h, u32 num, u32 den)
{
	u64 rank = rank_of(h->n, num, den);
	u64 seen = 0;
	u32 i;

	if (!h->n)
		return 0;
	for (i = 0; i < HIST_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			break;
	}
	return min(h->max, upper_edge(i));
}

u64 hist_mean(const struct hist *h)
{
	u64 rem, q;

	if (!h->n)
		return 0;
	q = div128(join(h->sum_hi, h->sum_lo), h->n, &rem);
	return q + (rem >= h->n - rem);
}

/*
 * With q the whole part of the mean and r the rest of the sum, the sum of squared distances is
 * sumsq - q (sum + r) - r^2 / n: no intermediate is wider than 128 bits. A sum of squares that
 * saturated has no deviation to give: the largest number says so.
 */
u64 hist_stddev(const struct hist *h)
{
	u128 sum = join(h->sum_hi, h->sum_lo);
	u128 sumsq = join(h->sumsq_hi, h->sumsq_lo);
	u64 q, r, rem;
	u128 less;

	if (!h->n)
		return 0;
	if (sumsq == ~(u128)0)
		return ~0UL;
	q = div128(sum, h->n, &r);
	less = q * (sum + r) + div128((u128)r * r, h->n, &rem);
	less += rem != 0;
	return isqrt128(div128(sumsq < less ? 0 : sumsq - less, h->n, &rem));
}

void hist_summary(const struct hist *h, struct summary *s)
{
	*s = (struct summary){
		.n = h->n,
		.min = h->min,
		.q1 = hist_quantile(h, 1, 4),
		.p50 = hist_quantile(h, 1, 2),
		.mean = hist_mean(h),
		.p90 = hist_quantile(h, 9, 10),
		.p99 = hist_quantile(h, 99, 100),
		.max = h->max,
		.stddev = hist_stddev(h),
	};
}

static void sift_down(u64 *value, u32 at, u32 n)
{
	for (;;) {
		u32 child = 2 * at + 1;
		u64 held = value[at];

		if (child >= n)
			return;
		if (child + 1 < n && value[child + 1] > value[child])
			child++;
		if (value[child] <= held)
			return;
		value[at] = value[child];
		value[child] = held;
		at = child;
	}
}

static void sort(u64 *value, u32 n)
{
	for (u32 i = n / 2; i-- > 0;)
		sift_down(value, i, n);
	while (n > 1) {
		u64 top = value[0];

		value[0] = value[--n];
		value[n] = top;
		sift_down(value, 0, n);
	}
}

void hist_summary_exact(const struct hist *h, u64 *value, u32 n, struct summary *s)
{
	hist_summary(h, s);
	if (!n)
		return;
	sort(value, n);
	s->q1 = value[rank_of(n, 1, 4) - 1];
	s->p50 = value[rank_of(n, 1, 2) - 1];
	s->p90 = value[rank_of(n, 9, 10) - 1];
	s->p99 = value[rank_of(n, 99, 100) - 1];
}
