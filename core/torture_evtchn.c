/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * torture=evtchn: a VM for every kind of page cache and each ABI, sent to from all CPUs in thread and in
 * interrupt context, while its pages and slots move, caches are invalidated, ports change vCPU, priority and
 * mask, others come and go, and peers connect, reset and end. Its vCPUs are played by whichever CPU gets
 * hold of them. A port is sent to again only when its last event has been seen, so that one lost event is
 * noticed, and not made good by the next. Must never touch a vCPU's memory while it moves: a vCPU would fault.
 */
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/torture.h>

#include "evtchn.h"
#include "evtchn_guest.h"

#define VM_MEMORY   MIB(4)
#define SLOT_AWAY   MIB(16)
#define VCPUS	    2
#define MAX_SENDERS 8 /* CPUs with ports of their own: one for threads, one for interrupts */
#define PORTS	    (2 * MAX_SENDERS)
#define SUBJECTS    (2 * NR_GPC_KINDS)
#define PATIENCE_NS 15000000000UL

enum { PAGE_SHARED, PAGE_INFO, PAGE_CONTROL, PAGE_ARRAY, NR_PAGES };

enum {
	SENDS,
	SENDS_IRQ,
	SEEN,
	UPCALLS,
	DEFERRED,
	SERVED,
	UNMASKED,
	REBOUND,
	PRIORITIES,
	CLOSED,
	INVALIDATED,
	PAGE_MOVES,
	SLOT_MOVES,
	PEERS,
	TO_PEERS,
	RESETS,
	LATER,
	LOST,
	ERRORS,
};

static const struct torture_count counts[] = {
	[SENDS] = { "sends", TORTURE_MUST, "events sent, in thread context" },
	[SENDS_IRQ] = { "sends_irq", TORTURE_MUST, "in interrupt context" },
	[SEEN] = { "seen", TORTURE_MUST, "times a guest's handler ran" },
	[UPCALLS] = { "upcalls", TORTURE_MUST, "times a guest found upcall_pending set" },
	[DEFERRED] = { "deferred", TORTURE_MUST, "deliveries left with a vCPU" },
	[SERVED] = { "served", TORTURE_MUST, "of those, finished by it" },
	[UNMASKED] = { "unmasked", TORTURE_MUST, "ports masked for a while by their handler" },
	[REBOUND] = { "rebound", TORTURE_MUST, "ports bound to another vCPU" },
	[PRIORITIES] = { "priorities", TORTURE_MUST, "ports given another priority" },
	[CLOSED] = { "closed", TORTURE_MUST, "ports made, sent to and closed" },
	[INVALIDATED] = { "invalidated", TORTURE_MUST, "pages taken from their caches" },
	[PAGE_MOVES] = { "page_moves", TORTURE_MUST, "pages that went to another frame" },
	[SLOT_MOVES] = { "slot_moves", TORTURE_MUST, "slots that went away for a while" },
	[PEERS] = { "peers", TORTURE_MUST, "VMs made, connected and destroyed" },
	[TO_PEERS] = { "to_peers", TORTURE_MUST_SMP, "events sent to those meanwhile" },
	[RESETS] = { "resets", TORTURE_MUST, "of those, reset while they were sent to" },
	[LATER] = { "later", TORTURE_MUST, "events raised by a timer, as HC_EVTCHN does" },
	[LOST] = { "lost", TORTURE_NEVER, "events that never arrived" },
	[ERRORS] = { "errors", TORTURE_NEVER, "operations that failed for no reason" },
	{ NULL },
};

struct subject {
	struct vm *vm;
	bool fifo;
	gpaddr_t pages; /* NR_PAGES of a slot of their own */
	void *slot_pages;
	u32 owned[VCPUS]; /* somebody plays this vCPU, or moves its memory */
	struct guest_fifo guest[VCPUS];
	u32 *array[VCPUS];
	u32 port[PORTS];
	u32 peer_port; /* connected to a VM that comes and goes; 0 = none */
	u64 sent[PORTS] __cacheline_aligned; /* by the CPU whose port it is */
	u64 since[PORTS]; /* counter at the last one */
	u64 seen[PORTS] __cacheline_aligned; /* the highest `sent` that a handler has found */
};

