/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The FIFO ABI: queues in order, ports that move between them, pages that are not there yet or not now, and a
 * guest that rewrites the words under the hypervisor's hands.
 */
#include "evtchn_rig.h"

#define MAX_EVENTS 64

static struct vm *vm;
static struct vcpu *v0, *v1;
static struct guest_fifo guest[RIG_MAX_VCPUS];
static u32 *page[4];

/* What a vCPU has taken, in order. */
static u32 event[MAX_EVENTS], nr_events;

static s64 init_control(struct vcpu *v, u32 vcpu, u64 gfn, u32 offset)
{
	struct evtchn_init_control a = { .control_gfn = gfn, .offset = offset, .vcpu = vcpu };
	s64 err = evtchn_op(v, EVTCHNOP_init_control, &a);

	if (!err)
		assert_int_equal(a.link_bits, 17);
	return err;
}

static s64 expand(struct vcpu *v, u64 gfn)
{
	struct evtchn_expand_array a = { gfn };

	return evtchn_op(v, EVTCHNOP_expand_array, &a);
}

static s64 set_priority(u32 port, u32 prio)
{
	struct evtchn_set_priority a = { port, prio };

	return evtchn_op(v0, EVTCHNOP_set_priority, &a);
}

static gpaddr_t control_gpa(u32 vcpu)
{
	return RIG_CONTROL + vcpu * 128;
}

static void find_pages(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(page); i++)
		page[i] = rig_va(vm, RIG_ARRAY + i * PAGE_SIZE);
	for (u32 i = 0; i < RIG_MAX_VCPUS; i++) {
		guest[i].page = page;
		guest[i].control = rig_va(vm, control_gpa(i));
	}
}

static int make(void **state)
{
	vm = rig_make(RIG_MAX_VCPUS, (enum gpc_kind)(uintptr_t)*state, EVTCHN_SPREAD);
	v0 = vm->vcpu[0];
	v1 = vm->vcpu[1];
	memset(guest, 0, sizeof(guest));
	nr_events = 0;
	find_pages();
	for (u32 i = 0; i < RIG_MAX_VCPUS; i++)
		assert_int_equal(init_control(v0, i, control_gpa(i) >> PAGE_SHIFT,
					      control_gpa(i) & ~PAGE_MASK),
				 0);
	assert_int_equal(expand(v0, RIG_ARRAY >> PAGE_SHIFT), 0);
	return 0;
}

static int make_2l(void **state)
{
	vm = rig_make(RIG_MAX_VCPUS, (enum gpc_kind)(uintptr_t)*state, EVTCHN_SPREAD);
	v0 = vm->vcpu[0];
	find_pages();
	return 0;
}

static int drop(void **state)
{
	rig_drop(vm);
	return 0;
}

static u32 *word(u32 port)
{
	return guest_fifo_word(&guest[0], port);
}

static void note(void *arg, u32 port)
{
	assert_true(nr_events < MAX_EVENTS);
	event[nr_events++] = port;
}

/* Events taken now. */
static u32 take(struct vcpu *v)
{
	nr_events = 0;
	guest_fifo_upcall(&guest[v->id], rig_info(v), note, NULL);
	return nr_events;
}

/* --- Queues ------------------------------------------------------------------------------------- */

static void first_come_first_served(void **state)
{
	u32 port[8];

	for (u32 i = 0; i < 8; i++) {
		port[i] = (u32)rig_ipi(v0, 1);
		assert_int_equal(rig_send(v0, port[i]), 0);
	}
	/* Again changes nothing. */
	rig_send(v0, port[0]);
	assert_int_equal(v1->arch.upcalls, 1);
	assert_int_equal(take(v1), 8);
	assert_memory_equal(event, port, sizeof(port));
	assert_int_equal(take(v1), 0);
	rig_send(v0, port[3]);
	rig_send(v0, port[2]);
	assert_int_equal(v1->arch.upcalls, 2);
	assert_int_equal(take(v1), 2);
	assert_int_equal(event[0], port[3]);
	assert_int_equal(event[1], port[2]);
}

