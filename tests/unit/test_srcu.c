/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SRCU on the host, with threads for CPUs. What a grace period promises is checked by what readers see: an
 * object taken away before it must not be in anybody's hands after it. Every test runs over the
 * counters' wrap, since srcu_init() starts them just below it.
 */
#include "host.h"

#include <string.h>

#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/srcu.h>

static struct srcu domain;

#define TARGETED NR_SRCU_WAITS
#define NR_WAYS	 (NR_SRCU_WAITS + 1)

static u64 everybody[NR_CPUS / 64];

static void wait_readers(u32 way)
{
	if (way == TARGETED)
		srcu_wait_for_cpus(&domain, everybody);
	else
		srcu_synchronize(&domain, (enum srcu_wait)way);
}

static int setup(void **state)
{
	memset(everybody, 0xff, sizeof(everybody));
	for (u32 i = 0; i < platform.nr_cpus; i++)
		platform.cpus[i].online = true;
	return srcu_init(&domain, "test");
}

static int teardown(void **state)
{
	srcu_destroy(&domain);
	return 0;
}

/* --- One thread --------------------------------------------------------------------------------- */

static void nothing_to_wait_for(void **state)
{
	for (u32 round = 0; round < 20; round++) {
		for (u32 way = 0; way < NR_WAYS; way++)
			wait_readers(way);
	}
	assert_true(srcu_no_readers(&domain));
	assert_int_equal(srcu_counts(&domain).waits, 20 * NR_WAYS);
	assert_int_equal(srcu_counts(&domain).fast, 20);
	assert_int_equal(srcu_counts(&domain).flips, 40);
	assert_int_equal(srcu_counts(&domain).shared, 0);
	assert_int_equal(srcu_counts(&domain).targets, 20 * platform.nr_cpus);
}

static void sections_nest(void **state)
{
	for (u32 i = 0; i < 20; i++) {
		srcu_token_t a = srcu_read_lock(&domain), b = srcu_read_lock(&domain);

		assert_false(srcu_no_readers(&domain));
		srcu_read_unlock(&domain, a);
		assert_false(srcu_no_readers(&domain));
		srcu_read_unlock(&domain, b);
		assert_true(srcu_no_readers(&domain));
	}
}

static void cookies(void **state)
{
	u64 cookie = srcu_cookie(&domain), later;

	assert_false(srcu_done(&domain, cookie));
	srcu_synchronize(&domain, SRCU_ATOMIC);
	assert_true(srcu_done(&domain, cookie));
	later = srcu_cookie(&domain);
	assert_true(later > cookie);
	assert_false(srcu_done(&domain, later));
	srcu_synchronize(&domain, SRCU_EXPEDITED);
	assert_true(srcu_done(&domain, later));
}

/* The counters start below their wrap, and end beyond it. */
static void counters_wrap(void **state)
{
	const struct srcu_cpu *c = &domain.cpu[0];

	assert_true(c->begun[0] > ~0UL - 8 && c->ended[1] > ~0UL - 8);
	for (u32 i = 0; i < 40; i++) {
		srcu_token_t t = srcu_read_lock(&domain);

		assert_false(srcu_no_readers(&domain));
		srcu_read_unlock(&domain, t);
		wait_readers(i % NR_WAYS);
	}
	assert_true(c->begun[0] < 40 && c->begun[1] < 40 && c->begun[0] + c->begun[1] > 25);
}

/* --- Who waits for whom ------------------------------------------------------------------------- */

#define MS 1000000UL

static struct {
	u32 way, inside, leave, done;
} one;

/* CPU 1 stays in a section until told; CPU 2 waits for it; CPU 3 looks on. */
static void one_waits(u32 cpu, void *arg)
{
	u64 start = arch_counter();
	srcu_token_t t;

	if (cpu == 1) {
		t = srcu_read_lock(&domain);
		store_release(&one.inside, 1U);
		while (!load_acquire(&one.leave))
			cpu_relax();
		assert_false(load_acquire(&one.done));
		srcu_read_unlock(&domain, t);
		return;
	}
	while (!load_acquire(&one.inside))
		cpu_relax();
	if (cpu == 2) {
		wait_readers(one.way);
		assert_true(load_acquire(&one.leave));
		store_release(&one.done, 1U);
		return;
	}
	while (arch_counter() - start < 20 * MS)
		cpu_relax();
	store_release(&one.leave, 1U);
}

