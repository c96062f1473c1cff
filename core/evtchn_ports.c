/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which port comes next. Spread (the default): ports that are given out one after the other have their bits
 * or words on different cache lines, as long as there are such lines; packed: in order, to compare. Never
 * gives out a port that a sender may still be using (close waits for those) or that is still linked into
 * a queue of the guest's.
 */
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <string.h>

#include "evtchn.h"

/* Bits of one line of shared_info, and how many such lines the pending bits take. */
#define LINE_BITS (CACHE_LINE * 8U)
#define LINES_2L  (EVTCHN_2L_PORTS / LINE_BITS)
/* Words of bits that come before the first whole line; asm/xen.h says where the bits begin. */
#define FIRST_WORD ((CACHE_LINE - XEN_EVTCHN_PENDING % CACHE_LINE) / 8U % 8U)

#define LINE_WORDS (CACHE_LINE / 4U)
#define FIFO_LINES (FIFO_PAGE_WORDS / LINE_WORDS)

/* A guest that leaves its ports linked is told that there are none after so many. */
#define MAX_LINKED 1024

u32 evtchn_port_limit(const struct evtchn_domain *d)
{
	return READ_ONCE(d->fifo) ? EVTCHN_FIFO_PORTS : EVTCHN_2L_PORTS;
}

/* The n-th port to be given out. Lines first, then words of bits, then bits. */
static u32 spread_2l(u32 n)
{
	u32 line = n % LINES_2L, word = n / LINES_2L % 8, bit = n / (LINES_2L * 8);

	return line * LINE_BITS + (word + FIRST_WORD) % 8 * 64 + bit;
}

/* One page of the event array is filled before the next, since a guest adds them one by one. */
static u32 spread_fifo(u32 n)
{
	u32 page = n / FIFO_PAGE_WORDS, line = n % FIFO_LINES;
	u32 word = n % FIFO_PAGE_WORDS / FIFO_LINES;

	return page * FIFO_PAGE_WORDS + line * LINE_WORDS + word;
}

static u32 rank_2l(u32 port)
{
	u32 word = (port / 64 + 8 - FIRST_WORD) % 8;

	return (port % 64 * 8 + word) * LINES_2L + port / LINE_BITS;
}

static u32 rank_fifo(u32 port)
{
	u32 line = port % FIFO_PAGE_WORDS / LINE_WORDS;

	return ALIGN_DOWN(port, FIFO_PAGE_WORDS) + port % LINE_WORDS * FIFO_LINES + line;
}

static u32 nth_port(const struct evtchn_domain *d, u32 n)
{
	if (d->vm->config.layout == EVTCHN_PACKED)
		return n;
	return d->fifo ? spread_fifo(n) : spread_2l(n);
}

/* The n of nth_port(). */
static u32 rank_of(const struct evtchn_domain *d, u32 port)
{
	if (d->vm->config.layout == EVTCHN_PACKED)
		return port;
	return d->fifo ? rank_fifo(port) : rank_2l(port);
}

/* Still in a queue of the guest's, or that can't be seen: not to be used again yet. */
static bool still_linked(struct evtchn_domain *d, u32 port)
{
	bool linked = true;
	srcu_token_t token;

	if (!d->fifo)
		return false;
	token = guest_read_lock();
	(void)evtchn_fifo_test(d->fifo, port, EVTCHN_FIFO_LINKED, &linked);
	guest_read_unlock(token);
	return linked;
}

static struct evtchn *entry(struct evtchn_domain *d, u32 port)
{
	struct evtchn *e = evtchn_find(d, port), *b;

	if (e)
		return e;
	b = page_alloc();
	if (!b)
		return NULL;
	/* Pairs with the acquire in evtchn_find(). */
	store_release(&d->bucket[port / BUCKET_PORTS], b);
	return &b[port % BUCKET_PORTS];
}

s64 evtchn_port_alloc(struct evtchn_domain *d)
{
	u32 limit = evtchn_port_limit(d), linked = 0, free_from = limit;

	for (u32 n = d->hint; n < limit && linked < MAX_LINKED; n++) {
		u32 port = nth_port(d, n);
		struct evtchn *e = port ? evtchn_find(d, port) : NULL;

		if (!port || (e && e->state != EVTCHNSTAT_closed))
			continue;
		if (e && still_linked(d, port)) {
			linked++;
			free_from = min(free_from, n);
			continue;
		}
		e = entry(d, port);
		if (!e)
			return -XEN_ENOMEM;
		d->hint = min(free_from, n + 1);
		WRITE_ONCE(e->vcpu, 0);
		WRITE_ONCE(e->priority, EVTCHN_FIFO_DEFAULT_PRIORITY);
		return port;
	}
	return -XEN_ENOSPC;
}

void evtchn_port_free(struct evtchn_domain *d, u32 port)
{
	d->hint = min(d->hint, rank_of(d, port));
}
