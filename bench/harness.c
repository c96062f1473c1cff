/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rounds, gangs of CPUs and guests for the experiments. Must never run anything inside a measured
 * stretch: it only brings CPUs to its start and collects them at its end.
 */
#include "harness.h"
#include "wide.h"

#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/clock.h>
#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>
#include <cupel/smp.h>
#include <string.h>

u32 bench_powers(u32 last, u32 *list, u32 room)
{
	u32 nr = 0;

	for (u32 n = 1; n < last && nr + 1 < room; n *= 2)
		list[nr++] = n;
	if (last && nr < room)
		list[nr++] = last;
	return nr;
}

int bench_interleave(u32 rounds, u32 variants, int (*fn)(void *ctx, u32 variant, u32 round), void *ctx)
{
	for (u32 turn = 0; turn <= rounds; turn++) {
		for (u32 v = 0; v < variants; v++) {
			int err = fn(ctx, v, turn ? turn - 1 : BENCH_WARMUP);

			if (err)
				return err;
		}
		if (console_interrupted()) {
			printk("interrupted\n");
			return -EINTR;
		}
	}
	return 0;
}

void bench_progress(const char *bench, u32 i, u32 n, const char *what)
{
	if (n)
		printk("%s: \xe2\x80\xa6 row %u/%u %s\n", bench, i, n, what);
	else
		printk("%s: \xe2\x80\xa6 row %u %s\n", bench, i, what);
}

u64 bench_scale(u64 value, u64 mul, u64 div)
{
	u64 rem;

	return div ? (u64)div128((u128)value * mul, div, &rem) : 0;
}

void bench_rounds_add(struct bench_rounds *r, u32 round, u64 value)
{
	u32 odd = round & 1;

	if (r->nr[odd] < BENCH_MAX_ROUNDS / 2)
		r->value[odd][r->nr[odd]++] = value;
}

/* Sorts value[]. The mean of the middle two where there is no middle. */
static u64 median(u64 *value, u32 n)
{
	for (u32 i = 1; i < n; i++) {
		u64 held = value[i];
		u32 k = i;

		for (; k && value[k - 1] > held; k--)
			value[k] = value[k - 1];
		value[k] = held;
	}
	return n ? (value[(n - 1) / 2] + value[n / 2]) / 2 : 0;
}

static u32 copy_half(const struct bench_rounds *r, u32 odd, u64 *to)
{
	memcpy(to, r->value[odd], r->nr[odd] * sizeof(to[0]));
	return r->nr[odd];
}

u64 bench_rounds_half(const struct bench_rounds *r, u32 odd)
{
	u64 value[BENCH_MAX_ROUNDS / 2];
	u32 n = copy_half(r, odd, value);

	return median(value, n);
}

u64 bench_rounds_median(const struct bench_rounds *r)
{
	u64 value[BENCH_MAX_ROUNDS];
	u32 n = copy_half(r, 0, value);

	return median(value, n + copy_half(r, 1, value + n));
}

u64 bench_rounds_noise(const struct bench_rounds *r)
{
	u64 even = bench_rounds_half(r, 0), odd = bench_rounds_half(r, 1);

	return even > odd ? bench_scale(even, 1000, odd) : bench_scale(odd, 1000, even);
}

bool bench_counts_instructions(void)
{
	u64 hz = arch_counter_hz();
	bool giga = hz > NSEC_PER_SEC / 100 * 99 && hz < NSEC_PER_SEC / 100 * 101;

	return giga && cmdline_get("icount");
}

const char *bench_tick_unit(void)
{
	return bench_counts_instructions() ? "instructions" : "ticks";
}

u32 bench_gang_cpu(u32 member)
{
	int cpu = cpu_next_online(-1);

	while (member-- && cpu >= 0)
		cpu = cpu_next_online(cpu);
	return cpu < 0 ? NR_CPUS : (u32)cpu;
}

enum { GANG_WAIT, GANG_GO, GANG_ABORT };

struct gang_member {
	struct bench_gang *gang;
	u32 index;
};

static struct gang_member gang_member[NR_CPUS];
static u32 gang_arrived __cacheline_aligned;
static u32 gang_signal __cacheline_aligned;
static u64 gang_start __cacheline_aligned; /* 0 = nobody has asked yet */

/* Idling, not spinning: on an emulator waiting CPUs would take the time of those still to come. */
static u32 wait_for_signal(void)
{
	u32 signal;

	arch_irq_disable();
	/* Pairs with the release in send_signal(); its kick comes after, and ends the idling. */
	while ((signal = load_acquire(&gang_signal)) == GANG_WAIT) {
		arch_cpu_idle();
		arch_irq_enable();
		arch_irq_disable();
	}
	arch_irq_enable();
	return signal;
}

u64 bench_gang_start(void)
{
	u64 start = 0, now = arch_counter();

	/* Only the value counts: nothing else is published with it. */
	return atomic_cmpxchg_full(&gang_start, &start, now) ? now : start;
}

static void gang_main(void *arg)
{
	struct gang_member *m = arg;
	u32 signal;

	/* Pairs with the acquire in wait_for_members(): what a member set up is seen by all. */
	atomic_fetch_add_release(&gang_arrived, 1);
	signal = wait_for_signal();
	if (signal == GANG_GO)
		m->gang->fn(m->index, m->gang->ctx);
}

static int call_members(struct bench_gang *g, u32 *called)
{
	for (*called = 1; *called < g->cpus; (*called)++) {
		u32 cpu = bench_gang_cpu(*called);
		int err;

		if (cpu == NR_CPUS)
			return -ENODEV;
		gang_member[*called] = (struct gang_member){ g, *called };
		smp_call_wait(cpu);
		err = smp_call_async(cpu, gang_main, &gang_member[*called]);
		if (err)
			return err;
	}
	return 0;
}

static void wait_for_members(u32 called)
{
	/* Pairs with the release in gang_main(). */
	while (load_acquire(&gang_arrived) < called - 1)
		cpu_relax();
}

static void send_signal(u32 signal, u32 called)
{
	/* Pairs with the acquire in wait_for_signal(). */
	store_release(&gang_signal, signal);
	for (u32 i = 1; i < called; i++)
		arch_cpu_kick(bench_gang_cpu(i));
}

int bench_gang_run(struct bench_gang *g)
{
	u32 called;
	int err;

	WRITE_ONCE(gang_arrived, 0);
	WRITE_ONCE(gang_signal, GANG_WAIT);
	WRITE_ONCE(gang_start, 0);
	err = call_members(g, &called);
	wait_for_members(called);
	send_signal(err ? GANG_ABORT : GANG_GO, called);
	if (!err)
		g->fn(0, g->ctx);
	for (u32 i = 1; i < called; i++)
		smp_call_wait(bench_gang_cpu(i));
	return err;
}
