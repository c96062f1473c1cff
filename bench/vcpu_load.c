/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The experiment this house was built for. N vCPUs, one a CPU, leave their guest all the way in a
 * loop; every load sets the host timer's active state, either under the descriptor lock that all
 * CPUs share or without it. Nothing but loads, runs and puts may happen inside a round; counters of
 * locks run in a round of their own, since counting is not free.
 */
#include "vcpu_load.h"

#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/config.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/smp.h>
#include <string.h>

#define BENCH	  "vcpu-load"
#define MAX_ROWS  24
#define MAX_VCPUS 128 /* of the guest */

const char *const load_irqchips[] = { "full", "external", NULL };
const char *const load_irqstates[] = { "locked", "percpu", NULL };
static const char *const pages[] = { "own", "shared", NULL };
enum { PAGE_OWN, PAGE_SHARED, NR_PAGES };

/* One CPU's part of a round. Written by that CPU only. */
struct seat {
	struct bench_seat b;
	struct vcpu *vcpu;
	enum vcpu_exit last;
};

static struct seat *seat(u32 member)
{
	return bench_seat(member);
}

/* One of the variants that are run against each other, and what it has shown. */
struct side {
	struct vm *vm;
	u32 irqstate;
	struct hist hist;
	struct bench_rounds rate; /* exits/s of all vCPUs together */
	struct load_counts timed, counted;
};

struct words {
	struct bench_choice irqstate, irqchip, page;
	u32 vcpus[MAX_ROWS], nr_vcpus;
	u64 rounds, loads, duration_ms;
};

/* All that is the same for the two sides of a comparison. */
struct group {
	const struct words *w;
	u32 irqchip, page, vcpus;
	struct side side[2];
	u32 nr_sides;
};

static struct words words;
static struct group group;
static struct table detail, noise, final;
/* Exits/s per vCPU, for the last table: [row][page][irqchip][irqstate]. */
static u64 result[MAX_ROWS][NR_PAGES][2][2];

/* --- A round ----------------------------------------------------------------------------------- */

static enum vcpu_exit run_until_leave(struct vcpu *v)
{
	enum vcpu_exit e;

	do
		e = vcpu_run(v);
	while (e != VCPU_EXIT_LEAVE && e != VCPU_EXIT_STOP && e != VCPU_EXIT_OFF);
	return e;
}

static void round_member(u32 member, void *ctx)
{
	const struct words *w = ctx;
	struct seat *s = seat(member);
	u64 limit = w->loads ? ~0UL : ns_to_ticks(w->duration_ms * 1000000);
	u64 most = w->loads ? w->loads : ~0UL;
	u64 start = bench_gang_start();

	do {
		u64 begin = arch_counter();

		vcpu_load(s->vcpu);
		s->last = run_until_leave(s->vcpu);
		vcpu_put(s->vcpu);
		s->b.end = arch_counter();
		hist_add(&s->b.hist, s->b.end - begin);
		s->b.ops++;
	} while (s->last == VCPU_EXIT_LEAVE && s->b.ops < most && s->b.end - start < limit);
}

static int gang(struct side *s, u32 vcpus, void (*fn)(u32, void *))
{
	struct bench_gang g = { .cpus = vcpus, .fn = fn, .ctx = &words };
	int err = bench_seats(BENCH, vcpus, sizeof(struct seat));

	if (err)
		return err;
	for (u32 i = 0; i < vcpus; i++)
		seat(i)->vcpu = s->vm->vcpu[i];
	err = bench_gang_run(&g);
	for (u32 i = 0; !err && i < vcpus; i++)
		if (seat(i)->last != VCPU_EXIT_LEAVE)
			err = -EIO;
	if (err)
		printk(BENCH ": the guest did not stay in its loop: %s (%d)\n", s->vm->stop_reason,
		       err);
	return err;
}

static int timed_round(void *ctx, u32 variant, u32 round)
{
	struct group *g = ctx;
	struct side *s = &g->side[variant];
	struct load_counts before = { .loads = 0 }, after = { .loads = 0 };
	int err;

	load_counts_add(&before, s->vm);
	err = gang(s, g->vcpus, round_member);
	if (err || round == BENCH_WARMUP)
		return err;
	load_counts_add(&after, s->vm);
	after = load_counts_since(&after, &before);
	load_counts_sum(&s->timed, &after);
	bench_seats_merge(&s->hist, g->vcpus);
	bench_rounds_add(&s->rate, round, bench_seats_rate(g->vcpus));
	return 0;
}

