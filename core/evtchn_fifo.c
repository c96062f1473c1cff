/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The FIFO ABI: a word a port in an array that the guest gives page by page, and sixteen queues a vCPU that
 * run through those words; heads in the vCPU's control block. All of it is guest memory, each page behind
 * a cache of its own, and rewritten by a hostile guest at any time: a link is only ever written, never
 * followed, and every loop on a word is bounded.
 *
 * The tail of a queue is ours. Its lock is only tried: who does not get it leaves the port with the vCPU. No
 * two caches are held at once, since their readers may have to wait for an updater (gpc=rwlock), and an
 * updater for them. So a page may go away half way: then LINKED is set, the port is on no queue yet, and
 * the vCPU owes it the rest (OWED_APPEND).
 *
 * With the guest's half this pairs as follows:
 *
 *	set PENDING, look at MASKED and LINKED	clear LINKED and LINK at once, then clear PENDING and look;
 *						clear MASKED if not BUSY, then look at PENDING (unmask)
 *	write LINK of the tail if it is LINKED	the same exchange: a link written before is followed
 *	write the head, then set the ready bit	exchange the ready bits, then read the head
 */
#include <cupel/errno.h>
#include <cupel/mm.h>

#include "evtchn.h"

#define PENDING BIT32(EVTCHN_FIFO_PENDING)
#define MASKED	BIT32(EVTCHN_FIFO_MASKED)
#define LINKED	BIT32(EVTCHN_FIFO_LINKED)
#define BUSY	BIT32(EVTCHN_FIFO_BUSY)

/* Times that a link is tried against a guest that rewrites the word. */
#define LINK_TRIES 4

/* --- Words -------------------------------------------------------------------------------------- */

/* The cache of the page that has the port's word; NULL: the guest has not given it yet. */
static struct gpc *page_of(const struct evtchn_fifo *f, u32 port)
{
	u32 page = port / FIFO_PAGE_WORDS;

	/* Pairs with the release in evtchn_fifo_expand(): the cache is there. */
	if (page >= load_acquire(&f->nr_pages))
		return NULL;
	return &f->chunk[page / FIFO_CHUNK][page % FIFO_CHUNK];
}

/* These two stand in many places, and are not small. */
static __noinline u32 *get_word(struct gpc *g, u32 port)
{
	u32 *page = gpc_get(g, PAGE_SIZE);

	return page ? page + port % FIFO_PAGE_WORDS : NULL;
}

static __noinline void put_written(struct gpc *g)
{
	gpc_dirty(g);
	gpc_put(g);
}

/*
 * Write `port` as the link of a word that is in a queue. False: it is in none any more. BUSY keeps the guest
 * from unmasking meanwhile, so that it stops changing the word; one that goes on has lost its own event.
 */
static bool set_link(u32 *word, u32 port)
{
	u32 w = READ_ONCE(*word);
	bool linked = true;

	for (int i = 0; i < LINK_TRIES; i++) {
		linked = w & LINKED;
		if (!linked)
			break;
		count_shared_rmw();
		/* Full: pairs with the guest's exchange that clears LINKED and takes the link. */
		if (atomic_cmpxchg_full(word, &w, (w & ~(BUSY | EVTCHN_FIFO_LINK_MASK)) | port))
			return true;
		if (!i)
			w = atomic_fetch_or_full(word, BUSY) | BUSY;
	}
	atomic_fetch_and_full(word, ~BUSY);
	return linked;
}

/* --- Queues ------------------------------------------------------------------------------------- */

struct linking {
	struct evtchn_fifo *f;
	struct evtchn_fifo_vcpu *fv; /* of who is notified */
	struct evtchn_queue *q; /* where the port is to be */
	struct evtchn_queue *old; /* where it was last; may be q, or NULL */
	struct gpc *page; /* of its word */
	u32 port;
	u32 prio;
};

static struct evtchn_queue *queue_of(struct evtchn_domain *d, u32 vcpu, u32 prio)
{
	/* Pairs with the release in evtchn_fifo_init_control(). */
	struct evtchn_fifo_vcpu *fv = load_acquire(&d->vm->vcpu[vcpu]->evtchn->fifo);

	return fv ? &fv->queue[prio] : NULL;
}

static void unlock_queues(struct linking *l)
{
	if (l->old && l->old != l->q)
		spin_unlock(&l->old->lock);
	spin_unlock(&l->q->lock);
}

/*
 * The lock of the queue that the port is to be on, and of the one where it was last: it may be that one's
 * tail, and a tail in another queue would be written to by both. `wait` for the first only.
 */