static void each_way_waits(void **state)
{
	for (u32 way = 0; way < NR_WAYS; way++) {
		memset(&one, 0, sizeof(one));
		one.way = way;
		host_on_cpus(3, one_waits, NULL);
		assert_true(one.done);
	}
}

/* CPUs outside the mask may stay inside for ever. */
static void others_are_not_waited_for(void **state)
{
	srcu_token_t t = srcu_read_lock(&domain);
	u64 mask[NR_CPUS / 64] = { ~1UL };
	u64 before = srcu_counts(&domain).scans;

	for (u32 i = 0; i < 100; i++)
		srcu_wait_for_cpus(&domain, mask);
	mask[0] = 0;
	srcu_wait_for_cpus(&domain, mask);
	assert_int_equal(srcu_counts(&domain).scans, before);
	assert_false(srcu_no_readers(&domain));
	srcu_read_unlock(&domain, t);
	srcu_wait_for_cpus(&domain, everybody);
}

/* --- Ended elsewhere ---------------------------------------------------------------------------- */

static srcu_token_t left_behind;

static void end_it(u32 cpu, void *arg)
{
	if (cpu == 2)
		srcu_read_unlock(&domain, left_behind);
}

static void ended_on_another_cpu(void **state)
{
	for (u32 i = 0; i < 20; i++) {
		left_behind = srcu_read_lock(&domain);
		assert_false(srcu_no_readers(&domain));
		host_on_cpus(2, end_it, NULL);
		assert_true(srcu_no_readers(&domain));
		for (u32 way = 0; way < NR_WAYS; way++)
			wait_readers(way);
	}
	assert_int_equal(domain.cpu[0].away[0] + domain.cpu[0].away[1], 20);
}

/* --- Parked CPUs -------------------------------------------------------------------------------- */

static void begin_on_it(u32 cpu, void *arg)
{
	if (cpu == 3)
		left_behind = srcu_read_lock(&domain);
}

static void end_it_later(u32 cpu, void *arg)
{
	u64 start = arch_counter();

	if (cpu == 1) {
		wait_readers(one.way);
		store_release(&one.done, 1U);
		return;
	}
	while (arch_counter() - start < 20 * MS)
		cpu_relax();
	assert_false(load_acquire(&one.done));
	srcu_read_unlock(&domain, left_behind);
}

/* What a CPU began before it was parked counts, whoever ends it. */
static void parked_cpus_count(void **state)
{
	for (u32 way = 0; way < NR_WAYS; way++) {
		one.way = way;
		one.done = 0;
		host_on_cpus(3, begin_on_it, NULL);
		platform.cpus[3].online = false;
		assert_false(srcu_no_readers(&domain));
		host_on_cpus(2, end_it_later, NULL);
		assert_true(srcu_no_readers(&domain));
		platform.cpus[3].online = true;
	}
}

/* --- Interrupts --------------------------------------------------------------------------------- */

struct ticker {
	struct soft_timer timer;
	u64 reads;
};

static void read_in_timer(struct soft_timer *timer)
{
	struct ticker *t = container_of(timer, struct ticker, timer);
	srcu_token_t a = srcu_read_lock(&domain), b = srcu_read_lock(&domain);

	t->reads++;
	srcu_read_unlock(&domain, a);
	srcu_read_unlock(&domain, b);
	soft_timer_arm(timer, arch_counter() + 1000);
}

static void read_and_wait(u32 cpu, void *arg)
{
	struct ticker t = { { .fn = read_in_timer }, 0 };

	soft_timer_arm(&t.timer, arch_counter());
	for (u32 i = 0; i < 2000 || !t.reads; i++) {
		srcu_token_t token = srcu_read_lock(&domain);

		cpu_relax(); /* where an interrupt comes in */
		srcu_read_unlock(&domain, token);
		if (cpu == 1)
			wait_readers(i % NR_WAYS);
	}
	soft_timer_cancel(&t.timer);
}

static void readers_in_interrupts(void **state)
{
	host_on_cpus(3, read_and_wait, NULL);
	assert_true(srcu_no_readers(&domain));
}

