/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A page cache of the `targeted` kind against those who take its page away (include/cupel/gpc_read.h, core/gpc.c,
 * core/srcu.c): gpc_get(), gpc_check(), gpc_mark_reader(); gpc_invalidate(), take_away(), invalidate_one(),
 * other_waits(), add_readers(); refresh_once(), look_at_changes(), detach(), take_readers(), publish(),
 * gpc_deactivate(); srcu_wait_for_cpus() and its look(). Two readers, one a CPU, with a section each; or
 * one with two, one after the other or one inside the other (as an interrupt's is). A mover takes the
 * page away and puts it into another frame; another updater takes it away and puts it back, or deactivates the
 * cache; one refreshes, twice. So there are two updaters of one cache at once, and a refresh beside them.
 *
 * Readers' accesses, and a look's, take effect in any order that the code allows (order.inc). Updaters' steps are in
 * program order, which their full barriers make of them: where a twin leaves one out, the store is late.
 *
 * It must not happen that a section uses the page while it is nobody's, or a frame that the page has left, or has an
 * address when a deactivation has returned. What the issue said matters is among the twins: scan before the bits
 * are taken, and a second updater that finds nothing to wait for while the first one's readers are inside.
 *
 * The acquire on the mask orders nothing that this needs: only its own CPU sets a bit, so that a bit seen set
 * has not been taken since. The check without it says so.
 *
 * All three processes at once are millions of states: that is for --slow; by two they are what follows.
 *
 * HOLDS mover_and_refresh: -DNO_ANOTHER -DTWO_READERS -DROUNDS=1
 * HOLDS mover_and_refresh_nested: -DNO_ANOTHER -DNESTED -DROUNDS=1
 * HOLDS mover_and_another: -DNO_REFRESHER -DTWO_READERS
 * SLOW all_two_readers: -DTWO_READERS -DROUNDS=1
 * SLOW all_nested: -DNESTED -DROUNDS=1
 * SLOW mask_not_acquired: -DNO_MASK_ACQUIRE -DNO_ANOTHER
 * TWIN scan_before_taking_bits: -DSCAN_FIRST -DNO_ANOTHER
 * TWIN second_updater_does_not_wait: -DNO_OTHER_WAITS -DNO_REFRESHER
 * TWIN draining_looked_at_first: -DDRAINING_FIRST
 * TWIN draining_cleared_before_wait: -DCLEAR_EARLY
 * TWIN refresh_no_wait: -DDETACH_NO_WAIT
 * TWIN invalidate_no_wait: -DINVALIDATE_NO_WAIT -DNO_ANOTHER
 * TWIN publish_not_pending_first: -DNO_PENDING -DNO_ANOTHER
 * TWIN publish_no_barrier: -DPENDING_LATE -DNO_ANOTHER
 * TWIN publish_no_second_look: -DNO_STILL_THERE -DNO_ANOTHER
 * TWIN nothing_counted: -DNO_COUNT -DNO_SEQUENCE -DNO_ANOTHER
 * TWIN no_B: -DNO_B -DNO_ANOTHER
 * TWIN no_C: -DNO_C -DNO_ANOTHER
 * TWIN no_A: -DNO_A -DNESTED -DNO_ANOTHER
 * TWIN bit_before_count: -DBIT_FIRST -DNO_ANOTHER
 * TWIN mark_not_full: -DMARK_RELAXED -DNO_ANOTHER
 * TWIN valid_not_acquired: -DNO_VALID_ACQUIRE -DNO_ANOTHER
 */
#include "order.inc"

#ifndef ROUNDS
#define ROUNDS 2
#endif

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

#define INVALID 0
#define PENDING 1
#define VALID	2

byte begun[2], ended[2]; /* by CPU; the index is left out: srcu_wait_for_cpus() wants both to be empty */
bit readers[2], draining[2]; /* of the cache */
byte valid = VALID;
bit va; /* a frame */
bit detaching, is_active = 1, refresh_lock;
byte under_way, passed; /* vm->gpc_seq */
byte invalidating, invalidations; /* of the VM: guarded by gpc_lock, a step each */
bit late_pending;

bit frame; /* where the page is */
byte taken; /* no variable of the code's: it is nobody's now */

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
	:: ACCESS_IF(n + 3, c | VALID_AFTER(n), MARKED(n, m)) v = valid == VALID THEN                       \
	:: ACCESS_IF(n + 4, c | VALID_AFTER(n) | VALID_ACQUIRE(BITS(n + 3)), MARKED(n, m))         \
		a = va THEN                                                                        \
	:: ACCESS(n + 5, BITS(n + 2) | BITS(n + 3) | BITS(n + 4)) assert(!v || (!taken && a == frame)) THEN     \
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
	bit m0, m1, v0, v1, a0, a1;

#ifdef NESTED
	nested_sections()
#else
#ifdef TWO_READERS
	one_section()
#else
	two_sections()
#endif
#endif
}

