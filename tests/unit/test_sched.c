/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler on threads: fairness, blocking and waking, moving and removing, and storms in which a
 * single lost wake-up would hang the test (its time limit then fails it).
 */
#include "host.h"

#include <string.h>

#include <cupel/abi.h>
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/percpu.h>
#include <cupel/sched.h>
#include <cupel/smp.h>
#include <cupel/vm.h>

#include "../../core/core.h"

#define CPUS 5

static struct vm *vm;

/* Of each guest, by vCPU. */
static struct {
	u64 count, limit; /* what it did, and how often it is to */
	u64 taken; /* posts that it took */
	u32 seen_on; /* bits: CPUs it ran on */
} guest[32];

static void poke_main(struct vm *v)
{
	sched_poke(0);
}

static bool stopped(void *arg)
{
	return !vm_running(vm);
}

static void make(u32 vcpus, int (*fn)(struct vcpu *v), const u16 *pin, u32 nr_pin)
{
	struct vm_config c = { .name = "test", .memory = MIB(1), .vcpus = vcpus, .nr_pin = nr_pin };
	const char *why;
	int err;

	if (nr_pin)
		memcpy(c.pin, pin, nr_pin * sizeof(*pin));
	memset(guest, 0, sizeof(guest));
	host_guest = fn;
	vm = vm_create(&c, NULL, 0, &err, &why);
	assert_non_null(vm);
	vm->on_stop = poke_main;
}

static void power_on_all(void)
{
	for (u32 i = 1; i < vm->nr_vcpus; i++)
		assert_int_equal(vcpu_power_on(vm->vcpu[i]), 0);
}

/* After this nobody else touches what the guests wrote. */
static void take_off(void)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		sched_remove(vm->vcpu[i]);
}

static void run_until_stopped(void)
{
	sched_loop_until(stopped, NULL);
	take_off();
}

static void finish(void)
{
	take_off();
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		assert_int_not_equal(vm->vcpu[i]->run_state, VCPU_RUNNING);
		assert_int_equal(vm->vcpu[i]->cpu, -1);
		assert_int_equal(vm->vcpu[i]->arch.puts, vm->vcpu[i]->loads);
	}
	vm_destroy(vm);
}

static void run_to_end(void)
{
	run_until_stopped();
	finish();
}

/* What the guest of vCPU v does this time: ends the VM when all have done enough. */
static int end_if_all_done(int otherwise)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		if (READ_ONCE(guest[i].count) < READ_ONCE(guest[i].limit))
			return otherwise;
	}
	vm_stop(vm, 0, "done");
	return VCPU_EXIT_RESUME; /* the request to stop is there already */
}

static void did(struct vcpu *v)
{
	WRITE_ONCE(guest[v->id].count, guest[v->id].count + 1);
	WRITE_ONCE(guest[v->id].seen_on, guest[v->id].seen_on | BIT32(cpu_id()));
}

/* --- Taking turns ------------------------------------------------------------------------------- */

static int count_and_yield(struct vcpu *v)
{
	did(v);
	return end_if_all_done(VCPU_EXIT_YIELD);
}

static void one_runs_and_stops(void **state)
{
	make(1, count_and_yield, NULL, 0);
	guest[0].limit = 100;
	vm_start(vm);
	run_until_stopped();
	assert_int_equal(guest[0].count, 100);
	assert_int_equal(vm->vcpu[0]->loads, 100);
	assert_int_equal(vm->exit_code, 0);
	assert_string_equal(vm->stop_reason, "done");
	finish();
}

static void yielding_alternates(void **state)
{
	const u16 pin[] = { 2 };

	make(3, count_and_yield, pin, 1);
	for (int i = 0; i < 3; i++)
		guest[i].limit = 50;
	power_on_all();
	vm_start(vm);
	run_until_stopped();
	for (int i = 0; i < 3; i++) {
		/* The first may run before the others are there; then each in its turn. */
		assert_true(guest[i].count >= 49);
		assert_int_equal(guest[i].seen_on, BIT32(2));
	}
	finish();
}

static int burn(struct vcpu *v)
{
	u64 end = arch_counter() + 20000;

	while (arch_counter() < end && !host_kick_pending())
		;
	did(v);
	return VCPU_EXIT_RESUME;
}