static void interrupt_state_is_kept(void **state)
{
	for (u32 way = 0; way < NR_WAYS; way++) {
		unsigned long flags;

		wait_readers(way);
		assert_true(arch_irqs_enabled());
		flags = arch_irq_save();
		wait_readers(way);
		assert_false(arch_irqs_enabled());
		arch_irq_restore(flags);
	}
}

static bool ticked;

static void note_tick(struct soft_timer *timer)
{
	WRITE_ONCE(ticked, true);
}

/* CPU 1's section ends when CPU 2 has taken an interrupt, which it must while it waits. */
static void until_it_ticked(u32 cpu, void *arg)
{
	struct soft_timer timer = { .fn = note_tick };
	srcu_token_t t;

	if (cpu == 1) {
		t = srcu_read_lock(&domain);
		store_release(&one.inside, 1U);
		while (!READ_ONCE(ticked))
			cpu_relax();
		srcu_read_unlock(&domain, t);
		return;
	}
	while (!load_acquire(&one.inside))
		cpu_relax();
	soft_timer_arm(&timer, arch_counter() + 5 * MS);
	wait_readers(one.way);
}

static void who_spins_takes_interrupts(void **state)
{
	for (u32 way = 0; way < NR_WAYS; way++) {
		memset(&one, 0, sizeof(one));
		one.way = way;
		ticked = false;
		host_on_cpus(2, until_it_ticked, NULL);
	}
}

/* --- Sharing ------------------------------------------------------------------------------------ */

#define UPDATERS 4

static u32 ready;

/* All wait while a section is open: when it ends, few grace periods end all waits. */
static void wait_together(u32 cpu, void *arg)
{
	srcu_token_t t;

	if (cpu > UPDATERS) {
		t = srcu_read_lock(&domain);
		store_release(&one.inside, 1U);
		while (load_acquire(&ready) < UPDATERS)
			cpu_relax();
		for (u64 start = arch_counter(); arch_counter() - start < 10 * MS;)
			cpu_relax();
		srcu_read_unlock(&domain, t);
		return;
	}
	while (!load_acquire(&one.inside))
		cpu_relax();
	atomic_fetch_add_release(&ready, 1U);
	srcu_synchronize(&domain, SRCU_ATOMIC);
}

static void updaters_share(void **state)
{
	u64 shared = 0;

	for (u32 i = 0; i < 20; i++) {
		u64 before = domain.seq / 2;

		one.inside = ready = 0;
		host_on_cpus(UPDATERS + 1, wait_together, NULL);
		/* One that was under way, one for all that came later. */
		assert_in_range(domain.seq / 2 - before, 1, UPDATERS);
		shared += UPDATERS - (domain.seq / 2 - before);
	}
	assert_true(shared >= 20);
	assert_int_equal(srcu_counts(&domain).shared, shared);
}

/* --- Forward progress --------------------------------------------------------------------------- */

static void read_for_ever(u32 cpu, void *arg)
{
	srcu_token_t last, next;

	if (cpu == 1) {
		while (load_acquire(&ready) < 2)
			cpu_relax();
		for (u32 i = 0; i < 5 * NR_WAYS; i++)
			wait_readers(i % NR_WAYS);
		store_release(&one.leave, 1U);
		return;
	}
	last = srcu_read_lock(&domain);
	atomic_fetch_add_release(&ready, 1U);
	while (!load_acquire(&one.leave)) {
		next = srcu_read_lock(&domain);
		srcu_read_unlock(&domain, last);
		last = next;
	}
	srcu_read_unlock(&domain, last);
}

/* No look finds CPUs 2 and 3 without a reader: only a turn of the index ends the waits. */
static void readers_without_end(void **state)
{
	one.leave = ready = 0;
	host_on_cpus(3, read_for_ever, NULL);
	assert_true(srcu_counts(&domain).flips >= (u64)5 * NR_WAYS);
	assert_int_equal(srcu_counts(&domain).fast, 0);
}

/* --- Two threads, store buffering --------------------------------------------------------------- */

#define ROUNDS 3000

static u32 taken[2] __cacheline_aligned, turn[2] __cacheline_aligned;
static u32 met;

/*
 * Round after round: CPU 1 begins a section and looks, CPU 2 takes away and waits. A section that found it
 * must have ended.
 */
