/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of event channels say to each other. A port's entry never moves and is never freed while
 * its domain lives, so that a sender may look at it in a read section and nothing else; what a section
 * may still be using changes only after a grace period.
 */
#ifndef CORE_EVTCHN_H
#define CORE_EVTCHN_H

#include <asm/local.h>
#include <asm/xen.h>
#include <cupel/evtchn.h>
#include <cupel/rmw.h>

/* What a delivery still owes its port: bits of evtchn.owed. */
#define OWED_QUEUED BIT32(0) /* it is, or is about to be, on the list of a vCPU */
#define OWED_RAISE  BIT32(1) /* the pending bit is not set yet */
#define OWED_LINK   BIT32(2) /* FIFO: pending, but perhaps on no queue */
#define OWED_APPEND BIT32(3) /* FIFO: LINKED, but on no queue yet */
#define OWED_ORPHAN BIT32(4) /* FIFO: pending, but its word's page is not there yet */

struct evtchn {
	u8 state; /* EVTCHNSTAT_*, stored with release after what belongs to it */
	u8 priority;
	u16 vcpu; /* who is notified */
	union {
		u32 peer_port; /* interdomain */
		u32 virq;
	};
	struct evtchn_domain *peer; /* interdomain */
	u32 owed; /* OWED_*; atomic */
	u32 next; /* the next port of that list, while QUEUED */
	u16 last_vcpu; /* FIFO: the queue it was last on; guarded by the lock of that queue */
	u8 last_priority;
	bool closing; /* between the two steps of closing all */
	u16 peer_domid; /* unbound */
	u16 vcpu_bound; /* VIRQ: whose it is, whoever is notified */
};

#define BUCKET_PORTS (PAGE_SIZE / sizeof(struct evtchn))
#define NR_BUCKETS   (EVTCHN_FIFO_PORTS / BUCKET_PORTS)
_Static_assert(sizeof(struct evtchn) == 32, "a bucket is a page");

struct evtchn_queue {
	spinlock_t lock; /* guards tail, and head[] of the control block; senders only try */
	u32 tail; /* the port that was last linked; 0 = none. Read without the lock as a hint */
} __cacheline_aligned;

/* A vCPU's half of the FIFO ABI; published with release, freed after a grace period. */
struct evtchn_fifo_vcpu {
	struct gpc control;
	u32 vcpu;
	struct evtchn_queue queue[EVTCHN_FIFO_PRIORITIES];
};

#define FIFO_PAGE_WORDS (PAGE_SIZE / sizeof(u32))
#define FIFO_PAGES	(EVTCHN_FIFO_PORTS / FIFO_PAGE_WORDS)
#define FIFO_CHUNK	(PAGE_SIZE / sizeof(struct gpc))

/* A domain's half. As above. */
struct evtchn_fifo {
	u32 nr_pages; /* event array pages; stored with release after the cache of the last */
	struct gpc *chunk[DIV_ROUND_UP(FIFO_PAGES, 8)]; /* FIFO_CHUNK caches each */
};
_Static_assert(FIFO_CHUNK >= 8, "chunks for all pages");

struct evtchn_domain {
	/* Read by senders. */
	struct vm *vm;
	struct evtchn **bucket; /* NR_BUCKETS; each stored with release, and then it stays */
	struct evtchn_fifo *fifo; /* NULL: 2-level */
	u32 pollers; /* vCPUs in SCHEDOP_poll; atomic */
	u32 domid; /* what guests call the VM: free_domid() */
	struct evtchn_domain *next; /* list of all; changed under peers_lock, read in sections too */
	struct gpc shared_info __cacheline_aligned;

	/* Guards every port and what follows. Thread context; may be held over a grace period. */
	spinlock_t lock __cacheline_aligned;
	u32 changes; /* of guest memory that vCPUs were told of; atomic, in any context */
	u32 hint; /* no port before this one, in the order of the layout, is free */
};

struct evtchn_vcpu {
	/* Read by senders. */
	struct gpc vcpu_info;
	struct evtchn_fifo_vcpu *fifo; /* NULL: no control block */
	u32 virq_port[NR_VIRQS]; /* 0 = not bound; global ones on vCPU 0 */

	/* Written by senders that could not finish, taken by evtchn_serve(). */
	u64 owed_sel __cacheline_aligned; /* selector bits: 2-level */
	u32 owed_upcall; /* upcall_pending, after those bits */
	u32 owed_port; /* first of a list of ports linked by `next`, 0 = none */
	u32 owed_unmask; /* port of an EVTCHNOP_unmask of its own, 0 = none; owner only */
	bool stuck; /* what is owed can't be paid before guest memory changes */
	u32 poll_port; /* port it polls, POLL_ANY, 0 = none */
	bool poll_done;
};
#define POLL_ANY (~0U)

DECLARE_PER_CPU(struct evtchn_counts, evtchn_counts);
#define evtchn_count(what) local_inc(&this_cpu(evtchn_counts).what)
/* What happens at every delivery is counted only while locks are: `counting` is read once a delivery. */
static __always_inline bool evtchn_counting(void)
{
	return READ_ONCE(lock_stats_enabled);
}

/* The entry of a port, NULL when there is none. In a section of guest_srcu or under the domain's lock. */
static inline struct evtchn *evtchn_find(const struct evtchn_domain *d, u32 port)
{
	struct evtchn *b;

	if (unlikely(port >= EVTCHN_FIFO_PORTS))
		return NULL;
	/* Pairs with the release in evtchn_port_alloc(): the bucket is zeroed. */
	b = load_acquire(&d->bucket[port / BUCKET_PORTS]);
	return likely(b) ? &b[port % BUCKET_PORTS] : NULL;
}