static void the_urgent_first(void **state)
{
	u32 port[3];

	for (u32 i = 0; i < 3; i++)
		port[i] = (u32)rig_ipi(v0, 1);
	assert_int_equal(set_priority(port[1], 15), 0);
	assert_int_equal(set_priority(port[2], 0), 0);
	assert_int_equal(set_priority(port[2], 16), -XEN_EINVAL);
	assert_int_equal(set_priority(0, 1), -XEN_EINVAL);
	for (u32 i = 0; i < 3; i++)
		rig_send(v0, port[i]);
	assert_int_equal(take(v1), 3);
	assert_int_equal(event[0], port[2]);
	assert_int_equal(event[1], port[0]);
	assert_int_equal(event[2], port[1]);
}

static void masked_is_not_linked(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	guest_fifo_mask(word(port));
	rig_send(v0, port);
	assert_int_equal(*word(port), GUEST_FIFO_PENDING | GUEST_FIFO_MASKED);
	assert_int_equal(v1->arch.upcalls, 0);
	assert_true(guest_fifo_unmask(word(port)));
	assert_int_equal(rig_unmask(v0, port), 0);
	assert_int_equal(v1->arch.upcalls, 1);
	assert_int_equal(take(v1), 1);
	guest_fifo_mask(word(port));
	assert_int_equal(rig_unmask(v0, port), 0);
	assert_int_equal(take(v1), 0);
	/* By the operation alone. */
	guest_fifo_mask(word(port));
	rig_send(v0, port);
	assert_int_equal(rig_unmask(v0, port), 0);
	assert_int_equal(take(v1), 1);
}

/*
 * A port that was last in a queue, and has gone to another: what is linked next in the old one must not
 * write its link. Three vCPUs, so that the tail is of a queue that neither uses now.
 */
static void a_tail_that_moved(void **state)
{
	u32 a = (u32)rig_unbound(v0, 99), b = (u32)rig_ipi(v0, 0), c = (u32)rig_ipi(v0, 1);

	evtchn_raise(vm, a);
	assert_int_equal(take(v0), 1);
	/* Empty, but a is its tail still. */
	assert_int_equal(rig_bind_vcpu(v0, a, 1), 0);
	evtchn_raise(vm, a);
	rig_send(v0, b);
	rig_send(v0, c);
	assert_int_equal(take(v0), 1);
	assert_int_equal(event[0], b);
	assert_int_equal(take(v1), 2);
	assert_int_equal(event[0], a);
	assert_int_equal(event[1], c);
	/* By priority, on one vCPU. */
	assert_int_equal(set_priority(a, 3), 0);
	evtchn_raise(vm, a);
	rig_send(v0, c);
	assert_int_equal(take(v1), 2);
	assert_int_equal(event[0], a);
	assert_int_equal(event[1], c);
}

/* Bound to another vCPU while it is on a queue: it is taken where it is. */
static void a_linked_port_stays(void **state)
{
	u32 a = (u32)rig_unbound(v0, 99), b = (u32)rig_ipi(v0, 0);

	evtchn_raise(vm, a);
	rig_bind_vcpu(v0, a, 1);
	evtchn_raise(vm, a);
	rig_send(v0, b);
	assert_int_equal(take(v1), 0);
	assert_int_equal(take(v0), 2);
	evtchn_raise(vm, a);
	assert_int_equal(take(v0), 0);
	assert_int_equal(take(v1), 1);
}

static void a_linked_port_is_not_given_out(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	rig_send(v0, port);
	assert_int_equal(rig_close(v0, port), 0);
	assert_int_equal(*word(port) & GUEST_FIFO_PENDING, 0);
	assert_int_not_equal(rig_ipi(v0, 1), port);
	/* The guest takes it off, and finds nothing. */
	assert_int_equal(take(v1), 0);
	assert_int_equal(rig_ipi(v0, 1), port);
}

/* --- Setting up --------------------------------------------------------------------------------- */