static struct subject *subjects;
static struct evtchn_counts before;

static void check_op(s64 err, const char *what)
{
	if (err < 0)
		torture_fail(ERRORS, "%s: %ld", what, (long)err);
}

static struct subject *choose(u64 *random)
{
	return &subjects[torture_choose(random, SUBJECTS)];
}

static void *page_va(const struct subject *s, u32 page)
{
	return vm_gpa_to_va(s->vm, s->pages + page * PAGE_SIZE, PAGE_SIZE, true);
}

static bool own(struct subject *s, u32 vcpu)
{
	return !atomic_xchg_acquire(&s->owned[vcpu], 1); /* pairs with the release in disown() */
}

static void disown(struct subject *s, u32 vcpu)
{
	store_release(&s->owned[vcpu], 0U);
}

/* --- Senders ------------------------------------------------------------------------------------ */

/* Port i of a subject, by the only CPU and context that sends to it. */
static void send_to(struct subject *s, u32 i, u32 count)
{
	u64 now = arch_counter();

	/* Acquire: pairs with the full exchange in see(). */
	if (load_acquire(&s->seen[i]) < s->sent[i]) {
		if (ticks_to_ns(now - s->since[i]) < PATIENCE_NS)
			return;
		torture_fail(LOST, "gpc=%s abi=%s port %u", gpc_kind_names[s->vm->config.gpc],
			     s->fifo ? "fifo" : "2l", s->port[i]);
	}
	s->since[i] = now;
	store_release(&s->sent[i], s->sent[i] + 1); /* pairs with the acquire in see() */
	check_op(evtchn_raise(s->vm, s->port[i]), "raise");
	torture_count(count);
}

/* It may be gone, or have come back as something else: nobody is harmed. */
static void send_to_peer(struct subject *s)
{
	u32 port = READ_ONCE(s->peer_port);

	if (port && !evtchn_send(s->vm, port))
		torture_count(TO_PEERS);
}

static void tick(struct torture_worker *w)
{
	struct subject *s = choose(&w->irq_random);

	if (w->cpu < MAX_SENDERS)
		send_to(s, 2 * w->cpu + 1, SENDS_IRQ);
	send_to_peer(s);
}

/* --- vCPUs -------------------------------------------------------------------------------------- */

struct player {
	struct subject *s;
	struct vcpu *vcpu;
	u64 *random;
};

static void serve(struct vcpu *v)
{
	unsigned long flags = arch_irq_save();

	/* As serve_requests() of vcpu.c. */
	if (atomic_fetch_and_full(&v->requests, ~VCPU_REQ_EVTCHN) & VCPU_REQ_EVTCHN)
		(void)evtchn_serve(v);
	arch_irq_restore(flags);
}

static s64 unmask(struct vcpu *v, u32 port)
{
	struct evtchn_unmask a = { port };

	return evtchn_op(v, EVTCHNOP_unmask, &a);
}

static void mask_for_a_while(const struct player *p, u32 port)
{
	u32 *word = p->s->fifo ? guest_fifo_word(&p->s->guest[p->vcpu->id], port) : NULL;

	if (word)
		guest_fifo_mask(word);
	else
		guest_2l_mask(page_va(p->s, PAGE_SHARED), port);
	torture_delay(p->random, 1000);
	if (word && torture_one_in(p->random, 2) && !guest_fifo_unmask(word))
		return;
	check_op(unmask(p->vcpu, port), "unmask");
	/* A guest does not go on before that. */
	while (p->vcpu->evtchn->owed_unmask)
		serve(p->vcpu);
	torture_count(UNMASKED);
}

static void see(void *arg, u32 port)
{
	const struct player *p = arg;
	u32 i = 0;
	u64 sent, seen;

	while (i < PORTS && p->s->port[i] != port)
		i++;
	torture_count(SEEN);
	if (i == PORTS)
		return;
	/* What was sent before the event was raised is there. Pairs with the release in send_to(). */
	sent = load_acquire(&p->s->sent[i]);
	seen = READ_ONCE(p->s->seen[i]);
	while (seen < sent && !atomic_cmpxchg_full(&p->s->seen[i], &seen, sent))
		;
	if (torture_one_in(p->random, 8))
		mask_for_a_while(p, port);
}