static inline struct vcpu *evtchn_target(const struct evtchn_domain *d, const struct evtchn *e)
{
	return d->vm->vcpu[READ_ONCE(e->vcpu)];
}

/* evtchn.c, all in a section. Whoever polls that port is woken. */
void evtchn_wake_pollers(struct evtchn_domain *d, u32 port);
/* evtchn_owed.c, in a section. Selector bits and upcall_pending are left with the vCPU they are for. */
void evtchn_owe_upcall(struct vcpu *v, u64 sel);
/* An EVTCHNOP_unmask of this vCPU's is done before its guest goes on. Owner CPU. */
void evtchn_owe_unmask(struct vcpu *v, u32 port);
/* Unmask by the domain's ABI. -EAGAIN. */
int evtchn_try_unmask(struct evtchn_domain *d, struct evtchn *e, u32 port);
/* Leave `what` (OWED_*) of a delivery with a vCPU that runs. */
void evtchn_owe(struct evtchn_domain *d, struct evtchn *e, u32 port, u32 what);
/* Selector bits (2-level), then upcall_pending; tell the arch if that went from 0 to 1. */
void evtchn_mark_vcpu(struct vcpu *v, u64 sel);
/* Deliver by the domain's ABI. */
void evtchn_deliver(struct evtchn_domain *d, struct evtchn *e, u32 port);
/* No section, under the domain's lock: 0 when a delivery to that port may work now. `e` may be NULL. */
int evtchn_make_reachable(struct evtchn_domain *d, struct evtchn *e, u32 port);
/* A VIRQ that belongs to the domain rather than to a vCPU. */
bool evtchn_virq_is_global(u32 virq);
/* Raise a port of whatever VM has that id now: -ESRCH when none has. Any context. */
s64 evtchn_raise_id(u32 vm_id, u32 port);

static __always_inline u64 *evtchn_2l_word(void *shared_info, u32 offset, u32 port)
{
	return (u64 *)((u8 *)shared_info + offset) + port / 64;
}

/* evtchn_2l.c. In a section; -EAGAIN: shared_info can't be reached now. */
int evtchn_2l_unmask(struct evtchn_domain *d, struct evtchn *e, u32 port);
int evtchn_2l_test(struct evtchn_domain *d, u32 port, bool *pending);
int evtchn_2l_clear(struct evtchn_domain *d, u32 port);

/* evtchn_fifo.c. Likewise. */
void evtchn_fifo_raise(struct evtchn_domain *d, struct evtchn_fifo *f, struct evtchn *e, u32 port);
/*
 * Put a pending port on its queue: OWED_LINK if it still has to be, OWED_APPEND as it has to be. `wait`: for
 * the queue's lock (thread context).
 */
void evtchn_fifo_link(struct evtchn_domain *d, struct evtchn_fifo *f, struct evtchn *e, u32 port,
		      u32 what, bool wait);
int evtchn_fifo_unmask(struct evtchn_domain *d, struct evtchn_fifo *f, struct evtchn *e, u32 port);
int evtchn_fifo_test(struct evtchn_fifo *f, u32 port, u32 bit, bool *is_set);
/* Not pending any more, nor linked if that was owed (`ours`). */
int evtchn_fifo_clear(struct evtchn_fifo *f, u32 port, bool ours);
/* Outside every section, thread context: make reachable what a delivery of that port needs. -errno. */
int evtchn_fifo_refresh(struct evtchn_domain *d, struct evtchn_fifo *f, struct evtchn *e, u32 port);
/* Under the domain's lock. Xen's errors. */
s64 evtchn_fifo_init_control(struct vcpu *v, struct evtchn_init_control *a);
s64 evtchn_fifo_expand(struct vcpu *v, const struct evtchn_expand_array *a);
/* Back to 2-level: nobody sends by FIFO any more on return. Waits for a grace period. */
void evtchn_fifo_reset(struct evtchn_domain *d);

/* evtchn_ports.c, under the domain's lock. A free port, its entry reset, not yet visible; -errno. */
s64 evtchn_port_alloc(struct evtchn_domain *d);
/* The port may be given out again. */
void evtchn_port_free(struct evtchn_domain *d, u32 port);
/* Ports of the ABI in use. */
u32 evtchn_port_limit(const struct evtchn_domain *d);

/*
 * evtchn_ops.c. Every port is closed, peers become unbound; a grace period passes. Under
 * evtchn_peers_lock and the domain's lock.
 */
void evtchn_close_all(struct evtchn_domain *d);

/* The domain with that number, NULL if there is none. Under evtchn_peers_lock or in a section. */
struct evtchn_domain *evtchn_domain_find(u32 domid);
/*
 * Guards the list of domains and everything between two of them; taken before a domain's lock, so that the
 * lock of a second domain may be taken too. Thread context; may be held over a grace period.
 */
extern spinlock_t evtchn_peers_lock;
extern struct evtchn_domain *evtchn_domains; /* newest first */

/* Wait for all senders: nobody uses what was taken away before. */
static inline void evtchn_wait_senders(void)
{
	srcu_synchronize(&guest_srcu, SRCU_ATOMIC_FAST);
}

#endif