static int counted_round(struct group *g, struct side *s)
{
	struct load_counts before = { .loads = 0 }, after = { .loads = 0 };
	int err;

	load_counts_add(&before, s->vm);
	err = load_count_locks_begin();
	if (err)
		return err;
	err = gang(s, g->vcpus, round_member);
	after.lock = load_count_locks_end();
	load_counts_add(&after, s->vm);
	s->counted = load_counts_since(&after, &before);
	return err;
}

/* --- A comparison -------------------------------------------------------------------------------- */

static int side_make(struct group *g, struct side *s, u32 irqstate)
{
	struct vm_config c;
	char line[16];

	memset(s, 0, sizeof(*s));
	s->irqstate = irqstate;
	snprintf(line, sizeof(line), "page=%s", pages[g->page]);
	bench_vm_config(&c, "leave", g->vcpus, line);
	c.irqchip = g->irqchip;
	c.irqchip_said = true;
	c.irqstate = irqstate;
	s->vm = bench_vm(BENCH, &c);
	if (!s->vm)
		return -ENOENT;
	return bench_vm_start_up(BENCH, s->vm);
}

static void sides_destroy(struct group *g)
{
	for (u32 i = 0; i < g->nr_sides; i++) {
		bench_vm_destroy(g->side[i].vm);
		g->side[i].vm = NULL;
	}
}

static int group_measure(struct group *g)
{
	int err = 0;

	g->nr_sides = 0;
	for (u32 i = 0; !err && i < g->w->irqstate.nr; i++) {
		g->nr_sides++;
		err = side_make(g, &g->side[i], g->w->irqstate.pick[i]);
	}
	if (!err)
		err = bench_interleave(g->w->rounds, g->nr_sides, timed_round, g);
	for (u32 i = 0; !err && i < g->nr_sides; i++)
		err = counted_round(g, &g->side[i]);
	sides_destroy(g);
	return err;
}

/* --- What it showed ------------------------------------------------------------------------------ */

static void emit(const struct group *g, const struct side *s, const struct summary *sum)
{
	u64 rate = bench_rounds_median(&s->rate);
	static struct record r;

	record_begin(&r, BENCH, bench_tick_unit());
	record_str(&r.variant, "irqstate", load_irqstates[s->irqstate]);
	record_str(&r.variant, "irqchip", load_irqchips[g->irqchip]);
	record_str(&r.variant, "page", pages[g->page]);
	record_str(&r.variant, "state", arch_timer_state());
	record_num(&r.sweep, "vcpus", g->vcpus);
	r.summary = *sum;
	r.hist = &s->hist;
	r.noise_permille = bench_rounds_noise(&s->rate);
	record_num(&r.counters, "exits_per_s", rate);
	record_num(&r.counters, "exits_per_s_vcpu", rate / g->vcpus);
	record_num(&r.counters, "min_ns", ticks_to_ns(sum->min));
	record_num(&r.counters, "p50_ns", ticks_to_ns(sum->p50));
	record_num(&r.counters, "p99_ns", ticks_to_ns(sum->p99));
	record_num(&r.counters, "max_ns", ticks_to_ns(sum->max));
	load_record_counts(&r, &s->timed, &s->counted);
	record_emit(&r);
}

static void detail_row(const struct group *g, const struct side *s, const struct summary *sum)
{
	u64 rate = bench_rounds_median(&s->rate);

	table_cell(&detail, "%s %s %s", load_irqchips[g->irqchip], pages[g->page],
		   load_irqstates[s->irqstate]);
	table_cell(&detail, "%u", g->vcpus);
	table_cell(&detail, "%lu", rate / g->vcpus);
	table_cell(&detail, "%lu", rate);
	table_cell(&detail, "%lu", ticks_to_ns(sum->min));
	table_cell(&detail, "%lu", ticks_to_ns(sum->p50));
	table_cell(&detail, "%lu", ticks_to_ns(sum->p99));
	table_cell(&detail, "%lu", ticks_to_ns(sum->max));
	table_cell(&detail, "%lu", sum->n);
	table_cell(&detail, "%lu", s->counted.lock.acquired);
	table_cell(&detail, "%lu", s->counted.lock.contended);
	table_cell_ratio(&detail, s->counted.lock.acquired, s->counted.loads);
	table_cell_ratio(&detail, s->counted.active_writes, s->counted.loads);
}

