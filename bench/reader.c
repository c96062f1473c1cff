/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The read side of the page cache alone: N CPUs look up one page, in every kind, and nobody takes it away.
 * Two more rows say what of that is the loop, and what the section that a delivery is in anyhow. Atomic
 * read-modify-writes on shared words are counted in a round of their own: counting is not free.
 */
#include "harness.h"

#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/rmw.h>
#include <cupel/smp.h>
#include <string.h>

#define BENCH	 "reader"
#define BATCH	 64 /* lookups between two readings of the clock, whose cost is thus spread */
#define MAX_ROWS 24
#define LEN	 64 /* bytes that a lookup asks for */

/* After the kinds: what the others' figures include. */
enum { ONLY_LOOP = NR_GPC_KINDS, ONLY_SECTION, NR_SIDES };

static const char *side_name(u32 side)
{
	return side == ONLY_LOOP    ? "(loop)" :
	       side == ONLY_SECTION ? "(section)" :
				      gpc_kind_names[side];
}

/* One CPU's part of a round. Written by that CPU only. */
struct seat {
	struct bench_seat b;
	u64 missed;
};

static struct seat *seat(u32 member)
{
	return bench_seat(member);
}

struct side {
	struct vm *vm;
	struct gpc cache;
	struct hist hist;
	struct bench_rounds rate; /* lookups/s of all CPUs together */
	u64 lookups, missed; /* in timed rounds */
	u64 counted, rmws; /* in the counted one */
};

static struct side side[NR_SIDES];
static struct table table;

static struct {
	u32 cpus[MAX_ROWS], nr_cpus;
	u64 rounds, duration_ms;
} words;

struct round {
	struct gpc *cache;
	u32 side, cpus;
	u64 limit; /* ticks */
};

/* --- One lookup --------------------------------------------------------------------------------- */

static bool op_loop(struct gpc *g)
{
	barrier();
	return true;
}

static bool op_section(struct gpc *g)
{
	srcu_token_t token = guest_read_lock();

	barrier();
	guest_read_unlock(token);
	return true;
}

static bool op_lookup(struct gpc *g)
{
	srcu_token_t token = guest_read_lock();
	const u64 *p = gpc_get(g, LEN);

	if (p) {
		(void)READ_ONCE(*p);
		gpc_put(g);
	}
	guest_read_unlock(token);
	return p;
}

/* --- Rounds ------------------------------------------------------------------------------------- */

static void round_member(u32 member, void *ctx)
{
	const struct round *r = ctx;
	bool (*op)(struct gpc *) = r->side == ONLY_LOOP	   ? op_loop :
				   r->side == ONLY_SECTION ? op_section :
							     op_lookup;
	struct seat *s = seat(member);
	u64 start = bench_gang_start();

	do {
		u64 found = 0, begin = arch_counter();

		for (u32 i = 0; i < BATCH; i++)
			found += op(r->cache);
		s->b.end = arch_counter();
		hist_add(&s->b.hist, s->b.end - begin);
		s->b.ops += BATCH;
		s->missed += BATCH - found;
	} while (s->b.end - start < r->limit);
}

static int play(struct round *r)
{
	struct bench_gang g = { .cpus = r->cpus, .fn = round_member, .ctx = r };
	int err = bench_seats(BENCH, r->cpus, sizeof(struct seat));

	return err ? err : bench_gang_run(&g);
}

/* Lookups/s of all CPUs together. */
static u64 collect(struct side *d, u32 cpus)
{
	for (u32 i = 0; i < cpus; i++)
		d->missed += seat(i)->missed;
	d->lookups += bench_seats_ops(cpus);
	bench_seats_merge(&d->hist, cpus);
	return bench_seats_rate(cpus);
}

static int reader_round(void *ctx, u32 variant, u32 number)
{
	struct round *r = ctx;
	struct side *d = &side[variant];
	int err;

	r->side = variant;
	r->cache = &d->cache;
	err = play(r);
	if (!err && number != BENCH_WARMUP)
		bench_rounds_add(&d->rate, number, collect(d, r->cpus));
	return err;
}

static int count_round(struct round *r, u32 variant)
{
	bool before = READ_ONCE(lock_stats_enabled);
	struct side *d = &side[variant];
	u64 rmws = shared_rmw_sum();
	int err;

	r->side = variant;
	r->cache = &d->cache;
	WRITE_ONCE(lock_stats_enabled, true);
	err = play(r);
	WRITE_ONCE(lock_stats_enabled, before);
	d->rmws = shared_rmw_sum() - rmws;
	d->counted = err ? 0 : bench_seats_ops(r->cpus);
	return err;
}

/* --- Figures ------------------------------------------------------------------------------------ */

/* A sample is of BATCH lookups: instructions or nanoseconds for one, to a tenth. */
static void cell_each(u64 ticks)
{
	u64 tenths = (bench_counts_instructions() ? ticks * 10 : ticks_to_ns(ticks * 10)) / BATCH;

	table_cell(&table, "%lu.%lu", tenths / 10, tenths % 10);
}