static int burn_for_six_turns(struct vcpu *v)
{
	u64 least = UINT64_MAX;

	for (u32 i = 0; i < vm->nr_vcpus; i++)
		least = min(least, vm->vcpu[i]->loads);
	if (least < 6)
		return burn(v);
	vm_stop(vm, 0, "enough");
	return VCPU_EXIT_RESUME;
}

static void slices_are_shared(void **state)
{
	const u16 pin[] = { 0 };

	sched_slice_ns = 1000000;
	make(3, burn_for_six_turns, pin, 1);
	power_on_all();
	vm_start(vm);
	run_until_stopped();
	for (u32 i = 0; i < 3; i++)
		assert_in_range(vm->vcpu[i]->loads, 6, 8);
	finish();
}

static void time_is_up(struct soft_timer *t)
{
	vm_stop(vm, 0, "enough");
}

static struct soft_timer limit_timer = { .fn = time_is_up };

static void alone_keeps_its_cpu(void **state)
{
	const u16 pin[] = { 0 };

	make(1, burn, pin, 1);
	soft_timer_arm(&limit_timer, arch_counter() + 20000000);
	vm_start(vm);
	run_until_stopped();
	assert_in_range(vm->vcpu[0]->loads, 1, 2);
	finish();
}

static int block_or_burn(struct vcpu *v)
{
	return v->id ? VCPU_EXIT_BLOCK : burn(v);
}

/* The others of its queue are blocked: a slice that ends hands over to nobody. */
static void blocked_ones_cost_no_turns(void **state)
{
	const u16 pin[] = { 0 };

	make(3, block_or_burn, pin, 1);
	power_on_all();
	soft_timer_arm(&limit_timer, arch_counter() + 30000000);
	vm_start(vm);
	run_until_stopped();
	assert_in_range(vm->vcpu[0]->loads, 1, 6);
	finish();
	sched_slice_ns = 5000000;
}

/* --- Blocking and waking ------------------------------------------------------------------------ */

static void post(struct vcpu *to)
{
	atomic_fetch_add_relaxed(&to->arch.posted, 1);
	vcpu_request(to, VCPU_REQ_EVENT);
}

static u32 take(struct vcpu *v)
{
	return atomic_xchg_full(&v->arch.posted, 0U);
}

/* Wait for the ball, count, pass it on. */
static int ping_pong(struct vcpu *v)
{
	if (!take(v))
		return VCPU_EXIT_BLOCK;
	did(v);
	post(vm->vcpu[(v->id + 1) % vm->nr_vcpus]);
	return end_if_all_done(VCPU_EXIT_BLOCK);
}

static void play(u32 vcpus, const u16 *pin, u32 nr_pin, u64 rounds)
{
	make(vcpus, ping_pong, pin, nr_pin);
	for (u32 i = 0; i < vcpus; i++)
		guest[i].limit = rounds;
	power_on_all();
	vm_start(vm);
	post(vm->vcpu[0]);
	run_to_end();
}

static void no_wake_up_is_lost(void **state)
{
	const u16 two[] = { 1, 2 }, same[] = { 1 }, with_main[] = { 0, 1 };

	play(2, two, 2, 4000);
	play(2, same, 1, 4000);
	play(2, with_main, 2, 2000);
	play(7, two, 2, 1000);
}

/* Every vCPU throws at random others; each takes all that came, then blocks. Nothing may be left. */
static u64 thrown;
#define THROWS 30000

static int storm(struct vcpu *v)
{
	u32 n = take(v);

	did(v);
	guest[v->id].taken += n;
	for (; n; n--) {
		u64 seed = arch_counter() ^ v->id << 20 ^ guest[v->id].count << 8;

		if (atomic_fetch_add_relaxed(&thrown, 1UL) >= THROWS) {
			atomic_fetch_add_relaxed(&thrown, -1UL);
			vm_stop(vm, 0, "enough");
			return VCPU_EXIT_RESUME;
		}
		host_random(&seed);
		if (host_random(&seed) % 16 == 0)
			sched_migrate(v, (u32)(host_random(&seed) % CPUS));
		post(vm->vcpu[host_random(&seed) % vm->nr_vcpus]);
	}
	return VCPU_EXIT_BLOCK;
}