/* --- Updaters ------------------------------------------------------------------------------------ */

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
	wait_for_cpu(0)
#ifdef TWO_READERS
	;
	wait_for_cpu(1)
#endif
}

/* Both words of a mask are one here. Readers first: a bit that is moved meanwhile is in the other then. */
inline add_readers()
{
#ifdef DRAINING_FIRST
	atomic { set[0] = draining[0]; set[1] = draining[1] };
	atomic { set[0] = set[0] || readers[0]; set[1] = set[1] || readers[1] }
#else
	atomic { set[0] = readers[0]; set[1] = readers[1] };
	atomic { set[0] = set[0] || draining[0]; set[1] = set[1] || draining[1] }
#endif
}

inline take_away()
{
	atomic {
		had = valid == VALID;
		valid = INVALID
	}
}

inline invalidate()
{
#ifndef NO_COUNT
	under_way++;
#endif
	take_away();
	atomic { other = under_way > 1 };
	other = other || detaching;
#ifdef NO_OTHER_WAITS
	other = 0;
#endif
	if
	:: had || other ->
	   add_readers();
#ifndef INVALIDATE_NO_WAIT
	   wait_for_cpus()
#endif
	:: else
	fi;
#ifndef NO_COUNT
	atomic { under_way--; passed++ }
#endif
}

inline take_page()
{
	invalidating++;
	invalidate();
	taken++
}

inline give_page()
{
	taken--;
	atomic {
		invalidating--;
#ifndef NO_SEQUENCE
		invalidations++
#endif
	}
}

/* With refresh_lock. */
inline detach()
{
	detaching = 1;
	take_away();
#ifdef SCAN_FIRST
	add_readers();
	wait_for_cpus();
#endif
	atomic { set[0] = readers[0]; set[1] = readers[1] };
	atomic { draining[0] = set[0]; draining[1] = set[1] };
	atomic { readers[0] = readers[0] && !set[0]; readers[1] = readers[1] && !set[1] };
#ifdef CLEAR_EARLY
	add_readers();
	atomic { draining[0] = 0; draining[1] = 0 };
	wait_for_cpus();
#else
#if !defined(SCAN_FIRST) && !defined(DETACH_NO_WAIT)
	add_readers();
	wait_for_cpus();
#endif
	atomic { draining[0] = 0; draining[1] = 0 };
#endif
	detaching = 0
}

#define QUIET (!under_way && !invalidating)

/* look_up(), detach(), publish(); -EAGAIN is to do nothing. */
inline refresh_once()
{
	atomic {
		quiet = QUIET;
		seq = passed;
		changes = invalidations
	};
	if
	:: quiet ->
	   to = frame;
	   detach();
	   va = to;
#ifndef NO_PENDING
#ifdef PENDING_LATE
	   late_pending = 1;
#else
	   valid = PENDING;
#endif
#endif
	   atomic {
#ifdef NO_STILL_THERE
		quiet = 1
#else
		quiet = QUIET && seq == passed && changes == invalidations
#endif
	   };
	   if
#ifdef NO_PENDING
	   :: quiet -> valid = VALID
	   :: else
#else
	   :: quiet ->
#ifdef PENDING_LATE
	      !late_pending;
#endif
	      atomic {
		if
		:: valid == PENDING -> valid = VALID
		:: else
		fi
	      }
	   :: else ->
#ifdef PENDING_LATE
	      !late_pending;
#endif
	      valid = INVALID
#endif
	   fi
	:: else
	fi
}

#ifdef PENDING_LATE
active proctype late()
{
end:
	do
	:: atomic { late_pending -> valid = PENDING; late_pending = 0 }
	od
}
#endif

active proctype mover()
{
	byte did;
	short open;
	bit set[2], had, other;

	take_page();
	frame = 1;
	give_page()
}

#ifndef NO_ANOTHER
active proctype another()
{
	byte did;
	short open;
	bit set[2], had, other;

	if
	:: take_page();
	   give_page()
	:: atomic { !refresh_lock -> refresh_lock = 1 };
	   is_active = 0;
	   detach();
	   taken++; /* for good */
	   refresh_lock = 0
	fi
}
#endif

#ifndef NO_REFRESHER
active proctype refresher()
{
	byte did, seq, changes, round;
	short open;
	bit set[2], had, quiet, to;

	do
	:: round < ROUNDS ->
	   round++;
	   atomic { !refresh_lock -> refresh_lock = 1 };
	   if
	   :: is_active -> refresh_once()
	   :: else
	   fi;
	   refresh_lock = 0
	:: else -> break
	od
}
#endif

init {
	atomic {
		run reader(0);
#ifdef TWO_READERS
		run reader(1)
#endif
	}
}
