/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What choosing a variant at run time costs: the same setter called by name and through a pointer,
 * as a VM does, on a descriptor of our own whose chip does nothing. Must never touch a real chip.
 */
#include "vcpu_load.h"

#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/irq.h>
#include <cupel/printk.h>

#define CALLS  1000
#define ROUNDS 200

static int set_nothing(struct irq_desc *d, enum irq_state which, bool on)
{
	return 0;
}

static const struct irq_chip idle_chip = {
	.name = "idle",
	.flags = IRQ_CHIP_PERCPU_STATE_LOCKLESS,
	.set_state = set_nothing,
};

static struct irq_desc idle_desc = {
	.lock = SPINLOCK_INIT("idle_desc"), /* guards nothing: the descriptor is this file's */
	.flags = IRQ_PERCPU,
	.chip = &idle_chip,
};

/* Written once by the run, read through the volatile so that the compiler can't see which it is. */
static volatile irq_set_state_t chosen;

static u64 time_direct(void)
{
	u64 begin = arch_counter();

	for (u32 i = 0; i < CALLS; i++)
		irq_set_percpu_state(&idle_desc, IRQ_STATE_ACTIVE, i & 1);
	return arch_counter() - begin;
}

static u64 time_pointer(void)
{
	u64 begin = arch_counter();

	for (u32 i = 0; i < CALLS; i++)
		chosen(&idle_desc, IRQ_STATE_ACTIVE, i & 1);
	return arch_counter() - begin;
}

static struct hist cost[2];

static int select_round(void *ctx, u32 variant, u32 round)
{
	u64 ticks = variant ? time_pointer() : time_direct();

	if (round != BENCH_WARMUP)
		hist_add(&cost[variant], ticks);
	return 0;
}

static void emit(u32 variant, const struct summary *sum)
{
	static struct record r;

	record_begin(&r, "select", "ticks/1000 calls");
	record_str(&r.variant, "select", variant ? "pointer" : "direct");
	r.summary = *sum;
	r.hist = &cost[variant];
	record_emit(&r);
}

void select_cost_run(void)
{
	struct summary sum[2];

	chosen = irq_set_percpu_state;
	hist_init(&cost[0]);
	hist_init(&cost[1]);
	bench_interleave(ROUNDS, 2, select_round, NULL);
	for (u32 i = 0; i < 2; i++) {
		hist_summary(&cost[i], &sum[i]);
		emit(i, &sum[i]);
	}
	/* CALLS is a thousand: nanoseconds of a sample are picoseconds of a call. */
	printk("\nchoosing the setter: a direct call %lu ps, through the VM's pointer %lu ps "
	       "(the quickest of %u times %u calls)\n",
	       ticks_to_ns(sum[0].min), ticks_to_ns(sum[1].min), ROUNDS, CALLS);
}