static void bad_control_blocks(void **state)
{
	u64 gfn = RIG_CONTROL >> PAGE_SHIFT;

	assert_int_equal(init_control(v0, 0, gfn, 4), -XEN_EINVAL);
	assert_int_equal(init_control(v0, 0, gfn, PAGE_SIZE - 64), -XEN_EINVAL);
	assert_int_equal(init_control(v0, 0, gfn, PAGE_SIZE), -XEN_EINVAL);
	assert_int_equal(init_control(v0, 0, gfn, ~7U), -XEN_EINVAL);
	assert_int_equal(init_control(v0, 0, RIG_MEMORY >> PAGE_SHIFT, 0), -XEN_EINVAL);
	assert_int_equal(init_control(v0, 0, ~0UL, 0), -XEN_EINVAL);
	assert_int_equal(init_control(v0, 0, 1UL << 40, 0), -XEN_EINVAL);
	assert_int_equal(init_control(v0, RIG_MAX_VCPUS, gfn, 0), -XEN_ENOENT);
	assert_int_equal(init_control(v0, ~0U, gfn, 0), -XEN_ENOENT);
	/* Nothing of that has made it FIFO. */
	assert_int_equal(expand(v0, RIG_ARRAY >> PAGE_SHIFT), -XEN_EOPNOTSUPP);
	assert_int_equal(init_control(v0, 0, gfn, PAGE_SIZE - 72), 0);
	assert_int_equal(init_control(v0, 0, gfn, 0), -XEN_EINVAL);
}

static void bad_array_pages(void **state)
{
	assert_int_equal(init_control(v0, 0, RIG_CONTROL >> PAGE_SHIFT, 0), 0);
	assert_int_equal(expand(v0, RIG_MEMORY >> PAGE_SHIFT), -XEN_EINVAL);
	assert_int_equal(expand(v0, ~0UL), -XEN_EINVAL);
	for (u32 i = 0; i < EVTCHN_FIFO_PORTS / 1024; i++)
		assert_int_equal(expand(v0, (RIG_ARRAY >> PAGE_SHIFT) + i % 4), 0);
	assert_int_equal(expand(v0, RIG_ARRAY >> PAGE_SHIFT), -XEN_ENOSPC);
}

/* The ABI says so: a guest sets up before it binds. */
static void what_came_before_is_lost(void **state)
{
	u32 port = (u32)rig_ipi(v0, 0);

	rig_send(v0, port);
	assert_int_equal(v0->arch.upcalls, 1);
	assert_int_equal(init_control(v0, 0, RIG_CONTROL >> PAGE_SHIFT, 0), 0);
	assert_int_equal(expand(v0, RIG_ARRAY >> PAGE_SHIFT), 0);
	assert_int_equal(*word(port), 0);
	rig_send(v0, port);
	assert_int_equal(*word(port) & GUEST_FIFO_LINKED, GUEST_FIFO_LINKED);
}

static void a_vcpu_without_control_block(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	assert_int_equal(init_control(v0, 0, RIG_CONTROL >> PAGE_SHIFT, 0), 0);
	assert_int_equal(expand(v0, RIG_ARRAY >> PAGE_SHIFT), 0);
	assert_int_equal(rig_send(v0, port), 0);
	assert_int_equal(*word(port), GUEST_FIFO_PENDING);
	assert_false(rig_asked(vm->vcpu[1]));
}

static void a_page_that_comes_late(void **state)
{
	u32 late = 0, early = 0, ports = 0;

	while (!late) {
		u32 port = (u32)rig_ipi(v0, 1);

		assert_true(++ports < 1100);
		if (port < GUEST_FIFO_PAGE_WORDS)
			early = port;
		else
			late = port;
	}
	assert_int_equal(rig_send(v0, late), 0);
	assert_int_equal(rig_send(v0, early), 0);
	assert_int_equal(take(v1), 1);
	assert_int_equal(expand(v0, (RIG_ARRAY >> PAGE_SHIFT) + 1), 0);
	assert_int_equal(take(v1), 1);
	assert_int_equal(event[0], late);
	/* Remembered once. */
	rig_close(v0, late);
	assert_int_equal(expand(v0, (RIG_ARRAY >> PAGE_SHIFT) + 2), 0);
	assert_int_equal(take(v1), 0);
}