static bool lock_queues(struct evtchn_domain *d, struct evtchn *e, struct linking *l, bool wait)
{
	u32 vcpu = READ_ONCE(e->last_vcpu), prio = READ_ONCE(e->last_priority);

	if (wait)
		spin_lock(&l->q->lock);
	else if (!spin_trylock(&l->q->lock))
		return false;
	l->old = queue_of(d, vcpu, prio);
	if (l->old && l->old != l->q && !spin_trylock(&l->old->lock)) {
		spin_unlock(&l->q->lock);
		return false;
	}
	/* Moved meanwhile: then somebody has linked it, and the next try will see that. */
	if (likely(vcpu == READ_ONCE(e->last_vcpu) && prio == READ_ONCE(e->last_priority)))
		return true;
	unlock_queues(l);
	return false;
}

/* Set LINKED of a port that is to be on a queue. 1: it is ours to append; 0: nothing to do; -EAGAIN. */
static int claim(const struct linking *l)
{
	u32 *word = get_word(l->page, l->port), w;
	int ours = 0;

	if (!word)
		return -EAGAIN;
	w = READ_ONCE(*word);
	if ((w & PENDING) && !(w & MASKED)) {
		count_shared_rmw();
		/* Full: this or the guest's unlinking comes first; see the top. */
		ours = !(atomic_fetch_or_full(word, LINKED) & LINKED);
	}
	put_written(l->page);
	return ours;
}

/* 1: linked to the tail; 0: the queue is empty; -EAGAIN. */
static int follow_tail(const struct linking *l)
{
	struct gpc *g = l->q->tail ? page_of(l->f, l->q->tail) : NULL;
	u32 *word;
	int linked;

	if (!g)
		return 0;
	word = get_word(g, l->q->tail);
	if (!word)
		return -EAGAIN;
	linked = set_link(word, l->port);
	put_written(g);
	return linked;
}

/* First of an empty queue. 1: its ready bit has gone from 0 to 1; -EAGAIN. */
static int lead_queue(const struct linking *l)
{
	struct evtchn_fifo_control *c = gpc_get(&l->fv->control, sizeof(*c));
	u32 bit = BIT32(l->prio);
	int ready;

	if (!c)
		return -EAGAIN;
	/* Release: pairs with the guest's acquire of the head; the word is LINKED. */
	store_release(&c->head[l->prio], l->port);
	count_shared_rmw();
	/* Full: pairs with the guest's exchange of the ready bits, which then reads the head. */
	ready = !(atomic_fetch_or_full(&c->ready, bit) & bit);
	put_written(&l->fv->control);
	return ready;
}

/* A port whose LINKED is ours. 1: the vCPU is to be told; 0; -EAGAIN: it is on no queue yet. */
static int append(struct evtchn *e, struct linking *l)
{
	int linked, ready = 0;

	/* It was the last of a queue that the guest has emptied: nothing is to be linked to it there. */
	if (l->old && l->old->tail == l->port)
		WRITE_ONCE(l->old->tail, 0);
	linked = follow_tail(l);
	if (!linked)
		ready = lead_queue(l);
	if (linked < 0 || ready < 0)
		return -EAGAIN;
	WRITE_ONCE(l->q->tail, l->port);
	WRITE_ONCE(e->last_vcpu, (u16)l->fv->vcpu);
	WRITE_ONCE(e->last_priority, (u8)l->prio);
	return ready;
}

void evtchn_fifo_link(struct evtchn_domain *d, struct evtchn_fifo *f, struct evtchn *e, u32 port,
		      u32 what, bool wait)
{
	struct vcpu *v = evtchn_target(d, e);
	struct linking l = { .f = f, .port = port, .prio = READ_ONCE(e->priority) };
	int done = what & OWED_APPEND ? 1 : 0;

	/* Pairs with the release in evtchn_fifo_init_control(). */
	l.fv = load_acquire(&v->evtchn->fifo);
	l.page = page_of(f, port);
	/* No control block, no queue: what is sent before there is one is lost (the ABI says so). */
	if (!l.fv || !l.page)
		return;
	l.q = &l.fv->queue[l.prio];
	if (!lock_queues(d, e, &l, wait)) {
		evtchn_owe(d, e, port, what);
		return;
	}
	if (!done)
		done = claim(&l);
	if (done < 0)
		evtchn_owe(d, e, port, OWED_LINK);
	if (done > 0) {
		done = append(e, &l);
		if (done < 0)
			evtchn_owe(d, e, port, OWED_APPEND);
	}
	unlock_queues(&l);
	if (done > 0)
		evtchn_mark_vcpu(v, 0);
}

/* --- Raising ------------------------------------------------------------------------------------ */

