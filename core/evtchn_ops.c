/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EVTCHNOP_*: what changes ports, and the life of a domain. Every argument comes from a guest and is answered
 * with the ABI's error. All of it runs in thread context under the domain's lock (but for send and unmask,
 * which need none); what concerns two domains also under evtchn_peers_lock.
 *
 * A port is closed in two steps with a grace period in between: first no sender finds it any more, then
 * nobody is using it any more, and it may be given to somebody else.
 */
#include <cupel/errno.h>
#include <cupel/mm.h>

#include "evtchn.h"
#include "slots.h"

#define VIRQ_XENOPROF 7
#define VIRQ_XENPMU   13

/* Pages may be taken from their caches even while no slot changes, but hardly so often in a row. */
#define MEMORY_TRIES 64

bool evtchn_virq_is_global(u32 virq)
{
	return virq != VIRQ_TIMER && virq != VIRQ_DEBUG && virq != VIRQ_XENOPROF &&
	       virq != VIRQ_XENPMU;
}

/* A port that is in use, NULL if there is none. */
static struct evtchn *find_used(struct evtchn_domain *d, u32 port)
{
	struct evtchn *e = evtchn_find(d, port);

	return port && e && e->state != EVTCHNSTAT_closed ? e : NULL;
}

/* Release: pairs with the acquires in evtchn.c; what belongs to the state is there. */
static void set_state(struct evtchn *e, u8 state)
{
	store_release(&e->state, state);
}

/*
 * The lock of a second domain. Under evtchn_peers_lock nobody else waits for a second one, so that any order
 * will do, and the class is known to lock checking as one that is never taken twice: it is tried.
 */
static void lock_peer(struct evtchn_domain *d, struct evtchn_domain *peer)
{
	while (peer != d && !spin_trylock(&peer->lock))
		cpu_relax();
}

static void unlock_peer(struct evtchn_domain *d, struct evtchn_domain *peer)
{
	if (peer != d)
		spin_unlock(&peer->lock);
}

/* Whether a guest means itself; -EPERM if it means another, -ESRCH if there is none such. */
static s64 check_self(struct evtchn_domain *d, u16 domid)
{
	if (domid == DOMID_SELF || domid == d->domid)
		return 0;
	return evtchn_domain_find(domid) ? -XEN_EPERM : -XEN_ESRCH;
}

/* --- Closing ------------------------------------------------------------------------------------ */

static void disconnect(struct evtchn_domain *d, struct evtchn *e)
{
	struct evtchn_domain *peer = e->peer;
	struct evtchn *pe;

	lock_peer(d, peer);
	pe = evtchn_find(peer, e->peer_port);
	pe->peer_domid = (u16)d->domid;
	set_state(pe, EVTCHNSTAT_unbound);
	unlock_peer(d, peer);
}

/* First step: no sender finds it from now on. */
static void hide_port(struct evtchn_domain *d, struct evtchn *e)
{
	if (e->state == EVTCHNSTAT_interdomain)
		disconnect(d, e);
	if (e->state == EVTCHNSTAT_virq)
		WRITE_ONCE(d->vm->vcpu[e->vcpu_bound]->evtchn->virq_port[e->virq], 0);
	set_state(e, EVTCHNSTAT_closed);
}

static int clear_pending(struct evtchn_domain *d, u32 port, bool ours)
{
	srcu_token_t token = guest_read_lock();
	int err = d->fifo ? evtchn_fifo_clear(d->fifo, port, ours) : evtchn_2l_clear(d, port);

	guest_read_unlock(token);
	return err;
}

/* Second step, after a grace period: whoever gets the port next finds no event of the past. */
static void retire_port(struct evtchn_domain *d, struct evtchn *e, u32 port)
{
	/* On whatever list it is it may stay: it is owed nothing. */
	bool ours = atomic_fetch_and_full(&e->owed, OWED_QUEUED) & OWED_APPEND;

	if (clear_pending(d, port, ours) && !evtchn_make_reachable(d, e, port))
		(void)clear_pending(d, port, ours);
	evtchn_port_free(d, port);
}

