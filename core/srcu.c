/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SRCU: the updater's half. It proves that every read section that had begun has ended, by counters that
 * readers keep without a lock; it must never make a reader wait, take a lock that one wants, or change
 * the caller's interrupt state.
 *
 * What a section did is over when the ends that were counted on its CPU are as many as the beginnings.
 * Both only grow, and an end is counted after its beginning, so that "as many", ends read first, means: at
 * a moment between the two looks no section was open there. Sections that end elsewhere count for the CPU
 * they began on, so this holds for each CPU by itself. A parked CPU's counters count as any other's.
 *
 * Barriers, and who meets whom:
 *
 *   reader                                   updater
 *     begun++                                  what it took away, e.g. valid = 0
 *     B: full                                  F: full, before the first look
 *     look at what is protected                look: ends
 *     ...                                      A: load-load
 *     C: full                                  look: beginnings
 *     ended++                                  L: full, after the last look
 *                                              free what it took away
 *
 *   F-B  Store buffering: either the look finds the beginning, or the section finds the thing gone.
 *   C-L  Message passing: once the end has been seen, so has all that the section did; what the updater
 *        does next, loads included, comes after it.
 *   A-B, A-C  Message passing: an end that was seen, and then its beginning too. B and C each keep a
 *        section's beginning before its end for whoever looks at both.
 *   E    Before the index is turned: all looks at the idle index come first. The branch on their result
 *        orders the store already; the barrier keeps it so whatever a compiler makes of the branch.
 *   D    After the index is turned, before looks at the index that was in use. Not needed for safety: it
 *        bounds how long readers may go on using the old index (E-B, D-B: a reader that still uses it
 *        after its next barrier fetched it before).
 *
 * A grace period looks at the idle index until it is empty, turns the index, and looks at the other until it
 * is empty: new readers come to neither while it is looked at, so that it ends however many they are. A
 * reader may have fetched the index long ago and begin on the idle one: such a section began after F, and
 * delays at most. Both must be looked at, since a section that had begun may be on either.
 *
 * The proof without a turn ("fast", and the first looks of srcu_wait_for_cpus()) has no such bound.
 */
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/srcu.h>

#include "lock_debug.h"

/* Pause between two looks of an expedited grace period. */
#define EXPEDITED_NS 5000

/* Looks at a CPU before the index is turned for it. Sections are short: few are met twice. */
#define PLAIN_LOOKS 16

/* Counters start here, so that every run goes over their wrap. */
#define FIRST_COUNT (~0UL - 4)

u64 srcu_stall_ns = 10 * NSEC_PER_SEC;

int srcu_init(struct srcu *s, const char *name)
{
	u32 nr = platform.nr_cpus;
	struct srcu_cpu *cpu = pages_alloc(size_to_order(nr * sizeof(*cpu)));

	if (!cpu)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		for (u32 idx = 0; idx < 2; idx++)
			cpu[i].begun[idx] = cpu[i].ended[idx] = FIRST_COUNT;
	}
	*s = (struct srcu){ .cpu = cpu, .nr_cpus = nr, .name = name };
	s->lock.name = "srcu";
	return 0;
}

void srcu_destroy(struct srcu *s)
{
	BUG_ON(!srcu_no_readers(s));
	pages_free(s->cpu, size_to_order(s->nr_cpus * sizeof(*s->cpu)));
	s->cpu = NULL;
}

/* --- Looking ------------------------------------------------------------------------------------- */

/* Indices, as bits, that had a reader of CPUs [first, last) at every moment between the two loops. */
static u32 look(const struct srcu *s, u32 first, u32 last)
{
	unsigned long open[2] = { 0, 0 };

	for (u32 i = first; i < last; i++) {
		const struct srcu_cpu *c = &s->cpu[i];

		open[0] -= local_read(&c->ended[0]) + local_read(&c->away[0]);
		open[1] -= local_read(&c->ended[1]) + local_read(&c->away[1]);
	}
	smp_rmb(); /* A: pairs with B and C; ends before beginnings */
	for (u32 i = first; i < last; i++) {
		open[0] += local_read(&s->cpu[i].begun[0]);
		open[1] += local_read(&s->cpu[i].begun[1]);
	}
	return (u32)(open[0] != 0) | (u32)(open[1] != 0) << 1;
}

bool srcu_no_readers(struct srcu *s)
{
	bool none;

	smp_mb(); /* F: pairs with B */
	none = !look(s, 0, s->nr_cpus);
	smp_mb(); /* L: pairs with C */
	return none;
}

