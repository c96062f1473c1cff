/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Delivery by the FIFO ABI (core/evtchn_fifo.c, core/evtchn_owed.c): evtchn_fifo_raise(), evtchn_fifo_link(),
 * lock_queues(), claim(), append(), follow_tail(), set_link(), lead_queue(), evtchn_fifo_unmask(); evtchn_owe() and
 * deliver_owed() in few words. One queue; a sender a port, the first sends twice; a guest that takes the queue
 * apart, masks and unmasks as Xen's ABI says, and pays what its ports are owed before it is entered.
 *
 * No event is lost: when all is sent, a port that is pending and not masked is one the guest still comes to;
 * otherwise it waits for good, which is an end state that is not valid. Nor may a word be linked to itself.
 *
 * Each change of a word is one full atomic operation, and so it is here; what a cmpxchg compares is the whole word.
 *
 * While the guest's own CPU links, the word of the tail does not change: it is pending already, and only the guest
 * unlinks. And what the guest links by unmasking is not the tail.
 *
 * UNREACHED guest w[pmlbk] = .*
 * UNREACHED guest tail = 0
 * HOLDS delivery
 * SLOW three_ports: -DPORTS=3
 * TWIN stale_tail: -DSTALE_TAIL
 * TWIN ready_before_head: -DREADY_FIRST
 * TWIN lock_busy_drop: -DDROP
 * TWIN link_without_compare: -DPLAIN_LINK
 * TWIN link_not_looked_at_again: -DNO_LINKED_TEST
 * TWIN busy_left_behind: -DLEAVE_BUSY
 * TWIN claim_no_linked: -DCLAIM_PLAIN
 * TWIN unmask_no_link: -DUNMASK_NO_LINK
 * TWIN no_upcall: -DNO_UPCALL
 * TWIN guest_unlinks_in_two_steps: -DGUEST_TWO_STEPS
 */
#ifndef PORTS
#define PORTS 2
#endif

/* Port 0 is none. Of a word: PENDING, MASKED, LINKED, BUSY, and the link. */
bit pending[PORTS + 1], masked[PORTS + 1], linked[PORTS + 1], busy[PORTS + 1];
byte link[PORTS + 1];
byte head, tail;
bit ready, upcall, queue_lock;
bit owed[PORTS + 1];
byte sending = PORTS + 1;

inline set_upcall()
{
#ifndef NO_UPCALL
	upcall = 1
#else
	skip
#endif
}

/* --- Senders ------------------------------------------------------------------------------------- */

/* The word of `t` as it is, and whether it is still that. */
#define READ_WORD(t) \
	wp = pending[t]; wm = masked[t]; wl = linked[t]; wb = busy[t]; wk = link[t]
#define SAME_WORD(t) \
	(wp == pending[t] && wm == masked[t] && wl == linked[t] && wb == busy[t] && wk == link[t])

/* set_link(tail, p): `done` when it is linked. Tries are not counted here: the guest changes a word a few times. */
inline set_link(t, p)
{
	assert(t != p);
	done = 0;
	atomic { READ_WORD(t) };
	do
#ifndef NO_LINKED_TEST
	:: !wl -> break
	:: wl ->
#else
	:: true ->
#endif
	   if
#ifdef PLAIN_LINK
	   :: atomic { link[t] = p; busy[t] = 0; linked[t] = 1; done = 1 }; break
#else
	   :: atomic { SAME_WORD(t) -> link[t] = p; busy[t] = 0; done = 1 }; break
#endif
	   :: atomic { !SAME_WORD(t) -> busy[t] = 1; READ_WORD(t) }
	   fi
	od;
#ifndef LEAVE_BUSY
	if
	:: done
	:: else -> busy[t] = 0
	fi
#endif
}

inline lead_queue(p)
{
#ifdef READY_FIRST
	atomic { was = ready; ready = 1 };
	if
	:: was
	:: else -> set_upcall()
	fi;
	head = p
#else
	head = p;
	atomic { was = ready; ready = 1 };
	if
	:: was
	:: else -> set_upcall()
	fi
#endif
}

inline append(p)
{
#ifndef STALE_TAIL
	if
	:: tail == p -> tail = 0
	:: else
	fi;
#endif
	done = 0;
	if
	:: tail -> set_link(tail, p)
	:: else
	fi;
	if
	:: done
	:: else -> lead_queue(p)
	fi;
	tail = p
}

/* With the queue's lock: claim(), append(). */
inline link_locked(p)
{
	if
	:: pending[p] && !masked[p] ->
#ifdef CLAIM_PLAIN
	   linked[p] = 1;
	   append(p)
#else
	   atomic { was = linked[p]; linked[p] = 1 };
	   if
	   :: was
	   :: else -> append(p)
	   fi
#endif
	:: else
	fi;
	queue_lock = 0
}

/* From a sender: the lock is tried only. */
inline link_port(p)
{
	if
	:: atomic { !queue_lock -> queue_lock = 1 }; link_locked(p)
	:: queue_lock ->
#ifndef DROP
	   owed[p] = 1 /* and VCPU_REQ_EVTCHN */
#endif
	fi
}

active [PORTS] proctype sender()
{
	byte me = _pid + 1, wk;
	bit was, done, again, wp, wm, wl, wb;

	do
	:: atomic { was = masked[me] || linked[me]; pending[me] = 1 };
	   if
	   :: was
	   :: else -> link_port(me)
	   fi;
	   sending--;
	   if
	   :: me == 1 && !again -> again = 1
	   :: else -> break
	   fi
	od
}

/* --- The guest, and its vCPU --------------------------------------------------------------------- */

/* Take a port off the queue: LINKED and the link go in one step; then handle it. */
inline consume()
{
#ifdef GUEST_TWO_STEPS
	next = link[h];
	atomic { linked[h] = 0; link[h] = 0 };
#else
	atomic { next = link[h]; linked[h] = 0; link[h] = 0 };
#endif
	if
	:: atomic { pending[h] && !masked[h] -> pending[h] = 0 }
	:: else
	fi;
	h = next
}

inline upcall_handler()
{
	upcall = 0;
	atomic { taken = ready; ready = 0 };
	h = head;
	do
	:: taken && h -> consume()
	:: !taken || !h -> break
	od
}

/* MASKED goes when BUSY is not set; then EVTCHNOP_unmask, if there is something. */
inline unmask()
{
	atomic { !busy[1] -> masked[1] = 0; was = pending[1] && !linked[1] };
#ifndef UNMASK_NO_LINK
	if
	:: was -> link_port(1)
	:: else
	fi
#endif
}

/* deliver_owed(): here the lock is waited for. */
inline pay(p)
{
	owed[p] = 0;
	atomic { !queue_lock -> queue_lock = 1 };
	link_locked(p)
}

#define NOTHING(p) (!pending[p] && !owed[p])

active proctype guest()
{
	byte h, next, wk, masks;
	bit taken, was, done, wp, wm, wl, wb;

	do
	:: owed[1] -> pay(1)
	:: owed[2] -> pay(2)
#if PORTS > 2
	:: owed[3] -> pay(3)
#endif
	:: upcall -> upcall_handler()
	:: masks == 0 && !busy[1] -> masks = 1; masked[1] = 1
	:: masks == 1 -> masks = 2; unmask()
	:: !sending && masks == 2 && NOTHING(1) && NOTHING(2) && NOTHING(PORTS) -> break
	od
}
