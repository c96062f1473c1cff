/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A 2-level delivery on the weak machine (weak.h) against the guest's upcall, its unmasking and a poller, run
 * after run with another seed: an event is seen, with the data it was sent for, or its vCPU has been told.
 */
#include "host.h"

#include <string.h>

#include "weak.h"

/* Here an operation whose result nobody wants is a cast. */
#pragma GCC diagnostic ignored "-Wunused-value"
#undef atomic_fetch_and_full
#undef atomic_fetch_add_full
#undef atomic_fetch_or_relaxed
#define atomic_fetch_and_full(p, v) \
	((typeof(*(p)))weak_rmw((p), sizeof(*(p)), WEAK_AND, weak_bits(v), WEAK_FULL))
#define atomic_fetch_add_full(p, v) \
	((typeof(*(p)))weak_rmw((p), sizeof(*(p)), WEAK_ADD, weak_bits(v), WEAK_FULL))
#define atomic_fetch_or_relaxed(p, v) \
	((typeof(*(p)))weak_rmw((p), sizeof(*(p)), WEAK_OR, weak_bits(v), WEAK_RELAXED))

#include "../../core/evtchn.c"
#include "../../core/evtchn_2l.c"
#include "../../core/evtchn_poll.c"

#include "evtchn_rig.h"

#define RUNS	20000
#define LIMIT	5000 /* accesses in a run */
#define SENDERS 2
#define GUEST	SENDERS

static struct vm *vm;
static struct vcpu *v0;
static u32 port[SENDERS];
static void *shared;

static u32 data[SENDERS]; /* of the machine: what an event is about */
static bool seen[SENDERS];

static void send_one(void *arg)
{
	u32 i = weak_cpu();

	WRITE_ONCE(data[i], 1U);
	evtchn_raise(vm, port[i]);
}

static void see(void *arg, u32 p)
{
	u32 i = p == port[0] ? 0 : 1;

	seen[i] |= READ_ONCE(data[i]) == 1;
}

static void take_upcalls(void *arg)
{
	for (u32 n = (u32)weak_random(4); n; n--) {
		guest_2l_upcall(shared, rig_info(v0), see, NULL);
		weak_relax();
	}
}

static void unmask_all(void *arg)
{
	srcu_token_t token = guest_read_lock();

	for (u32 i = 0; i < SENDERS; i++)
		evtchn_2l_unmask(vm->evtchn, evtchn_find(vm->evtchn, port[i]), port[i]);
	guest_read_unlock(token);
	take_upcalls(NULL);
}

static s64 polled;

static void poll_all(void *arg)
{
	polled = evtchn_poll(v0, port, SENDERS);
}

static void begin_run(u64 seed, bool masked)
{
	u64 *pending = guest_bits(shared, XEN_EVTCHN_PENDING, port[0]);
	u64 *mask = guest_bits(shared, XEN_EVTCHN_MASK, port[0]);
	struct xen_vcpu_info *vi = rig_info(v0);

	memset(vi, 0, sizeof(*vi));
	memset(data, 0, sizeof(data));
	memset(seen, 0, sizeof(seen));
	*pending = 0;
	*mask = masked ? BIT(port[0]) | BIT(port[1]) : 0;
	weak_reset(seed);
	weak_watch(pending, 8);
	weak_watch(mask, 8);
	weak_watch(&vi->evtchn_upcall_pending, 1);
	weak_watch(&vi->evtchn_pending_sel, 8);
	weak_watch(data, sizeof(data));
	weak_watch(&vm->evtchn->pollers, sizeof(vm->evtchn->pollers));
	weak_watch(&v0->evtchn->poll_port, sizeof(v0->evtchn->poll_port));
	for (u32 i = 0; i < SENDERS; i++)
		weak_cpu_runs(i, send_one, NULL);
}

static void finish_run(u64 seed)
{
	if (!weak_run(LIMIT))
		fail_msg("seed %lu: it does not end", seed);
}

/* All is over: one more look of a guest that is told finds what there is. */
static void assert_all_seen(u64 seed)
{
	guest_2l_upcall(shared, rig_info(v0), see, NULL);
	for (u32 i = 0; i < SENDERS; i++) {
		if (!seen[i])
			fail_msg("seed %lu: an event is lost", seed);
	}
}

static void against_upcalls(void **state)
{
	for (u64 seed = 1; seed <= RUNS; seed++) {
		begin_run(seed, false);
		weak_cpu_runs(GUEST, take_upcalls, NULL);
		finish_run(seed);
		assert_all_seen(seed);
	}
}

static void against_unmasking(void **state)
{
	for (u64 seed = 1; seed <= RUNS; seed++) {
		begin_run(seed, true);
		weak_cpu_runs(GUEST, unmask_all, NULL);
		finish_run(seed);
		assert_all_seen(seed);
	}
}

static void against_a_poller(void **state)
{
	u32 waited = 0;

	for (u64 seed = 1; seed <= RUNS; seed++) {
		begin_run(seed, true);
		weak_cpu_runs(GUEST, poll_all, NULL);
		finish_run(seed);
		if (polled == 1 && !evtchn_poll_done(v0))
			fail_msg("seed %lu: the poller waits for ever", seed);
		waited += polled == 1;
		evtchn_poll_end(v0);
	}
	assert_in_range(waited, RUNS / 100, RUNS - RUNS / 100);
}

static int make(void **state)
{
	if (host_group_setup(state))
		return -1;
	vm = rig_make(1, GPC_TARGETED, EVTCHN_PACKED);
	v0 = vm->vcpu[0];
	shared = rig_va(vm, RIG_SHARED);
	for (u32 i = 0; i < SENDERS; i++)
		port[i] = (u32)rig_ipi(v0, 0);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_upcalls),
		cmocka_unit_test(against_unmasking),
		cmocka_unit_test(against_a_poller),
	};

	return cmocka_run_group_tests_name("evtchn_weak", tests, make, NULL);
}