static void spread_over_the_lines_of_a_page(void **state)
{
	u64 lines = 0;

	/* Port 0, which would be the first of its line, is none. */
	for (u32 i = 0; i < 63; i++) {
		u32 port = (u32)rig_ipi(v0, 0);

		assert_true(port < GUEST_FIFO_PAGE_WORDS);
		assert_false(lines & BIT(port / 16));
		lines |= BIT(port / 16);
	}
	for (u32 i = 63; i < 1023; i++)
		assert_true(rig_ipi(v0, 0) < (s64)GUEST_FIFO_PAGE_WORDS);
	assert_int_equal(rig_ipi(v0, 0), GUEST_FIFO_PAGE_WORDS);
}

static void reset_goes_back(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	rig_send(v0, port);
	assert_int_equal(rig_reset(v0), 0);
	assert_null(vm->evtchn->fifo);
	port = (u32)rig_ipi(v0, 1);
	rig_send(v0, port);
	assert_true(*guest_bits(rig_va(vm, RIG_SHARED), XEN_EVTCHN_PENDING, port) & BIT(port % 64));
	/* And forward again. */
	assert_int_equal(init_control(v0, 1, RIG_CONTROL >> PAGE_SHIFT, 0), 0);
	assert_int_equal(expand(v0, RIG_ARRAY >> PAGE_SHIFT), 0);
}

/* --- Debts -------------------------------------------------------------------------------------- */

/* Each page that a delivery needs, away in turn and all together. */
static void without_a_page(void **state)
{
	static const struct {
		gpaddr_t gpa;
		u64 size;
	} away[] = {
		{ RIG_ARRAY, PAGE_SIZE },
		{ RIG_CONTROL, PAGE_SIZE },
		{ RIG_INFO, PAGE_SIZE },
		{ 0, RIG_MEMORY },
	};
	u32 a = (u32)rig_ipi(v0, 1), b = (u32)rig_ipi(v0, 1);

	for (u32 i = 0; i < ARRAY_SIZE(away); i++) {
		gpc_invalidate(vm, away[i].gpa, away[i].size);
		assert_int_equal(rig_send(v0, a), 0);
		assert_int_equal(rig_send(v0, b), 0);
		assert_true(rig_asked(v1));
		for (u32 tries = 0; rig_serve(v1); tries++)
			assert_true(tries < 4);
		assert_int_equal(take(v1), 2);
		assert_int_equal(event[0] + event[1], a + b);
	}
}

/* The tail's page is away, the port's is not: LINKED is set, and the rest is owed. */
static void half_way(void **state)
{
	u32 first = 0, last = 0;

	assert_int_equal(expand(v0, (RIG_ARRAY >> PAGE_SHIFT) + 1), 0);
	while (last < GUEST_FIFO_PAGE_WORDS) {
		last = (u32)rig_ipi(v0, 1);
		first = first ? first : last;
	}
	rig_send(v0, last);
	gpc_invalidate(vm, RIG_ARRAY + PAGE_SIZE, PAGE_SIZE);
	rig_send(v0, first);
	assert_int_equal(*word(first), GUEST_FIFO_PENDING | GUEST_FIFO_LINKED);
	/* Nobody else takes it for linked and done. */
	rig_send(v0, first);
	assert_true(rig_serve(v1));
	assert_false(rig_asked(v1));
	assert_int_equal(take(v1), 2);
	assert_int_equal(event[0], last);
	assert_int_equal(event[1], first);
}

static void half_way_and_closed(void **state)
{
	u32 first = (u32)rig_ipi(v0, 1), next = (u32)rig_ipi(v0, 1);

	gpc_invalidate(vm, RIG_CONTROL, PAGE_SIZE);
	rig_send(v0, first);
	assert_int_equal(*word(first), GUEST_FIFO_PENDING | GUEST_FIFO_LINKED);
	assert_int_equal(rig_close(v0, first), 0);
	/* On no queue: it may be given out again. */
	assert_int_equal(*word(first), 0);
	assert_int_equal(rig_ipi(v0, 1), first);
	rig_serve(v1);
	rig_send(v0, next);
	rig_send(v0, first);
	rig_serve(v1);
	assert_int_equal(take(v1), 2);
}

