/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking pages away from under readers: K invalidators against N readers, each on a CPU of its own, for every
 * kind of page cache. A reader does what a delivery does: it looks up a page that all share and one of its
 * own, writes to both, and refreshes what it finds gone. An invalidator takes one of those pages, waits
 * until nobody can have it any more, and times that from end to end.
 *
 * Must never treat one kind otherwise than another: the same loops, pages and pauses for all.
 */
#include "harness.h"

#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/smp.h>
#include <string.h>

#define BENCH	    "invalidate"
#define MAX_ROWS    16
#define MAX_READERS 64
#define LEN	    64 /* bytes that a reader asks for */
#define BITS	    64 /* rows of the log2 histogram */

static const char *const how_names[] = { "invalidate", "move", NULL };
enum { BY_INVALIDATION, BY_MOVE };

/* One CPU's part of a round. Written by that CPU only. */
struct seat {
	struct bench_seat b; /* operations: a reader's; ticks: an invalidator's */
	u64 refreshes, refused; /* a reader's; refused: refreshes that were told to come again */
	u64 random;
};

static struct seat *seat(u32 member)
{
	return bench_seat(member);
}

struct side {
	enum gpc_kind kind;
	struct vm *vm;
	struct gpc *cache; /* the shared one, then one a reader */
	struct hist hist;
	struct bench_rounds mean; /* ticks of an invalidation */
	u64 reads, refreshes, refused, ticks; /* of readers, in timed rounds; ticks of those rounds */
};

static struct side side[NR_GPC_KINDS];
static struct table table, shape;

static struct {
	struct bench_choice gpc, how;
	u32 readers[MAX_ROWS], nr_readers;
	u64 invalidators, rounds, duration_ms, pause_ns, gap_ns;
} words;

struct round {
	struct side *side;
	u32 how, invalidators, readers;
	u64 limit, pause, gap; /* ticks */
};