/* Remember it for evtchn_fifo_expand(). The page, if it has come meanwhile. */
static struct gpc *orphan(const struct evtchn_fifo *f, struct evtchn *e, u32 port)
{
	/* Full: pairs with the barrier in evtchn_fifo_expand(); either sees what the other stored. */
	atomic_fetch_or_full(&e->owed, OWED_ORPHAN);
	return page_of(f, port);
}

void evtchn_fifo_raise(struct evtchn_domain *d, struct evtchn_fifo *f, struct evtchn *e, u32 port)
{
	struct gpc *g = page_of(f, port);
	u32 *word, was;

	if (unlikely(!g) && !(g = orphan(f, e, port)))
		return;
	word = get_word(g, port);
	if (unlikely(!word)) {
		evtchn_owe(d, e, port, OWED_RAISE);
		return;
	}
	count_shared_rmw();
	/* Full: pairs with the guest's clearing of MASKED, LINKED and PENDING; and with a poller's count. */
	was = atomic_fetch_or_full(word, PENDING);
	put_written(g);
	if (unlikely(evtchn_counting()) && (was & PENDING))
		evtchn_count(already);
	else if (unlikely(evtchn_counting()) && (was & MASKED))
		evtchn_count(masked);
	if (!(was & (MASKED | LINKED)))
		evtchn_fifo_link(d, f, e, port, OWED_LINK, false);
	if (!(was & PENDING) && unlikely(READ_ONCE(d->pollers)))
		evtchn_wake_pollers(d, port);
}

int evtchn_fifo_unmask(struct evtchn_domain *d, struct evtchn_fifo *f, struct evtchn *e, u32 port)
{
	struct gpc *g = page_of(f, port);
	u32 *word, was;

	if (!g)
		return 0;
	word = get_word(g, port);
	if (!word)
		return -EAGAIN;
	count_shared_rmw();
	/* Full: pairs with the one that sets PENDING and sees MASKED. */
	was = atomic_fetch_and_full(word, ~MASKED);
	put_written(g);
	if ((was & PENDING) && !(was & LINKED))
		evtchn_fifo_link(d, f, e, port, OWED_LINK, false);
	return 0;
}

int evtchn_fifo_test(struct evtchn_fifo *f, u32 port, u32 bit, bool *is_set)
{
	struct gpc *g = page_of(f, port);
	u32 *word = g ? get_word(g, port) : NULL;

	if (g && !word)
		return -EAGAIN;
	*is_set = word && READ_ONCE(*word) & BIT32(bit);
	if (word)
		gpc_put(g);
	return 0;
}

int evtchn_fifo_clear(struct evtchn_fifo *f, u32 port, bool ours)
{
	struct gpc *g = page_of(f, port);
	u32 *word = g ? get_word(g, port) : NULL;

	if (g && !word)
		return -EAGAIN;
	if (!word)
		return 0;
	/* On a queue it stays linked: the guest unlinks it, and finds nothing pending. */
	atomic_fetch_and_relaxed(word, ours ? ~(PENDING | LINKED) : ~PENDING);
	put_written(g);
	return 0;
}

int evtchn_fifo_refresh(struct evtchn_domain *d, struct evtchn_fifo *f, struct evtchn *e, u32 port)
{
	/* A poller may name a port that was never given out: of that there is a word and nothing else. */
	struct evtchn_fifo_vcpu *fv = e ? evtchn_target(d, e)->evtchn->fifo : NULL;
	struct gpc *g = page_of(f, port);
	u32 tail = fv ? READ_ONCE(fv->queue[e->priority].tail) : 0;
	int err = g ? gpc_refresh(g) : 0;

	if (!err && fv)
		err = gpc_refresh(&fv->control);
	g = tail ? page_of(f, tail) : NULL;
	if (!err && g)
		err = gpc_refresh(g);
	return err;
}

/* --- Setting up and taking down ----------------------------------------------------------------- */

/* What a page cache says of an address that the guest gave, as Xen would. */
static s64 bad_page(int err)
{
	switch (err) {
	case -EAGAIN: return -XEN_EAGAIN;
	case -ENOMEM: return -XEN_ENOMEM;
	default: return -XEN_EINVAL;
	}
}

static s64 activate(struct gpc *g, struct vm *vm, gpaddr_t gpa, u32 len)
{
	int err = gpc_init(g, vm, 0, NULL);

	if (err)
		return -XEN_ENOMEM;
	err = gpc_activate(g, gpa, len);
	if (!err)
		return 0;
	gpc_destroy(g);
	return bad_page(err);
}

static struct evtchn_fifo_vcpu *new_fifo_vcpu(u32 vcpu)
{
	struct evtchn_fifo_vcpu *fv = page_alloc();

	if (!fv)
		return NULL;
	fv->vcpu = vcpu;
	for (u32 i = 0; i < EVTCHN_FIFO_PRIORITIES; i++)
		fv->queue[i].lock.name = "evtchn_queue";
	return fv;
}

