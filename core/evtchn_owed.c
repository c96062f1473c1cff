/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sender could not finish, and who finishes it. A port that is owed something is on the list of a vCPU;
 * selector bits and an upcall are in words of the vCPU they are for. The vCPU pays before it enters its
 * guest, outside every read section: only there may a page cache be refreshed, since a refresh may wait
 * for the grace period that a section would hold up. Must never lose a debt: what can't be paid is noted
 * again.
 */
#include <cupel/errno.h>

#include "evtchn.h"

/* --- Noting: in a section, any context ---------------------------------------------------------- */

void evtchn_owe_upcall(struct vcpu *v, u64 sel)
{
	struct evtchn_vcpu *ev = v->evtchn;

	evtchn_count(deferred);
	count_shared_rmw();
	atomic_fetch_or_relaxed(&ev->owed_sel, sel);
	/* Pairs with the acquire in pay_upcall(): who takes this sees the bits. */
	store_release(&ev->owed_upcall, 1U);
	vcpu_request(v, VCPU_REQ_EVTCHN);
}

/* Who is to finish a delivery: the vCPU that is notified; while that is off, one that is not. */
static struct vcpu *payer(struct evtchn_domain *d, struct evtchn *e)
{
	struct vcpu *v = evtchn_target(d, e);

	if (likely(READ_ONCE(v->run_state) != VCPU_OFF))
		return v;
	for (u32 i = 0; i < d->vm->nr_vcpus; i++) {
		if (READ_ONCE(d->vm->vcpu[i]->run_state) != VCPU_OFF)
			return d->vm->vcpu[i];
	}
	return v;
}

/* Ports are only added one by one and taken all at once, so that a port that comes back is harmless. */
static void push(struct evtchn_vcpu *ev, struct evtchn *e, u32 port)
{
	u32 first = READ_ONCE(ev->owed_port);

	do {
		WRITE_ONCE(e->next, first);
		count_shared_rmw();
		/* Full: pairs with the exchange in pay_ports(), which then reads `next`. */
	} while (!atomic_cmpxchg_full(&ev->owed_port, &first, port));
}

static void note_debt(struct evtchn *e, u32 port, u32 what, struct vcpu *v)
{
	count_shared_rmw();
	/* Full: pairs with the one in pay_port(); what it no longer saw queues the port again. */
	if (!(atomic_fetch_or_full(&e->owed, OWED_QUEUED | what) & OWED_QUEUED))
		push(v->evtchn, e, port);
}

void evtchn_owe(struct evtchn_domain *d, struct evtchn *e, u32 port, u32 what)
{
	struct vcpu *v = payer(d, e);

	evtchn_count(deferred);
	note_debt(e, port, what, v);
	vcpu_request(v, VCPU_REQ_EVTCHN);
	/*
	 * It may just have gone off. The full exchange in push() pairs with the barrier in evtchn_gone_off(): either
	 * it finds the debt, or it is found off here.
	 */
	if (unlikely(READ_ONCE(v->run_state) == VCPU_OFF))
		vcpu_request(payer(d, e), VCPU_REQ_EVTCHN);
	/* A poller can't see the event yet, but whoever pays may not run before it does. */
	if (unlikely(READ_ONCE(d->pollers)))
		evtchn_wake_pollers(d, port);
}

void evtchn_gone_off(struct vcpu *v)
{
	struct vcpu *other = NULL;
	bool owed = false;

	/* Full: it is off, before the looks at debts and at who else is. See evtchn_owe(). */
	smp_mb();
	for (u32 i = 0; v->vm->evtchn && i < v->vm->nr_vcpus; i++) {
		struct vcpu *u = v->vm->vcpu[i];

		if (READ_ONCE(u->run_state) != VCPU_OFF)
			other = other ?: u;
		else
			owed |= READ_ONCE(u->evtchn->owed_port) != 0;
	}
	if (owed && other)
		vcpu_request(other, VCPU_REQ_EVTCHN);
}

void evtchn_owe_unmask(struct vcpu *v, u32 port)
{
	evtchn_count(deferred);
	v->evtchn->owed_unmask = port;
	vcpu_request_quiet(v, VCPU_REQ_EVTCHN);
}

/* --- Paying: the owner CPU of a vCPU, no section ------------------------------------------------- */

static void deliver_owed(struct evtchn_domain *d, struct evtchn *e, u32 port, u32 what)
{
	srcu_token_t token = guest_read_lock();
	/* Pairs with the release in evtchn_fifo_init_control(). */
	struct evtchn_fifo *f = load_acquire(&d->fifo);

	if (READ_ONCE(e->state) == EVTCHNSTAT_closed)
		goto out;
	evtchn_count(served);
	if (what & OWED_RAISE)
		evtchn_deliver(d, e, port);
	if (f && (what & (OWED_LINK | OWED_APPEND)))
		evtchn_fifo_link(d, f, e, port, what, true);
out:
	guest_read_unlock(token);
}

int evtchn_make_reachable(struct evtchn_domain *d, struct evtchn *e, u32 port)
{
	if (d->fifo)
		return evtchn_fifo_refresh(d, d->fifo, e, port);
	return gpc_refresh(&d->shared_info);
}

