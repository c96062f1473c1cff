/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A page cache against those who take its page away (core/gpc.c, core/slots_change.c, core/page_mover.c):
 * gpc_activate(), set_key(), gpc_refresh(), look_up(), still_there(), publish(), detach(), gpc_deactivate(),
 * withdraw(), gpc_invalidate(), invalidation_begin(), invalidation_end(), move(), swap(). A mover takes the page
 * to another frame, or swaps the slot with a new generation, twice, and frees the frame that was left each time;
 * one process refreshes, twice; another deactivates the cache and activates it again or for another page,
 * which stays where it is; two readers.
 *
 * Orders of memory are the matter of srcu.pml and targeted.pml: here each access is seen by all at once, and a
 * wait is a wait for each section that had begun. What gpc_lock guards is one step, but for what readers see
 * without it. What is looked for is steps that come in the wrong order.
 *
 * It must not happen that a section uses a frame that has been freed, or that the page has left (what it writes
 * would be lost); that it has an address of a cache whose deactivation has returned; nor that the cache is left
 * valid with a frame that is not its page's.
 *
 * HOLDS move
 * HOLDS swap: -DSWAP
 * TWIN invalidate_no_wait: -DINVALIDATE_NO_WAIT
 * TWIN deactivate_no_wait: -DDEACTIVATE_NO_WAIT
 * TWIN no_second_look: -DNO_STILL_THERE
 * TWIN moves_under_way_ignored: -DNO_BUSY
 * TWIN moves_that_ended_ignored: -DNO_SEQUENCE
 * TWIN invalidate_too_late: -DINVALIDATE_LAST
 * TWIN enlisted_after_refresh: -DENLIST_LAST
 * TWIN refresh_not_serialized: -DNO_REFRESH_LOCK -DREVERSE
 * TWIN deactivate_without_refresh_lock: -DDEACTIVATE_UNLOCKED
 * TWIN swap_no_second_look: -DSWAP -DNO_STILL_THERE
 * TWIN swap_moves_under_way_ignored: -DSWAP -DNO_BUSY
 * TWIN swap_generation_not_compared: -DSWAP -DNO_GENERATION -DINVALIDATE_NOTHING
 */
#define READERS 2 /* the first with two sections, the second with one */
#define FRAMES	3

/* The VM. */
byte frame; /* where the page is: slot_pa() */
byte generation;
bit busy; /* GENERATION_BUSY */
byte invalidating, invalidations;
bit gpc_lock;

/* The cache. */
bit listed = 1, is_active = 1;
bit key; /* g->gpa: 0 is the page that moves */
bit valid = 1;
byte va, made_in; /* g->va, g->generation */
bit refresh_lock;

/* No variables of the code's. */
#define PLACE (key -> FRAMES : frame)
bit freed[4];
bit inside[READERS], has[READERS]; /* a section; and it has an address */
byte sections[READERS]; /* that a reader has begun */

inline lock(l)
{
	atomic { !l -> l = 1 }
}

/* --- Readers ------------------------------------------------------------------------------------- */

active [READERS] proctype reader()
{
	byte me = _pid, at;

	do
	:: sections[me] < READERS - me ->
	   atomic { inside[me] = 1; sections[me]++ };
	   if
	   :: valid ->
	      if
#ifdef NO_GENERATION
	      :: true ->
#else
	      :: made_in == generation && !busy ->
#endif
		 atomic { at = va; has[me] = 1 };
		 assert(!freed[at] && (at == frame || at == FRAMES))
	      :: else
	      fi
	   :: else
	   fi;
	   atomic { inside[me] = 0; has[me] = 0; at = 0 }
	:: break
	od
}

/* Every section that had begun has ended. */
inline wait_for_readers()
{
	atomic {
		was0 = inside[0];
		was1 = inside[1];
		n0 = sections[0];
		n1 = sections[1]
	};
	!was0 || !inside[0] || sections[0] != n0;
	!was1 || !inside[1] || sections[1] != n1
}

/* --- Whoever takes the page away ----------------------------------------------------------------- */