static void emit(u32 variant, u32 cpus, struct summary *sum)
{
	const struct side *d = &side[variant];
	static struct record r;

	record_begin(&r, BENCH, bench_counts_instructions() ? "instructions/64 ops" : "ticks/64 ops");
	record_str(&r.variant, "gpc", side_name(variant));
	record_num(&r.sweep, "cpus", cpus);
	hist_summary(&d->hist, &r.summary);
	r.hist = &d->hist;
	r.noise_permille = bench_rounds_noise(&d->rate);
	record_num(&r.counters, "ops_per_s", bench_rounds_median(&d->rate));
	record_num(&r.counters, "lookups", d->lookups);
	record_num(&r.counters, "missed", d->missed);
	record_num(&r.counters, "counted_lookups", d->counted);
	record_num(&r.counters, "shared_rmws", d->rmws);
	record_emit(&r);
	*sum = r.summary;
}

static void report(u32 variant, u32 cpus)
{
	const struct side *d = &side[variant];
	u64 rate = bench_rounds_median(&d->rate);
	struct summary sum;

	emit(variant, cpus, &sum);
	table_cell(&table, "%s", side_name(variant));
	table_cell(&table, "%u", cpus);
	cell_each(sum.min);
	cell_each(sum.p50);
	cell_each(sum.p99);
	table_cell(&table, "%lu", rate / cpus);
	table_cell(&table, "%lu", rate);
	table_cell_ratio(&table, d->rmws, d->counted);
	table_cell_ratio(&table, d->missed, d->lookups);
	table_cell_ratio(&table, bench_rounds_noise(&d->rate), 1000);
}

static int reader_row(u32 cpus)
{
	struct round r = { .limit = ns_to_ticks(words.duration_ms * 1000000), .cpus = cpus };
	int err;

	for (u32 i = 0; i < NR_SIDES; i++) {
		memset(&side[i].hist, 0, sizeof(side[i].hist));
		memset(&side[i].rate, 0, sizeof(side[i].rate));
		side[i].lookups = side[i].missed = 0;
	}
	err = bench_interleave(words.rounds, NR_SIDES, reader_round, &r);
	for (u32 i = 0; !err && i < NR_SIDES; i++)
		err = count_round(&r, i);
	for (u32 i = 0; !err && i < NR_SIDES; i++)
		report(i, cpus);
	return err;
}

/* --- Setting up --------------------------------------------------------------------------------- */

static int side_make(struct side *d, enum gpc_kind kind)
{
	int err;

	d->vm = bench_idle_vm(BENCH, kind, 1);
	if (!d->vm)
		return -ENOMEM;
	err = gpc_init(&d->cache, d->vm, GPC_READONLY, NULL);
	if (!err)
		err = gpc_activate(&d->cache, bench_idle_page(d->vm, 0), LEN);
	if (err)
		printk(BENCH ": the page can't be looked up (%d)\n", err);
	return err;
}

static void sides_drop(void)
{
	for (u32 i = 0; i < NR_GPC_KINDS; i++) {
		if (!side[i].vm)
			continue;
		gpc_destroy(&side[i].cache);
		bench_vm_destroy(side[i].vm);
		side[i].vm = NULL;
	}
}

static const char *const keys[] = {
	"cpus - list of CPU counts that read at once (default 1,2,4,... and all)",
	"rounds - rounds of each kind, in turn (default 6)",
	"duration - length of a round in ms (default 20)",
	NULL,
};

static int reader_run(void);
static const struct experiment reader_experiment = {
	.name = "reader",
	.help = "what one lookup in a page cache costs its reader, by kind",
	.keys = keys,
	.run = reader_run,
};
EXPERIMENT(reader_experiment);

static int words_read(void)
{
	int err = bench_check_words(&reader_experiment);

	if (!err)
		err = bench_numbers("cpus", nr_cpus_online, words.cpus, MAX_ROWS, &words.nr_cpus);
	if (!err)
		err = bench_number("rounds", 2, BENCH_MAX_ROUNDS, 6, &words.rounds);
	if (!err)
		err = bench_number("duration", 1, 60000, 20, &words.duration_ms);
	if (!err && !words.nr_cpus)
		words.nr_cpus = bench_powers(nr_cpus_online, words.cpus, MAX_ROWS);
	return err;
}

static void table_start(void)
{
	static const char *const ns_heads[] = { "kind",	     "CPUs",	 "min ns",
						"median ns", "p99 ns",	 "lookups/s per CPU",
						"total",     "RMW each", "missed",
						"A/A",	     NULL };
	static const char *const insn_heads[] = { "kind",   "CPUs",	"min insns",
						  "median", "p99",	"lookups/s per CPU",
						  "total",  "RMW each", "missed",
						  "A/A",    NULL };

	table_begin(&table, "Page cache, read side: one lookup (mean of 64 in a row)",
		    bench_counts_instructions() ? insn_heads : ns_heads);
}

static int reader_run(void)
{
	int err = words_read();

	if (err)
		return err;
	table_start();
	for (u32 i = 0; !err && i < NR_GPC_KINDS; i++)
		err = side_make(&side[i], (enum gpc_kind)i);
	for (u32 i = 0; !err && i < words.nr_cpus; i++) {
		char what[24];

		snprintf(what, sizeof(what), "cpus=%u", words.cpus[i]);
		bench_progress(BENCH, i + 1, words.nr_cpus, what);
		err = reader_row(words.cpus[i]);
	}
	sides_drop();
	if (!err)
		table_print(&table);
	return err;
}
