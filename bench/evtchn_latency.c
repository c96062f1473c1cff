/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a send to the first instruction of the guest's handler, for a target that runs, sleeps, or waits for
 * a CPU, and for each way to guard page caches. Measured by the guest itself (tests/guests/evlat.c); nothing
 * is decided here but where its vCPUs live.
 */
#include "series.h"

#include <cupel/printk.h>
#include <cupel/smp.h>

#define BENCH "evtchn-latency"
#define VCPUS 3

static void describe(struct record *r, const struct vm_config *c)
{
	record_str(&r->variant, "gpc", gpc_kind_names[c->gpc]);
}

static const char *const keys[] = {
	"ops - list of kinds to measure, by their names in the table (default all)",
	"samples - values of each kind that the guest takes, at most 4096 (default 1000)",
	"gpc - the way to guard page caches (default each in turn)",
	NULL,
};

static int latency_run(void);
static const struct experiment latency_experiment = {
	.name = "evtchn-latency",
	.help = "from an event's send to the guest's handler; a second CPU adds targets elsewhere",
	.keys = keys,
	.run = latency_run,
};
EXPERIMENT(latency_experiment);

/* The second vCPU has a CPU of its own, if there is one; the third shares that of the first. */
static void pin(struct vm_config *c)
{
	int first = cpu_next_online(-1), other = cpu_next_online(first);

	c->nr_pin = VCPUS;
	c->pin[0] = c->pin[2] = (u16)first;
	c->pin[1] = (u16)(other < 0 ? first : other);
}

static int latency_run(void)
{
	struct bench_choice gpc;
	struct vm_config c;
	int err = bench_check_words(&latency_experiment);

	if (!err)
		err = bench_words("gpc", gpc_kind_names,
				  "rwlock,trylock,expedited,atomic,atomic-fast,targeted", &gpc);
	if (!err)
		err = series_words(BENCH, "evlat", VCPUS, &c);
	if (err)
		return err;
	c.xen = true;
	pin(&c);
	for (u32 i = 0; !err && i < gpc.nr; i++) {
		char title[48];

		c.gpc = (enum gpc_kind)gpc.pick[i];
		snprintf(title, sizeof(title), "Send to handler, gpc=%s", gpc_kind_names[c.gpc]);
		err = series_measure(BENCH, title, &c, describe);
	}
	return err;
}