/* gpc_invalidate() */
inline invalidate()
{
	atomic {
#ifndef INVALIDATE_NOTHING
		!gpc_lock -> valid = valid && !(listed && key == 0);
#endif
		invalidations++
	};
#ifndef INVALIDATE_NO_WAIT
	wait_for_readers()
#endif
}

inline count_begin()
{
#ifdef SWAP
	busy = 1;
#endif
	atomic { !gpc_lock -> invalidating++ }
}

inline count_end()
{
#ifdef SWAP
	atomic {
		generation++;
		busy = 0
	};
#endif
	atomic {
		!gpc_lock -> invalidations++;
		invalidating--
	}
}

active proctype mover()
{
	bit was0, was1;
	byte n0, n1, from;

	do
	:: frame < FRAMES - 1 ->
	   from = frame;
	   count_begin();
#ifdef INVALIDATE_LAST
	   frame++;
	   invalidate();
#else
	   invalidate();
	   frame++;
#endif
	   count_end();
	   freed[from] = 1
	:: else -> break
	od
}

/* --- Whoever brings it back ---------------------------------------------------------------------- */

#ifdef NO_BUSY
#define BUSY false
#else
#define BUSY (invalidating || busy)
#endif

inline look_up()
{
	atomic {
		!gpc_lock -> seen = invalidations;
		seen_in = generation;
		again = BUSY
	};
	to = PLACE
}

#ifdef NO_STILL_THERE
#define STILL_THERE true
#else
#ifdef NO_SEQUENCE
#define STILL_THERE !BUSY
#else
#define STILL_THERE (!BUSY && seen == invalidations && seen_in == generation)
#endif
#endif

inline detach()
{
	atomic { !gpc_lock -> valid = 0 };
	wait_for_readers()
}

inline publish()
{
	lock(gpc_lock);
	if
	:: STILL_THERE ->
	   va = to;
	   made_in = seen_in;
	   valid = 1;
	   assert(va == PLACE)
	:: else
	fi;
	gpc_lock = 0
}

/* -EAGAIN is a `skip`: whoever wants the page comes again. */
inline refresh_once()
{
	look_up();
	if
	:: again
	:: else ->
	   detach();
	   publish()
	fi
}

inline take_refresh_lock()
{
#ifndef NO_REFRESH_LOCK
	lock(refresh_lock)
#else
	skip
#endif
}

inline give_refresh_lock()
{
#ifndef NO_REFRESH_LOCK
	refresh_lock = 0
#else
	skip
#endif
}

active proctype refresher()
{
	bit was0, was1, again;
	byte n0, n1, to, seen, seen_in;
	bit round;

	do
	:: take_refresh_lock();
	   if
	   :: is_active && !(valid && made_in == generation && !busy) -> refresh_once()
	   :: else
	   fi;
	   give_refresh_lock();
	   if
	   :: round -> break
	   :: else -> round = 1
	   fi
	od
}

/* withdraw() */
inline withdraw()
{
	atomic {
		!gpc_lock -> is_active = 0;
		valid = 0;
		listed = 0
	};
#ifndef DEACTIVATE_NO_WAIT
	wait_for_readers()
#endif
}

inline enlist()
{
	atomic {
		!gpc_lock -> listed = 1;
		is_active = 1
	}
}

active proctype owner()
{
	bit was0, was1, again;
	byte n0, n1, to, seen, seen_in;

#ifdef DEACTIVATE_UNLOCKED
	withdraw();
	assert(!has[0] && !has[1]);
	take_refresh_lock();
#else
	take_refresh_lock();
	withdraw();
	give_refresh_lock();
	assert(!has[0] && !has[1]);
	take_refresh_lock();
#endif
	/* gpc_activate() */
	if
	:: key = 1
	:: skip
	fi;
#ifndef ENLIST_LAST
	enlist();
#endif
	refresh_once();
#ifdef ENLIST_LAST
	enlist();
#endif
	give_refresh_lock()
}

/* When all is done. */
active proctype end_of_it()
{
	atomic {
		timeout;
		assert(!valid || va == PLACE)
	}
}
