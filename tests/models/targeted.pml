/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The `targeted` kind of page cache (include/cupel/gpc_read.h, core/gpc.c, core/srcu.c): gpc_get(), gpc_check(),
 * gpc_mark_reader(), mark(), invalidate_one(), take_readers(), add_wait(), set_address(),
 * srcu_wait_for_cpus() and its look(). One cache; two readers, one a CPU, the first with two sections, one after
 * the other or one inside the other (as an interrupt's is: then there is no other reader); two updaters. One invalidates the cache or not, and
 * refreshes it with the next page (refresh_once()), and invalidates it; the other once, whenever it likes, invalidates it or
 * deactivates it. Whoever has invalidated it frees the page that was there, and after a deactivation all go.
 *
 * It must not happen that a section uses a page that has been freed. What the issue said matters is here as
 * twins: scan before exchange, and two updaters of one cache at once, the second of which finds an empty mask
 * (the code lets them be there at once, since each waits for all of g->draining).
 *
 * The acquire on the mask orders nothing that this needs: only its own CPU sets a bit, so that a bit seen set
 * has not been taken since. The check without it says so.
 *
 * HOLDS targeted
 * HOLDS targeted_nested: -DNESTED
 * SLOW mask_not_acquired: -DNO_MASK_ACQUIRE
 * TWIN scan_before_exchange: -DSCAN_FIRST
 * TWIN two_updaters_no_draining: -DNO_DRAINING
 * TWIN publish_without_wait: -DPUBLISH_NO_WAIT
 * TWIN no_B: -DNO_B
 * TWIN no_C: -DNO_C
 * TWIN no_A: -DNO_A -DNESTED
 * TWIN bit_before_count: -DBIT_FIRST
 * TWIN mark_not_full: -DMARK_RELAXED
 * TWIN valid_not_acquired: -DNO_VALID_ACQUIRE
 * TWIN valid_not_released: -DNO_VALID_RELEASE
 * TWIN exchange_before_valid: -DNO_EXCHANGE_MB
 */
#include "order.h"

#ifdef NO_B
#define B(mask) 0
#else
#define B(mask) (mask)
#endif
#ifdef NO_C
#define C(mask) 0
#else
#define C(mask) (mask)
#endif
#ifdef NO_A
#define A(mask) 0
#else
#define A(mask) (mask)
#endif
#ifdef NO_MASK_ACQUIRE
#define MASK_ACQUIRE(mask) 0
#else
#define MASK_ACQUIRE(mask) (mask)
#endif
#ifdef NO_VALID_ACQUIRE
#define VALID_ACQUIRE(mask) 0
#else
#define VALID_ACQUIRE(mask) (mask)
#endif
/*
 * The exchange in gpc_mark_reader() comes before the looks at what it guards; where the bit was there already
 * it is not made. Looks that went ahead of that at the bit (no acquire) are made again when it was clear.
 */
#ifdef MARK_RELAXED
#define MARKED(n, m) true
#else
#define MARKED(n, m) (!HAS(n + 1) || m || HAS(n + 2))
#endif

byte begun[2], ended[2]; /* by CPU; the index is left out: srcu_wait_for_cpus() wants both to be empty */
bit readers[2]; /* g->readers */
bit draining[2]; /* g->draining */
bit valid = 1;
byte va; /* page 0 or 1 */
bit freed[2];
bit gpc_lock, refresh_lock;
bit active_ = 1; /* g->active */

/* --- Readers ------------------------------------------------------------------------------------- */

/*
 * Accesses n .. n + 6: count in, look for the bit, set it where it is clear, look at `valid`, load the address,
 * use the page, count out. `c` is what comes before all of the section.
 */
#ifdef BIT_FIRST
#define COUNT_AFTER(n) BITS(n + 2)
#define BIT_AFTER(n)   0
#define VALID_AFTER(n) B(BITS(n))
#else
#define COUNT_AFTER(n) 0
#define BIT_AFTER(n)   B(BITS(n))
#define VALID_AFTER(n) B(BITS(n)) | MASK_ACQUIRE(BITS(n + 1))
#endif

#define SECTION(n, m, v, a, c, before_begun, before_ended)                                         \
	:: ACCESS(n, c | COUNT_AFTER(n) | before_begun) begun[r]++ THEN                            \
	:: ACCESS_IF(n + 1, c | BIT_AFTER(n), readers[r] || !(HAS(n + 3) || HAS(n + 4)))           \
		m = readers[r] THEN                                                                \
	:: atomic { !HAS(n + 1) && !readers[r] && (HAS(n + 3) || HAS(n + 4)) ->                    \
		did = did & ~(BITS(n + 3) | BITS(n + 4)) }                                         \
	:: ACCESS(n + 2, BITS(n + 1) | BIT_AFTER(n)) readers[r] = readers[r] || !m THEN            \
	:: ACCESS_IF(n + 3, c | VALID_AFTER(n), MARKED(n, m)) v = valid THEN                       \
	:: ACCESS_IF(n + 4, c | VALID_AFTER(n) | VALID_ACQUIRE(BITS(n + 3)), MARKED(n, m))         \
		a = va THEN                                                                        \
	:: ACCESS(n + 5, BITS(n + 2) | BITS(n + 3) | BITS(n + 4)) assert(!v || !freed[a]) THEN     \
	:: ACCESS(n + 6, B(BITS(n)) | C(BITS(n) | BITS(n + 5)) | before_ended) ended[r]++ THEN

inline one_section()
{
	did = 0;
	do
	SECTION(0, m0, v0, a0, 0, 0, 0)
	:: ALL(127) -> break
	od
}

/* The end of the first is not ordered before the beginning of the second, but for one and the same counter. */
inline two_sections()
{
	did = 0;
	do
	SECTION(0, m0, v0, a0, 0, 0, 0)
	SECTION(7, m1, v1, a1, C(63), BITS(0), BITS(6))
	:: ALL(16383) -> break
	od
}

/* The second while the first is open: in program order before the use and the end of that. */
inline nested_sections()
{
	did = 0;
	do
	SECTION(0, m0, v0, a0, 0, 0, BITS(13))
	SECTION(7, m1, v1, a1, 0, BITS(0), 0)
	:: ALL(16383) -> break
	od
}

proctype reader(byte r)
{
	short did;
	bit m0, m1, v0, v1;
	byte a0, a1;

#ifdef NESTED
	nested_sections()
#else
	if
	:: r == 0 -> two_sections()
	:: else -> one_section()
	fi
#endif
}

/* --- Updaters ------------------------------------------------------------------------------------ */

/* An exchange for each word that has a bit: here one word, and so one for both CPUs. */
inline take_readers()
{
	atomic {
		draining[0] = draining[0] || readers[0];
		draining[1] = draining[1] || readers[1];
		readers[0] = 0;
		readers[1] = 0
	}
}

inline mark()
{
	atomic { !gpc_lock -> gpc_lock = 1 };
	found = va;
	if
	:: valid ->
#ifdef NO_EXCHANGE_MB
	   if /* the store may be seen after the exchange */
	   :: valid = 0; take_readers()
	   :: take_readers(); valid = 0
	   fi
#else
	   valid = 0;
#ifdef SCAN_FIRST
	   set[0] = readers[0];
	   set[1] = readers[1];
	   wait_for_cpus();
#endif
	   take_readers()
#endif
	:: else
	fi;
	/* add_wait() */
	atomic {
		set[0] = draining[0];
		set[1] = draining[1]
#ifdef NO_DRAINING
		;
		draining[0] = 0;
		draining[1] = 0
#endif
	}
	gpc_lock = 0
}

/* Looks at a CPU until as many sections have ended there as begun. */
inline wait_for_cpu(cpu)
{
	do
	:: set[cpu] ->
	   did = 0;
	   do
	   :: ACCESS(0, 0) open = open - ended[cpu] THEN
	   :: ACCESS(1, A(1)) open = open + begun[cpu] THEN
	   :: ALL(3) -> break
	   od;
	   if
	   :: open == 0 -> break
	   :: else -> open = 0
	   fi
	:: !set[cpu] -> break
	od
}

inline wait_for_cpus()
{
	wait_for_cpu(0);
	wait_for_cpu(1)
}

inline wait_for()
{
#ifndef SCAN_FIRST
	wait_for_cpus()
#else
	skip
#endif
}

/* With gpc_lock: set_address(). */
inline publish(page)
{
	atomic { !gpc_lock -> gpc_lock = 1 };
#ifdef NO_VALID_RELEASE
	if
	:: valid = 1; va = page
	:: va = page; valid = 1
	fi;
#else
	va = page;
	valid = 1;
#endif
	atomic {
		draining[0] = 0;
		draining[1] = 0
	}
	gpc_lock = 0
}

inline invalidate()
{
	mark();
	wait_for();
	freed[found] = 1
}

inline maybe_invalidate()
{
	if
	:: invalidate()
	:: skip
	fi
}

inline refresh(page)
{
	atomic { !refresh_lock -> refresh_lock = 1 };
	if
	:: active_ ->
	   mark(); /* detach() */
#ifndef PUBLISH_NO_WAIT
	   wait_for();
#endif
	   publish(page)
	:: else
	fi;
	refresh_lock = 0
}

/* withdraw() */
inline deactivate()
{
	atomic { !refresh_lock -> refresh_lock = 1 };
	active_ = 0;
	mark();
	wait_for();
	atomic {
		freed[0] = 1;
		freed[1] = 1;
		refresh_lock = 0
	}
}

active proctype mover()
{
	byte did, found;
	short open;
	bit set[2];

	maybe_invalidate();
	refresh(1);
	invalidate()
}

active proctype other()
{
	byte did, found;
	short open;
	bit set[2];

	if
	:: invalidate()
	:: deactivate()
	fi
}

init {
	atomic {
		run reader(0);
#ifndef NESTED
		run reader(1)
#endif
	}
}