static s64 do_close(struct vcpu *v, void *arg)
{
	const struct evtchn_close *a = arg;
	struct evtchn_domain *d = v->vm->evtchn;
	struct evtchn *e = find_used(d, a->port);

	if (!e)
		return -XEN_EINVAL;
	hide_port(d, e);
	evtchn_wait_senders();
	retire_port(d, e, a->port);
	return 0;
}

static void each_port(struct evtchn_domain *d,
		      void (*fn)(struct evtchn_domain *d, struct evtchn *e, u32 port))
{
	for (u32 i = 0; i < NR_BUCKETS; i++) {
		for (u32 j = 0; d->bucket[i] && j < BUCKET_PORTS; j++)
			fn(d, &d->bucket[i][j], i * BUCKET_PORTS + j);
	}
}

static void hide_any(struct evtchn_domain *d, struct evtchn *e, u32 port)
{
	e->closing = e->state != EVTCHNSTAT_closed;
	if (e->closing)
		hide_port(d, e);
}

static void retire_hidden(struct evtchn_domain *d, struct evtchn *e, u32 port)
{
	if (e->closing)
		retire_port(d, e, port);
	e->closing = false;
}

void evtchn_close_all(struct evtchn_domain *d)
{
	each_port(d, hide_any);
	evtchn_wait_senders();
	each_port(d, retire_hidden);
}

static s64 do_reset(struct vcpu *v, void *arg)
{
	const struct evtchn_reset *a = arg;
	struct evtchn_domain *d = v->vm->evtchn;
	s64 err = check_self(d, a->dom);

	if (err)
		return err;
	evtchn_close_all(d);
	evtchn_fifo_reset(d);
	return 0;
}

/* --- Binding ------------------------------------------------------------------------------------ */

static s64 do_alloc_unbound(struct vcpu *v, void *arg)
{
	struct evtchn_alloc_unbound *a = arg;
	struct evtchn_domain *d = v->vm->evtchn;
	s64 port = check_self(d, a->dom);
	struct evtchn *e;

	if (!port)
		port = evtchn_port_alloc(d);
	if (port < 0)
		return port;
	e = evtchn_find(d, (u32)port);
	e->peer_domid = a->remote_dom == DOMID_SELF ? (u16)d->domid : a->remote_dom;
	set_state(e, EVTCHNSTAT_unbound);
	a->port = (u32)port;
	return 0;
}

static void connect(struct evtchn *e, struct evtchn_domain *peer, u32 peer_port)
{
	WRITE_ONCE(e->peer, peer);
	WRITE_ONCE(e->peer_port, peer_port);
	set_state(e, EVTCHNSTAT_interdomain);
}

/* Both locks held. */
static s64 bind_peer(struct evtchn_domain *d, struct evtchn_domain *peer, u32 peer_port)
{
	struct evtchn *pe = find_used(peer, peer_port);
	s64 port;

	if (!pe || pe->state != EVTCHNSTAT_unbound || pe->peer_domid != d->domid)
		return -XEN_EINVAL;
	port = evtchn_port_alloc(d);
	if (port < 0)
		return port;
	connect(evtchn_find(d, (u32)port), peer, peer_port);
	connect(pe, d, (u32)port);
	return port;
}

static s64 do_bind_interdomain(struct vcpu *v, void *arg)
{
	struct evtchn_bind_interdomain *a = arg;
	struct evtchn_domain *d = v->vm->evtchn;
	struct evtchn_domain *peer =
		a->remote_dom == DOMID_SELF ? d : evtchn_domain_find(a->remote_dom);
	s64 port;

	if (!peer)
		return -XEN_ESRCH;
	lock_peer(d, peer);
	port = bind_peer(d, peer, a->remote_port);
	unlock_peer(d, peer);
	if (port < 0)
		return port;
	a->local_port = (u32)port;
	/* The peer may have sent before there was anybody to hear it. */
	(void)evtchn_raise(v->vm, (u32)port);
	return 0;
}

