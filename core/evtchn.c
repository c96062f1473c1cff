/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Delivery of events: from a port to the guest's pages and its vCPU, in any context, by one read section
 * and atomic operations on words of the guest's ABI. Nothing here waits for another CPU, takes a lock that
 * it would have to wait for, or refreshes a page cache inside a section: a refresh may wait for the
 * grace period that this very section holds up. What can't be done becomes a debt of the target vCPU,
 * which pays it in evtchn_serve().
 */
#include <cupel/percpu.h>
#include <cupel/platform.h>

#include "evtchn.h"

DEFINE_PER_CPU(struct evtchn_counts, evtchn_counts);

spinlock_t evtchn_peers_lock = SPINLOCK_INIT("evtchn_peers");
struct evtchn_domain *evtchn_domains;

struct evtchn_domain *evtchn_domain_find(u32 domid)
{
	/* Pairs with the release in evtchn_vm_init(). */
	struct evtchn_domain *d = load_acquire(&evtchn_domains);

	while (d && d->domid != domid)
		d = load_acquire(&d->next); /* as above */
	return d;
}

/* --- The target vCPU ---------------------------------------------------------------------------- */

/*
 * Selector before upcall_pending, and both with full order: a guest clears upcall_pending and then takes
 * the selector, so whoever sets a bit that it has not taken also sets upcall_pending after that clear. The
 * partner is the guest's exchange of upcall_pending, followed by its exchange of the selector.
 */
static __always_inline bool mark(struct xen_vcpu_info *vi, u64 sel, bool counting)
{
	if (unlikely(counting))
		count_shared_rmw();
	if (sel) {
		if (!(sel & ~atomic_fetch_or_full(&vi->evtchn_pending_sel, sel)))
			return false;
		if (unlikely(counting))
			count_shared_rmw();
	}
	return !atomic_xchg_full(&vi->evtchn_upcall_pending, 1);
}

static __always_inline void mark_vcpu(struct vcpu *v, u64 sel, bool counting)
{
	struct gpc *g = &v->evtchn->vcpu_info;
	/* A cache of a vcpu_info is never active with less. */
	struct xen_vcpu_info *vi = gpc_get(g, 0);
	bool upcall;

	if (unlikely(!vi)) {
		evtchn_owe_upcall(v, sel);
		return;
	}
	upcall = mark(vi, sel, counting);
	gpc_dirty(g);
	gpc_put(g);
	if (upcall) {
		if (unlikely(counting))
			evtchn_count(upcalls);
		arch_evtchn_upcall(v);
	}
}

void evtchn_mark_vcpu(struct vcpu *v, u64 sel)
{
	mark_vcpu(v, sel, evtchn_counting());
}

bool evtchn_upcall_pending(struct vcpu *v)
{
	struct evtchn_vcpu *ev = v->evtchn;
	const struct xen_vcpu_info *vi;
	srcu_token_t token;
	bool pending;

	if (READ_ONCE(v->requests) & VCPU_REQ_EVTCHN)
		return true;
	token = guest_read_lock();
	vi = gpc_get(&ev->vcpu_info, sizeof(*vi));
	if (vi) {
		pending = READ_ONCE(vi->evtchn_upcall_pending);
		gpc_put(&ev->vcpu_info);
	} else {
		/* The owner brings the page back before it enters the guest, and then it is known. */
		pending = !READ_ONCE(ev->stuck);
		if (pending)
			vcpu_request_quiet(v, VCPU_REQ_EVTCHN);
	}
	guest_read_unlock(token);
	return pending;
}

/* --- Sending ------------------------------------------------------------------------------------ */

/* The order of its steps, and whom each pairs with: evtchn_2l.c. */
static __always_inline void raise_2l(struct evtchn_domain *d, struct evtchn *e, u32 port,
				     bool counting)
{
	struct gpc *g = &d->shared_info;
	u64 bit = BIT(port % 64), masked;
	void *s = gpc_get(g, 0); /* never active with less than XEN_SHARED_INFO_SIZE */

	if (unlikely(!s)) {
		evtchn_owe(d, e, port, OWED_RAISE);
		return;
	}
	/* The ABI may have changed since the port was found, and the port been one of FIFO's only. */
	if (unlikely(port >= EVTCHN_2L_PORTS)) {
		gpc_put(g);
		return;
	}
	if (unlikely(counting))
		count_shared_rmw();
	if (atomic_fetch_or_full(evtchn_2l_word(s, XEN_EVTCHN_PENDING, port), bit) & bit) {
		gpc_put(g);
		if (unlikely(counting))
			evtchn_count(already);
		return;
	}
	gpc_dirty(g);
	masked = READ_ONCE(*evtchn_2l_word(s, XEN_EVTCHN_MASK, port)) & bit;
	gpc_put(g);
	if (!masked)
		mark_vcpu(evtchn_target(d, e), BIT(port / 64), counting);
	else if (unlikely(counting))
		evtchn_count(masked);
	if (unlikely(READ_ONCE(d->pollers)))
		evtchn_wake_pollers(d, port);
}

static __always_inline void deliver(struct evtchn_domain *d, struct evtchn *e, u32 port, bool counting)
{
	/* Pairs with the release in fifo_start(). */
	struct evtchn_fifo *f = load_acquire(&d->fifo);

	if (likely(!f))
		raise_2l(d, e, port, counting);
	else
		evtchn_fifo_raise(d, f, e, port);
}