static void litmus(u32 cpu, void *arg)
{
	for (u32 round = 1; round <= ROUNDS; round++) {
		u32 self = cpu - 1;

		store_release(&turn[self], round);
		for (u32 spins = 0; load_acquire(&turn[!self]) < round; spins++) {
			if (spins > 2000)
				cpu_relax();
		}
		for (u32 i = self ? round % 64 : round / 64 % 64; i; i--)
			barrier();
		if (cpu == 1) {
			srcu_token_t t = srcu_read_lock(&domain);

			if (READ_ONCE(taken[0]) < round) {
				WRITE_ONCE(taken[1], round);
				met++;
				barrier();
				WRITE_ONCE(taken[1], 0);
			}
			srcu_read_unlock(&domain, t);
		} else {
			WRITE_ONCE(taken[0], round);
			wait_readers(round % NR_WAYS);
			if (READ_ONCE(taken[1]) == round)
				fail_msg("round %u: it is still in use", round);
		}
	}
}

static void store_buffering(void **state)
{
	memset(taken, 0, sizeof(taken));
	memset(turn, 0, sizeof(turn));
	host_on_cpus(2, litmus, NULL);
	assert_true(met > 0);
}

/* --- What debug builds refuse, and what is reported --------------------------------------------- */

static void wait_inside(void *arg)
{
	srcu_stall_ns = MS;
	srcu_read_lock(&domain);
	srcu_synchronize(&domain, SRCU_ATOMIC);
}

static void wait_in_interrupt(struct soft_timer *timer)
{
	srcu_synchronize(&domain, SRCU_ATOMIC);
}

static void tick_and_wait(void *arg)
{
	struct soft_timer timer = { .fn = wait_in_interrupt };

	soft_timer_arm(&timer, arch_counter());
	for (;;)
		cpu_relax();
}

static void misuse_is_told(void **state)
{
	assert_int_equal(host_dies(wait_inside, NULL), 3);
	assert_non_null(
		strstr(host_last_words(), "srcu test: CPU 0 waits for a read section of its own"));
	assert_int_equal(host_dies(tick_and_wait, NULL), 3);
	assert_non_null(strstr(host_last_words(),
			       "srcu test: CPU 0 waits for readers in an interrupt handler"));
}

static u32 lines;

static void count_line(struct console *c, char ch)
{
	if (ch == '\n')
		atomic_fetch_add_release(&lines, 1U);
}

static struct console line_counter = { .name = "lines", .putc = count_line };

/* CPU 1 lets CPU 2 wait until that has complained. */
static void stall(u32 cpu, void *arg)
{
	srcu_token_t t;

	if (cpu == 1) {
		t = srcu_read_lock(&domain);
		store_release(&one.inside, 1U);
		while (!load_acquire(&lines))
			cpu_relax();
		srcu_read_unlock(&domain, t);
		return;
	}
	while (!load_acquire(&one.inside))
		cpu_relax();
	wait_readers(one.way);
}

static void stalls_are_reported(void **state)
{
	u64 before = srcu_stall_ns;

	console_register(&line_counter);
	srcu_stall_ns = MS;
	for (u32 way = 0; way < NR_WAYS; way++) {
		memset(&one, 0, sizeof(one));
		one.way = way;
		host_console_clear();
		lines = 0;
		host_on_cpus(2, stall, NULL);
		assert_non_null(strstr(host_console(), "srcu test: CPU 2 has been waiting for "));
		assert_non_null(strstr(host_console(), "; a section of CPU 1 has not ended\n"));
	}
	srcu_stall_ns = before;
}

static void no_memory(void **state)
{
	u32 before = platform.nr_cpus;
	struct srcu s;

	platform.nr_cpus = 1U << 24;
	assert_int_equal(srcu_init(&s, "too large"), -ENOMEM);
	platform.nr_cpus = before;
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_to_wait_for),
		TEST(sections_nest),
		TEST(cookies),
		TEST(counters_wrap),
		TEST(each_way_waits),
		TEST(others_are_not_waited_for),
		TEST(ended_on_another_cpu),
		TEST(parked_cpus_count),
		TEST(readers_in_interrupts),
		TEST(interrupt_state_is_kept),
		TEST(who_spins_takes_interrupts),
		TEST(updaters_share),
		TEST(readers_without_end),
		TEST(store_buffering),
		TEST(misuse_is_told),
		TEST(stalls_are_reported),
		TEST(no_memory),
	};

	return cmocka_run_group_tests_name("srcu", tests, host_group_setup, NULL);
}
