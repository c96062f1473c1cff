/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SRCU on the weak machine (weak.h), run after run with another seed: what the barriers are for, whatever
 * machine runs the tests. Each run is a handful of sections against a wait or two; after a wait
 *  - no section that has seen the object is still open;
 *  - what such a section wrote is seen.
 */
#include "host.h"

#include <string.h>

#include "weak.h"

#include "../../core/srcu.c"

#define LIMIT	 20000 /* accesses in a run; one that needs more has hung */
#define READERS	 3
#define UPDATER	 READERS /* and one more after it */
#define OBSERVER (UPDATER + 2)

/* Ways to wait beside those of enum srcu_wait. */
enum { TARGETED = NR_SRCU_WAITS, ALL_CPUS, NR_WAYS };

/* Of the machine: an object each for two updaters, and a mark of every reader on each. */
static u32 object[2], mark[2][READERS];
static u64 readers[2][NR_CPUS / 64]; /* who has read it, as in a page cache */
static srcu_token_t token;
static u32 handed, waited, published[2];

/* Beside it: what has happened, in the order of this program. */
static u32 open[2][READERS], marked[2][READERS];
static bool nests, handed_open;
static bool held_up; /* the lock is taken at first: updaters wait together */
static u32 patience; /* turns of others that a section may last */
static u32 way[2];
static const char *wrong;

static struct srcu domain;

static void is_wrong(const char *what)
{
	if (!wrong)
		wrong = what;
}

/* --- Programs ----------------------------------------------------------------------------------- */

/* Whether it is still there. */
static bool look_at(u32 i)
{
	u32 cpu = weak_cpu();

	if (way[i] == TARGETED && !(READ_ONCE(readers[i][0]) & BIT(cpu)))
		atomic_fetch_or_full(&readers[i][0], BIT(cpu));
	smp_rmb();
	return load_acquire(&object[i]);
}

static void linger(void)
{
	if (!weak_random(3)) {
		for (u32 n = (u32)weak_random(patience); n; n--)
			weak_relax();
	}
}

static void section(u32 i)
{
	u32 cpu = weak_cpu();
	srcu_token_t t = srcu_read_lock(&domain);

	if (look_at(i)) {
		open[i][cpu]++;
		if (nests && !weak_random(3))
			section(i ^ 1);
		linger();
		marked[i][cpu] = 1;
		WRITE_ONCE(mark[i][cpu], 1U);
		open[i][cpu]--;
	}
	srcu_read_unlock(&domain, t);
}

static void read_some(void *arg)
{
	for (u32 n = 1 + (u32)weak_random(3); n; n--)
		section((u32)weak_random(2));
}

static void interrupt(void *arg)
{
	section((u32)weak_random(2));
}

/* A section that CPU 0 begins and CPU 1 ends. */
static void begin_and_hand_over(void *arg)
{
	srcu_token_t t = srcu_read_lock(&domain);

	handed_open = look_at(0);
	if (handed_open) {
		open[0][0]++;
		marked[0][0] = 1;
		WRITE_ONCE(mark[0][0], 1U);
	}
	WRITE_ONCE(token, t);
	store_release(&handed, 1U); /* pairs with the acquire below */
	read_some(NULL);
}

static void take_and_end(void *arg)
{
	section(0);
	while (!load_acquire(&handed))
		weak_relax();
	open[0][0] -= handed_open;
	srcu_read_unlock(&domain, READ_ONCE(token));
}

/* Never without a section, until the wait is over. */
static void read_without_gap(void *arg)
{
	srcu_token_t last = srcu_read_lock(&domain), next;

	while (!READ_ONCE(waited)) {
		next = srcu_read_lock(&domain);
		srcu_read_unlock(&domain, last);
		last = next;
	}
	srcu_read_unlock(&domain, last);
}

static void wait_for_readers(u32 i)
{
	u64 mask[NR_CPUS / 64] = { 0 };

	if (way[i] == TARGETED) {
		mask[0] = atomic_xchg_full(&readers[i][0], 0UL);
		srcu_wait_for_cpus(&domain, mask);
	} else if (way[i] == ALL_CPUS) {
		mask[0] = ~0UL;
		srcu_wait_for_cpus(&domain, mask);
	} else {
		srcu_synchronize(&domain, (enum srcu_wait)way[i]);
	}
}

