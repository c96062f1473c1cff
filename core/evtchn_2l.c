/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The 2-level ABI: a pending and a mask bit a port in shared_info, a selector bit a word of them in the
 * vcpu_info of whoever is notified. The guest writes all of these words whenever it likes; each is
 * changed by one atomic operation, and none is believed to be what it was.
 *
 * The order of a delivery, each step a full barrier, and the guest's steps that it pairs with:
 *
 *	pending bit          the guest clears its mask bit, and then looks at the pending bit (unmask);
 *	look at the mask     a poller counts itself in, and then looks at the pending bit
 *	selector bit         the guest exchanges upcall_pending, and then the selector: mark() in evtchn.c
 *	upcall_pending
 *	look at pollers
 *
 * The delivery itself, raise_2l(), is in evtchn.c, in one piece with what calls it.
 */
#include <cupel/errno.h>

#include "evtchn.h"

/* For what is not measured: once is enough. */
static __noinline __cold void *get_slowly(struct evtchn_domain *d)
{
	return gpc_get(&d->shared_info, XEN_SHARED_INFO_SIZE);
}

static __noinline __cold void put_written(struct gpc *g)
{
	gpc_dirty(g);
	gpc_put(g);
}

int evtchn_2l_unmask(struct evtchn_domain *d, struct evtchn *e, u32 port)
{
	struct gpc *g = &d->shared_info;
	u64 bit = BIT(port % 64), was, pending;
	void *s;

	if (port >= EVTCHN_2L_PORTS)
		return 0;
	s = get_slowly(d);
	if (!s)
		return -EAGAIN;
	count_shared_rmw();
	/* Full: pairs with the one that sets a pending bit and then looks at the mask. */
	was = atomic_fetch_and_full(evtchn_2l_word(s, XEN_EVTCHN_MASK, port), ~bit) & bit;
	pending = READ_ONCE(*evtchn_2l_word(s, XEN_EVTCHN_PENDING, port)) & bit;
	put_written(g);
	if (was && pending)
		evtchn_mark_vcpu(evtchn_target(d, e), BIT(port / 64));
	return 0;
}

int evtchn_2l_test(struct evtchn_domain *d, u32 port, bool *pending)
{
	void *s = get_slowly(d);

	if (!s)
		return -EAGAIN;
	*pending = port < EVTCHN_2L_PORTS &&
		   READ_ONCE(*evtchn_2l_word(s, XEN_EVTCHN_PENDING, port)) & BIT(port % 64);
	gpc_put(&d->shared_info);
	return 0;
}

int evtchn_2l_clear(struct evtchn_domain *d, u32 port)
{
	struct gpc *g = &d->shared_info;
	void *s;

	if (port >= EVTCHN_2L_PORTS)
		return 0;
	s = get_slowly(d);
	if (!s)
		return -EAGAIN;
	atomic_fetch_and_relaxed(evtchn_2l_word(s, XEN_EVTCHN_PENDING, port), ~BIT(port % 64));
	put_written(g);
	return 0;
}