static struct srcu_counts *counts(struct srcu *s)
{
	return &s->cpu[cpu_id()].counts;
}

struct srcu_counts srcu_counts(const struct srcu *s)
{
	struct srcu_counts sum = { 0 };

	for (u32 i = 0; i < s->nr_cpus; i++) {
		const struct srcu_counts *c = &s->cpu[i].counts;

		sum.waits += READ_ONCE(c->waits);
		sum.shared += READ_ONCE(c->shared);
		sum.fast += READ_ONCE(c->fast);
		sum.flips += READ_ONCE(c->flips);
		sum.scans += READ_ONCE(c->scans);
		sum.targets += READ_ONCE(c->targets);
	}
	return sum;
}

/* By this CPU, in thread context: no other writer. */
static void add(u64 *count, u64 n)
{
	WRITE_ONCE(*count, *count + n);
}

/* --- Waiting ------------------------------------------------------------------------------------- */

/* One wait of one updater. */
struct wait {
	struct srcu *s;
	u64 pause; /* ticks between looks */
	u64 since; /* when the stall detector first looked */
	u32 looks;
	bool told;
};

static void begin_wait(struct wait *w, struct srcu *s, enum srcu_wait how)
{
	*w = (struct wait){ .s = s };
	if (how == SRCU_EXPEDITED)
		w->pause = ns_to_ticks(EXPEDITED_NS);
	if (LOCK_DEBUG && this_cpu(irq_depth))
		panic("srcu %s: CPU %u waits for readers in an interrupt handler", s->name, cpu_id());
	add(&counts(s)->waits, 1);
}

static u32 first_reader(const struct srcu *s)
{
	u32 cpu = 0;

	while (cpu + 1 < s->nr_cpus && !look(s, cpu, cpu + 1))
		cpu++;
	return cpu;
}

/*
 * A thread that waits for a section of its own waits for good. (One that it handed to another CPU will do, but
 * not for so long.)
 */
static __noinline __cold void check_stall(struct wait *w)
{
	u64 now = arch_counter();
	u32 cpu, self = cpu_id();

	if (!w->since)
		w->since = now;
	if (w->told || now - w->since < ns_to_ticks(READ_ONCE(srcu_stall_ns)))
		return;
	w->told = true;
	if (LOCK_DEBUG && look(w->s, self, self + 1))
		panic("srcu %s: CPU %u waits for a read section of its own", w->s->name, self);
	cpu = first_reader(w->s);
	printk("srcu %s: CPU %u has been waiting for %lu ms; a section of CPU %u has not ended\n",
	       w->s->name, self, ticks_to_ns(now - w->since) / 1000000, cpu);
}

/* Between two looks. Interrupts stay as the caller has them. */
static void before_next_look(struct wait *w)
{
	u64 start = w->pause ? arch_counter() : 0;

	do
		cpu_relax();
	while (w->pause && arch_counter() - start < w->pause);
	if (!(++w->looks % 1024))
		check_stall(w);
}

static void wait_empty(struct wait *w, u32 idx, u32 first, u32 last)
{
	for (;;) {
		add(&counts(w->s)->scans, 1);
		if (!(look(w->s, first, last) & BIT32(idx)))
			return;
		before_next_look(w);
	}
}

/* Under s->lock. */
static void turn_index(struct srcu *s)
{
	smp_mb(); /* E: looks at the idle index come before */
	WRITE_ONCE(s->idx, s->idx ^ 1);
	smp_mb(); /* D: looks at the other come after */
	add(&counts(s)->flips, 1);
}

/* --- Grace periods ------------------------------------------------------------------------------- */

u64 srcu_cookie(struct srcu *s)
{
	/* Full: pairs with the one in grace_period(), which counts itself begun before its first look. */
	smp_mb();
	/* One that is under way may have looked already: the next one counts. */
	return (READ_ONCE(s->seq) + 3) & ~1UL;
}

bool srcu_done(struct srcu *s, u64 cookie)
{
	/* Acquire: pairs with the release in grace_period(). */
	bool done = (s64)(load_acquire(&s->seq) - cookie) >= 0;

	smp_mb(); /* L: pairs with C, by way of that */
	return done;
}