static void update(void *arg)
{
	u32 i = weak_cpu() - UPDATER;

	WRITE_ONCE(object[i], 0U);
	wait_for_readers(i);
	for (u32 cpu = 0; cpu < READERS; cpu++) {
		if (open[i][cpu])
			is_wrong("a section that has the object is open after the wait");
		if (READ_ONCE(mark[i][cpu]) != marked[i][cpu])
			is_wrong("what a section wrote is not there after the wait");
	}
	WRITE_ONCE(published[i], 1U);
	WRITE_ONCE(waited, READ_ONCE(waited) + 1);
}

/* The wait ends with a full barrier: whoever sees what the updater stored after it, sees what was before. */
static void observe(void *arg)
{
	u32 i = (u32)weak_random(2), n = 200;

	if (held_up) {
		for (n = (u32)weak_random(60); n; n--)
			weak_relax();
		spin_unlock(&domain.lock);
		n = 200;
	}
	while (n && !READ_ONCE(published[i])) {
		weak_relax();
		n--;
	}
	if (!n)
		return;
	smp_rmb();
	for (u32 cpu = 0; cpu < READERS; cpu++) {
		if (READ_ONCE(mark[i][cpu]) != marked[i][cpu])
			is_wrong("what a section wrote is not seen by one who knows that the wait is over");
	}
}

/* --- Runs --------------------------------------------------------------------------------------- */

static void watch_domain(void)
{
	weak_watch(&domain.idx, sizeof(domain.idx));
	weak_watch(&domain.lock, sizeof(domain.lock));
	weak_watch(&domain.seq, sizeof(domain.seq));
	for (u32 i = 0; i < WEAK_CPUS; i++)
		weak_watch(&domain.cpu[i], offsetof(struct srcu_cpu, counts));
	weak_watch(object, sizeof(object));
	weak_watch(mark, sizeof(mark));
	weak_watch(readers, sizeof(readers));
	weak_watch(&token, sizeof(token));
	weak_watch(&handed, sizeof(handed));
	weak_watch(&waited, sizeof(waited));
	weak_watch(published, sizeof(published));
	/* Readers may not have seen the last turn yet. */
	weak_was(&domain.idx, sizeof(domain.idx), domain.idx ^ 1);
}

static void begin_run(u64 seed)
{
	struct srcu_cpu *cpu = domain.cpu;

	memset(cpu, 0, sizeof(*cpu) * WEAK_CPUS);
	for (u32 i = 0; i < WEAK_CPUS; i++) {
		for (u32 idx = 0; idx < 2; idx++)
			cpu[i].begun[idx] = cpu[i].ended[idx] = FIRST_COUNT;
	}
	domain = (struct srcu){ .cpu = cpu, .nr_cpus = READERS, .name = "weak" };
	domain.idx = (u32)seed / 2 % 2;
	object[0] = object[1] = 1;
	memset(mark, 0, sizeof(mark));
	memset(readers, 0, sizeof(readers));
	memset(open, 0, sizeof(open));
	memset(marked, 0, sizeof(marked));
	handed = waited = published[0] = published[1] = 0;
	nests = handed_open = held_up = false;
	patience = 30;
	wrong = NULL;
	weak_reset(seed);
	watch_domain();
}

static void finish_run(u64 seed, u64 limit)
{
	if (!weak_run(limit))
		fail_msg("seed %lu, %u and %u: no end", seed, way[0], way[1]);
	if (wrong)
		fail_msg("seed %lu, %u and %u: %s", seed, way[0], way[1], wrong);
	if (!srcu_no_readers(&domain))
		fail_msg("seed %lu: a section is left", seed);
}

