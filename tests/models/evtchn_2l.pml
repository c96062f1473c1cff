/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Delivery by the 2-level ABI (core/evtchn.c, core/evtchn_2l.c, core/evtchn_ops.c): raise_2l(), mark(), and closing a
 * port. Two senders, each of a port of its own in the same word of the pending bits, the first twice; a guest that
 * handles, masks and unmasks as Xen's ABI says; one who closes the second port.
 *
 * No event is lost: while a bit is pending and not masked, and none is being sent, the guest has an upcall to
 * come: otherwise it waits for good, which is an end state that is not valid. And no sender uses a port after
 * the grace period that followed its closing.
 *
 * Guest words are changed by full atomic operations on both sides: what a twin makes weaker is a store that may
 * be seen late.
 *
 * HOLDS delivery
 * TWIN upcall_before_selector: -DUPCALL_FIRST
 * TWIN pending_not_full: -DPENDING_LATE
 * TWIN selector_not_full: -DSELECTOR_LATE
 * TWIN mask_looked_at_first: -DMASK_FIRST
 * TWIN no_upcall: -DNO_UPCALL
 * TWIN close_no_wait: -DCLOSE_NO_WAIT
 * TWIN guest_selector_first: -DGUEST_SELECTOR_FIRST
 * TWIN guest_unmask_no_look: -DGUEST_NO_LOOK
 * TWIN guest_unmask_late: -DGUEST_UNMASK_LATE
 */
#define PORTS 2

bit pending[PORTS], mask[PORTS];
bit sel; /* of the one word that both are in */
bit upcall; /* evtchn_upcall_pending, which the interrupt line follows */
byte sending = 3;

bit open_[PORTS] = 1, freed[PORTS], inside[PORTS];

bit late_pending[PORTS], late_sel[PORTS], late_unmask;

#if defined(PENDING_LATE) || defined(SELECTOR_LATE) || defined(GUEST_UNMASK_LATE)
active proctype late()
{
end:
	do
	:: atomic { late_pending[0] -> pending[0] = 1; late_pending[0] = 0 }
	:: atomic { late_pending[1] -> pending[1] = 1; late_pending[1] = 0 }
	:: atomic { late_sel[0] -> sel = 1; late_sel[0] = 0 }
	:: atomic { late_sel[1] -> sel = 1; late_sel[1] = 0 }
	:: atomic { late_unmask -> mask[0] = 0; late_unmask = 0 }
	od
}
#define SENDER 1 /* the first sender's process */
#else
#define SENDER 0
#endif

/* --- Senders ------------------------------------------------------------------------------------- */

inline set_upcall()
{
#ifndef NO_UPCALL
	upcall = 1
#else
	skip
#endif
}

/* mark(): the selector bit was set already, and whoever set it sets upcall_pending as well. */
inline mark(p)
{
#ifdef UPCALL_FIRST
	set_upcall();
#endif
	atomic {
		was = sel || late_sel[p];
#ifdef SELECTOR_LATE
		late_sel[p] = !was
#else
		sel = 1
#endif
	};
#ifndef UPCALL_FIRST
	if
	:: was
	:: else -> set_upcall()
	fi
#endif
}

/* raise_2l(), in a section. */
inline raise(p)
{
#ifdef MASK_FIRST
	masked = mask[p];
#endif
	atomic {
		assert(!freed[p]);
		was = pending[p] || late_pending[p];
#ifdef PENDING_LATE
		late_pending[p] = !was
#else
		pending[p] = 1
#endif
	};
	if
	:: was
	:: else ->
#ifndef MASK_FIRST
	   masked = mask[p];
#endif
	   if
	   :: masked
	   :: else -> mark(p)
	   fi
	fi;
	assert(!freed[p])
}

active [PORTS] proctype sender()
{
	byte me = _pid - SENDER;
	bit was, masked, again;

	do
	:: inside[me] = 1;
	   if
	   :: open_[me] -> raise(me)
	   :: else
	   fi;
	   atomic {
		inside[me] = 0;
		sending--;
		masked = 0
	   };
	   if
	   :: me == 0 && !again -> again = 1
	   :: else -> break
	   fi
	od
}

active proctype closer()
{
	open_[1] = 0;
#ifndef CLOSE_NO_WAIT
	!inside[1]; /* the sender has one section only */
#endif
	freed[1] = 1
}

/* --- The guest ----------------------------------------------------------------------------------- */

inline handle(p)
{
	if
	:: pending[p] && !mask[p] -> pending[p] = 0
	:: else
	fi
}

inline upcall_handler()
{
#ifdef GUEST_SELECTOR_FIRST
	atomic { taken = sel; sel = 0 };
	upcall = 0;
#else
	upcall = 0;
	atomic { taken = sel; sel = 0 };
#endif
	if
	:: taken -> handle(0); handle(1)
	:: else
	fi
}

/* Clear the mask bit, then look whether it is pending, and if so set selector and upcall_pending oneself. */
inline unmask()
{
#ifdef GUEST_UNMASK_LATE
	late_unmask = 1;
#else
	mask[0] = 0;
#endif
#ifndef GUEST_NO_LOOK
	if
	:: pending[0] -> sel = 1; upcall = 1
	:: else
	fi
#endif
}

active proctype guest()
{
	bit taken;
	byte masks;

	do
	:: upcall -> upcall_handler()
	:: masks == 0 -> masks = 1; mask[0] = 1
	:: masks == 1 -> masks = 2; unmask()
	:: !sending && masks == 2 && !pending[0] && !pending[1] && !late_pending[0] && !late_pending[1] -> break
	od
}
