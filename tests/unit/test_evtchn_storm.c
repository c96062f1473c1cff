/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * No event is lost: senders on several CPUs, each in step with what the guest has seen of its port, so that
 * a single event that does not arrive stops its sender and is noticed; with pages that move and caches that
 * are invalidated, ports that change vCPU, priority and mask, and others that come and go underneath.
 */
#include "evtchn_rig.h"

#define SENDERS	 3
#define VCPUS	 2
#define PORTS	 SENDERS
#define DURATION 100000000UL /* ns, and then until everything has happened */
#define PATIENCE 10000000000UL /* ns until an event is lost; the host may be busy */

/* CPUs 1..VCPUS are vCPUs, then the senders, then whoever makes trouble. */
#define FIRST_SENDER (VCPUS + 1)
#define TROUBLE	     (FIRST_SENDER + SENDERS)

static struct {
	struct vm *vm, *peer;
	bool fifo;
	u32 port[PORTS], peer_port;
	u64 sent[PORTS] __cacheline_aligned;
	u64 seen[PORTS] __cacheline_aligned;
	u64 unmasked, moved, rebound;
	u32 left; /* senders at work */
	u32 lost; /* port, 0 = none */
	rwlock_t gate; /* a vCPU does not touch its memory while a page is moved: it would fault */
} storm;

static struct guest_fifo guest[VCPUS];
static u32 *page[VCPUS];
static __thread u64 seed;

static u32 index_of(u32 port)
{
	for (u32 i = 0; i < PORTS; i++) {
		if (storm.port[i] == port)
			return i;
	}
	return PORTS;
}

static void mask_and_unmask(struct vcpu *v, u32 port)
{
	if (host_random(&seed) % 8)
		return;
	if (storm.fifo)
		guest_fifo_mask(guest_fifo_word(&guest[v->id], port));
	else
		guest_2l_mask(rig_va(storm.vm, RIG_SHARED), port);
	for (u32 i = host_random(&seed) % 64; i; i--)
		barrier();
	if (storm.fifo && host_random(&seed) % 2) {
		if (!guest_fifo_unmask(guest_fifo_word(&guest[v->id], port)))
			return;
	}
	assert_int_equal(rig_unmask(v, port), 0);
	/* A guest does not go on before that. */
	while (v->evtchn->owed_unmask)
		rig_serve(v);
	atomic_fetch_add_relaxed(&storm.unmasked, 1);
}

/* A vCPU's handler: what was sent before the event was raised is seen now. */
static void handle(void *arg, u32 port)
{
	u32 i = index_of(port);
	u64 sent, seen;

	if (i == PORTS)
		return;
	sent = load_acquire(&storm.sent[i]);
	seen = READ_ONCE(storm.seen[i]);
	while (seen < sent && !atomic_cmpxchg_full(&storm.seen[i], &seen, sent))
		;
	mask_and_unmask(arg, port);
}

static void be_vcpu(struct vcpu *v)
{
	while (READ_ONCE(storm.left)) {
		rig_serve(v);
		read_lock(&storm.gate);
		if (storm.fifo) {
			page[v->id] = rig_va(storm.vm, RIG_ARRAY);
			guest[v->id].page = &page[v->id];
			guest[v->id].control = rig_va(storm.vm, RIG_CONTROL + v->id * 128);
			guest_fifo_upcall(&guest[v->id], rig_info(v), handle, v);
		} else {
			guest_2l_upcall(rig_va(storm.vm, RIG_SHARED), rig_info(v), handle, v);
		}
		read_unlock(&storm.gate);
		cpu_relax();
	}
}

static bool wait_until_seen(u32 i)
{
	u64 end = arch_counter() + PATIENCE;

	while (READ_ONCE(storm.seen[i]) < READ_ONCE(storm.sent[i])) {
		if (arch_counter() > end)
			WRITE_ONCE(storm.lost, storm.port[i]);
		if (READ_ONCE(storm.lost))
			return false;
		cpu_relax();
	}
	return true;
}

static bool all_happened(void)
{
	return READ_ONCE(storm.moved) && READ_ONCE(storm.rebound) && READ_ONCE(storm.unmasked);
}

static void be_sender(u32 i)
{
	u64 start = arch_counter(), past;

	do {
		for (u32 n = host_random(&seed) % 3 + 1; n; n--) {
			atomic_fetch_add_release(&storm.sent[i], 1);
			/* Every other one over a channel from another VM. */
			if (!i && n % 2)
				evtchn_send(storm.peer, storm.peer_port);
			else
				evtchn_raise(storm.vm, storm.port[i]);
		}
		past = arch_counter() - start;
	} while (wait_until_seen(i) && (past < DURATION || (!all_happened() && past < PATIENCE)));
	atomic_fetch_add_full(&storm.left, -1U);
}

static const gpaddr_t pages[] = { RIG_SHARED, RIG_INFO, RIG_CONTROL, RIG_ARRAY };