static s64 do_bind_virq(struct vcpu *v, void *arg)
{
	struct evtchn_bind_virq *a = arg;
	struct evtchn_domain *d = v->vm->evtchn;
	struct evtchn *e;
	u32 *bound;
	s64 port;

	if (a->virq >= NR_VIRQS || (evtchn_virq_is_global(a->virq) && a->vcpu != 0))
		return -XEN_EINVAL;
	if (a->vcpu >= v->vm->nr_vcpus)
		return -XEN_ENOENT;
	bound = &v->vm->vcpu[a->vcpu]->evtchn->virq_port[a->virq];
	if (*bound)
		return -XEN_EEXIST;
	port = evtchn_port_alloc(d);
	if (port < 0)
		return port;
	e = evtchn_find(d, (u32)port);
	WRITE_ONCE(e->vcpu, (u16)a->vcpu);
	e->vcpu_bound = (u16)a->vcpu;
	e->virq = a->virq;
	set_state(e, EVTCHNSTAT_virq);
	/* Pairs with the acquire in evtchn_virq(). */
	store_release(bound, (u32)port);
	a->port = (u32)port;
	return 0;
}

static s64 do_bind_ipi(struct vcpu *v, void *arg)
{
	struct evtchn_bind_ipi *a = arg;
	struct evtchn_domain *d = v->vm->evtchn;
	struct evtchn *e;
	s64 port;

	if (a->vcpu >= v->vm->nr_vcpus)
		return -XEN_ENOENT;
	port = evtchn_port_alloc(d);
	if (port < 0)
		return port;
	e = evtchn_find(d, (u32)port);
	WRITE_ONCE(e->vcpu, (u16)a->vcpu);
	set_state(e, EVTCHNSTAT_ipi);
	a->port = (u32)port;
	return 0;
}

/* There are no physical interrupts for a guest here: every number is out of range. */
static s64 do_bind_pirq(struct vcpu *v, void *arg)
{
	return -XEN_EINVAL;
}

/*
 * Who is notified from now on. A sender that has read the old vCPU still tells that one; the ABI lets both
 * happen, and the event is in the same bit or, by FIFO, on the one queue whose LINKED it set.
 */
static s64 do_bind_vcpu(struct vcpu *v, void *arg)
{
	const struct evtchn_bind_vcpu *a = arg;
	struct evtchn *e = find_used(v->vm->evtchn, a->port);

	if (a->vcpu >= v->vm->nr_vcpus)
		return -XEN_ENOENT;
	if (!e || e->state == EVTCHNSTAT_ipi ||
	    (e->state == EVTCHNSTAT_virq && !evtchn_virq_is_global(e->virq)))
		return -XEN_EINVAL;
	WRITE_ONCE(e->vcpu, (u16)a->vcpu);
	return 0;
}

/* --- The rest ----------------------------------------------------------------------------------- */

static void tell_status(struct evtchn_status *a, const struct evtchn *e)
{
	a->status = e->state;
	a->vcpu = e->vcpu;
	switch (e->state) {
	case EVTCHNSTAT_unbound: a->u.unbound.dom = e->peer_domid; break;
	case EVTCHNSTAT_interdomain:
		a->u.interdomain.dom = (u16)e->peer->domid;
		a->u.interdomain.port = e->peer_port;
		break;
	case EVTCHNSTAT_virq: a->u.virq = e->virq; break;
	default: break;
	}
}

static s64 do_status(struct vcpu *v, void *arg)
{
	struct evtchn_status *a = arg;
	struct evtchn_domain *d = v->vm->evtchn;
	s64 err = check_self(d, a->dom);
	struct evtchn *e;

	if (err)
		return err;
	if (!a->port || a->port >= evtchn_port_limit(d))
		return -XEN_EINVAL;
	a->status = EVTCHNSTAT_closed;
	a->vcpu = 0;
	e = evtchn_find(d, a->port);
	if (e)
		tell_status(a, e);
	return 0;
}

static s64 do_send(struct vcpu *v, void *arg)
{
	return evtchn_send(v->vm, ((const struct evtchn_send *)arg)->port);
}

static s64 do_unmask(struct vcpu *v, void *arg)
{
	u32 port = ((const struct evtchn_unmask *)arg)->port;
	struct evtchn_domain *d = v->vm->evtchn;
	struct evtchn *e = find_used(d, port);

	if (!e)
		return -XEN_EINVAL;
	if (unlikely(evtchn_try_unmask(d, e, port)))
		evtchn_owe_unmask(v, port);
	return 0;
}