/* The domain's first control block: it leaves the 2-level ABI. What was pending there is lost. */
static s64 fifo_start(struct evtchn_domain *d)
{
	struct evtchn_fifo *f = page_alloc();

	if (!f)
		return -XEN_ENOMEM;
	d->hint = 0;
	/* Pairs with the acquires of senders. */
	store_release(&d->fifo, f);
	return 0;
}

s64 evtchn_fifo_init_control(struct vcpu *v, struct evtchn_init_control *a)
{
	struct evtchn_domain *d = v->vm->evtchn;
	struct evtchn_fifo_vcpu *fv;
	struct vcpu *target;
	s64 err;

	if (a->vcpu >= v->vm->nr_vcpus)
		return -XEN_ENOENT;
	target = v->vm->vcpu[a->vcpu];
	if (target->evtchn->fifo || !IS_ALIGNED(a->offset, 8) ||
	    a->offset > PAGE_SIZE - sizeof(struct evtchn_fifo_control) ||
	    a->control_gfn > ~0UL >> PAGE_SHIFT)
		return -XEN_EINVAL;
	fv = new_fifo_vcpu(a->vcpu);
	if (!fv)
		return -XEN_ENOMEM;
	err = activate(&fv->control, v->vm, (a->control_gfn << PAGE_SHIFT) + a->offset,
		       sizeof(struct evtchn_fifo_control));
	if (!err && !d->fifo) {
		err = fifo_start(d);
		if (err)
			gpc_destroy(&fv->control);
	}
	if (err) {
		page_free(fv);
		return err;
	}
	/* Pairs with the acquires of senders: queues and control block are there. */
	store_release(&target->evtchn->fifo, fv);
	a->link_bits = EVTCHN_FIFO_LINK_BITS;
	return 0;
}

/* Events that came before their words' page did. */
static void replay(struct evtchn_domain *d, u32 page)
{
	for (u32 port = page * FIFO_PAGE_WORDS; port < (page + 1) * FIFO_PAGE_WORDS; port++) {
		struct evtchn *e = evtchn_find(d, port);
		srcu_token_t token;

		/* Full: pairs with the one in orphan(). */
		if (!e || !(atomic_fetch_and_full(&e->owed, ~OWED_ORPHAN) & OWED_ORPHAN))
			continue;
		token = guest_read_lock();
		evtchn_fifo_raise(d, d->fifo, e, port);
		guest_read_unlock(token);
	}
}

s64 evtchn_fifo_expand(struct vcpu *v, const struct evtchn_expand_array *a)
{
	struct evtchn_domain *d = v->vm->evtchn;
	struct evtchn_fifo *f = d->fifo;
	u32 page = f ? f->nr_pages : 0;
	s64 err;

	if (!f)
		return -XEN_EOPNOTSUPP;
	if (page == FIFO_PAGES)
		return -XEN_ENOSPC;
	if (a->array_gfn > ~0UL >> PAGE_SHIFT)
		return -XEN_EINVAL;
	if (!f->chunk[page / FIFO_CHUNK])
		f->chunk[page / FIFO_CHUNK] = page_alloc();
	if (!f->chunk[page / FIFO_CHUNK])
		return -XEN_ENOMEM;
	err = activate(&f->chunk[page / FIFO_CHUNK][page % FIFO_CHUNK], v->vm,
		       a->array_gfn << PAGE_SHIFT, PAGE_SIZE);
	if (err)
		return err;
	/* Release: pairs with the acquire in page_of(). */
	store_release(&f->nr_pages, page + 1);
	/* Pairs with the full operation in orphan(): who did not see the page is seen in replay(). */
	smp_mb();
	replay(d, page);
	return 0;
}

void evtchn_fifo_reset(struct evtchn_domain *d)
{
	struct evtchn_fifo *f = d->fifo;
	struct vm *vm = d->vm;

	if (!f)
		return;
	WRITE_ONCE(d->fifo, NULL);
	evtchn_wait_senders();
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		struct evtchn_fifo_vcpu *fv = vm->vcpu[i]->evtchn->fifo;

		/* Senders that look at it find `fifo` of the domain first, and that is gone. */
		WRITE_ONCE(vm->vcpu[i]->evtchn->fifo, NULL);
		if (fv)
			gpc_destroy(&fv->control);
		page_free(fv);
	}
	for (u32 i = 0; i < f->nr_pages; i++)
		gpc_destroy(page_of(f, i * FIFO_PAGE_WORDS));
	for (u32 i = 0; i < ARRAY_SIZE(f->chunk); i++)
		page_free(f->chunk[i]);
	page_free(f);
	d->hint = 0;
}