/* Under s->lock. */
static void grace_period(struct wait *w)
{
	struct srcu *s = w->s;
	u32 idx = s->idx;

	WRITE_ONCE(s->seq, s->seq + 1);
	smp_mb(); /* F, for all whose cookie this serves: pairs with B, and with the one in srcu_cookie() */
	wait_empty(w, idx ^ 1, 0, s->nr_cpus);
	turn_index(s);
	wait_empty(w, idx, 0, s->nr_cpus);
	/* Release: ends that were seen, before the grace period is: pairs with L in srcu_done(). */
	store_release(&s->seq, s->seq + 1);
}

/*
 * Whoever gets the lock does the work for all that wait: nobody queues for a lock when all he wants is a
 * grace period that another has finished. The lock is tried only while none is under way.
 */
void srcu_synchronize(struct srcu *s, enum srcu_wait how)
{
	bool worked = false;
	struct wait w;
	u64 cookie;

	begin_wait(&w, s, how);
	if (how == SRCU_ATOMIC_FAST && srcu_no_readers(s)) {
		add(&counts(s)->fast, 1);
		return;
	}
	cookie = srcu_cookie(s);
	while (!srcu_done(s, cookie)) {
		if (READ_ONCE(s->seq) & 1 || !spin_trylock(&s->lock)) {
			before_next_look(&w);
			continue;
		}
		worked = !srcu_done(s, cookie);
		if (worked)
			grace_period(&w);
		spin_unlock(&s->lock);
	}
	add(&counts(s)->shared, !worked);
}

/* --- Some CPUs only ------------------------------------------------------------------------------ */

/* The first CPU of the set that is not before `cpu`; nr_cpus when there is none. */
static u32 next_cpu(const struct srcu *s, const u64 *set, u32 cpu)
{
	while (cpu < s->nr_cpus) {
		u64 rest = set[cpu / 64] >> cpu % 64;

		if (rest)
			return min(cpu + (u32)__builtin_ctzl(rest), s->nr_cpus);
		cpu = ALIGN_DOWN(cpu, 64U) + 64;
	}
	return s->nr_cpus;
}

#define for_each_cpu_of(s, set, cpu) \
	for (u32 cpu = next_cpu(s, set, 0); cpu < (s)->nr_cpus; cpu = next_cpu(s, set, cpu + 1))

/* Whether each index of the CPU was seen empty at some moment of a few looks. */
static bool seen_empty(struct wait *w, u32 cpu, u32 looks)
{
	u32 open = 3;

	for (u32 i = 0; i < looks; i++) {
		if (i)
			before_next_look(w);
		open &= look(w->s, cpu, cpu + 1);
		if (likely(!open))
			return true;
	}
	return false;
}

/* Take out of the set those that are seen empty; true when some are left. */
static bool keep_busy(struct wait *w, u64 *set, u32 looks)
{
	bool any = false;

	for_each_cpu_of(w->s, set, cpu) {
		if (likely(seen_empty(w, cpu, looks)))
			set[cpu / 64] &= ~BIT(cpu % 64);
		else
			any = true;
	}
	return any;
}

/* Under s->lock. It is no grace period: of the other CPUs nothing is known. */
static void turn_for(struct wait *w, const u64 *set)
{
	u32 idx = w->s->idx;

	for_each_cpu_of(w->s, set, cpu)
		wait_empty(w, idx ^ 1, cpu, cpu + 1);
	turn_index(w->s);
	for_each_cpu_of(w->s, set, cpu)
		wait_empty(w, idx, cpu, cpu + 1);
}

/* The index is turned by whoever gets the lock; the others' wait may well end by that. */
static __noinline void wait_for_busy(struct wait *w, u64 *set)
{
	do {
		if (spin_trylock(&w->s->lock)) {
			turn_for(w, set);
			spin_unlock(&w->s->lock);
			return;
		}
		before_next_look(w);
	} while (keep_busy(w, set, 1));
}

void srcu_wait_for_cpus(struct srcu *s, const u64 *mask)
{
	u64 set[NR_CPUS / 64];
	struct wait w;
	u32 nr = 0;

	begin_wait(&w, s, SRCU_ATOMIC);
	for (u32 i = 0; i < ARRAY_SIZE(set); i++)
		set[i] = mask[i];
	for_each_cpu_of(s, set, cpu)
		nr++;
	add(&counts(s)->targets, nr);
	smp_mb(); /* F: pairs with B */
	if (unlikely(keep_busy(&w, set, PLAIN_LOOKS)))
		wait_for_busy(&w, set);
	smp_mb(); /* L: pairs with C */
}