/* The largest A/A ratio of the run x 1000. */
static u64 worst_noise;

static void noise_row(const struct group *g, const struct side *s)
{
	u64 ratio = bench_rounds_noise(&s->rate);

	const char *state = load_irqstates[s->irqstate];

	table_cell(&noise, "%s %s %s against %s", load_irqchips[g->irqchip], pages[g->page], state,
		   state);
	table_cell(&noise, "%u", g->vcpus);
	table_cell(&noise, "%lu", bench_rounds_half(&s->rate, 0) / g->vcpus);
	table_cell(&noise, "%lu", bench_rounds_half(&s->rate, 1) / g->vcpus);
	table_cell_ratio(&noise, ratio, 1000);
	worst_noise = max(worst_noise, ratio);
}

static void group_report(const struct group *g, u32 row)
{
	for (u32 i = 0; i < g->nr_sides; i++) {
		const struct side *s = &g->side[i];
		struct summary sum;

		hist_summary(&s->hist, &sum);
		emit(g, s, &sum);
		detail_row(g, s, &sum);
		noise_row(g, s);
		result[row][g->page][g->irqchip][s->irqstate] =
			bench_rounds_median(&s->rate) / g->vcpus;
	}
}

static void tables_begin(void)
{
	static const char *const detail_heads[] = { "irqchip page irqstate",
						    "vCPUs",
						    "exits/s per vCPU",
						    "total",
						    "min ns",
						    "p50 ns",
						    "p99 ns",
						    "max ns",
						    "n",
						    "acquired",
						    "contended",
						    "per load",
						    "writes/load",
						    NULL };
	static const char *const noise_heads[] = { "A/A",	 "vCPUs", "even rounds",
						   "odd rounds", "ratio", NULL };

	table_begin(&detail,
		    "vCPU load: a load-run-put round; acquired/contended: descriptor locks, in one "
		    "counted round",
		    detail_heads);
	table_begin(&noise, "Noise floor: exits/s per vCPU of a variant against itself", noise_heads);
}

/* The machine's interrupts have no active state: every load masks the timer's or unmasks it. */
static bool sets_mask(void)
{
	return !strcmp(arch_timer_state(), "masked");
}

/* The kinds of the published table that this machine has. */
static void final_heads(const char *heads[])
{
	u32 nr = 0;

	heads[nr++] = "vCPUs";
	for (u32 chip = 0; load_irqchips[chip]; chip++) {
		static const char *const before[] = { "full irqchip before",
						      "external irqchip before",
						      "external, masked: before" };

		if (!arch_has_irqchip((enum irqchip_kind)chip))
			continue;
		heads[nr++] = before[chip == IRQCHIP_EXTERNAL ? chip + sets_mask() : chip];
		heads[nr++] = "after";
	}
	heads[nr] = NULL;
}

static void final_cell(u64 rate)
{
	if (rate)
		table_cell(&final, "%lu", rate);
	else
		table_cell(&final, "-");
}

/* The shape of the published table: before = locked, after = percpu. */
static void final_table(u32 page)
{
	static const char *heads[6];
	static const char *const titles[] = {
		"vCPU load: exits/s per vCPU, a guest page each (before: locked, after: percpu)",
		"vCPU load: exits/s per vCPU, one shared guest page (before: locked, after: percpu)",
	};

	final_heads(heads);
	table_begin(&final, titles[page], heads);
	for (u32 row = 0; row < words.nr_vcpus; row++) {
		table_cell(&final, "%u", words.vcpus[row]);
		for (u32 chip = 0; chip < 2; chip++)
			for (u32 state = 0; state < 2; state++)
				if (arch_has_irqchip((enum irqchip_kind)chip))
					final_cell(result[row][page][chip][state]);
	}
	table_print(&final);
}

/* --- The experiment ------------------------------------------------------------------------------ */

int load_irqchip_words(const char *fallback, struct bench_choice *c)
{
	int err = bench_words("irqchip", load_irqchips, fallback, c);

	for (u32 i = 0; !err && i < c->nr; i++) {
		if (arch_has_irqchip((enum irqchip_kind)c->pick[i]))
			continue;
		printk("bench: irqchip=%s: not on %s\n", load_irqchips[c->pick[i]],
		       arch_has_irqchip(IRQCHIP_EXTERNAL) ?
			       "this machine, which has no list registers" :
			       ARCH_NAME);
		err = -EINVAL;
	}
	return err;
}

