/* SPDX-License-Identifier: GPL-2.0-only */
/* Histograms against exact computation over the kept values. Must never depend on a clock. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <cupel/bench.h>

#define COUNT 5000

static struct hist h, other;
static u64 value[COUNT];

/* xorshift64, so that a failure repeats. */
static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void fill(unsigned int max_bits)
{
	u64 state = 88172645463325252ULL + max_bits;

	hist_init(&h);
	for (int i = 0; i < COUNT; i++) {
		value[i] = next_random(&state) >> (64 - max_bits) >> (next_random(&state) % max_bits);
		hist_add(&h, value[i]);
	}
	qsort(value, COUNT, sizeof(value[0]), by_value);
}

static u64 exact_quantile(u32 num, u32 den)
{
	u64 rank = ((u64)COUNT * num + den - 1) / den;

	return value[rank ? rank - 1 : 0];
}

static void empty_is_all_zero(void **state)
{
	struct summary s;

	hist_init(&h);
	hist_summary(&h, &s);
	assert_int_equal(s.n, 0);
	assert_int_equal(s.min | s.q1 | s.p50 | s.mean | s.p90 | s.p99 | s.max | s.stddev, 0);
}

static void edges_are_ordered_and_fit(void **state)
{
	assert_int_equal(hist_edge(0), 0);
	for (u32 i = 1; i < HIST_BUCKETS; i++)
		assert_true(hist_edge(i) > hist_edge(i - 1));
	/* Every edge falls in the bucket it opens, and the value before it in the one before. */
	for (u32 i = 1; i < HIST_BUCKETS; i++) {
		hist_init(&h);
		hist_add(&h, hist_edge(i));
		hist_add(&h, hist_edge(i) - 1);
		assert_int_equal(h.bucket[i], 1);
		assert_int_equal(h.bucket[i - 1], 1);
	}
	hist_init(&h);
	hist_add(&h, UINT64_MAX);
	assert_int_equal(h.bucket[HIST_BUCKETS - 1], 1);
}

static void small_values_are_exact(void **state)
{
	hist_init(&h);
	for (u64 v = 0; v < 128; v++)
		hist_add(&h, v);
	assert_int_equal(hist_quantile(&h, 1, 128), 0);
	assert_int_equal(hist_quantile(&h, 64, 128), 63);
	assert_int_equal(hist_quantile(&h, 127, 128), 126);
	assert_int_equal(hist_quantile(&h, 1, 1), 127);
}

static void check_quantile(u32 num, u32 den)
{
	u64 got = hist_quantile(&h, num, den), want = exact_quantile(num, den);

	/* Never below the exact one, and above it by no more than a bucket. */
	assert_true(got >= want);
	assert_true(got - want <= want >> HIST_SUB_BITS);
}

static void quantiles_are_within_a_bucket(void **state)
{
	for (unsigned int bits = 1; bits <= 63; bits++) {
		fill(bits);
		check_quantile(1, 4);
		check_quantile(1, 2);
		check_quantile(9, 10);
		check_quantile(99, 100);
		assert_int_equal(hist_quantile(&h, 1, 1), value[COUNT - 1]);
		assert_int_equal(h.min, value[0]);
		assert_int_equal(h.max, value[COUNT - 1]);
	}
}

static u64 exact_mean(void)
{
	unsigned __int128 sum = 0;

	for (int i = 0; i < COUNT; i++)
		sum += value[i];
	return (u64)((2 * sum + COUNT) / (2 * COUNT));
}

/* floor(sqrt(variance)) as the largest s with n^2 s^2 <= n sumsq - sum^2. */
static void check_stddev(void)
{
	unsigned __int128 sum = 0, sumsq = 0, nvar, s = hist_stddev(&h);

	for (int i = 0; i < COUNT; i++) {
		sum += value[i];
		sumsq += (unsigned __int128)value[i] * value[i];
	}
	nvar = COUNT * sumsq - sum * sum;
	assert_true(s * s * COUNT * COUNT <= nvar);
	assert_true((s + 1) * (s + 1) * COUNT * COUNT > nvar);
}

static void mean_and_stddev_are_exact(void **state)
{
	/* 48 bits: what the check itself can hold in 128. */
	for (unsigned int bits = 1; bits <= 48; bits++) {
		fill(bits);
		assert_int_equal(hist_mean(&h), exact_mean());
		check_stddev();
	}
}

static void huge_values_do_not_wrap(void **state)
{
	hist_init(&h);
	for (int i = 0; i < 10; i++)
		hist_add(&h, UINT64_MAX);
	assert_true(hist_mean(&h) == UINT64_MAX);
	assert_true(hist_quantile(&h, 1, 2) == UINT64_MAX);
	assert_true(hist_stddev(&h) == UINT64_MAX);
}

static void merge_equals_adding(void **state)
{
	static struct hist both;
	u64 state_a = 1, state_b = 2;

	hist_init(&h);
	hist_init(&other);
	hist_init(&both);
	hist_merge(&h, &other);
	assert_int_equal(h.n, 0);
	for (int i = 0; i < COUNT; i++) {
		u64 a = next_random(&state_a) >> 20, b = next_random(&state_b) >> 40;

		hist_add(&h, a);
		hist_add(&other, b);
		hist_add(&both, a);
		hist_add(&both, b);
	}
	hist_merge(&h, &other);
	assert_memory_equal(&h, &both, sizeof(h));
}

static void full_bucket_saturates(void **state)
{
	hist_init(&h);
	hist_add(&h, 5);
	h.bucket[5] = UINT32_MAX;
	hist_add(&h, 5);
	assert_int_equal(h.bucket[5], UINT32_MAX);
	assert_int_equal(h.n, 2);
}

static void kept_values_give_exact_quantiles(void **state)
{
	static u64 shuffled[COUNT];
	struct summary s;

	fill(30);
	memcpy(shuffled, value, sizeof(value));
	for (int i = 0; i < COUNT; i++) {
		int k = (i * 7919) % COUNT;
		u64 held = shuffled[i];

		shuffled[i] = shuffled[k];
		shuffled[k] = held;
	}
	hist_summary_exact(&h, shuffled, COUNT, &s);
	assert_memory_equal(shuffled, value, sizeof(value));
	assert_int_equal(s.q1, exact_quantile(1, 4));
	assert_int_equal(s.p50, exact_quantile(1, 2));
	assert_int_equal(s.p90, exact_quantile(9, 10));
	assert_int_equal(s.p99, exact_quantile(99, 100));
	assert_int_equal(s.mean, exact_mean());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_is_all_zero),
		cmocka_unit_test(edges_are_ordered_and_fit),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(quantiles_are_within_a_bucket),
		cmocka_unit_test(mean_and_stddev_are_exact),
		cmocka_unit_test(huge_values_do_not_wrap),
		cmocka_unit_test(merge_equals_adding),
		cmocka_unit_test(full_bucket_saturates),
		cmocka_unit_test(kept_values_give_exact_quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