/* xorshift64 */
static u64 next_random(struct seat *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

/* Half as long to half as long again: CPUs are not to march in step. */
static void pause_a_while(struct seat *s, u64 about)
{
	u64 begin = arch_counter(), ticks;

	if (!about)
		return;
	ticks = about / 2 + next_random(s) % about;
	while (arch_counter() - begin < ticks)
		cpu_relax();
}

/* --- Readers ------------------------------------------------------------------------------------ */

static void bump(u64 *word)
{
	WRITE_ONCE(*word, READ_ONCE(*word) + 1);
}

/* What could not be had; NULL when all is done. */
static struct gpc *deliver(struct gpc *shared, struct gpc *own, u32 line)
{
	srcu_token_t token = guest_read_lock();
	struct gpc *gone = shared;
	u64 *page = gpc_get(shared, PAGE_SIZE), *mine;

	if (page) {
		mine = gpc_get(own, LEN);
		gone = mine ? NULL : own;
		if (mine) {
			bump(&page[line * 8]);
			bump(mine);
			gpc_put(own);
		}
		gpc_put(shared);
	}
	guest_read_unlock(token);
	return gone;
}

static void read_for(const struct round *r, u32 reader, struct seat *s, u64 start)
{
	struct gpc *shared = &r->side->cache[0], *own = &r->side->cache[1 + reader];

	do {
		struct gpc *gone = deliver(shared, own, reader);

		if (!gone) {
			s->b.ops++;
		} else {
			s->refreshes++;
			s->refused += gpc_refresh(gone) != 0;
		}
		pause_a_while(s, r->gap);
		s->b.end = arch_counter();
	} while (s->b.end - start < r->limit);
}

/* --- Invalidators ------------------------------------------------------------------------------- */

static void take_page(const struct round *r, u32 n)
{
	gpaddr_t gpa = bench_idle_page(r->side->vm, n);

	if (r->how == BY_MOVE)
		vm_move_page(r->side->vm, gpa);
	else
		gpc_invalidate(r->side->vm, gpa, PAGE_SIZE);
}

static void invalidate_for(const struct round *r, struct seat *s, u64 start)
{
	do {
		u32 page = (u32)(next_random(s) % (1 + r->readers));
		u64 begin;

		pause_a_while(s, r->pause);
		/* There is to be something to take, however seldom a reader comes by. */
		gpc_refresh(&r->side->cache[page]);
		begin = arch_counter();
		take_page(r, page);
		s->b.end = arch_counter();
		hist_add(&s->b.hist, s->b.end - begin);
	} while (s->b.end - start < r->limit);
}

static void round_member(u32 member, void *ctx)
{
	const struct round *r = ctx;
	struct seat *s = seat(member);
	u64 start = bench_gang_start();

	if (member < r->invalidators)
		invalidate_for(r, s, start);
	else
		read_for(r, member - r->invalidators, s, start);
}

/* --- Rounds ------------------------------------------------------------------------------------- */

static u64 collect(struct side *d, const struct round *r)
{
	u64 start = bench_gang_start(), end = start;
	static struct hist all;

	hist_init(&all);
	bench_seats_merge(&all, r->invalidators + r->readers);
	for (u32 i = 0; i < r->invalidators + r->readers; i++) {
		const struct seat *s = seat(i);

		d->reads += s->b.ops;
		d->refreshes += s->refreshes;
		d->refused += s->refused;
		if (i >= r->invalidators)
			end = max(end, s->b.end);
	}
	d->ticks += end - start;
	hist_merge(&d->hist, &all);
	return hist_mean(&all);
}

static void clear_counts(struct side *d, u32 readers)
{
	for (u32 i = 0; i <= readers; i++)
		memset(&d->cache[i].counts, 0, sizeof(d->cache[i].counts));
}

static int invalidate_round(void *ctx, u32 variant, u32 number)
{
	struct round *r = ctx;
	struct bench_gang g = { .cpus = r->invalidators + r->readers, .fn = round_member, .ctx = r };
	int err = bench_seats(BENCH, g.cpus, sizeof(struct seat));

	r->side = &side[variant];
	for (u32 i = 0; !err && i < g.cpus; i++)
		seat(i)->random = 0x9e3779b97f4a7c15UL * (i + 1);
	if (!err)
		err = bench_gang_run(&g);
	if (err)
		return err;
	if (number == BENCH_WARMUP)
		clear_counts(r->side, r->readers);
	else
		bench_rounds_add(&r->side->mean, number, collect(r->side, r));
	return 0;
}

/* --- Figures ------------------------------------------------------------------------------------ */

static struct gpc_counts sum_counts(const struct side *d, u32 readers)
{
	struct gpc_counts sum = { 0 };

	for (u32 i = 0; i <= readers; i++) {
		const struct gpc_counts *c = &d->cache[i].counts;

		sum.refreshes += c->refreshes;
		sum.again += c->again;
		sum.invalidations += c->invalidations;
		sum.waits += c->waits;
	}
	return sum;
}

static void cell_us(u64 ticks)
{
	u64 ns = ticks_to_ns(ticks);

	table_cell(&table, "%lu.%02lu", ns / 1000, ns % 1000 / 10);
}

static u64 reads_per_s(const struct side *d)
{
	return bench_scale(d->reads, arch_counter_hz(), d->ticks);
}

static void emit(const struct side *d, const struct round *r, struct summary *sum)
{
	struct gpc_counts c = sum_counts(d, r->readers);
	static struct record rec;

	record_begin(&rec, BENCH, bench_tick_unit());
	record_str(&rec.variant, "gpc", gpc_kind_names[d->kind]);
	record_str(&rec.sweep, "by", how_names[r->how]);
	record_num(&rec.sweep, "invalidators", r->invalidators);
	record_num(&rec.sweep, "readers", r->readers);
	hist_summary(&d->hist, &rec.summary);
	rec.hist = &d->hist;
	rec.noise_permille = bench_rounds_noise(&d->mean);
	record_num(&rec.counters, "mean_ns", ticks_to_ns(rec.summary.mean));
	record_num(&rec.counters, "p50_ns", ticks_to_ns(rec.summary.p50));
	record_num(&rec.counters, "p99_ns", ticks_to_ns(rec.summary.p99));
	record_num(&rec.counters, "max_ns", ticks_to_ns(rec.summary.max));
	record_num(&rec.counters, "reads_per_s", reads_per_s(d));
	record_num(&rec.counters, "reads", d->reads);
	record_num(&rec.counters, "refreshes", d->refreshes);
	record_num(&rec.counters, "refused", d->refused);
	record_num(&rec.counters, "taken_valid", c.invalidations);
	record_num(&rec.counters, "waits", c.waits);
	record_emit(&rec);
	*sum = rec.summary;
}

static void report(const struct side *d, const struct round *r)
{
	struct gpc_counts c = sum_counts(d, r->readers);
	struct summary sum;

	emit(d, r, &sum);
	table_cell(&table, "%s", gpc_kind_names[d->kind]);
	table_cell(&table, "%s", how_names[r->how]);
	table_cell(&table, "%u", r->invalidators);
	table_cell(&table, "%u", r->readers);
	cell_us(sum.mean);
	cell_us(sum.p50);
	cell_us(sum.p99);
	cell_us(sum.max);
	table_cell(&table, "%lu", sum.n);
	table_cell_ratio(&table, c.invalidations, sum.n);
	table_cell_ratio(&table, c.waits, sum.n);
	table_cell(&table, "%lu", reads_per_s(d));
	table_cell_ratio(&table, bench_rounds_noise(&d->mean), 1000);
}

/* How many took less than 2^bit ns, and not less than half of that. */
static u64 between(const struct hist *h, u32 bit)
{
	u64 n = 0, low = ns_to_ticks(bit ? 1UL << (bit - 1) : 0), high = ns_to_ticks(1UL << bit);

	for (u32 i = 0; i < HIST_BUCKETS; i++) {
		if (h->bucket[i] && hist_edge(i) >= low && hist_edge(i) < high)
			n += h->bucket[i];
	}
	return n;
}

static void print_shape(u32 nr)
{
	const char *heads[NR_GPC_KINDS + 2] = { "below ns" };
	u32 last = 0;

	for (u32 i = 0; i < nr; i++) {
		heads[i + 1] = gpc_kind_names[side[i].kind];
		while (last < BITS - 2 && ns_to_ticks(1UL << last) <= side[i].hist.max)
			last++;
	}
	table_begin(&shape, "How long they took: invalidations by powers of two", heads);
	for (u32 bit = 5; bit <= last; bit++) {
		table_cell(&shape, "%lu", 1UL << bit);
		for (u32 i = 0; i < nr; i++)
			table_cell(&shape, "%lu", between(&side[i].hist, bit));
	}
	table_print(&shape);
}

/* --- Setting up --------------------------------------------------------------------------------- */

static void side_drop(struct side *d, u32 readers)
{
	if (!d->vm)
		return;
	for (u32 i = 0; d->cache && i <= readers; i++) {
		if (d->cache[i].vm)
			gpc_destroy(&d->cache[i]);
	}
	if (d->cache)
		pages_free(d->cache, size_to_order((readers + 1) * sizeof(d->cache[0])));
	bench_vm_destroy(d->vm);
	d->cache = NULL;
	d->vm = NULL;
}

static int side_make(struct side *d, enum gpc_kind kind, u32 readers)
{
	int err = 0;

	memset(d, 0, sizeof(*d));
	d->kind = kind;
	d->vm = bench_idle_vm(BENCH, kind, 1);
	if (!d->vm)
		return -ENOMEM;
	d->cache = pages_alloc(size_to_order((readers + 1) * sizeof(d->cache[0])));
	if (!d->cache)
		return -ENOMEM;
	for (u32 i = 0; !err && i <= readers; i++) {
		err = gpc_init(&d->cache[i], d->vm, i ? GPC_INNER : 0, NULL);
		if (!err)
			err = gpc_activate(&d->cache[i], bench_idle_page(d->vm, i),
					   i ? LEN : PAGE_SIZE);
	}
	if (err)
		printk(BENCH ": a page can't be looked up (%d)\n", err);
	return err;
}

static int invalidate_row(struct round *r)
{
	u32 nr = words.gpc.nr;
	int err = 0;

	for (u32 i = 0; !err && i < nr; i++)
		err = side_make(&side[i], (enum gpc_kind)words.gpc.pick[i], r->readers);
	if (!err)
		err = bench_interleave(words.rounds, nr, invalidate_round, r);
	for (u32 i = 0; !err && i < nr; i++)
		report(&side[i], r);
	if (!err)
		print_shape(nr);
	for (u32 i = 0; i < nr; i++)
		side_drop(&side[i], r->readers);
	return err;
}

static const char *const keys[] = {
	"gpc - rwlock, trylock, expedited, atomic, atomic-fast, targeted (default all)",
	"by - invalidate: the wait alone; move: the page goes to another frame (default invalidate)",
	"invalidators - CPUs that take pages away (default 12, or what the readers leave)",
	"readers - list of CPU counts that read meanwhile (default a quarter of the CPUs)",
	"pause - ns between two invalidations of a CPU, on average (default 20000)",
	"gap - ns between two reads of a CPU, on average (default 500)",
	"rounds - rounds of each kind, in turn (default 6)",
	"duration - length of a round in ms (default 50)",
	NULL,
};

static int invalidate_run(void);
static const struct experiment invalidate_experiment = {
	.name = "invalidate",
	.help = "how long it takes until no reader has a page any more, by kind of page cache",
	.keys = keys,
	.run = invalidate_run,
};
EXPERIMENT(invalidate_experiment);

/* Every member has a CPU of its own: nobody waits for a reader that does not run. */
static int check_cpus(void)
{
	u32 most = 0;

	if (nr_cpus_online < 2) {
		printk(BENCH ": it takes two CPUs: one that reads and one that invalidates\n");
		return -EINVAL;
	}
	if (!words.nr_readers) {
		words.readers[0] = nr_cpus_online < 8 ? 1 : min(nr_cpus_online / 4, 64U);
		words.nr_readers = 1;
	}
	for (u32 i = 0; i < words.nr_readers; i++)
		most = max(most, words.readers[i]);
	if (!words.invalidators && most < nr_cpus_online)
		words.invalidators = min(12U, nr_cpus_online - most);
	if (words.invalidators && words.invalidators + most <= nr_cpus_online)
		return 0;
	printk(BENCH ": %lu invalidators and %u readers need as many CPUs; there are %u\n",
	       words.invalidators, most, nr_cpus_online);
	return -EINVAL;
}

static int words_read(void)
{
	int err = bench_check_words(&invalidate_experiment);

	if (!err)
		err = bench_words("gpc", gpc_kind_names,
				  "rwlock,trylock,expedited,atomic,atomic-fast,targeted", &words.gpc);
	if (!err)
		err = bench_words("by", how_names, "invalidate", &words.how);
	if (!err)
		err = bench_number("invalidators", 1, NR_CPUS, 0, &words.invalidators);
	if (!err)
		err = bench_numbers("readers", MAX_READERS, words.readers, MAX_ROWS,
				    &words.nr_readers);
	if (!err)
		err = bench_number("pause", 0, 1000000000, 20000, &words.pause_ns);
	if (!err)
		err = bench_number("gap", 0, 1000000000, 500, &words.gap_ns);
	if (!err)
		err = bench_number("rounds", 2, BENCH_MAX_ROUNDS, 6, &words.rounds);
	if (!err)
		err = bench_number("duration", 1, 60000, 50, &words.duration_ms);
	return err ? err : check_cpus();
}

static int invalidate_run(void)
{
	static const char *const heads[] = { "kind",  "by",	 "inval.", "readers", "avg us",
					     "p50",   "p99",	 "max",	   "n",	      "valid",
					     "waits", "reads/s", "A/A",	   NULL };
	struct round r = { 0 };
	int err = words_read();

	if (err)
		return err;
	r.limit = ns_to_ticks(words.duration_ms * 1000000);
	r.pause = ns_to_ticks(words.pause_ns);
	r.gap = ns_to_ticks(words.gap_ns);
	r.invalidators = (u32)words.invalidators;
	table_begin(&table, "Page cache: from taking a page away to nobody having it", heads);
	for (u32 i = 0; !err && i < words.how.nr * words.nr_readers; i++) {
		char what[40];

		r.how = words.how.pick[i / words.nr_readers];
		r.readers = words.readers[i % words.nr_readers];
		snprintf(what, sizeof(what), "by=%s readers=%u", how_names[r.how], r.readers);
		bench_progress(BENCH, i + 1, words.how.nr * words.nr_readers, what);
		err = invalidate_row(&r);
	}
	if (!err)
		table_print(&table);
	return err;
}
