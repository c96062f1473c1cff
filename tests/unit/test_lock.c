/* SPDX-License-Identifier: GPL-2.0-only */
/* Both locks on threads: exclusion, order, no starvation, and counters that add up. */
#include "host.h"

#include <sched.h>
#include <string.h>

#include <cupel/lock.h>

#define CPUS   4
#define ROUNDS 3000

static spinlock_t lock = SPINLOCK_INIT("test");
static rwlock_t rw = RWLOCK_INIT("test_rw");
static u64 counter; /* plain: TSan sees it if a lock does not order */

static void add_locked(u32 cpu, void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		spin_lock(&lock);
		counter++;
		spin_unlock(&lock);
	}
}

static void spinlock_excludes(void **state)
{
	struct lock_count c;

	counter = 0;
	lock_stats_reset();
	host_on_cpus(CPUS, add_locked, NULL);
	assert_int_equal(counter, CPUS * ROUNDS);
	c = lock_stats_sum("&lock");
	assert_int_equal(c.acquired, CPUS * ROUNDS);
	assert_true(c.contended <= c.acquired && c.spins >= c.contended);
}

static void add_if_free(u32 cpu, void *arg)
{
	for (int i = 0; i < ROUNDS;) {
		if (!spin_trylock(&lock)) {
			cpu_relax();
			continue;
		}
		counter++;
		i++;
		spin_unlock(&lock);
	}
}

static void trylock_excludes(void **state)
{
	counter = 0;
	host_on_cpus(CPUS, add_if_free, NULL);
	assert_int_equal(counter, CPUS * ROUNDS);
	spin_lock(&lock);
	assert_false(spin_trylock(&lock));
	spin_unlock(&lock);
	assert_true(spin_trylock(&lock));
	spin_unlock(&lock);
}

/* Tickets wrap: the comparison must not care. */
static void spinlock_wraps(void **state)
{
	spinlock_t l = { .next = UINT32_MAX - 1, .owner = UINT32_MAX - 1, .name = "wrap" };

	for (int i = 0; i < 4; i++) {
		spin_lock(&l);
		assert_false(spin_trylock(&l));
		spin_unlock(&l);
	}
	assert_int_equal(l.owner, 2);
}

/* --- rwlock ------------------------------------------------------------------------------------- */

static u64 pair[2]; /* written together under the lock */

static void read_or_write(u32 cpu, void *arg)
{
	u64 seed = cpu;

	for (int i = 0; i < ROUNDS; i++) {
		if (host_random(&seed) % 4) {
			read_lock(&rw);
			assert_int_equal(pair[0], pair[1]);
			read_unlock(&rw);
		} else {
			write_lock(&rw);
			pair[0]++;
			if (i % 64 == 0)
				sched_yield();
			pair[1]++;
			write_unlock(&rw);
		}
	}
}

static void rwlock_excludes(void **state)
{
	rw = (rwlock_t)RWLOCK_INIT("test_rw");
	host_on_cpus(CPUS, read_or_write, NULL);
	assert_int_equal(pair[0], pair[1]);
}

/* The 16-bit halves overflow into each other, in both words alike. */
static void rwlock_wraps(void **state)
{
	static const u32 starts[] = { 0xffff, 0xfffe, 0xffff0000, 0xffffffff, 0xfffffffe };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		rw = (rwlock_t){ .asked = starts[i], .done = starts[i], .name = "test_rw" };
		for (int j = 0; j < 3; j++) {
			write_lock(&rw);
			assert_false(read_trylock(&rw));
			write_unlock(&rw);
			read_lock(&rw);
			read_unlock(&rw);
			assert_true(read_trylock(&rw));
			read_unlock(&rw);
		}
		pair[0] = pair[1] = 0;
		host_on_cpus(CPUS, read_or_write, NULL);
		assert_int_equal(rw.asked, rw.done);
	}
}

static u32 inside;

static void meet(u32 cpu, void *arg)
{
	read_lock(&rw);
	atomic_fetch_add_relaxed(&inside, 1);
	/* Only if all are in at once does this end. */
	while (READ_ONCE(inside) < CPUS)
		cpu_relax();
	read_unlock(&rw);
}

static void readers_share(void **state)
{
	rw = (rwlock_t)RWLOCK_INIT("test_rw");
	inside = 0;
	host_on_cpus(CPUS, meet, NULL);
	assert_int_equal(inside, CPUS);
}

static bool writer_done;
static u32 readers_started;

/* Readers that overlap all the time: a lock that prefers them never lets the writer in. */
static void overlap_or_write(u32 cpu, void *arg)
{
	if (cpu == 1) {
		while (READ_ONCE(readers_started) < CPUS - 1)
			cpu_relax();
		for (int i = 0; i < 50; i++) {
			write_lock(&rw);
			counter++;
			write_unlock(&rw);
		}
		WRITE_ONCE(writer_done, true);
		return;
	}
	atomic_fetch_add_relaxed(&readers_started, 1);
	while (!READ_ONCE(writer_done)) {
		read_lock(&rw);
		for (int i = 0; i < 10; i++)
			cpu_relax();
		read_unlock(&rw);
	}
}