static void storm_with_moves(void **state)
{
	make(6, storm, NULL, 0);
	thrown = 0;
	power_on_all();
	vm_start(vm);
	for (u32 i = 0; i < 3; i++)
		post(vm->vcpu[i]);
	run_to_end();
	assert_int_equal(thrown, THROWS);
}

static int sleep_by_timer(struct vcpu *v)
{
	if (v->arch.deadline && v->arch.deadline > arch_counter())
		return VCPU_EXIT_BLOCK; /* woken for something else */
	did(v);
	v->arch.deadline = arch_counter() + 20000 * (1 + v->id);
	return end_if_all_done(VCPU_EXIT_BLOCK);
}

static void timers_wake(void **state)
{
	make(4, sleep_by_timer, NULL, 0);
	for (int i = 0; i < 4; i++)
		guest[i].limit = 100;
	power_on_all();
	vm_start(vm);
	run_to_end();
}

/* A move while it sleeps takes the timer along. */
static int sleep_once(struct vcpu *v)
{
	if (!v->arch.deadline) {
		v->arch.deadline = arch_counter() + 30000000;
		return VCPU_EXIT_BLOCK;
	}
	did(v);
	vm_stop(vm, 0, "woke up");
	return VCPU_EXIT_RESUME;
}

static void moved_asleep(void **state)
{
	const u16 pin[] = { 1 };

	make(1, sleep_once, pin, 1);
	vm_start(vm);
	while (READ_ONCE(vm->vcpu[0]->run_state) != VCPU_BLOCKED)
		cpu_relax();
	sched_migrate(vm->vcpu[0], 3);
	run_until_stopped();
	assert_int_equal(guest[0].seen_on, BIT32(3));
	finish();
}

/* A CPU that has vCPUs is not parked; one that is sent to a parked CPU goes to the boot CPU and stays there. */
static void parked_cpus_have_no_vcpus(void **state)
{
	const u16 pin[] = { 1 };

	make(1, sleep_once, pin, 1);
	vm_start(vm);
	while (READ_ONCE(vm->vcpu[0]->run_state) != VCPU_BLOCKED)
		cpu_relax();
	assert_int_equal(smp_park(1), -EBUSY);
	assert_int_equal(smp_park(3), 0);
	sched_migrate(vm->vcpu[0], 3);
	run_until_stopped();
	assert_int_equal(guest[0].seen_on, BIT32(0));
	assert_int_equal(vm->vcpu[0]->sched_cpu, -1);
	assert_int_equal(smp_park(1), 0);
	assert_int_equal(smp_unpark(1), 0);
	assert_int_equal(smp_unpark(3), 0);
	finish();
}

/* A request that ends no halt is served at the next entry and causes none. */
static int halt_for_good(struct vcpu *v)
{
	did(v);
	return VCPU_EXIT_BLOCK;
}

static void halted_stays_halted(void **state)
{
	const u16 pin[] = { 1 };
	struct vcpu *v;

	make(1, halt_for_good, pin, 1);
	v = vm->vcpu[0];
	vm_start(vm);
	for (int i = 0; i < 50; i++) {
		vcpu_request(v, VCPU_REQ_TLB);
		for (int j = 0; j < 50; j++)
			cpu_relax();
	}
	while (READ_ONCE(v->run_state) != VCPU_BLOCKED)
		cpu_relax();
	assert_int_equal(READ_ONCE(v->arch.enters), 1);
	post(v);
	while (READ_ONCE(v->arch.enters) == 1)
		cpu_relax();
	vm_stop(vm, 0, "seen");
	finish();
}

/* --- Requests, power, removal ------------------------------------------------------------------- */

static int spin_until_kicked(struct vcpu *v)
{
	did(v);
	while (!host_kick_pending())
		;
	return VCPU_EXIT_RESUME;
}

static void requests_reach_a_guest(void **state)
{
	const u16 pin[] = { 2 };
	struct vcpu *v;

	make(1, spin_until_kicked, pin, 1);
	v = vm->vcpu[0];
	vm_start(vm);
	for (u64 i = 1; i <= 200; i++) {
		while (READ_ONCE(guest[0].count) < i)
			cpu_relax();
		vcpu_request(v, VCPU_REQ_EVENT);
	}
	vm_stop(vm, -3, "code %d", -3);
	sched_remove(v);
	assert_int_equal(v->arch.served, VCPU_REQ_EVENT);
	assert_int_equal(vm->state, VM_CRASHED);
	assert_string_equal(vm->stop_reason, "code -3");
	/* STOP stays: it would come out again at once. */
	vcpu_load(v);
	assert_int_equal(vcpu_run(v), VCPU_EXIT_STOP);
	assert_int_equal(vcpu_run(v), VCPU_EXIT_STOP);
	vcpu_put(v);
	finish();
}