/* Readers against one updater, of one way. */
static void one_updater(u32 one_way)
{
	u64 met = 0;

	for (u64 seed = 1; seed <= RUNS; seed++) {
		begin_run(seed);
		way[0] = way[1] = one_way;
		nests = seed % 2;
		for (u32 cpu = 0; cpu < READERS; cpu++)
			weak_cpu_runs(cpu, read_some, NULL);
		weak_cpu_runs(UPDATER, update, NULL);
		weak_cpu_runs(OBSERVER, observe, NULL);
		finish_run(seed, LIMIT);
		met += marked[0][0];
	}
	assert_true(met > RUNS / 16);
}

static void expedited(void **state)
{
	one_updater(SRCU_EXPEDITED);
}

static void atomic(void **state)
{
	one_updater(SRCU_ATOMIC);
}

static void atomic_fast(void **state)
{
	one_updater(SRCU_ATOMIC_FAST);
}

static void targeted(void **state)
{
	one_updater(TARGETED);
}

static void targeted_at_all(void **state)
{
	one_updater(ALL_CPUS);
}

/* Two updaters, each in any way: one may end by the other's grace period. */
static void two_updaters(void **state)
{
	u64 shared = 0;

	for (u64 seed = 1; seed <= RUNS; seed++) {
		begin_run(seed);
		patience = 150;
		held_up = seed % 3 == 0;
		domain.lock.owner = held_up;
		way[0] = seed % 4 ? SRCU_ATOMIC : (u32)weak_random(NR_WAYS);
		way[1] = seed % 4 ? SRCU_ATOMIC : (u32)weak_random(NR_WAYS);
		for (u32 cpu = 0; cpu < READERS; cpu++)
			weak_cpu_runs(cpu, read_some, NULL);
		weak_cpu_runs(UPDATER, update, NULL);
		weak_cpu_runs(UPDATER + 1, update, NULL);
		weak_cpu_runs(OBSERVER, observe, NULL);
		finish_run(seed, LIMIT);
		shared += domain.cpu[UPDATER].counts.shared + domain.cpu[UPDATER + 1].counts.shared;
	}
	assert_true(shared > RUNS / 100);
}

/* Readers in interrupts of readers: no increment may be lost. */
static void interrupted_readers(void **state)
{
	for (u64 seed = 1; seed <= RUNS / 2; seed++) {
		begin_run(seed);
		way[0] = (u32)weak_random(NR_WAYS);
		for (u32 cpu = 0; cpu < READERS; cpu++) {
			weak_cpu_runs(cpu, read_some, NULL);
			weak_interrupts(cpu, interrupt, NULL, 4);
		}
		weak_cpu_runs(UPDATER, update, NULL);
		finish_run(seed, LIMIT);
	}
}

static void ended_elsewhere(void **state)
{
	for (u64 seed = 1; seed <= RUNS / 2; seed++) {
		begin_run(seed);
		way[0] = (u32)weak_random(NR_WAYS);
		way[1] = 0;
		weak_cpu_runs(0, begin_and_hand_over, NULL);
		weak_cpu_runs(1, take_and_end, NULL);
		weak_cpu_runs(UPDATER, update, NULL);
		finish_run(seed, LIMIT);
	}
}

/* The counters of one run are kept for good: few turns of readers fit in. */
static void endless_readers(void **state)
{
	for (u64 seed = 1; seed <= RUNS / 20; seed++) {
		begin_run(seed);
		way[0] = (u32)(seed % NR_WAYS);
		readers[0][0] = ~0UL;
		for (u32 cpu = 0; cpu < READERS; cpu++)
			weak_cpu_runs(cpu, read_without_gap, NULL);
		weak_cpu_runs(UPDATER, update, NULL);
		finish_run(seed, LIMIT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expedited),	       cmocka_unit_test(atomic),
		cmocka_unit_test(atomic_fast),	       cmocka_unit_test(targeted),
		cmocka_unit_test(targeted_at_all),     cmocka_unit_test(two_updaters),
		cmocka_unit_test(interrupted_readers), cmocka_unit_test(ended_elsewhere),
		cmocka_unit_test(endless_readers),
	};

	host_setup(WEAK_CPUS, MIB(16));
	if (srcu_init(&domain, "weak"))
		return 1;
	return cmocka_run_group_tests_name("srcu_weak", tests, NULL, NULL);
}