static void writer_is_not_starved(void **state)
{
	counter = 0;
	writer_done = false;
	readers_started = 0;
	host_on_cpus(CPUS, overlap_or_write, NULL);
	assert_int_equal(counter, 50);
}

static u32 turn;
static char history[8];

static void append(char c)
{
	history[strlen(history)] = c;
}

/*
 * The order in which the lock was asked for: CPU 1 holds it for writing; 2 asks to read, 3 to write,
 * 4 to read, each once the one before has asked. 4 may not overtake 3.
 */
static void ask_in_turn(u32 cpu, void *arg)
{
	if (cpu == 1) {
		write_lock(&rw);
		WRITE_ONCE(turn, 2);
		while (READ_ONCE(turn) != 5)
			cpu_relax();
		/* The last one to ask has its ticket when the count has moved. */
		while (READ_ONCE(rw.asked) != 0x20002)
			cpu_relax();
		append('w');
		write_unlock(&rw);
		return;
	}
	while (READ_ONCE(turn) != cpu)
		cpu_relax();
	WRITE_ONCE(turn, 100 + cpu);
	if (cpu == 3) {
		write_lock(&rw);
		append('W');
		write_unlock(&rw);
	} else {
		read_lock(&rw);
		if (cpu == 4)
			append('r');
		read_unlock(&rw);
	}
}

static void drive_turns(u32 cpu, void *arg)
{
	if (cpu <= 4) {
		ask_in_turn(cpu, arg);
		return;
	}
	for (u32 next = 3; next <= 5; next++) {
		u32 want[] = { 0x10001, 0x10002, 0x20002 };

		/* The one before has announced itself and then really asked. */
		while (READ_ONCE(turn) != 99 + next || READ_ONCE(rw.asked) != want[next - 3])
			cpu_relax();
		WRITE_ONCE(turn, next);
	}
}

static void nobody_overtakes(void **state)
{
	rw = (rwlock_t)RWLOCK_INIT("test_rw");
	memset(history, 0, sizeof(history));
	turn = 0;
	host_on_cpus(5, drive_turns, NULL);
	assert_string_equal(history, "wWr");
}

/* --- Counters ----------------------------------------------------------------------------------- */

static bool sum_sites(const struct lock_site *site, const struct lock_count *c, void *arg)
{
	if (!strcmp(site->lock, "&lock"))
		*(u64 *)arg += c->acquired;
	return true;
}

static bool stop_at_once(const struct lock_site *site, const struct lock_count *c, void *arg)
{
	++*(u32 *)arg;
	return false;
}

static void counters_on_demand(void **state)
{
	u64 walked = 0;
	u32 n = 0;

	lock_stats_reset();
	lock_stats_enabled = false;
	add_locked(0, NULL);
	assert_int_equal(lock_stats_sum(NULL).acquired, 0);
	lock_stats_enabled = true;
	add_locked(0, NULL);
	spin_lock(&lock);
	spin_unlock(&lock);
	assert_int_equal(lock_stats_sum("&lock").acquired, ROUNDS + 1);
	assert_int_equal(lock_stats_sum("&lock").contended, 0);
	assert_int_equal(lock_stats_sum("&no_such").acquired, 0);
	lock_stats_walk(sum_sites, &walked);
	assert_int_equal(walked, ROUNDS + 1);
	lock_stats_walk(stop_at_once, &n);
	assert_int_equal(n, 1);
}

static u32 stage;

static void hold_or_wait(u32 cpu, void *arg)
{
	if (cpu == 1) {
		spin_lock(&lock);
		WRITE_ONCE(stage, 1);
		while (READ_ONCE(lock.next) - READ_ONCE(lock.owner) != 2)
			cpu_relax();
		for (int i = 0; i < 100; i++)
			cpu_relax();
		spin_unlock(&lock);
		return;
	}
	while (!READ_ONCE(stage))
		cpu_relax();
	spin_lock(&lock);
	spin_unlock(&lock);
}

static void contention_is_seen(void **state)
{
	struct lock_count c;

	lock_stats_reset();
	stage = 0;
	host_on_cpus(2, hold_or_wait, NULL);
	c = lock_stats_sum("&lock");
	assert_int_equal(c.acquired, 2);
	assert_int_equal(c.contended, 1);
	assert_true(c.spins >= 1);
}

static int setup(void **state)
{
	host_group_setup(state);
	assert_int_equal(lock_stats_init(), 0);
	assert_int_equal(lock_stats_init(), 0); /* a second time is harmless */
	lock_stats_enabled = true;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spinlock_excludes),	 cmocka_unit_test(trylock_excludes),
		cmocka_unit_test(spinlock_wraps),	 cmocka_unit_test(rwlock_excludes),
		cmocka_unit_test(rwlock_wraps),		 cmocka_unit_test(readers_share),
		cmocka_unit_test(writer_is_not_starved), cmocka_unit_test(nobody_overtakes),
		cmocka_unit_test(counters_on_demand),	 cmocka_unit_test(contention_is_seen),
	};

	return cmocka_run_group_tests_name("lock", tests, setup, NULL);
}
