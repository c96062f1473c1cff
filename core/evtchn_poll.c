/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting for a port, SCHEDOP_poll. A sender looks at one word to see that nobody does. A vCPU may be woken
 * for nothing, and must never miss what it waits for.
 */
#include <cupel/errno.h>

#include "evtchn.h"

static int test_pending(struct evtchn_domain *d, u32 port, bool *pending)
{
	srcu_token_t token = guest_read_lock();
	/* Pairs with the release in fifo_start(). */
	struct evtchn_fifo *f = load_acquire(&d->fifo);
	int err = f ? evtchn_fifo_test(f, port, EVTCHN_FIFO_PENDING, pending) :
		      evtchn_2l_test(d, port, pending);

	guest_read_unlock(token);
	return err;
}

/* Pending, or it can't be known: the guest looks again. No section. */
static bool seems_pending(struct evtchn_domain *d, u32 port)
{
	bool pending = true;

	if (test_pending(d, port, &pending)) {
		spin_lock(&d->lock);
		(void)evtchn_make_reachable(d, evtchn_find(d, port), port);
		spin_unlock(&d->lock);
		(void)test_pending(d, port, &pending);
	}
	return pending;
}

s64 evtchn_poll(struct vcpu *v, const u32 *port, u32 count)
{
	struct evtchn_domain *d = v->vm->evtchn;
	struct evtchn_vcpu *ev = v->evtchn;

	for (u32 i = 0; i < count; i++) {
		if (!port[i] || port[i] >= evtchn_port_limit(d))
			return -XEN_EINVAL;
	}
	WRITE_ONCE(ev->poll_done, false);
	WRITE_ONCE(ev->poll_port, count == 1 ? port[0] : POLL_ANY);
	/*
	 * Full: pairs with the full operation that sets a pending bit, after which `pollers` is read.
	 * Either the sender sees this poller, or the bit is seen below.
	 */
	atomic_fetch_add_full(&d->pollers, 1);
	for (u32 i = 0; i < count; i++) {
		if (seems_pending(d, port[i])) {
			evtchn_poll_end(v);
			return 0;
		}
	}
	return 1;
}

void evtchn_poll_end(struct vcpu *v)
{
	if (!v->evtchn->poll_port)
		return;
	WRITE_ONCE(v->evtchn->poll_port, 0);
	atomic_fetch_add_relaxed(&v->vm->evtchn->pollers, -1U);
}

bool evtchn_poll_done(const struct vcpu *v)
{
	return READ_ONCE(v->evtchn->poll_done);
}