/* One look at requests, and one upcall if there is any. The vCPU is owned. */
static void play(struct subject *s, u32 vcpu, u64 *random)
{
	struct player p = { s, s->vm->vcpu[vcpu], random };
	struct guest_fifo *g = &s->guest[vcpu];
	struct xen_vcpu_info *vi;
	u32 events;

	serve(p.vcpu);
	vi = (struct xen_vcpu_info *)((u8 *)page_va(s, PAGE_INFO) + vcpu * 64);
	if (s->fifo) {
		s->array[vcpu] = page_va(s, PAGE_ARRAY);
		g->page = &s->array[vcpu];
		g->control = (void *)((u8 *)page_va(s, PAGE_CONTROL) + vcpu * 128);
		events = guest_fifo_upcall(g, vi, see, &p);
	} else {
		events = guest_2l_upcall(page_va(s, PAGE_SHARED), vi, see, &p);
	}
	if (events)
		torture_count(UPCALLS);
}

static void play_one(struct subject *s, u64 *random)
{
	u32 vcpu = torture_random(random) % VCPUS;

	if (!own(s, vcpu))
		return;
	play(s, vcpu, random);
	disown(s, vcpu);
}

/* --- Trouble ------------------------------------------------------------------------------------ */

static void rebind(struct subject *s, u64 *random)
{
	struct evtchn_bind_vcpu a = { .port = s->port[torture_random(random) % PORTS],
				      .vcpu = torture_random(random) % VCPUS };

	check_op(evtchn_op(s->vm->vcpu[0], EVTCHNOP_bind_vcpu, &a), "bind_vcpu");
	torture_count(REBOUND);
}

static void set_priority(struct subject *s, u64 *random)
{
	struct evtchn_set_priority a = { .port = s->port[torture_random(random) % PORTS],
					 .priority = torture_random(random) % 4 };

	if (!s->fifo)
		return;
	check_op(evtchn_op(s->vm->vcpu[0], EVTCHNOP_set_priority, &a), "set_priority");
	torture_count(PRIORITIES);
}

static void come_and_go(struct subject *s, u64 *random)
{
	struct evtchn_bind_ipi a = { .vcpu = torture_random(random) % VCPUS };
	struct evtchn_close c;
	s64 err = evtchn_op(s->vm->vcpu[0], EVTCHNOP_bind_ipi, &a);

	check_op(err, "bind_ipi");
	if (err)
		return;
	(void)evtchn_send(s->vm, a.port);
	c.port = a.port;
	check_op(evtchn_op(s->vm->vcpu[0], EVTCHNOP_close, &c), "close");
	torture_count(CLOSED);
}

static bool own_all(struct subject *s)
{
	for (u32 i = 0; i < VCPUS; i++) {
		if (own(s, i))
			continue;
		while (i)
			disown(s, --i);
		return false;
	}
	return true;
}

static void disown_all(struct subject *s)
{
	for (u32 i = 0; i < VCPUS; i++)
		disown(s, i);
}

static void move_page(struct subject *s, u64 *random)
{
	gpaddr_t gpa = s->pages + torture_random(random) % NR_PAGES * PAGE_SIZE;

	if (!own_all(s))
		return;
	check_op(vm_move_page(s->vm, gpa), "move_page");
	disown_all(s);
	torture_count(PAGE_MOVES);
}

/* Away and back; what is sent meanwhile can't be delivered at all. */
static void move_slot(struct subject *s, u64 *random)
{
	if (!own_all(s))
		return;
	check_op(vm_move_slot(s->vm, s->pages, s->pages + SLOT_AWAY), "move_slot");
	torture_delay(random, 100000);
	for (u32 i = 0; i < VCPUS; i++)
		serve(s->vm->vcpu[i]);
	check_op(vm_move_slot(s->vm, s->pages + SLOT_AWAY, s->pages), "move_slot back");
	disown_all(s);
	torture_count(SLOT_MOVES);
}

static void invalidate(struct subject *s, u64 *random)
{
	gpc_invalidate(s->vm, s->pages + torture_random(random) % NR_PAGES * PAGE_SIZE, PAGE_SIZE);
	torture_count(INVALIDATED);
}

