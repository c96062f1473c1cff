/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vcpu-load with overcommit=K: K VMs share the CPUs through the scheduler, and their vCPUs pass
 * messages by IPI and block while they wait, so that blocking and waking, and with them loads,
 * dominate. What is measured is the wall time for a fixed number of messages. Making and freeing VMs
 * must stay outside the measured stretch.
 */
#include "vcpu_load.h"

#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/printk.h>
#include <cupel/smp.h>
#include <string.h>

#define MAX_VMS 64

struct storm {
	const char *bench;
	u32 vms, vcpus, irqchip;
	u64 messages;
	struct bench_choice irqstate;
	u32 step, steps; /* of the whole run, for its progress */
};

/* One variant, over all its rounds. */
struct storm_side {
	struct hist hist; /* wall time of a round, ticks */
	struct bench_rounds wall; /* the same, by round */
	u64 ticks; /* their sum */
	struct load_counts timed, counted;
};

static struct vm *vm[MAX_VMS];
static struct storm_side side[2];
static struct table table;

static int storm_make(const struct storm *s, u32 irqstate)
{
	char line[40];
	struct vm_config c;

	snprintf(line, sizeof(line), "messages=%lu", s->messages);
	bench_vm_config(&c, "pingpong", s->vcpus, line);
	c.irqchip = s->irqchip;
	c.irqchip_said = true;
	c.irqstate = irqstate;
	for (u32 i = 0; i < s->vms; i++) {
		snprintf(c.name, sizeof(c.name), "pingpong%u", i);
		vm[i] = bench_vm(s->bench, &c);
		if (!vm[i])
			return -ENOENT;
	}
	return 0;
}

/* Run the VMs once: wall ticks, and what their vCPUs counted. */
static int storm_once(const struct storm *s, u32 irqstate, u64 *ticks, struct load_counts *counts)
{
	int err;
	u64 begin;

	memset(vm, 0, sizeof(vm));
	err = storm_make(s, irqstate);
	begin = arch_counter();
	if (!err)
		err = bench_vm_run(s->bench, vm, s->vms);
	*ticks = arch_counter() - begin;
	for (u32 i = 0; i < s->vms; i++) {
		if (!err)
			load_counts_add(counts, vm[i]);
		bench_vm_destroy(vm[i]);
	}
	return err;
}

static int storm_round(void *ctx, u32 variant, u32 round)
{
	struct storm *s = ctx;
	struct storm_side *d = &side[variant];
	struct load_counts counts = { .loads = 0 };
	u64 ticks;
	int err;

	bench_progress(s->bench, ++s->step, s->steps, load_irqstates[s->irqstate.pick[variant]]);
	err = storm_once(s, s->irqstate.pick[variant], &ticks, &counts);
	if (err || round == BENCH_WARMUP)
		return err;
	load_counts_sum(&d->timed, &counts);
	hist_add(&d->hist, ticks);
	bench_rounds_add(&d->wall, round, ticks);
	d->ticks += ticks;
	return 0;
}

static int storm_counted(const struct storm *s, u32 variant)
{
	struct storm_side *d = &side[variant];
	u64 ticks;
	int err = load_count_locks_begin();

	if (err)
		return err;
	err = storm_once(s, s->irqstate.pick[variant], &ticks, &d->counted);
	d->counted.lock = load_count_locks_end();
	return err;
}

static void emit(const struct storm *s, u32 variant, const struct summary *sum)
{
	const struct storm_side *d = &side[variant];
	static struct record r;

	record_begin(&r, s->bench, bench_tick_unit());
	record_str(&r.variant, "irqstate", load_irqstates[s->irqstate.pick[variant]]);
	record_str(&r.variant, "irqchip", load_irqchips[s->irqchip]);
	record_num(&r.sweep, "overcommit", s->vms);
	record_num(&r.sweep, "vcpus", s->vcpus);
	record_num(&r.sweep, "messages", s->messages);
	r.summary = *sum;
	r.hist = &d->hist;
	r.noise_permille = bench_rounds_noise(&d->wall);
	record_num(&r.counters, "wall_ns", ticks_to_ns(sum->p50));
	load_record_counts(&r, &d->timed, &d->counted);
	record_emit(&r);
}

static u64 per_second(u64 count, u64 ticks)
{
	return bench_scale(count, arch_counter_hz(), ticks);
}

static void row(const struct storm *s, u32 variant, const struct summary *sum)
{
	const struct storm_side *d = &side[variant];

	table_cell(&table, "%s %s", load_irqchips[s->irqchip],
		   load_irqstates[s->irqstate.pick[variant]]);
	table_cell(&table, "%lu", ticks_to_ns(sum->min) / 1000);
	table_cell(&table, "%lu", ticks_to_ns(sum->p50) / 1000);
	table_cell(&table, "%lu", ticks_to_ns(sum->max) / 1000);
	table_cell(&table, "%lu", sum->n);
	table_cell(&table, "%lu", per_second(d->timed.loads, d->ticks));
	table_cell(&table, "%lu", per_second(d->timed.active_writes, d->ticks));
	table_cell(&table, "%lu", d->counted.lock.acquired);
	table_cell(&table, "%lu", d->counted.lock.contended);
	table_cell_ratio(&table, bench_rounds_noise(&d->wall), 1000);
}

static int storm_compare(struct storm *s, u64 rounds)
{
	struct summary sum;
	int err;

	memset(side, 0, sizeof(side));
	err = bench_interleave(rounds, s->irqstate.nr, storm_round, s);
	for (u32 i = 0; !err && i < s->irqstate.nr; i++)
		err = storm_counted(s, i);
	for (u32 i = 0; !err && i < s->irqstate.nr; i++) {
		hist_summary(&side[i].hist, &sum);
		emit(s, i, &sum);
		row(s, i, &sum);
	}
	return err;
}

static void storm_table(const struct storm *s)
{
	static const char *const heads[] = {
		"irqchip irqstate", "min us",	"median us", "max us", "n", "loads/s",
		"state writes/s",   "acquired", "contended", "A/A",    NULL
	};
	static char title[120];

	snprintf(title, sizeof(title),
		 "Overcommit: %u VMs of %u vCPUs on %u CPUs, %lu messages a vCPU", s->vms, s->vcpus,
		 nr_cpus_online, s->messages);
	table_begin(&table, title, heads);
}

int overcommit_run(const char *bench, u32 vms)
{
	struct storm s = { .bench = bench, .vms = vms };
	struct bench_choice irqchip;
	u32 list[1], nr;
	u64 rounds;
	int err = bench_words("irqstate", load_irqstates, "locked,percpu", &s.irqstate);

	if (!err)
		err = load_irqchip_words(arch_has_irqchip(IRQCHIP_FULL) ? "full" : "external",
					 &irqchip);
	if (!err)
		err = bench_numbers("vcpus", 128, list, 1, &nr);
	if (!err)
		err = bench_number("rounds", 2, BENCH_MAX_ROUNDS, 4, &rounds);
	if (!err)
		err = bench_number("messages", 1, 10000000, 500, &s.messages);
	if (err)
		return err;
	s.vcpus = nr ? list[0] : max(nr_cpus_online, 2U);
	s.steps = irqchip.nr * s.irqstate.nr * (rounds + 1);
	storm_table(&s);
	for (u32 i = 0; !err && i < irqchip.nr; i++) {
		s.irqchip = irqchip.pick[i];
		err = storm_compare(&s, rounds);
	}
	if (!err)
		table_print(&table);
	return err;
}