/* Pay what one port is owed; what can't be paid is noted again, with this vCPU. */
static int pay_port(struct evtchn_domain *d, struct evtchn *e, u32 port, struct vcpu *v)
{
	u32 what;
	int err;

	count_shared_rmw();
	/* Full: what is owed from now on queues the port again. Pairs with the one in note_debt(). */
	what = atomic_fetch_and_full(&e->owed, OWED_ORPHAN) & (OWED_RAISE | OWED_LINK | OWED_APPEND);
	if (!what)
		return 0;
	err = evtchn_make_reachable(d, e, port);
	if (err)
		note_debt(e, port, what, v);
	else
		deliver_owed(d, e, port, what);
	return err;
}

/* Of two errors the one that says to come again: the other will still be there then. */
static int worse(int a, int b)
{
	return a == -EAGAIN || !b ? a : b;
}

/* Deliver again what the ports on the list of `of` are owed. */
static int pay_ports(struct evtchn_domain *d, struct vcpu *of, struct vcpu *v)
{
	u32 port;
	int err = 0;

	spin_lock(&d->lock);
	count_shared_rmw();
	/* Acquire: pairs with the full exchange in push(), so that each `next` is the one it stored. */
	port = atomic_xchg_acquire(&of->evtchn->owed_port, 0);
	while (port) {
		struct evtchn *e = evtchn_find(d, port);
		/* Before its QUEUED goes, and it may be queued elsewhere. */
		u32 next = READ_ONCE(e->next);

		err = worse(err, pay_port(d, e, port, v));
		port = next;
	}
	spin_unlock(&d->lock);
	return err;
}

static int pay_upcall(struct vcpu *v)
{
	struct evtchn_vcpu *ev = v->evtchn;
	int err = gpc_refresh(&ev->vcpu_info);
	srcu_token_t token;
	u64 sel;

	/* Acquire: pairs with the release in evtchn_owe_upcall(): its selector bits are taken as well. */
	if (err || !atomic_xchg_acquire(&ev->owed_upcall, 0))
		return err;
	sel = atomic_xchg_acquire(&ev->owed_sel, 0);
	evtchn_count(served);
	token = guest_read_lock();
	evtchn_mark_vcpu(v, sel);
	guest_read_unlock(token);
	return 0;
}

int evtchn_try_unmask(struct evtchn_domain *d, struct evtchn *e, u32 port)
{
	srcu_token_t token = guest_read_lock();
	/* Pairs with the release in fifo_start(). */
	struct evtchn_fifo *f = load_acquire(&d->fifo);
	int err = f ? evtchn_fifo_unmask(d, f, e, port) : evtchn_2l_unmask(d, e, port);

	guest_read_unlock(token);
	return err;
}

/* Before its guest goes on: to that it looks as if it had been done in the call. */
static int pay_unmask(struct evtchn_domain *d, struct vcpu *v)
{
	u32 port = v->evtchn->owed_unmask;
	struct evtchn *e = evtchn_find(d, port);
	int err = 0;

	if (!port)
		return 0;
	spin_lock(&d->lock);
	if (e->state != EVTCHNSTAT_closed)
		err = evtchn_make_reachable(d, e, port);
	if (!err && e->state != EVTCHNSTAT_closed)
		err = evtchn_try_unmask(d, e, port);
	spin_unlock(&d->lock);
	if (!err) {
		v->evtchn->owed_unmask = 0;
		evtchn_count(served);
	}
	return err;
}

/* What was told while vcpu_info was away could not be seen to be pending: it is told again. */
static void tell_again(struct vcpu *v)
{
	srcu_token_t token;

	if (gpc_refresh(&v->evtchn->vcpu_info))
		return;
	token = guest_read_lock();
	if (evtchn_upcall_pending(v))
		arch_evtchn_upcall(v);
	guest_read_unlock(token);
}

bool evtchn_serve(struct vcpu *v)
{
	struct evtchn_domain *d = v->vm->evtchn;
	u32 changes;
	int err = 0;

	if (!d)
		return true;
	/* Acquire: before the looks at memory. Pairs with the full operation in evtchn_memory_changed(). */
	changes = load_acquire(&d->changes);
	if (unlikely(v->evtchn->stuck))
		tell_again(v);
	for (u32 i = 0; i < v->vm->nr_vcpus; i++) {
		struct vcpu *u = v->vm->vcpu[i];

		/* One that went off before it paid leaves that to the others. */
		if (READ_ONCE(u->evtchn->owed_port) && (u == v || READ_ONCE(u->run_state) == VCPU_OFF))
			err = worse(err, pay_ports(d, u, v));
	}
	err = worse(err, pay_unmask(d, v));
	err = worse(err, pay_upcall(v));
	WRITE_ONCE(v->evtchn->stuck, err && err != -EAGAIN);
	if (!err)
		return true;
	/*
	 * What is owed, before the look at `changes`. Pairs with the full operation in evtchn_memory_changed():
	 * either that finds the debt, or it is found here that memory has changed since this gave up on it.
	 */
	smp_mb();
	if (err != -EAGAIN && changes == READ_ONCE(d->changes))
		return true;
	vcpu_request_quiet(v, VCPU_REQ_EVTCHN);
	return false;
}

void evtchn_memory_changed(struct vm *vm)
{
	struct evtchn_domain *d = vm->evtchn;

	if (!d)
		return;
	/* Full: after the change, before the looks at debts. Pairs with both ends of evtchn_serve(). */
	atomic_fetch_add_full(&d->changes, 1);
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		struct evtchn_vcpu *ev = vm->vcpu[i]->evtchn;

		if (READ_ONCE(ev->owed_port) || READ_ONCE(ev->owed_upcall) || READ_ONCE(ev->stuck))
			vcpu_request(vm->vcpu[i], VCPU_REQ_EVTCHN);
	}
}
