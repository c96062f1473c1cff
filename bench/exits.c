/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an exit costs, measured from inside the guest: it times each kind of exit by itself and hands
 * the values over by hypercall. Every value is kept, so that a median is exact. Nothing here may run
 * between a guest's two readings of its clock.
 */
#include "vcpu_load.h"

#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <string.h>

#define BENCH	    "exits"
#define MAX_SERIES  32
#define MAX_SAMPLES 4096

struct series {
	char name[32];
	u64 *value;
	u32 nr, lost;
	struct hist hist;
};

/* Written by the CPU that runs the guest's only vCPU; read once the VM has stopped. */
static struct series *series[MAX_SERIES];
static struct table table;

static struct series *series_get(u32 index)
{
	struct series *s;

	if (series[index])
		return series[index];
	s = pages_alloc(size_to_order(sizeof(*s)));
	if (!s)
		return NULL;
	s->value = pages_alloc(size_to_order(MAX_SAMPLES * sizeof(u64)));
	snprintf(s->name, sizeof(s->name), "series%u", index);
	series[index] = s;
	return s;
}

static void series_free(u32 index)
{
	struct series *s = series[index];

	if (!s)
		return;
	if (s->value)
		pages_free(s->value, size_to_order(MAX_SAMPLES * sizeof(u64)));
	pages_free(s, size_to_order(sizeof(*s)));
	series[index] = NULL;
}

static void on_series(struct vm *vm, u32 index, const char *name)
{
	struct series *s = index < MAX_SERIES ? series_get(index) : NULL;

	if (!s)
		return;
	strlcpy(s->name, name, sizeof(s->name));
	bench_progress(BENCH, index + 1, 0, s->name);
}

static void on_sample(struct vm *vm, u32 vcpu, u32 index, u64 value)
{
	struct series *s = index < MAX_SERIES ? series_get(index) : NULL;

	if (!s)
		return;
	hist_add(&s->hist, value);
	if (s->value && s->nr < MAX_SAMPLES)
		s->value[s->nr++] = value;
	else
		s->lost++;
}

static const char *const wfi_names[] = { "trap", "native", NULL };

static void report(const struct vm_config *c, struct series *s)
{
	static struct record r;

	record_begin(&r, BENCH, bench_tick_unit());
	record_str(&r.variant, "op", s->name);
	record_str(&r.variant, "wfi", wfi_names[c->wfi]);
	record_str(&r.variant, "irqstate", load_irqstates[c->irqstate]);
	/* Exact quantiles only if every value was kept. */
	hist_summary_exact(&s->hist, s->value, s->lost ? 0 : s->nr, &r.summary);
	r.hist = &s->hist;
	record_emit(&r);
	table_cell(&table, "%s", s->name);
	table_cell(&table, "%lu", r.summary.n);
	table_cell(&table, "%lu", r.summary.min);
	table_cell(&table, "%lu", r.summary.p50);
	table_cell(&table, "%lu", r.summary.p99);
	table_cell(&table, "%lu", r.summary.max);
}

static void table_start(void)
{
	static const char *const heads[] = { "op", "n", "min", "median", "p99", "max", NULL };

	static char title[80];

	snprintf(title, sizeof(title), "Exits: %s, those of reading the clock included",
		 bench_tick_unit());
	table_begin(&table, title, heads);
}

static int run_guest(const struct vm_config *c)
{
	struct vm *vm = bench_vm(BENCH, c);
	int err;

	if (!vm)
		return -ENOENT;
	vm->on_series = on_series;
	vm->on_sample = on_sample;
	err = bench_vm_run(BENCH, &vm, 1);
	bench_vm_destroy(vm);
	return err;
}

static const char *const keys[] = {
	"ops - list of kinds to measure, by their names in the table (default all)",
	"samples - values of each kind that the guest takes, at most 4096 (default 1000)",
	"irqstate - locked or percpu: how a load sets the host timer's active state (default percpu)",
	"wfi - trap or native: whether a guest that waits leaves guest mode (default trap)",
	NULL,
};

static int exits_run(void);
static const struct experiment exits_experiment = {
	.name = "exits",
	.help = "what each kind of exit costs, measured from inside the guest",
	.keys = keys,
	.run = exits_run,
};
EXPERIMENT(exits_experiment);

static int exits_configure(struct vm_config *c)
{
	struct bench_choice wait, state;
	const char *ops = cmdline_get("ops");
	char line[VM_CMDLINE_MAX];
	u64 samples;
	int err = bench_check_words(&exits_experiment);

	if (!err)
		err = bench_number("samples", 1, MAX_SAMPLES, 1000, &samples);
	if (!err)
		err = bench_words("wfi", wfi_names, "trap", &wait);
	if (!err)
		err = bench_words("irqstate", load_irqstates, "percpu", &state);
	if (err)
		return err;
	if (snprintf(line, sizeof(line), "samples=%lu%s%s", samples, ops ? " ops=" : "",
		     ops ? ops : "") >= (int)sizeof(line)) {
		printk(BENCH ": ops: the list is too long\n");
		return -EINVAL;
	}
	bench_vm_config(c, "exits", 1, line);
	c->wfi = (enum wfi_kind)wait.pick[0];
	c->irqstate = (enum irqstate_kind)state.pick[0];
	return 0;
}

/* Print what was measured, and let go of it. -EIO when there was nothing. */
static int report_all(const struct vm_config *c)
{
	u32 rows = 0;

	table_start();
	for (u32 i = 0; i < MAX_SERIES; i++) {
		if (!series[i])
			continue;
		report(c, series[i]);
		series_free(i);
		rows++;
	}
	if (!rows) {
		printk(BENCH ": the guest measured nothing; it was asked for: %s\n", c->cmdline);
		return -EIO;
	}
	table_print(&table);
	return 0;
}

static int exits_run(void)
{
	struct vm_config c;
	int err = exits_configure(&c);

	if (!err)
		err = run_guest(&c);
	return err ? err : report_all(&c);
}