static void come_and_go(struct vcpu *v)
{
	s64 port = rig_ipi(v, host_random(&seed) % VCPUS);

	if (port < 0)
		return;
	rig_send(v, (u32)port);
	assert_int_equal(rig_close(v, (u32)port), 0);
	atomic_fetch_add_relaxed(&storm.rebound, 1);
}

static void make_trouble(struct vcpu *v)
{
	struct evtchn_set_priority prio;
	gpaddr_t gpa;
	u32 port;

	while (READ_ONCE(storm.left)) {
		gpa = pages[host_random(&seed) % ARRAY_SIZE(pages)];
		port = storm.port[host_random(&seed) % PORTS];
		switch (host_random(&seed) % 8) {
		case 0:
			write_lock(&storm.gate);
			assert_int_equal(vm_move_page(storm.vm, gpa), 0);
			write_unlock(&storm.gate);
			atomic_fetch_add_relaxed(&storm.moved, 1);
			break;
		case 1:
		case 2: rig_bind_vcpu(v, port, host_random(&seed) % VCPUS); break;
		case 3: come_and_go(v); break;
		case 4:
			prio = (struct evtchn_set_priority){ port, host_random(&seed) % 4 };
			(void)evtchn_op(v, EVTCHNOP_set_priority, &prio);
			break;
		default: gpc_invalidate(storm.vm, gpa, PAGE_SIZE); break;
		}
		for (u32 i = host_random(&seed) % 500; i; i--)
			cpu_relax();
	}
}

static void take_part(u32 cpu, void *arg)
{
	seed = 0x9e3779b97f4a7c15UL * cpu;
	if (cpu < FIRST_SENDER)
		be_vcpu(storm.vm->vcpu[cpu - 1]);
	else if (cpu < TROUBLE)
		be_sender(cpu - FIRST_SENDER);
	else
		make_trouble(storm.vm->vcpu[0]);
}

static void go_fifo(struct vcpu *v)
{
	struct evtchn_expand_array array = { RIG_ARRAY >> PAGE_SHIFT };

	for (u32 i = 0; i < VCPUS; i++) {
		struct evtchn_init_control c = {
			.control_gfn = RIG_CONTROL >> PAGE_SHIFT,
			.offset = i * 128,
			.vcpu = i,
		};

		assert_int_equal(evtchn_op(v, EVTCHNOP_init_control, &c), 0);
	}
	assert_int_equal(evtchn_op(v, EVTCHNOP_expand_array, &array), 0);
}

static void run_storm(enum gpc_kind kind, enum evtchn_layout layout, bool fifo)
{
	struct vcpu *v;

	memset(&storm, 0, sizeof(storm));
	memset(guest, 0, sizeof(guest));
	storm.fifo = fifo;
	storm.vm = rig_make(VCPUS, kind, layout);
	storm.peer = rig_make(1, kind, layout);
	storm.left = SENDERS;
	v = storm.vm->vcpu[0];
	if (fifo)
		go_fifo(v);
	for (u32 i = 0; i < PORTS; i++) {
		storm.port[i] = (u32)rig_unbound(v, evtchn_domid(storm.peer));
		rig_bind_vcpu(v, storm.port[i], i % VCPUS);
	}
	storm.peer_port =
		(u32)rig_connect(storm.peer->vcpu[0], evtchn_domid(storm.vm), storm.port[0]);
	host_on_cpus(TROUBLE, take_part, NULL);
	rig_drop(storm.peer);
	rig_drop(storm.vm);
	if (storm.lost)
		fail_msg("an event of port %u was lost", storm.lost);
	assert_true(all_happened());
}

static void two_level(void **state)
{
	run_storm((enum gpc_kind)(uintptr_t)*state, EVTCHN_PACKED, false);
}

static void two_level_spread(void **state)
{
	run_storm((enum gpc_kind)(uintptr_t)*state, EVTCHN_SPREAD, false);
}

static void by_fifo(void **state)
{
	run_storm((enum gpc_kind)(uintptr_t)*state, EVTCHN_PACKED, true);
}

/* --- A peer that ends while it is sent to ------------------------------------------------------- */

static struct {
	struct vm *vm;
	u32 port;
	bool over;
} ending;

static void send_and_end(u32 cpu, void *arg)
{
	struct vcpu *v = ending.vm->vcpu[0];

	while (cpu != 1 && !READ_ONCE(ending.over)) {
		for (u32 i = 0; i < 16; i++)
			evtchn_send(ending.vm, ending.port);
		cpu_relax();
	}
	if (cpu != 1)
		return;
	for (u32 i = 0; i < 20; i++) {
		struct vm *peer = rig_make(1, ending.vm->config.gpc, EVTCHN_SPREAD);
		s64 there = rig_unbound(peer->vcpu[0], evtchn_domid(ending.vm)), here;

		here = rig_connect(v, evtchn_domid(peer), there);
		assert_true(here > 0);
		assert_int_equal(here, ending.port);
		for (u32 j = 0; j < 50; j++)
			cpu_relax();
		rig_drop(peer);
		assert_int_equal(rig_close(v, (u32)here), 0);
	}
	WRITE_ONCE(ending.over, true);
}