/* Somebody is at the queue: the port is left with the vCPU, and nobody waits. */
static void a_queue_that_is_taken(void **state)
{
	struct evtchn_queue *q = &v1->evtchn->fifo->queue[EVTCHN_FIFO_DEFAULT_PRIORITY];
	u32 a = (u32)rig_ipi(v0, 1), b = (u32)rig_ipi(v0, 1);

	spin_lock(&q->lock);
	rig_send(v0, a);
	rig_send(v0, b);
	spin_unlock(&q->lock);
	assert_int_equal(*word(a), GUEST_FIFO_PENDING);
	assert_int_equal(v1->arch.upcalls, 0);
	assert_true(rig_serve(v1));
	assert_int_equal(take(v1), 2);
	/* Taken by polling before it could be linked: nothing to do. */
	spin_lock(&q->lock);
	rig_send(v0, a);
	spin_unlock(&q->lock);
	atomic_fetch_and_full(word(a), ~GUEST_FIFO_PENDING);
	assert_true(rig_serve(v1));
	assert_int_equal(*word(a), 0);
}

static void a_sender_never_refreshes(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);
	u64 waits;

	gpc_invalidate(vm, 0, RIG_MEMORY);
	waits = srcu_counts(&guest_srcu).waits;
	assert_int_equal(rig_send(v0, port), 0);
	assert_int_equal(evtchn_raise(vm, port), 0);
	assert_int_equal(srcu_counts(&guest_srcu).waits, waits);
	for (u32 tries = 0; rig_serve(v1); tries++)
		assert_true(tries < 4);
	assert_int_equal(take(v1), 1);
}

static void poll_sees_the_word(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1), beyond = EVTCHN_FIFO_PORTS;

	guest_fifo_mask(word(port));
	assert_int_equal(evtchn_poll(v0, &port, 1), 1);
	rig_send(v1, port);
	assert_true(evtchn_poll_done(v0));
	evtchn_poll_end(v0);
	assert_int_equal(evtchn_poll(v0, &port, 1), 0);
	assert_int_equal(evtchn_poll(v0, &beyond, 1), -XEN_EINVAL);
	gpc_invalidate(vm, RIG_ARRAY, PAGE_SIZE);
	atomic_fetch_and_full(word(port), ~GUEST_FIFO_PENDING);
	assert_int_equal(evtchn_poll(v0, &port, 1), 1);
	evtchn_poll_end(v0);
}

/* A guest may poll a number that it was never given, while the page of its word is elsewhere. */
static void poll_for_nobodys_port(void **state)
{
	u32 port = FIFO_PAGE_WORDS - 1;

	assert_null(evtchn_find(vm->evtchn, port));
	gpc_invalidate(vm, RIG_ARRAY, PAGE_SIZE);
	assert_int_equal(evtchn_poll(v0, &port, 1), 1);
	evtchn_poll_end(v0);
	*word(port) = BIT32(EVTCHN_FIFO_PENDING);
	gpc_invalidate(vm, RIG_ARRAY, PAGE_SIZE);
	assert_int_equal(evtchn_poll(v0, &port, 1), 0);
}

/* --- A hostile guest ---------------------------------------------------------------------------- */

struct tormentor {
	u32 *word;
	u32 spins;
	bool over;
};

/* CPU 1 rewrites the tail's word for ever; CPU 2 links to it. */
static void torment(u32 cpu, void *arg)
{
	struct tormentor *t = arg;
	u32 value = GUEST_FIFO_LINKED, seen = 0;

	if (cpu == 1) {
		while (!READ_ONCE(t->over)) {
			seen |= READ_ONCE(*t->word) & GUEST_FIFO_BUSY;
			WRITE_ONCE(*t->word, value);
			value = (value + 0x101) & 0x3fffffffU;
			value |= GUEST_FIFO_LINKED;
		}
		return;
	}
	for (u32 i = 0; i < 20000; i++) {
		rig_send(v0, t->spins);
		/* Off the queue again, as a guest might. */
		atomic_fetch_and_full(word(t->spins), 0);
	}
	WRITE_ONCE(t->over, true);
}

