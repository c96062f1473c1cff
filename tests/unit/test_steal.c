/* SPDX-License-Identifier: GPL-2.0-only */
/* The account of stolen time, on a clock that stands still but for what guests and tests let pass. */
#include "host.h"

#include <cupel/errno.h>
#include <cupel/sched.h>
#include <cupel/smp.h>
#include <cupel/steal.h>
#include <cupel/vm.h>

#define STAY 1000 /* ns of each stay in guest mode */

static struct vm *vm;
static u64 now;

static void pass(u64 ns)
{
	now += ns;
	host_set_time(now);
}

static int use_and_yield(struct vcpu *v)
{
	pass(STAY);
	return VCPU_EXIT_YIELD;
}

static int use_and_block(struct vcpu *v)
{
	pass(STAY);
	atomic_xchg_acquire(&v->arch.posted, 0);
	return VCPU_EXIT_BLOCK;
}

static int use_and_go_off(struct vcpu *v)
{
	pass(STAY);
	return VCPU_EXIT_OFF;
}

/* vCPUs that all live on CPU 0, none of them off. */
static void make(u32 vcpus, int (*fn)(struct vcpu *v))
{
	struct vm_config c = { .name = "test", .memory = MIB(1), .vcpus = vcpus, .nr_pin = 1 };
	const char *why;
	int err;

	host_guest = fn;
	vm = vm_create(&c, NULL, 0, &err, &why);
	assert_non_null(vm);
	for (u32 i = 0; i < vcpus; i++)
		vm->vcpu[i]->steal.on = true;
	vm_start(vm);
	for (u32 i = 1; i < vcpus; i++)
		assert_int_equal(vcpu_power_on(vm->vcpu[i]), 0);
}

static void turns(u32 n)
{
	while (n--)
		sched_turn();
}

static void finish(void)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		sched_remove(vm->vcpu[i]);
	vm_destroy(vm);
}

static u64 stolen(u32 vcpu)
{
	return steal_ns(vm->vcpu[vcpu]);
}

static void those_who_wait_are_stolen_from(void **state)
{
	make(3, use_and_yield);
	turns(1 + 3 * 10);
	/* Nine full rounds of waiting for two others, and the start in line. */
	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(stolen(i), 9 * 2 * STAY + i * STAY);
		assert_int_equal(vm->vcpu[i]->arch.stolen, stolen(i));
		assert_int_equal(vm->vcpu[i]->loads, 10);
	}
	finish();
}

static int is_told_and_yield(struct vcpu *v)
{
	assert_int_equal(v->arch.stolen, steal_ns(v));
	return use_and_yield(v);
}

/* The guest never runs on an old figure. */
static void told_before_it_runs(void **state)
{
	make(2, is_told_and_yield);
	turns(1 + 8);
	assert_int_equal(stolen(0), 3 * STAY);
	finish();
}

static void alone_nothing_is_stolen(void **state)
{
	make(1, use_and_yield);
	turns(20);
	assert_int_equal(stolen(0), 0);
	assert_int_equal(vm->vcpu[0]->arch.records, 0);
	finish();
}

static void sleep_is_not_stolen(void **state)
{
	struct vcpu *v;

	make(1, use_and_block);
	v = vm->vcpu[0];
	turns(2);
	assert_int_equal(v->run_state, VCPU_BLOCKED);
	pass(50000);
	WRITE_ONCE(v->arch.posted, 1);
	vcpu_wake(v);
	pass(300); /* the CPU has other things to do */
	steal_runnable(v); /* somebody else, who saw it blocked as well */
	pass(50);
	turns(1);
	assert_int_equal(v->loads, 2);
	assert_int_equal(stolen(0), 350);
	finish();
}

static void being_off_is_not_stolen(void **state)
{
	make(2, use_and_go_off);
	vm->vcpu[1]->arch.guest = use_and_yield;
	turns(3);
	assert_int_equal(vm->vcpu[0]->run_state, VCPU_OFF);
	pass(50000);
	assert_int_equal(vcpu_power_on(vm->vcpu[0]), 0);
	assert_int_equal(vcpu_power_on(vm->vcpu[0]), -EBUSY);
	pass(70);
	turns(2);
	assert_int_equal(vm->vcpu[0]->loads, 2);
	assert_in_range(stolen(0), 70, 70 + STAY);
	finish();
}

/* The guest's page is out of reach: nothing is forgotten, and it is told as soon as it can be. */
static void what_could_not_be_written_is_caught_up(void **state)
{
	struct vcpu *v;

	make(1, use_and_yield);
	v = vm->vcpu[0];
	turns(2);
	pass(100);
	v->arch.no_record = true;
	turns(1);
	pass(20);
	turns(1);
	assert_int_equal(v->arch.records, 0);
	assert_true(v->steal.behind);
	v->arch.no_record = false;
	turns(1); /* nothing was stolen since */
	assert_int_equal(v->arch.stolen, 120);
	assert_false(v->steal.behind);
	turns(1);
	assert_int_equal(v->arch.records, 1);
	finish();
}

static void preempted_means_runnable(void **state)
{
	make(2, use_and_yield);
	vm->vcpu[1]->arch.guest = use_and_block;
	turns(1 + 6);
	assert_int_equal(vm->vcpu[0]->arch.preempted, vm->vcpu[0]->loads);
	assert_int_equal(vm->vcpu[1]->arch.preempted, 0);
	finish();
}

static void nobody_asks_nothing_is_kept(void **state)
{
	make(2, use_and_yield);
	vm->vcpu[1]->steal.on = false;
	turns(9);
	assert_true(stolen(0));
	assert_int_equal(stolen(1), 0);
	/* Asked at last: what went before does not count. */
	vm->vcpu[1]->steal.on = true;
	vm->vcpu[1]->runnable_since = 0;
	turns(2);
	assert_in_range(stolen(1), 0, STAY);
	finish();
}

/* Counters of two CPUs need not agree to the tick. */
static void a_clock_behind_steals_nothing(void **state)
{
	make(1, use_and_yield);
	turns(2);
	now -= 300;
	pass(0);
	turns(1);
	assert_int_equal(stolen(0), 0);
	finish();
}

/* A waker that was held up over a whole stay finds another stay's word, and leaves it. */
static void a_late_waker_counts_nothing(void **state)
{
	u64 before;

	make(1, use_and_block);
	turns(2);
	before = vm->vcpu[0]->runnable_since;
	WRITE_ONCE(vm->vcpu[0]->arch.posted, 1);
	vcpu_wake(vm->vcpu[0]);
	turns(1);
	assert_int_equal(vm->vcpu[0]->run_state, VCPU_BLOCKED);
	assert_int_not_equal(vm->vcpu[0]->runnable_since, before);
	finish();
}

static int setup(void **state)
{
	host_setup(1, MIB(16));
	smp_start_all();
	now = NSEC_PER_SEC;
	host_set_time(now);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_who_wait_are_stolen_from),
		cmocka_unit_test(told_before_it_runs),
		cmocka_unit_test(alone_nothing_is_stolen),
		cmocka_unit_test(sleep_is_not_stolen),
		cmocka_unit_test(being_off_is_not_stolen),
		cmocka_unit_test(what_could_not_be_written_is_caught_up),
		cmocka_unit_test(preempted_means_runnable),
		cmocka_unit_test(nobody_asks_nothing_is_kept),
		cmocka_unit_test(a_clock_behind_steals_nothing),
		cmocka_unit_test(a_late_waker_counts_nothing),
	};

	return cmocka_run_group_tests_name("steal", tests, setup, NULL);
}
