/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The store-buffering pairs of the scheduler and the run loop, each driven as a litmus test: two CPUs do
 * their halves at the same moment, many times with a little more delay each time, and after every
 * round one of them must have seen the other. A machine with store buffers, x86 included, shows the
 * wrong outcome within seconds when one of the full barriers is left out.
 */
#include "host.h"

#include <string.h>

/* For block(), which is private to it. */
#include "../../core/sched.c"

/* ROUNDS is given by tests.mk. */
#define TIME_LIMIT 1500000000UL /* ns; a busy host gets fewer rounds */

static struct vm test_vm;
static struct vcpu test_vcpu;

static struct {
	/* What each side does in a round, and what must hold after it; rounds count from 1. */
	void (*half[2])(u64 round);
	void (*reset)(void);
	bool (*lost)(void);
	u64 rounds, lost_in;
} race;

static u64 go __cacheline_aligned, arrived[2] __cacheline_aligned;
static bool over;

static void wait_for(const u64 *word, u64 value)
{
	for (u32 spins = 0; load_acquire(word) < value && !READ_ONCE(over); spins++) {
		/* The other thread may have no CPU of its own. */
		if (spins > 5000)
			cpu_relax();
	}
}

static void finish_round(u64 round)
{
	wait_for(&arrived[1], round);
	if (race.lost() && !race.lost_in)
		race.lost_in = round;
	race.rounds = round;
}

/* CPU 1 leads, CPU 2 follows. */
static void play(u32 cpu, void *arg)
{
	u32 side = cpu - 1;
	u64 end = arch_counter() + TIME_LIMIT;

	for (u64 round = 1; round <= ROUNDS && !READ_ONCE(over); round++) {
		if (!side) {
			race.reset();
			store_release(&go, round); /* pairs with the acquire in wait_for() */
		} else {
			wait_for(&go, round);
		}
		for (u64 i = (side ? round : round / 64) % 64; i; i--)
			barrier();
		race.half[side](round);
		store_release(&arrived[side], round); /* as above */
		if (side)
			continue;
		finish_round(round);
		if (race.lost_in || (round % 256 == 0 && arch_counter() > end))
			WRITE_ONCE(over, true);
	}
	WRITE_ONCE(over, true);
}

static void run_race(void)
{
	go = arrived[0] = arrived[1] = 0;
	over = false;
	race.rounds = race.lost_in = 0;
	host_on_cpus(2, play, NULL);
	if (race.lost_in)
		fail_msg("lost in round %lu", race.lost_in);
	assert_true(race.rounds > 0);
}

static void make_vcpu(int (*guest)(struct vcpu *v))
{
	memset(&test_vcpu, 0, sizeof(test_vcpu));
	test_vcpu.vm = &test_vm;
	test_vcpu.cpu = -1;
	test_vcpu.sched_cpu = -1;
	test_vcpu.arch.guest = guest;
}

/* --- Blocking against waking -------------------------------------------------------------------- */

static void about_to_block(void)
{
	WRITE_ONCE(test_vcpu.arch.posted, 0);
	WRITE_ONCE(test_vcpu.run_state, VCPU_RUNNING);
}

static void go_to_sleep(u64 round)
{
	block(&test_vcpu);
}

static void post_and_wake(u64 round)
{
	WRITE_ONCE(test_vcpu.arch.posted, 1);
	vcpu_wake(&test_vcpu);
}

static bool sleeps_with_a_post(void)
{
	return READ_ONCE(test_vcpu.run_state) == VCPU_BLOCKED;
}

static void block_against_wake(void **state)
{
	make_vcpu(NULL);
	race.half[0] = go_to_sleep;
	race.half[1] = post_and_wake;
	race.reset = about_to_block;
	race.lost = sleeps_with_a_post;
	run_race();
}

/* The same with a request for its reason. */
static void stop_it(u64 round)
{
	vcpu_request(&test_vcpu, VCPU_REQ_STOP);
}

static void no_request_yet(void)
{
	WRITE_ONCE(test_vcpu.requests, 0);
	WRITE_ONCE(test_vcpu.run_state, VCPU_RUNNING);
}

static void block_against_request(void **state)
{
	make_vcpu(NULL);
	race.half[0] = go_to_sleep;
	race.half[1] = stop_it;
	race.reset = no_request_yet;
	race.lost = sleeps_with_a_post;
	run_race();
}

/* --- Entering against requesting ---------------------------------------------------------------- */

static u32 kicks_before;
static u64 this_round;
static bool unasked;

/*
 * In guest mode until the request has been made: it was either seen before entry, and served, or a kick
 * has been sent. Neither: the guest would run on for ever.
 */
static int stay_a_while(struct vcpu *v)
{
	wait_for(&arrived[1], this_round);
	unasked = READ_ONCE(v->requests) && host_kicks(1) == kicks_before;
	return VCPU_EXIT_LEAVE;
}

static void outside(void)
{
	WRITE_ONCE(test_vcpu.requests, 0);
	kicks_before = host_kicks(1);
	unasked = false;
}

static void enter(u64 round)
{
	this_round = round;
	vcpu_load(&test_vcpu);
	(void)vcpu_run(&test_vcpu);
	vcpu_put(&test_vcpu);
}

static void request(u64 round)
{
	vcpu_request(&test_vcpu, VCPU_REQ_TLB);
}

static bool entered_unasked(void)
{
	return unasked;
}

static void enter_against_request(void **state)
{
	make_vcpu(stay_a_while);
	race.half[0] = enter;
	race.half[1] = request;
	race.reset = outside;
	race.lost = entered_unasked;
	run_race();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(block_against_wake),
		cmocka_unit_test(block_against_request),
		cmocka_unit_test(enter_against_request),
	};

	return cmocka_run_group_tests_name("race", tests, host_group_setup, NULL);
}