static void raise_later(struct vm *vm, u32 port, u64 *random)
{
	if (!evtchn_raise_later(vm, port, torture_random(random) % 1000000))
		torture_count(LATER);
}

static void step(struct torture_worker *w)
{
	struct subject *s = choose(&w->random);

	switch (torture_random(&w->random) % 32) {
	case 0: rebind(s, &w->random); break;
	case 1: set_priority(s, &w->random); break;
	case 2: come_and_go(s, &w->random); break;
	case 3: move_page(s, &w->random); break;
	case 4:
	case 5: invalidate(s, &w->random); break;
	case 6: raise_later(s->vm, s->port[w->cpu % PORTS], &w->random); break;
	case 7: send_to_peer(s); break;
	default:
		if (w->cpu < MAX_SENDERS)
			send_to(s, 2 * w->cpu, SENDS);
		play_one(s, &w->random);
		break;
	}
}

/* --- VMs ---------------------------------------------------------------------------------------- */

static struct vm *new_vm(enum gpc_kind kind, enum evtchn_layout layout)
{
	static const u8 image[64]; /* it never runs */
	struct vm_config c = {
		.name = "torture",
		.memory = VM_MEMORY,
		.vcpus = VCPUS,
		.gpc = kind,
		.layout = layout,
		.xen = true,
	};
	const char *why = "";
	struct vm *vm;
	int err;

	vm = vm_create(&c, image, sizeof(image), &err, &why);
	if (!vm) {
		printk("torture evtchn: cannot make a VM: %s (%d)\n", why, err);
		return NULL;
	}
	/* Nobody runs them, but they are there to pay. */
	for (u32 i = 0; i < VCPUS; i++)
		WRITE_ONCE(vm->vcpu[i]->run_state, VCPU_RUNNABLE);
	return vm;
}

static s64 new_port(struct vm *vm, u32 remote)
{
	struct evtchn_alloc_unbound a = { .dom = DOMID_SELF, .remote_dom = (u16)remote };
	s64 err = evtchn_op(vm->vcpu[0], EVTCHNOP_alloc_unbound, &a);

	return err ? err : a.port;
}

static void use_peer(struct subject *s, struct vm *peer, s64 port, u64 *random)
{
	struct evtchn_bind_interdomain a = { .remote_dom = (u16)evtchn_domid(s->vm),
					     .remote_port = (u32)port };
	struct evtchn_reset r = { DOMID_SELF };

	check_op(evtchn_op(peer->vcpu[0], EVTCHNOP_bind_interdomain, &a), "bind_interdomain");
	WRITE_ONCE(s->peer_port, (u32)port);
	torture_delay(random, 300000);
	raise_later(peer, a.local_port, random);
	if (!torture_one_in(random, 2))
		return;
	check_op(evtchn_op(peer->vcpu[0], EVTCHNOP_reset, &r), "reset");
	torture_count(RESETS);
}

/* A VM that is sent to until its very end, and beyond. */
static void come_as_peer(struct subject *s, u64 *random)
{
	struct vm *peer =
		new_vm((enum gpc_kind)(torture_random(random) % NR_GPC_KINDS), EVTCHN_SPREAD);
	struct evtchn_close c;
	s64 port;

	if (!peer) {
		torture_fail(ERRORS, "no VM");
		return;
	}
	port = new_port(s->vm, peer->id);
	check_op(port, "alloc_unbound");
	if (port > 0)
		use_peer(s, peer, port, random);
	vm_destroy(peer);
	WRITE_ONCE(s->peer_port, 0);
	c.port = (u32)port;
	check_op(evtchn_op(s->vm->vcpu[0], EVTCHNOP_close, &c), "close");
	torture_count(PEERS);
}

static void control(struct torture_worker *w)
{
	struct subject *s = choose(&w->random);

	if (torture_one_in(&w->random, 2))
		come_as_peer(s, &w->random);
	else
		move_slot(s, &w->random);
}

static gpaddr_t memory_end(const struct vm *vm)
{
	u32 i = 0;

	while (vm->slots->slot[i].size != VM_MEMORY)
		i++;
	return vm->slots->slot[i].gpa + VM_MEMORY;
}