static void a_word_that_never_rests(void **state)
{
	u32 tail = (u32)rig_ipi(v0, 1), port = (u32)rig_ipi(v0, 1);
	struct tormentor t = { .word = word(tail), .spins = port };

	rig_send(v0, tail);
	host_on_cpus(2, torment, &t);
	/* It harmed itself only: another vCPU's queue works. */
	port = (u32)rig_ipi(v0, 2);
	rig_send(v0, port);
	assert_int_equal(take(vm->vcpu[2]), 1);
}

/* BUSY is never left behind, and keeps an honest guest from unmasking. */
static void busy_is_taken_back(void **state)
{
	u32 tail = (u32)rig_ipi(v0, 1), port = (u32)rig_ipi(v0, 1);

	rig_send(v0, tail);
	atomic_fetch_or_full(word(tail), GUEST_FIFO_BUSY);
	rig_send(v0, port);
	assert_int_equal(*word(tail) & GUEST_FIFO_BUSY, 0);
	assert_int_equal(*word(tail) & EVTCHN_FIFO_LINK_MASK, port);
	assert_int_equal(take(v1), 2);
}

static void random_words(void **state)
{
	u64 seed = 0x1234567;
	u32 port[8];

	for (u32 i = 0; i < 8; i++)
		port[i] = (u32)rig_unbound(v0, 99);
	for (u32 i = 0; i < 20000; i++) {
		u64 r = host_random(&seed);
		u32 p = port[r % 8];

		switch (r >> 8 & 7) {
		case 0: page[0][r >> 16 & 1023] = (u32)(r >> 32); break;
		case 1: *word(p) = (u32)(r >> 32); break;
		case 2: guest[r >> 16 & 3].control->head[r >> 20 & 15] = (u32)(r >> 32); break;
		case 3: guest[r >> 16 & 3].control->ready = (u32)(r >> 32); break;
		case 4: rig_bind_vcpu(v0, p, r >> 16 & 3); break;
		case 5: set_priority(p, r >> 16 & 15); break;
		case 6: rig_unmask(v0, p); break;
		default: break;
		}
		assert_int_equal(evtchn_raise(vm, p), 0);
		for (u32 j = 0; j < RIG_MAX_VCPUS; j++)
			rig_serve(vm->vcpu[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_EACH(first_come_first_served),
		RIG_ONE(the_urgent_first, TARGETED),
		RIG_ONE(masked_is_not_linked, TARGETED),
		RIG_EACH(a_tail_that_moved),
		RIG_ONE(a_linked_port_stays, TARGETED),
		RIG_ONE(a_linked_port_is_not_given_out, TARGETED),
		{ "bad_control_blocks", bad_control_blocks, make_2l, drop, (void *)GPC_TARGETED },
		{ "bad_array_pages", bad_array_pages, make_2l, drop, (void *)GPC_TARGETED },
		{ "what_came_before_is_lost", what_came_before_is_lost, make_2l, drop,
		  (void *)GPC_TARGETED },
		{ "a_vcpu_without_control_block", a_vcpu_without_control_block, make_2l, drop,
		  (void *)GPC_TARGETED },
		RIG_ONE(a_page_that_comes_late, TARGETED),
		RIG_ONE(spread_over_the_lines_of_a_page, TARGETED),
		RIG_EACH(reset_goes_back),
		RIG_EACH(without_a_page),
		RIG_EACH(half_way),
		RIG_EACH(half_way_and_closed),
		RIG_EACH(a_queue_that_is_taken),
		RIG_EACH(a_sender_never_refreshes),
		RIG_EACH(poll_sees_the_word),
		RIG_EACH(poll_for_nobodys_port),
		RIG_EACH(a_word_that_never_rests),
		RIG_ONE(busy_is_taken_back, TARGETED),
		RIG_EACH(random_words),
	};

	return cmocka_run_group_tests_name("evtchn_fifo", tests, host_group_setup, NULL);
}