static int go_off(struct vcpu *v)
{
	did(v);
	return VCPU_EXIT_OFF;
}

static void power(void **state)
{
	make(2, go_off, NULL, 0);
	assert_int_equal(vcpu_power_on(vm->vcpu[1]), 0);
	assert_int_equal(vcpu_power_on(vm->vcpu[1]), -EBUSY);
	vm_start(vm);
	run_until_stopped();
	assert_string_equal(vm->stop_reason, "every vCPU is off");
	assert_int_equal(vm->state, VM_CRASHED);
	assert_int_equal(guest[1].count, 1);
	finish();
}

static void removed_while_running(void **state)
{
	make(4, burn, NULL, 0);
	power_on_all();
	vm_start(vm);
	for (u32 i = 1; i < 4; i++) {
		while (!READ_ONCE(guest[i].count))
			cpu_relax();
		sched_remove(vm->vcpu[i]);
		assert_int_equal(vm->vcpu[i]->cpu, -1);
		assert_int_equal(vm->vcpu[i]->run_state, VCPU_RUNNABLE);
		sched_remove(vm->vcpu[i]); /* a second time is harmless */
	}
	/* And back again, elsewhere. */
	sched_assign(vm->vcpu[1], 3);
	while (!(READ_ONCE(guest[1].seen_on) & BIT32(3)))
		cpu_relax();
	vm_stop(vm, 0, "enough");
	sched_remove(vm->vcpu[1]);
	finish();
}

static int wander(struct vcpu *v)
{
	enum vcpu_exit e = VCPU_EXIT_RESUME;

	did(v);
	assert_int_equal(hypercall(v, HC_MIGRATE, guest[v->id].count % 7, 0, 0, &e), 0);
	assert_int_equal(e, VCPU_EXIT_PREEMPT);
	return end_if_all_done(e);
}

static void guests_wander(void **state)
{
	make(4, wander, NULL, 0);
	for (int i = 0; i < 4; i++)
		guest[i].limit = 500;
	power_on_all();
	vm_start(vm);
	run_until_stopped();
	for (int i = 0; i < 4; i++)
		assert_int_equal(guest[i].seen_on, BIT32(CPUS) - 1);
	finish();
}

/* A CPU that only runs a guest still takes calls. */
static void answer(void *arg)
{
	WRITE_ONCE(*(u32 *)arg, cpu_id());
}

static void calls_interrupt_guests(void **state)
{
	const u16 pin[] = { 4 };

	make(1, spin_until_kicked, pin, 1);
	vm_start(vm);
	while (!READ_ONCE(guest[0].count))
		cpu_relax();
	for (int i = 0; i < 100; i++) {
		u32 where = 99;

		assert_int_equal(smp_call(4, answer, &where), 0);
		assert_int_equal(where, 4);
	}
	vm_stop(vm, 0, "enough");
	finish();
}

static int setup(void **state)
{
	host_setup(CPUS, MIB(32));
	smp_start_all();
	assert_int_equal(nr_cpus_online, CPUS);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_runs_and_stops),
		cmocka_unit_test(yielding_alternates),
		cmocka_unit_test(slices_are_shared),
		cmocka_unit_test(alone_keeps_its_cpu),
		cmocka_unit_test(blocked_ones_cost_no_turns),
		cmocka_unit_test(no_wake_up_is_lost),
		cmocka_unit_test(storm_with_moves),
		cmocka_unit_test(timers_wake),
		cmocka_unit_test(moved_asleep),
		cmocka_unit_test(parked_cpus_have_no_vcpus),
		cmocka_unit_test(halted_stays_halted),
		cmocka_unit_test(requests_reach_a_guest),
		cmocka_unit_test(power),
		cmocka_unit_test(removed_while_running),
		cmocka_unit_test(guests_wander),
		cmocka_unit_test(calls_interrupt_guests),
	};

	return cmocka_run_group_tests_name("sched", tests, setup, NULL);
}