static s64 go_fifo(struct subject *s)
{
	struct evtchn_expand_array array = { (s->pages >> PAGE_SHIFT) + PAGE_ARRAY };
	s64 err = 0;

	for (u32 i = 0; !err && i < VCPUS; i++) {
		struct evtchn_init_control c = {
			.control_gfn = (s->pages >> PAGE_SHIFT) + PAGE_CONTROL,
			.offset = i * 128,
			.vcpu = i,
		};

		err = evtchn_op(s->vm->vcpu[0], EVTCHNOP_init_control, &c);
	}
	return err ? err : evtchn_op(s->vm->vcpu[0], EVTCHNOP_expand_array, &array);
}

/* The guest's pages, in place of those that the VM was made with. */
static int place_pages(struct subject *s)
{
	struct mem_slot slot = { .size = NR_PAGES * PAGE_SIZE };
	int err;

	s->slot_pages = pages_alloc(size_to_order(slot.size));
	if (!s->slot_pages)
		return -ENOMEM;
	s->pages = slot.gpa = memory_end(s->vm) + SLOT_AWAY;
	slot.pa = va_to_pa(s->slot_pages);
	err = vm_add_slot(s->vm, &slot);
	if (!err)
		err = gpc_activate(evtchn_shared_info(s->vm), s->pages, XEN_SHARED_INFO_SIZE);
	for (u32 i = 0; !err && i < VCPUS; i++)
		err = gpc_activate(evtchn_vcpu_info(s->vm->vcpu[i]),
				   s->pages + PAGE_INFO * PAGE_SIZE + i * 64, XEN_VCPU_INFO_SIZE);
	return err;
}

static int subject_make(struct subject *s, u32 n)
{
	int err;
	s64 res = 0;

	s->fifo = n / NR_GPC_KINDS;
	s->vm = new_vm((enum gpc_kind)(n % NR_GPC_KINDS),
		       (n + s->fifo) % 2 ? EVTCHN_PACKED : EVTCHN_SPREAD);
	if (!s->vm)
		return -ENOMEM;
	err = place_pages(s);
	if (!err && s->fifo)
		res = go_fifo(s);
	for (u32 i = 0; !err && res >= 0 && i < PORTS; i++) {
		res = new_port(s->vm, 0);
		s->port[i] = (u32)res;
	}
	return err ? err : res < 0 ? -EIO : 0;
}

static int setup(void)
{
	int err = 0;

	before = evtchn_counts_sum();
	subjects = pages_alloc(size_to_order(SUBJECTS * sizeof(*subjects)));
	if (!subjects)
		err = -ENOMEM;
	for (u32 i = 0; !err && i < SUBJECTS; i++)
		err = subject_make(&subjects[i], i);
	if (err)
		printk("torture evtchn: cannot be set up (%d)\n", err);
	return err;
}

/* Nobody sends any more: all that was sent is seen. */
static void drain(struct subject *s)
{
	u64 random = 1;

	for (u32 i = 0; i < 8 * VCPUS; i++)
		play(s, i % VCPUS, &random);
	for (u32 i = 0; i < PORTS; i++) {
		if (s->seen[i] != s->sent[i])
			torture_fail(LOST, "gpc=%s abi=%s port %u at the end",
				     gpc_kind_names[s->vm->config.gpc], s->fifo ? "fifo" : "2l",
				     s->port[i]);
	}
}

static void finish(void)
{
	struct evtchn_counts now;

	for (u32 i = 0; i < SUBJECTS; i++) {
		struct subject *s = &subjects[i];

		drain(s);
		vm_destroy(s->vm);
		pages_free(s->slot_pages, size_to_order(NR_PAGES * PAGE_SIZE));
	}
	pages_free(subjects, size_to_order(SUBJECTS * sizeof(*subjects)));
	now = evtchn_counts_sum();
	torture_add(DEFERRED, now.deferred - before.deferred);
	torture_add(SERVED, now.served - before.served);
}

static const struct torture evtchn_torture = {
	.name = "evtchn",
	.help = "event channels: pages, ports, vCPUs and peers change under senders of every kind",
	.counts = counts,
	.setup = setup,
	.step = step,
	.tick = tick,
	.control = control,
	.finish = finish,
	.late = BIT(DEFERRED) | BIT(SERVED),
	.parks = true,
};
TORTURE(evtchn_torture);
