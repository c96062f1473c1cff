/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values that a guest measures by itself and hands over by hypercall, in named series. Every value is
 * kept, so that a median is exact. Nothing here may run between a guest's two readings of its clock.
 */
#include "series.h"

#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <string.h>

#define MAX_SERIES  32
#define MAX_SAMPLES SERIES_SAMPLES

struct series {
	char name[32];
	u64 *value;
	u32 nr, lost;
	struct hist hist;
};

/* Written by the CPU that runs the guest's only vCPU; read once the VM has stopped. */
static struct series *series[MAX_SERIES];
static struct table table;
static const char *measuring; /* the experiment */

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
	bench_progress(measuring, index + 1, 0, s->name);
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

static void report(const struct vm_config *c, struct series *s, series_describe_t describe)
{
	static struct record r;

	record_begin(&r, measuring, bench_tick_unit());
	record_str(&r.variant, "op", s->name);
	describe(&r, c);
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

static void table_start(const char *title)
{
	static const char *const heads[] = { "op", "n", "min", "median", "p99", "max", NULL };

	static char line[96];

	snprintf(line, sizeof(line), "%s: %s, those of reading the clock included", title,
		 bench_tick_unit());
	table_begin(&table, line, heads);
}

static int run_guest(const struct vm_config *c)
{
	struct vm *vm = bench_vm(measuring, c);
	int err;

	if (!vm)
		return -ENOENT;
	vm->on_series = on_series;
	vm->on_sample = on_sample;
	err = bench_vm_run(measuring, &vm, 1);
	bench_vm_destroy(vm);
	return err;
}

/* Print what was measured, and let go of it. -EINVAL when nothing was asked for that it has. */
static int report_all(const struct vm_config *c, const char *title, series_describe_t describe)
{
	u32 rows = 0;

	table_start(title);
	for (u32 i = 0; i < MAX_SERIES; i++) {
		if (!series[i])
			continue;
		report(c, series[i], describe);
		series_free(i);
		rows++;
	}
	if (!rows) {
		printk("%s: the guest measured nothing; it was asked for: %s\n", measuring,
		       c->cmdline);
		return -EINVAL;
	}
	table_print(&table);
	return 0;
}

int series_measure(const char *bench, const char *title, const struct vm_config *c,
		   series_describe_t describe)
{
	int err;

	measuring = bench;
	err = run_guest(c);
	return err ? err : report_all(c, title, describe);
}

int series_words(const char *bench, const char *guest, u32 vcpus, struct vm_config *c)
{
	const char *ops = cmdline_get("ops");
	char line[VM_CMDLINE_MAX];
	u64 samples;
	int err = bench_number("samples", 1, SERIES_SAMPLES, 1000, &samples);

	if (err)
		return err;
	if (snprintf(line, sizeof(line), "samples=%lu%s%s", samples, ops ? " ops=" : "",
		     ops ? ops : "") >= (int)sizeof(line)) {
		printk("%s: ops: the list is too long\n", bench);
		return -EINVAL;
	}
	bench_vm_config(c, guest, vcpus, line);
	return 0;
}
