/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The locks everything is measured against: a ticket spinlock and a fair rwlock. Nothing here may
 * share a cache line between CPUs beyond the lock itself: counters are per call site and per CPU,
 * and are touched only while lock_stats_enabled is true.
 */
#include <cupel/errno.h>
#include <cupel/lock.h>
#include <cupel/mm.h>
#include <cupel/rmw.h>
#include <cupel/smp.h>
#include <string.h>

#include "lock_debug.h"

extern const struct lock_site __start_lock_sites[], __stop_lock_sites[];

bool lock_stats_enabled;

/* This CPU's counters, one per site; NULL until lock_stats_init(). */
static DEFINE_PER_CPU(struct lock_count *, lock_counts);
DEFINE_PER_CPU(u64, shared_rmw);

/* Atomic read-modify-writes from taking a lock to letting it go: a ticket's end is a plain store. */
#define SPIN_RMWS 1
#define RW_RMWS	  2

static size_t nr_sites(void)
{
	return (size_t)(__stop_lock_sites - __start_lock_sites);
}

static __noinline __cold void count(const struct lock_site *site, u64 spins, u32 rmws)
{
	struct lock_count *c = this_cpu(lock_counts);

	WRITE_ONCE(this_cpu(shared_rmw), this_cpu(shared_rmw) + rmws);
	if (!c)
		return;
	c += site - __start_lock_sites;
	/* Plain additions: only this CPU writes; readers elsewhere use READ_ONCE(). */
	WRITE_ONCE(c->acquired, c->acquired + 1);
	WRITE_ONCE(c->contended, c->contended + (spins != 0));
	WRITE_ONCE(c->spins, c->spins + spins);
}

static __always_inline void lock_taken(const void *l, const char *name,
				       const struct lock_site *site, u64 spins, u32 rmws)
{
	lock_debug_taken(l, name, site);
	if (unlikely(READ_ONCE(lock_stats_enabled)))
		count(site, spins, rmws);
}

/* --- Ticket spinlock ---------------------------------------------------------------------------- */

static __noinline u64 spin_wait(const u32 *owner, u32 ticket)
{
	u64 spins = 0;

	do {
		cpu_relax();
		spins++;
		/* Pairs with the release in spin_unlock() of the holder before. */
	} while (load_acquire(owner) != ticket);
	return spins;
}

void spin_lock_at(spinlock_t *l, const struct lock_site *site)
{
	u64 spins = 0;
	u32 ticket;

	lock_debug_before(l, l->name, site);
	ticket = atomic_fetch_add_relaxed(&l->next, 1);
	/* Pairs with the release in spin_unlock() of the holder before. */
	if (unlikely(load_acquire(&l->owner) != ticket))
		spins = spin_wait(&l->owner, ticket);
	lock_taken(l, l->name, site, spins, SPIN_RMWS);
}

bool spin_trylock_at(spinlock_t *l, const struct lock_site *site)
{
	/* Pairs with the release in spin_unlock(): free as of this load, or the exchange fails. */
	u32 ticket = load_acquire(&l->owner);

	if (!atomic_cmpxchg_acquire(&l->next, &ticket, ticket + 1)) {
		count_shared_rmw();
		return false;
	}
	lock_taken(l, l->name, site, 0, SPIN_RMWS);
	return true;
}

void spin_unlock(spinlock_t *l)
{
	lock_debug_released(l, l->name);
	/* Pairs with the acquires of spin_lock_at() and spin_trylock_at(). Only the holder writes it. */
	store_release(&l->owner, l->owner + 1);
}

/* --- Fair rwlock --------------------------------------------------------------------------------
 *
 * Two words count what was asked for and what is done, each with writers in the low half and readers
 * in the high half. Asking takes one atomic addition, which fixes the order for good:
 *  - a reader waits until every writer that asked before it is done (low halves agree);
 *  - a writer waits until everybody who asked before it is done (whole words agree).
 * A carry out of the writers' half happens in both words at the same count, so wrapping is harmless
 * as long as fewer than 65536 CPUs wait at once.
 */
#define RW_WRITER  1U
#define RW_READER  0x10000U
#define RW_WRITERS 0xffffU

static __noinline u64 rw_wait(const u32 *done, u32 ticket, u32 mask)
{
	u64 spins = 0;

	do {
		cpu_relax();
		spins++;
		/* Pairs with the releases in read_unlock() and write_unlock(). */
	} while ((load_acquire(done) ^ ticket) & mask);
	return spins;
}

