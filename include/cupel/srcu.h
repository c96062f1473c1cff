/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SRCU: read sections that take no lock, and updaters that wait for them. Per CPU and per index there
 * is a count of sections begun and one of sections ended; a grace period is over when, summed over
 * CPUs, ends (read first) equal beginnings.
 *
 * Readers never sleep or leave their CPU's hands to a guest. They nest, may run in interrupt context,
 * and may end on another CPU than they began on. Updaters run in thread context with no lock held that
 * a reader may want, never inside a read section of the same domain; they keep the caller's interrupt
 * state. Barriers A to E are named in core/srcu.c, and each says its partner.
 */
#ifndef CUPEL_SRCU_H
#define CUPEL_SRCU_H

#include <asm/local.h> /* local_inc(p): atomic against this CPU's interrupts only; local_read(p): any CPU */
#include <cupel/atomic.h>
#include <cupel/lock.h>
#include <cupel/percpu.h>
#include <cupel/types.h>

/* How an updater waits. */
enum srcu_wait {
	SRCU_EXPEDITED, /* thread context with interrupts on; looks again after a delay */
	SRCU_ATOMIC, /* spins: scan, flip, scan */
	SRCU_ATOMIC_FAST, /* first tries to prove that there is no reader: then no flip */
	NR_SRCU_WAITS
};

struct srcu_counts { /* for tests and tables */
	u64 waits; /* calls of an updater */
	u64 shared; /* of those, ended by somebody else's grace period */
	u64 fast; /* ended by the proof that there is no reader */
	u64 flips;
	u64 scans;
	u64 targets; /* CPUs looked at by srcu_wait_for_cpus() */
};

/* Written by its own CPU, but for `away`. Readers and updaters of a CPU have a line each. */
struct srcu_cpu {
	unsigned long begun[2];
	unsigned long ended[2];
	unsigned long away[2]; /* sections begun here and ended elsewhere: atomic, from any CPU */
	struct srcu_counts counts __cacheline_aligned; /* of this CPU's updaters */
} __cacheline_aligned;

struct srcu {
	u32 idx; /* index that new readers use; written by the updater at work */
	u32 nr_cpus;
	struct srcu_cpu *cpu; /* one a possible CPU, parked ones included */
	const char *name;

	spinlock_t lock __cacheline_aligned; /* guards turns of idx, the advance of seq */
	u64 seq; /* twice the grace periods that have ended, plus one while one is under way */
};

/* A read section: the CPU it began on and its index. */
typedef u32 srcu_token_t;

/* -ENOMEM. Thread context. nr_cpus = platform.nr_cpus at that time. */
int srcu_init(struct srcu *s, const char *name);
/* No reader and no updater is left. */
void srcu_destroy(struct srcu *s);

static inline srcu_token_t srcu_read_lock(struct srcu *s)
{
	u32 cpu = cpu_id(), idx = READ_ONCE(s->idx) & 1;

	local_inc(&s->cpu[cpu].begun[idx]);
	smp_mb(); /* B: pairs with F and A of the updater: see core/srcu.c */
	return cpu << 1 | idx;
}

static inline void srcu_read_unlock(struct srcu *s, srcu_token_t token)
{
	u32 home = token >> 1, idx = token & 1;

	smp_mb(); /* C: what the section did comes before the end is counted; pairs with L and A */
	if (likely(home == cpu_id()))
		local_inc(&s->cpu[home].ended[idx]);
	else /* Release: says C over again, for a sanitizer that does not know barriers. */
		atomic_fetch_add_release(&s->cpu[home].away[idx], 1);
}

/*
 * Wait until every read section that had begun when this was called has ended. Full barrier on both
 * sides. Spins or delays. Thread context, outside every section of this domain that began on this CPU
 * (debug builds panic); the caller's interrupt state is kept, and interrupts that were on are taken.
 */
void srcu_synchronize(struct srcu *s, enum srcu_wait how);

/*
 * The same for sections that began on CPUs of `mask` (NR_CPUS bits) only: it costs what those CPUs
 * cost. Takes no lock unless a CPU is never seen without a reader.
 */
void srcu_wait_for_cpus(struct srcu *s, const u64 *mask);

/*
 * A cookie for all read sections begun by now, and whether a grace period has ended that waited for them.
 * They start none themselves. Any context, no lock; both are full barriers.
 */
u64 srcu_cookie(struct srcu *s);
bool srcu_done(struct srcu *s, u64 cookie);

/* True if at some moment during the call there was no reader at all. Any context; full barriers. */
bool srcu_no_readers(struct srcu *s);

/* Sums over CPUs since srcu_init(). */
struct srcu_counts srcu_counts(const struct srcu *s);

/* A wait that takes longer is reported on the console, once; ns. */
extern u64 srcu_stall_ns;

#endif
