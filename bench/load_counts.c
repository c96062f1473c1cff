/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What proves which path the loads took: the vCPUs' own counters, and the acquisitions of descriptor
 * locks while they were counted. Reads only: must never touch a counter inside a timed round.
 */
#include "vcpu_load.h"

#include <cupel/printk.h>
#include <string.h>

void load_counts_add(struct load_counts *c, const struct vm *vm)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		const struct vcpu *v = vm->vcpu[i];

		c->loads += v->loads;
		c->active_writes += v->active_writes;
		c->host_irqs += v->host_irqs;
		c->guest_ticks += v->guest_ticks;
		for (u32 k = 0; k < EXIT_COUNTERS; k++)
			c->exits[k] += v->exits[k];
	}
}

void load_counts_sum(struct load_counts *c, const struct load_counts *more)
{
	c->loads += more->loads;
	c->active_writes += more->active_writes;
	c->host_irqs += more->host_irqs;
	c->guest_ticks += more->guest_ticks;
	for (u32 k = 0; k < EXIT_COUNTERS; k++)
		c->exits[k] += more->exits[k];
}

struct load_counts load_counts_since(const struct load_counts *now, const struct load_counts *then)
{
	struct load_counts d = *now;

	d.loads -= then->loads;
	d.active_writes -= then->active_writes;
	d.host_irqs -= then->host_irqs;
	d.guest_ticks -= then->guest_ticks;
	for (u32 k = 0; k < EXIT_COUNTERS; k++)
		d.exits[k] -= then->exits[k];
	return d;
}

/* `lockstat` on the command line: all is counted anyhow, and goes on. */
static bool counted_before;
static struct lock_count at_begin;

/* Every descriptor lock is taken in core/irq.c, and nothing else is. */
static bool add_irq_site(const struct lock_site *site, const struct lock_count *n, void *arg)
{
	struct lock_count *sum = arg;

	if (strstr(site->file, "core/irq.c")) {
		sum->acquired += n->acquired;
		sum->contended += n->contended;
		sum->spins += n->spins;
	}
	return true;
}

static struct lock_count descriptor_locks(void)
{
	struct lock_count sum = { 0 };

	lock_stats_walk(add_irq_site, &sum);
	return sum;
}

int load_count_locks_begin(void)
{
	int err = lock_stats_init();

	if (err) {
		printk("bench: no memory for lock counters\n");
		return err;
	}
	at_begin = descriptor_locks();
	counted_before = lock_stats_enabled;
	WRITE_ONCE(lock_stats_enabled, true);
	return 0;
}

struct lock_count load_count_locks_end(void)
{
	struct lock_count sum;

	WRITE_ONCE(lock_stats_enabled, counted_before);
	sum = descriptor_locks();
	sum.acquired -= at_begin.acquired;
	sum.contended -= at_begin.contended;
	sum.spins -= at_begin.spins;
	return sum;
}

/* "exits_<name>" for each of arch_exit_names[], made once: a record keeps only pointers. */
static const char *exit_key(u32 k)
{
	static char key[EXIT_COUNTERS][24];

	if (!key[k][0])
		snprintf(key[k], sizeof(key[k]), "exits_%s", arch_exit_names[k]);
	return key[k];
}

void load_record_counts(struct record *r, const struct load_counts *timed,
			const struct load_counts *counted)
{
	record_num(&r->counters, "loads", timed->loads);
	record_num(&r->counters, "active_writes", timed->active_writes);
	record_num(&r->counters, "host_irqs", timed->host_irqs);
	record_num(&r->counters, "guest_ticks", timed->guest_ticks);
	record_num(&r->counters, "counted_loads", counted->loads);
	record_num(&r->counters, "counted_active_writes", counted->active_writes);
	record_num(&r->counters, "lock_acquired", counted->lock.acquired);
	record_num(&r->counters, "lock_contended", counted->lock.contended);
	record_num(&r->counters, "lock_spins", counted->lock.spins);
	for (u32 k = 0; k < EXIT_COUNTERS && arch_exit_names[k]; k++)
		if (timed->exits[k])
			record_num(&r->counters, exit_key(k), timed->exits[k]);
}