static __always_inline void rw_lock(rwlock_t *l, const struct lock_site *site, u32 add, u32 mask)
{
	u64 spins = 0;
	u32 ticket;

	lock_debug_before(l, l->name, site);
	ticket = atomic_fetch_add_relaxed(&l->asked, add);
	/* Pairs with the releases in read_unlock() and write_unlock(). */
	if (unlikely((load_acquire(&l->done) ^ ticket) & mask))
		spins = rw_wait(&l->done, ticket, mask);
	lock_taken(l, l->name, site, spins, RW_RMWS);
}

void read_lock_at(rwlock_t *l, const struct lock_site *site)
{
	rw_lock(l, site, RW_READER, RW_WRITERS);
}

void write_lock_at(rwlock_t *l, const struct lock_site *site)
{
	rw_lock(l, site, RW_WRITER, ~0U);
}

bool read_trylock_at(rwlock_t *l, const struct lock_site *site)
{
	/* Pairs with the release in write_unlock(). Must be read before `asked`: see below. */
	u32 done = load_acquire(&l->done);
	u32 asked = READ_ONCE(l->asked);

	/*
	 * No writer has asked beyond those that were done before `asked` was read, and the exchange
	 * makes sure that none has since: nobody to wait for.
	 */
	if ((done ^ asked) & RW_WRITERS)
		return false;
	if (!atomic_cmpxchg_acquire(&l->asked, &asked, asked + RW_READER)) {
		count_shared_rmw();
		return false;
	}
	lock_taken(l, l->name, site, 0, RW_RMWS);
	return true;
}

void read_unlock(rwlock_t *l)
{
	lock_debug_released(l, l->name);
	/* Pairs with the acquire of the writer that waits for this reader. */
	atomic_fetch_add_release(&l->done, RW_READER);
}

void write_unlock(rwlock_t *l)
{
	lock_debug_released(l, l->name);
	/* Pairs with the acquires of the readers and writers that asked later. */
	atomic_fetch_add_release(&l->done, RW_WRITER);
}

/* --- Counters ----------------------------------------------------------------------------------- */

int lock_stats_init(void)
{
	unsigned int order = size_to_order(nr_sites() * sizeof(struct lock_count));

	for (u32 cpu = 0; cpu < NR_CPUS; cpu++) {
		if (!percpu_offset[cpu] || *per_cpu_ptr(lock_counts, cpu))
			continue;
		*per_cpu_ptr(lock_counts, cpu) = pages_alloc(order);
		if (!*per_cpu_ptr(lock_counts, cpu))
			return -ENOMEM;
	}
	return 0;
}

static void add_site(struct lock_count *sum, size_t i)
{
	for (u32 cpu = 0; cpu < NR_CPUS; cpu++) {
		const struct lock_count *c;

		if (!percpu_offset[cpu] || !*per_cpu_ptr(lock_counts, cpu))
			continue;
		c = *per_cpu_ptr(lock_counts, cpu) + i;
		sum->acquired += READ_ONCE(c->acquired);
		sum->contended += READ_ONCE(c->contended);
		sum->spins += READ_ONCE(c->spins);
	}
}

struct lock_count lock_stats_sum(const char *match)
{
	struct lock_count sum = { 0 };

	for (size_t i = 0; i < nr_sites(); i++) {
		if (!match || strstr(__start_lock_sites[i].lock, match))
			add_site(&sum, i);
	}
	return sum;
}

void lock_stats_reset(void)
{
	for (u32 cpu = 0; cpu < NR_CPUS; cpu++) {
		if (!percpu_offset[cpu])
			continue;
		WRITE_ONCE(*per_cpu_ptr(shared_rmw, cpu), 0);
		if (*per_cpu_ptr(lock_counts, cpu))
			memset(*per_cpu_ptr(lock_counts, cpu), 0,
			       nr_sites() * sizeof(struct lock_count));
	}
}

u64 shared_rmw_sum(void)
{
	u64 sum = 0;

	for (u32 cpu = 0; cpu < NR_CPUS; cpu++) {
		if (percpu_offset[cpu])
			sum += READ_ONCE(*per_cpu_ptr(shared_rmw, cpu));
	}
	return sum;
}

void lock_stats_walk(bool (*fn)(const struct lock_site *, const struct lock_count *, void *),
		     void *arg)
{
	for (size_t i = 0; i < nr_sites(); i++) {
		struct lock_count sum = { 0 };

		add_site(&sum, i);
		if (sum.acquired && !fn(&__start_lock_sites[i], &sum, arg))
			return;
	}
}