void evtchn_deliver(struct evtchn_domain *d, struct evtchn *e, u32 port)
{
	deliver(d, e, port, evtchn_counting());
}

/*
 * The other end of an interdomain port; NULL when there is none. While the port is closed and bound anew,
 * what is read here may be halves of two connections: only an end that leads back is one.
 */
static __always_inline struct evtchn *other_end(struct evtchn_domain **d, u32 *port, struct evtchn *e)
{
	u32 there = READ_ONCE(e->peer_port);
	struct evtchn_domain *peer = READ_ONCE(e->peer);
	struct evtchn *end = evtchn_find(peer, there);

	if (unlikely(!end || READ_ONCE(end->peer) != *d || READ_ONCE(end->peer_port) != *port))
		return NULL;
	*d = peer;
	*port = there;
	return end;
}

static __always_inline s64 send(struct evtchn_domain *d, u32 port)
{
	struct evtchn *e = evtchn_find(d, port);
	bool counting = evtchn_counting();

	if (unlikely(!e))
		return -XEN_EINVAL;
	/* Pairs with the releases in evtchn_ops.c: the peer is there. */
	switch (load_acquire(&e->state)) {
	case EVTCHNSTAT_interdomain:
		e = other_end(&d, &port, e);
		if (unlikely(!e))
			return 0; /* as to a port that is not connected */
		break;
	case EVTCHNSTAT_ipi: break;
	case EVTCHNSTAT_unbound: return 0;
	default: return -XEN_EINVAL;
	}
	if (unlikely(counting))
		evtchn_count(sent);
	deliver(d, e, port, counting);
	return 0;
}

s64 evtchn_send(struct vm *vm, u32 port)
{
	srcu_token_t token = guest_read_lock();
	s64 err = send(vm->evtchn, port);

	guest_read_unlock(token);
	return err;
}

/* A port that is open, whatever it is bound to; counted as one that is sent to. */
static __always_inline struct evtchn *open_port(struct evtchn_domain *d, u32 port, bool counting)
{
	struct evtchn *e = evtchn_find(d, port);

	/* Pairs with the releases in evtchn_ops.c. */
	if (!e || load_acquire(&e->state) == EVTCHNSTAT_closed)
		return NULL;
	if (unlikely(counting))
		evtchn_count(sent);
	return e;
}

s64 evtchn_raise(struct vm *vm, u32 port)
{
	srcu_token_t token = guest_read_lock();
	bool counting = evtchn_counting();
	struct evtchn *e = open_port(vm->evtchn, port, counting);

	if (e)
		deliver(vm->evtchn, e, port, counting);
	guest_read_unlock(token);
	return e ? 0 : -XEN_EINVAL;
}

static __noinline s64 raise_once(struct evtchn_domain *d, u32 port)
{
	struct evtchn *e = open_port(d, port, evtchn_counting());

	if (!e)
		return -XEN_EINVAL;
	evtchn_deliver(d, e, port);
	return 0;
}

s64 evtchn_raise_id(u32 vm_id, u32 port)
{
	srcu_token_t token = guest_read_lock();
	/* Not by its domid, which another VM may have by now. Pairs with the release in publish(). */
	struct evtchn_domain *d = load_acquire(&evtchn_domains);
	s64 err;

	while (d && d->vm->id != vm_id)
		d = load_acquire(&d->next); /* as above */
	err = d ? raise_once(d, port) : -XEN_ESRCH;
	guest_read_unlock(token);
	return err;
}

void evtchn_virq(struct vcpu *v, u32 virq)
{
	struct evtchn_vcpu *ev;
	srcu_token_t token;
	u32 port;

	if (virq >= NR_VIRQS)
		return;
	ev = evtchn_virq_is_global(virq) ? v->vm->vcpu[0]->evtchn : v->evtchn;
	token = guest_read_lock();
	/* Pairs with the release in do_bind_virq(). */
	port = load_acquire(&ev->virq_port[virq]);
	if (port)
		raise_once(v->vm->evtchn, port);
	guest_read_unlock(token);
}

/* --- Waiting for a port ------------------------------------------------------------------------- */

void evtchn_wake_pollers(struct evtchn_domain *d, u32 port)
{
	for (u32 i = 0; i < d->vm->nr_vcpus; i++) {
		struct vcpu *v = d->vm->vcpu[i];
		u32 polled = READ_ONCE(v->evtchn->poll_port);

		if (!polled || (polled != POLL_ANY && polled != port))
			continue;
		/* vcpu_wake() has the barrier between this and its look at run_state. */
		WRITE_ONCE(v->evtchn->poll_done, true);
		vcpu_wake(v);
	}
}

struct evtchn_counts evtchn_counts_sum(void)
{
	struct evtchn_counts sum = { 0 };

	for (u32 cpu = 0; cpu < platform.nr_cpus; cpu++) {
		const struct evtchn_counts *c = per_cpu_ptr(evtchn_counts, cpu);

		sum.sent += READ_ONCE(c->sent);
		sum.already += READ_ONCE(c->already);
		sum.masked += READ_ONCE(c->masked);
		sum.upcalls += READ_ONCE(c->upcalls);
		sum.deferred += READ_ONCE(c->deferred);
		sum.served += READ_ONCE(c->served);
	}
	return sum;
}