/* All that the machine has. */
static const char *all_irqchips(void)
{
	if (!arch_has_irqchip(IRQCHIP_EXTERNAL))
		return "full";
	return arch_has_irqchip(IRQCHIP_FULL) ? "full,external" : "external";
}

static int words_read(struct words *w)
{
	u32 most = min(nr_cpus_online, (u32)MAX_VCPUS);
	int err = bench_words("irqstate", load_irqstates, "locked,percpu", &w->irqstate);

	if (!err)
		err = load_irqchip_words(all_irqchips(), &w->irqchip);
	if (!err)
		err = bench_words("page", pages, "own", &w->page);
	if (!err)
		err = bench_numbers("vcpus", most, w->vcpus, MAX_ROWS, &w->nr_vcpus);
	if (!err)
		err = bench_number("rounds", 2, BENCH_MAX_ROUNDS, 8, &w->rounds);
	if (!err)
		err = bench_number("loads", 1, 100000000, bench_counts_instructions() ? 1000 : 0,
				   &w->loads);
	if (!err)
		err = bench_number("duration", 1, 600000, 200, &w->duration_ms);
	if (!err && !w->nr_vcpus)
		w->nr_vcpus = bench_powers(most, w->vcpus, MAX_ROWS);
	return err;
}

static int run_group(const struct words *w, u32 chip, u32 page, u32 row, u32 number)
{
	u32 total = w->irqchip.nr * w->page.nr * w->nr_vcpus;
	char what[80];
	int err;

	group.w = w;
	group.irqchip = w->irqchip.pick[chip];
	group.page = w->page.pick[page];
	group.vcpus = w->vcpus[row];
	snprintf(what, sizeof(what), "irqchip=%s page=%s vcpus=%u", load_irqchips[group.irqchip],
		 pages[group.page], group.vcpus);
	bench_progress(BENCH, number, total, what);
	err = group_measure(&group);
	if (!err)
		group_report(&group, row);
	return err;
}

static int sweep(const struct words *w)
{
	u32 number = 0;

	for (u32 page = 0; page < w->page.nr; page++)
		for (u32 chip = 0; chip < w->irqchip.nr; chip++)
			for (u32 row = 0; row < w->nr_vcpus; row++) {
				int err = run_group(w, chip, page, row, ++number);

				if (err)
					return err;
			}
	return 0;
}

static const char *const keys[] = {
	"irqstate - locked,percpu: how the host timer's active state is set (default both)",
	"irqchip - full,external: who emulates the guest's interrupt controller (default: those there are)",
	"page - own,shared: the page that the guest's vCPUs write to (default own)",
	"vcpus - list of vCPU counts, one a CPU (default 1,2,4,... and all CPUs)",
	"rounds - rounds of each variant, A B A B (default 8)",
	"loads - loads a vCPU makes in a round (default: as many as fit in duration; icount: 1000)",
	"duration - length of a round in ms (default 200)",
	"overcommit - K VMs of `vcpus` vCPUs share the CPUs and pass messages",
	"messages - with overcommit: messages each vCPU sends (default 500)",
	NULL,
};

static int vcpu_load_run(void);
static const struct experiment vcpu_load_experiment = {
	.name = "vcpu-load",
	.help = "exits/s of vCPUs that leave their guest in a loop: descriptor lock against none",
	.keys = keys,
	.run = vcpu_load_run,
};
EXPERIMENT(vcpu_load_experiment);

static int vcpu_load_run(void)
{
	u64 vms;
	int err = bench_check_words(&vcpu_load_experiment);

	if (!err)
		err = bench_number("overcommit", 1, 64, 0, &vms);
	if (err)
		return err;
	if (vms)
		return overcommit_run(BENCH, vms);
	err = words_read(&words);
	if (err)
		return err;
	tables_begin();
	memset(result, 0, sizeof(result));
	worst_noise = 0;
	err = sweep(&words);
	if (err)
		return err;
	select_cost_run();
	table_print(&detail);
	table_print(&noise);
	for (u32 i = 0; i < words.page.nr; i++)
		final_table(words.page.pick[i]);
	if (sets_mask())
		printk("\nThe timer's interrupt has no active state on this machine: what locked and percpu "
		       "set is its mask.\n");
	printk("\nThe worst A/A ratio of this run is %lu.%03lu: a smaller difference is noise.\n",
	       worst_noise / 1000, worst_noise % 1000);
	return 0;
}
