/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one EVTCHNOP_send costs a guest, hypercall in and out included, for a way to guard page caches and
 * a place for ports. Measured by the guest itself; nothing is decided here but which VM it runs in.
 */
#include "series.h"

#include <cupel/printk.h>

#define BENCH "evtchn-send"

static const char *const layouts[] = { "spread", "packed", NULL };

static void describe(struct record *r, const struct vm_config *c)
{
	record_str(&r->variant, "gpc", gpc_kind_names[c->gpc]);
	record_str(&r->variant, "layout", layouts[c->layout]);
}

static const char *const keys[] = {
	"ops - list of kinds to measure, by their names in the table (default all)",
	"samples - values of each kind that the guest takes, at most 4096 (default 1000)",
	"gpc - the way to guard page caches (default each in turn)",
	"layout - spread or packed: where ports lie (default spread)",
	NULL,
};

static int evtchn_send_run(void);
static const struct experiment evtchn_send_experiment = {
	.name = "evtchn-send",
	.help = "what one event channel send costs a guest, hypercall included",
	.keys = keys,
	.run = evtchn_send_run,
};
EXPERIMENT(evtchn_send_experiment);

static int evtchn_send_run(void)
{
	struct bench_choice gpc, layout;
	struct vm_config c;
	int err = bench_check_words(&evtchn_send_experiment);

	if (!err)
		err = bench_words("gpc", gpc_kind_names,
				  "rwlock,trylock,expedited,atomic,atomic-fast,targeted", &gpc);
	if (!err)
		err = bench_words("layout", layouts, "spread", &layout);
	if (!err)
		err = series_words(BENCH, "evsend", 2, &c);
	c.xen = true;
	for (u32 i = 0; !err && i < gpc.nr; i++) {
		char title[48];

		c.gpc = (enum gpc_kind)gpc.pick[i];
		c.layout = (enum evtchn_layout)layout.pick[0];
		snprintf(title, sizeof(title), "EVTCHNOP_send, gpc=%s", gpc_kind_names[c.gpc]);
		err = series_measure(BENCH, title, &c, describe);
	}
	return err;
}
