/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's half of both event channel ABIs, for tests and tortures: what a well-behaved guest does to the
 * words that evtchn_2l.c and evtchn_fifo.c share with it. Must be no weaker and no stronger than a guest's
 * kernel is: each barrier here is the partner that the comments there name.
 */
#ifndef CORE_EVTCHN_GUEST_H
#define CORE_EVTCHN_GUEST_H

#include <asm/xen.h>
#include <cupel/atomic.h>
#include <cupel/xen_abi.h>

/* The handler of an event; its pending bit has been cleared. */
typedef void (*guest_event_t)(void *arg, u32 port);

/* --- 2-level ------------------------------------------------------------------------------------ */

static inline u64 *guest_bits(void *shared_info, u32 offset, u32 port)
{
	return (u64 *)((u8 *)shared_info + offset) + port / 64;
}

static inline void guest_2l_mask(void *shared_info, u32 port)
{
	atomic_fetch_or_full(guest_bits(shared_info, XEN_EVTCHN_MASK, port), BIT(port % 64));
}

static inline u32 guest_2l_word(void *shared_info, u32 word, guest_event_t fn, void *arg)
{
	u64 *pending = guest_bits(shared_info, XEN_EVTCHN_PENDING, word * 64);
	u64 *mask = guest_bits(shared_info, XEN_EVTCHN_MASK, word * 64);
	u64 bits = READ_ONCE(*pending) & ~READ_ONCE(*mask);
	u32 n = 0;

	for (; bits; bits &= bits - 1) {
		u32 bit = (u32)__builtin_ctzl(bits);

		/* Full: the handler looks at its data afterwards. */
		atomic_fetch_and_full(pending, ~BIT(bit));
		fn(arg, word * 64 + bit);
		n++;
	}
	return n;
}

/* All that is pending for one vCPU; how many events that was. */
static inline u32 guest_2l_upcall(void *shared_info, struct xen_vcpu_info *vi, guest_event_t fn,
				  void *arg)
{
	u32 n = 0;

	/* First this, then the selector: pairs with mark() in evtchn.c. */
	while (atomic_xchg_full(&vi->evtchn_upcall_pending, 0)) {
		u64 sel = atomic_xchg_full(&vi->evtchn_pending_sel, 0);

		for (; sel; sel &= sel - 1)
			n += guest_2l_word(shared_info, (u32)__builtin_ctzl(sel), fn, arg);
	}
	return n;
}

/* --- FIFO --------------------------------------------------------------------------------------- */

#define GUEST_FIFO_PENDING BIT32(EVTCHN_FIFO_PENDING)
#define GUEST_FIFO_MASKED  BIT32(EVTCHN_FIFO_MASKED)
#define GUEST_FIFO_LINKED  BIT32(EVTCHN_FIFO_LINKED)
#define GUEST_FIFO_BUSY	   BIT32(EVTCHN_FIFO_BUSY)

#define GUEST_FIFO_PAGE_WORDS (PAGE_SIZE / sizeof(u32))

/* One vCPU's view. */
struct guest_fifo {
	u32 **page; /* of the event array */
	struct evtchn_fifo_control *control;
	u32 head[EVTCHN_FIFO_PRIORITIES]; /* 0: to be read from the control block */
};

static inline u32 *guest_fifo_word(const struct guest_fifo *g, u32 port)
{
	return &g->page[port / GUEST_FIFO_PAGE_WORDS][port % GUEST_FIFO_PAGE_WORDS];
}

static inline void guest_fifo_mask(u32 *word)
{
	atomic_fetch_or_full(word, GUEST_FIFO_MASKED);
}

/* True when the hypervisor is to be asked (EVTCHNOP_unmask): the event has come meanwhile. */
static inline bool guest_fifo_unmask(u32 *word)
{
	u32 w = READ_ONCE(*word);

	/* Not while BUSY: the hypervisor is at its link. */
	do {
		w &= ~GUEST_FIFO_BUSY;
	} while (!atomic_cmpxchg_full(word, &w, w & ~GUEST_FIFO_MASKED));
	return w & GUEST_FIFO_PENDING;
}

/* Off its queue; the next port, 0 = it was the last. */
static inline u32 guest_fifo_unlink(u32 *word)
{
	u32 w = READ_ONCE(*word);

	while (!atomic_cmpxchg_full(word, &w, w & ~(GUEST_FIFO_LINKED | EVTCHN_FIFO_LINK_MASK)))
		;
	return w & EVTCHN_FIFO_LINK_MASK;
}

/* The first of a queue; false when that was its last. */
static inline bool guest_fifo_one(struct guest_fifo *g, u32 prio, guest_event_t fn, void *arg)
{
	/* Acquire: pairs with the release of lead_queue() in evtchn_fifo.c. */
	u32 port = g->head[prio] ? g->head[prio] : load_acquire(&g->control->head[prio]);
	u32 *word = guest_fifo_word(g, port);
	u32 next = guest_fifo_unlink(word), w = READ_ONCE(*word);

	g->head[prio] = next;
	if ((w & GUEST_FIFO_PENDING) && !(w & GUEST_FIFO_MASKED)) {
		/* Full: the handler looks at its data afterwards. */
		atomic_fetch_and_full(word, ~GUEST_FIFO_PENDING);
		fn(arg, port);
	}
	return next;
}

/* All that is pending for one vCPU, the most urgent first. */
static inline u32 guest_fifo_upcall(struct guest_fifo *g, struct xen_vcpu_info *vi,
				    guest_event_t fn, void *arg)
{
	u32 n = 0;

	while (atomic_xchg_full(&vi->evtchn_upcall_pending, 0)) {
		u32 ready = atomic_xchg_full(&g->control->ready, 0);

		while (ready) {
			u32 prio = (u32)__builtin_ctz(ready);

			if (!guest_fifo_one(g, prio, fn, arg))
				ready &= ~BIT32(prio);
			ready |= atomic_xchg_full(&g->control->ready, 0);
			n++;
		}
	}
	return n;
}

#endif