static void a_peer_that_ends(void **state)
{
	memset(&ending, 0, sizeof(ending));
	ending.vm = rig_make(1, (enum gpc_kind)(uintptr_t)*state, EVTCHN_PACKED);
	ending.port = 1;
	host_on_cpus(3, send_and_end, NULL);
	rig_drop(ending.vm);
}

/* Deterministic: while anybody is in a section, what it may have found is not freed. */
static void hold_up(u32 cpu, void *arg)
{
	srcu_token_t token;
	u64 end;

	if (cpu == 1) {
		token = guest_read_lock();
		WRITE_ONCE(storm.left, 1);
		for (end = arch_counter() + 20000000UL; arch_counter() < end;)
			cpu_relax();
		storm.lost = READ_ONCE(storm.moved);
		guest_read_unlock(token);
		return;
	}
	while (!READ_ONCE(storm.left))
		cpu_relax();
	evtchn_vm_destroy(storm.peer);
	WRITE_ONCE(storm.moved, 1);
}

static void a_section_holds_the_end_up(void **state)
{
	memset(&storm, 0, sizeof(storm));
	storm.peer = rig_make(1, (enum gpc_kind)(uintptr_t)*state, EVTCHN_SPREAD);
	host_on_cpus(2, hold_up, NULL);
	assert_int_equal(storm.lost, 0);
	assert_int_equal(storm.moved, 1);
	vm_destroy(storm.peer);
}

/* --- A delivery against the guest's upcall ------------------------------------------------------ */

/* ROUNDS comes from tests.mk: fewer where each takes long. */
#define TIME_LIMIT 2000000000UL /* ns; a busy host gets fewer rounds */

static struct {
	struct vm *vm;
	u32 port;
	u64 go __cacheline_aligned, done __cacheline_aligned;
	u64 seen, lost_in;
	bool over;
} litmus;

static void see(void *arg, u32 port)
{
	litmus.seen++;
}

static void upcall_now(void)
{
	struct vcpu *v = litmus.vm->vcpu[0];

	guest_2l_upcall(rig_va(litmus.vm, RIG_SHARED), rig_info(v), see, NULL);
}

static void wait_for(const u64 *word, u64 value)
{
	for (u32 spins = 0; load_acquire(word) < value && !READ_ONCE(litmus.over); spins++) {
		/* The other thread may have no CPU of its own. */
		if (spins > 5000)
			cpu_relax();
	}
}

/* CPU 1 is the vCPU, CPU 2 sends once a round; afterwards the event has been seen. */
static void play(u32 cpu, void *arg)
{
	u64 end = arch_counter() + TIME_LIMIT;

	for (u64 round = 1; round <= ROUNDS && !READ_ONCE(litmus.over); round++) {
		if (cpu == 2) {
			wait_for(&litmus.go, round);
			evtchn_raise(litmus.vm, litmus.port);
			store_release(&litmus.done, round);
			continue;
		}
		store_release(&litmus.go, round);
		for (u64 i = round % 512; i; i--)
			upcall_now();
		wait_for(&litmus.done, round);
		upcall_now();
		if (litmus.seen != round && !litmus.lost_in)
			litmus.lost_in = round;
		if (litmus.lost_in || (round % 64 == 0 && arch_counter() > end))
			break;
	}
	WRITE_ONCE(litmus.over, true);
}

static void raise_against_upcall(void **state)
{
	memset(&litmus, 0, sizeof(litmus));
	litmus.vm = rig_make(1, (enum gpc_kind)(uintptr_t)*state, EVTCHN_PACKED);
	litmus.port = (u32)rig_ipi(litmus.vm->vcpu[0], 0);
	host_on_cpus(2, play, NULL);
	rig_drop(litmus.vm);
	if (litmus.lost_in)
		fail_msg("lost in round %lu", litmus.lost_in);
	assert_true(litmus.seen > 0);
}

#define make NULL
#define drop NULL

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_EACH(two_level),
		RIG_ONE(two_level_spread, TARGETED),
		RIG_EACH(by_fifo),
		RIG_ONE(a_peer_that_ends, RWLOCK),
		RIG_ONE(a_peer_that_ends, ATOMIC_FAST),
		RIG_ONE(a_peer_that_ends, TARGETED),
		RIG_ONE(a_section_holds_the_end_up, RWLOCK),
		RIG_ONE(a_section_holds_the_end_up, TARGETED),
		RIG_ONE(raise_against_upcall, TARGETED),
	};

	return cmocka_run_group_tests_name("evtchn_storm", tests, host_group_setup, NULL);
}