static s64 do_init_control(struct vcpu *v, void *arg)
{
	return evtchn_fifo_init_control(v, arg);
}

static s64 do_expand_array(struct vcpu *v, void *arg)
{
	return evtchn_fifo_expand(v, arg);
}

static s64 do_set_priority(struct vcpu *v, void *arg)
{
	const struct evtchn_set_priority *a = arg;
	struct evtchn_domain *d = v->vm->evtchn;
	struct evtchn *e = find_used(d, a->port);

	if (!e || a->priority >= EVTCHN_FIFO_PRIORITIES)
		return -XEN_EINVAL;
	if (!d->fifo)
		return -XEN_ENOSYS;
	WRITE_ONCE(e->priority, (u8)a->priority);
	return 0;
}

enum op_locks { NO_LOCK, OWN_LOCK, PEERS_LOCK };

static const struct op {
	s64 (*fn)(struct vcpu *v, void *arg);
	u8 size;
	u8 locks; /* enum op_locks */
} ops[] = {
	[EVTCHNOP_bind_interdomain] = { do_bind_interdomain, sizeof(struct evtchn_bind_interdomain),
					PEERS_LOCK },
	[EVTCHNOP_bind_virq] = { do_bind_virq, sizeof(struct evtchn_bind_virq), OWN_LOCK },
	[EVTCHNOP_bind_pirq] = { do_bind_pirq, sizeof(struct evtchn_bind_pirq), NO_LOCK },
	[EVTCHNOP_close] = { do_close, sizeof(struct evtchn_close), PEERS_LOCK },
	[EVTCHNOP_send] = { do_send, sizeof(struct evtchn_send), NO_LOCK },
	[EVTCHNOP_status] = { do_status, sizeof(struct evtchn_status), PEERS_LOCK },
	[EVTCHNOP_alloc_unbound] = { do_alloc_unbound, sizeof(struct evtchn_alloc_unbound),
				     PEERS_LOCK },
	[EVTCHNOP_bind_ipi] = { do_bind_ipi, sizeof(struct evtchn_bind_ipi), OWN_LOCK },
	[EVTCHNOP_bind_vcpu] = { do_bind_vcpu, sizeof(struct evtchn_bind_vcpu), OWN_LOCK },
	[EVTCHNOP_unmask] = { do_unmask, sizeof(struct evtchn_unmask), NO_LOCK },
	[EVTCHNOP_reset] = { do_reset, sizeof(struct evtchn_reset), PEERS_LOCK },
	[EVTCHNOP_init_control] = { do_init_control, sizeof(struct evtchn_init_control), OWN_LOCK },
	[EVTCHNOP_expand_array] = { do_expand_array, sizeof(struct evtchn_expand_array), OWN_LOCK },
	[EVTCHNOP_set_priority] = { do_set_priority, sizeof(struct evtchn_set_priority), OWN_LOCK },
};

u32 evtchn_arg_size(u32 cmd)
{
	return cmd < ARRAY_SIZE(ops) ? ops[cmd].size : 0;
}

static s64 run_op(struct vcpu *v, const struct op *op, void *arg)
{
	struct evtchn_domain *d = v->vm->evtchn;
	s64 err;

	if (op->locks == NO_LOCK)
		return op->fn(v, arg);
	if (op->locks == PEERS_LOCK)
		spin_lock(&evtchn_peers_lock);
	spin_lock(&d->lock);
	err = op->fn(v, arg);
	spin_unlock(&d->lock);
	if (op->locks == PEERS_LOCK)
		spin_unlock(&evtchn_peers_lock);
	return err;
}

s64 evtchn_op(struct vcpu *v, u32 cmd, void *arg)
{
	s64 err;

	if (cmd >= ARRAY_SIZE(ops))
		return -XEN_ENOSYS;
	err = run_op(v, &ops[cmd], arg);
	/* The guest's memory is being changed: not while that lock is held. No guest knows this error. */
	for (u32 i = 0; err == -XEN_EAGAIN && i < MEMORY_TRIES; i++) {
		slots_lock(v->vm);
		err = run_op(v, &ops[cmd], arg);
		slots_unlock(v->vm);
	}
	return err;
}
