/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an exit costs, measured from inside the guest: it times each kind of exit by itself and hands
 * the values over by hypercall. Every value is kept, so that a median is exact. Nothing here may run
 * between a guest's two readings of its clock.
 */
#include "series.h"
#include "vcpu_load.h"

#define BENCH "exits"

static const char *const wfi_names[] = { "trap", "native", NULL };

static void describe(struct record *r, const struct vm_config *c)
{
	record_str(&r->variant, "wfi", wfi_names[c->wfi]);
	record_str(&r->variant, "irqstate", load_irqstates[c->irqstate]);
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
	int err = bench_check_words(&exits_experiment);

	if (!err)
		err = bench_words("wfi", wfi_names, "trap", &wait);
	if (!err)
		err = bench_words("irqstate", load_irqstates, "percpu", &state);
	if (!err)
		err = series_words(BENCH, "exits", 1, c);
	if (err)
		return err;
	c->wfi = (enum wfi_kind)wait.pick[0];
	c->irqstate = (enum irqstate_kind)state.pick[0];
	return 0;
}

static int exits_run(void)
{
	struct vm_config c;
	int err = exits_configure(&c);

	return err ? err : series_measure(BENCH, "Exits", &c, describe);
}
