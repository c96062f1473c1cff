/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What taking and giving up a lock costs, alone and with N CPUs wanting it: spinlock, both sides of
 * the rwlock, and the two setters of an interrupt's state, on a descriptor of our own whose chip
 * writes one word of the calling CPU. Must never touch a lock or a chip that anything else uses.
 */
#include "harness.h"

#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/irq.h>
#include <cupel/lock.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/smp.h>
#include <string.h>

#define BENCH	 "locks"
#define BATCH	 64 /* operations between two readings of the clock, whose cost is thus spread */
#define MAX_ROWS 24

static spinlock_t spin __cacheline_aligned = SPINLOCK_INIT("lockcost"); /* guards nothing */
static rwlock_t rw __cacheline_aligned = RWLOCK_INIT("lockcost_rw"); /* guards nothing */
static DEFINE_PER_CPU(u64, state_word);

static int set_word(struct irq_desc *d, enum irq_state which, bool on)
{
	WRITE_ONCE(this_cpu(state_word), on);
	return 0;
}

static const struct irq_chip word_chip = {
	.name = "word",
	.flags = IRQ_CHIP_PERCPU_STATE_LOCKLESS,
	.set_state = set_word,
};

static struct irq_desc word_desc = {
	.lock = SPINLOCK_INIT("lockcost_desc"), /* guards nothing: the chip writes the CPU's own word */
	.flags = IRQ_PERCPU,
	.chip = &word_chip,
};

static void op_none(u32 i)
{
	barrier();
}

static void op_spin(u32 i)
{
	spin_lock(&spin);
	spin_unlock(&spin);
}

static void op_read(u32 i)
{
	read_lock(&rw);
	read_unlock(&rw);
}

static void op_write(u32 i)
{
	write_lock(&rw);
	write_unlock(&rw);
}

static void op_locked(u32 i)
{
	irq_set_state(&word_desc, IRQ_STATE_ACTIVE, i & 1);
}

static void op_percpu(u32 i)
{
	irq_set_percpu_state(&word_desc, IRQ_STATE_ACTIVE, i & 1);
}

static const struct {
	const char *name;
	void (*fn)(u32 i);
} ops[] = {
	{ "loop", op_none },
	{ "spinlock", op_spin },
	{ "rwlock-read", op_read },
	{ "rwlock-write", op_write },
	{ "irq_set_state", op_locked },
	{ "irq_set_percpu_state", op_percpu },
};

struct side {
	struct hist hist;
	struct bench_rounds rate; /* operations/s of all CPUs together */
};

static struct side side[ARRAY_SIZE(ops)];
static struct table table;

struct locks_words {
	u32 cpus[MAX_ROWS], nr_cpus;
	u64 rounds, duration_ms;
};
static struct locks_words words;

struct round {
	void (*fn)(u32 i);
	u64 limit;
	u32 cpus;
};

static void round_member(u32 member, void *ctx)
{
	const struct round *r = ctx;
	struct bench_seat *s = bench_seat(member);
	u64 start = bench_gang_start();

	do {
		u64 begin = arch_counter();

		for (u32 i = 0; i < BATCH; i++)
			r->fn(i);
		s->end = arch_counter();
		hist_add(&s->hist, s->end - begin);
		s->ops += BATCH;
	} while (s->end - start < r->limit);
}

static int locks_round(void *ctx, u32 variant, u32 number)
{
	struct round *r = ctx;
	struct bench_gang g = { .cpus = r->cpus, .fn = round_member, .ctx = r };
	struct side *d = &side[variant];
	int err = bench_seats(BENCH, r->cpus, sizeof(struct bench_seat));

	r->fn = ops[variant].fn;
	if (!err)
		err = bench_gang_run(&g);
	if (err || number == BENCH_WARMUP)
		return err;
	bench_seats_merge(&d->hist, r->cpus);
	bench_rounds_add(&d->rate, number, bench_seats_rate(r->cpus));
	return 0;
}

/* A sample is of BATCH operations: nanoseconds for one, to a tenth. */
static void cell_ns(u64 ticks)
{
	u64 tenths = ticks_to_ns(ticks * 10) / BATCH;

	table_cell(&table, "%lu.%lu", tenths / 10, tenths % 10);
}

static void report(u32 op, u32 cpus)
{
	const struct side *d = &side[op];
	u64 rate = bench_rounds_median(&d->rate);
	static struct record r;

	record_begin(&r, BENCH, "ticks/64 ops");
	record_str(&r.variant, "op", ops[op].name);
	record_num(&r.sweep, "cpus", cpus);
	hist_summary(&d->hist, &r.summary);
	r.hist = &d->hist;
	r.noise_permille = bench_rounds_noise(&d->rate);
	record_num(&r.counters, "ops_per_s", rate);
	record_emit(&r);
	table_cell(&table, "%s", ops[op].name);
	table_cell(&table, "%u", cpus);
	cell_ns(r.summary.min);
	cell_ns(r.summary.p50);
	cell_ns(r.summary.p99);
	table_cell(&table, "%lu", rate / cpus);
	table_cell(&table, "%lu", rate);
	table_cell_ratio(&table, r.noise_permille, 1000);
}

static int locks_row(u32 cpus)
{
	struct round r = { .limit = ns_to_ticks(words.duration_ms * 1000000), .cpus = cpus };
	int err;

	for (u32 i = 0; i < ARRAY_SIZE(ops); i++)
		memset(&side[i], 0, sizeof(side[i]));
	err = bench_interleave(words.rounds, ARRAY_SIZE(ops), locks_round, &r);
	for (u32 i = 0; !err && i < ARRAY_SIZE(ops); i++)
		report(i, cpus);
	return err;
}

static const char *const keys[] = {
	"cpus - list of CPU counts that want the lock at once (default 1,2,4,... and all)",
	"rounds - rounds of each operation, in turn (default 6)",
	"duration - length of a round in ms (default 20)",
	NULL,
};

static int locks_run(void);
static const struct experiment locks_experiment = {
	.name = "locks",
	.help = "what taking a lock costs, alone and contended, and the two setters of interrupt state",
	.keys = keys,
	.run = locks_run,
};
EXPERIMENT(locks_experiment);

static int words_read(struct locks_words *w)
{
	int err = bench_check_words(&locks_experiment);

	if (!err)
		err = bench_numbers("cpus", nr_cpus_online, w->cpus, MAX_ROWS, &w->nr_cpus);
	if (!err)
		err = bench_number("rounds", 2, BENCH_MAX_ROUNDS, 6, &w->rounds);
	if (!err)
		err = bench_number("duration", 1, 60000, 20, &w->duration_ms);
	if (!err && !w->nr_cpus)
		w->nr_cpus = bench_powers(nr_cpus_online, w->cpus, MAX_ROWS);
	return err;
}

static int locks_run(void)
{
	static const char *const heads[] = { "operation", "CPUs",   "min ns",
					     "median ns", "p99 ns", "ops/s per CPU",
					     "total",	  "A/A",    NULL };
	int err = words_read(&words);

	if (err)
		return err;
	table_begin(&table, "Locks: one acquire and release (mean of 64 in a row)", heads);
	for (u32 i = 0; !err && i < words.nr_cpus; i++) {
		char what[24];

		snprintf(what, sizeof(what), "cpus=%u", words.cpus[i]);
		bench_progress(BENCH, i + 1, words.nr_cpus, what);
		err = locks_row(words.cpus[i]);
	}
	if (!err)
		table_print(&table);
	return err;
}
