/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SRCU (core/srcu.c, include/cupel/srcu.h): srcu_read_lock(), srcu_read_unlock(), look(), srcu_no_readers(),
 * srcu_cookie(), srcu_done(), grace_period(), turn_index(), srcu_synchronize(). Two readers, one a CPU, the
 * first with two sections; two updaters, each of which takes one object away, waits, and frees it. Sections
 * that end elsewhere are counted to the CPU they began on: the same sums. How long an updater pauses between
 * looks is all that `expedited` and `atomic` differ in: one model.
 *
 * It must not happen that a section uses what has been freed, nor that an updater, after its wait, does not
 * see what a section did that it waited for.
 *
 * HOLDS flip
 * HOLDS flip_without_D: -DNO_D
 * HOLDS fast: -DFAST -DONE_SECTION
 * SLOW fast_two_sections: -DFAST
 * TWIN no_B: -DNO_B
 * TWIN no_C: -DNO_C
 * TWIN no_A: -DNO_A
 * TWIN no_F: -DNO_F
 * TWIN no_F_for_others: -DNO_F_GP
 * TWIN no_L: -DNO_L
 * TWIN beginnings_first: -DBEGUN_FIRST
 * TWIN idle_index_not_looked_at: -DNO_FIRST_LOOK
 * TWIN nothing_after_the_turn: -DNO_SECOND_LOOK
 * TWIN cookie_of_one_under_way: -DEARLY_COOKIE
 * TWIN fast_no_B: -DFAST -DONE_SECTION -DNO_B
 * TWIN fast_no_C: -DFAST -DONE_SECTION -DNO_C
 * TWIN fast_no_A: -DFAST -DONE_SECTION -DNO_A
 * TWIN fast_no_F: -DFAST -DONE_SECTION -DNO_F
 * TWIN fast_no_L: -DFAST -DONE_SECTION -DNO_L
 * TWIN fast_one_index: -DFAST -DONE_SECTION -DONE_INDEX
 */
#include "order.inc"

/* What each barrier puts before what comes after it; a twin has nothing there. */
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

byte begun[4], ended[4]; /* [2 * CPU + index] */
bit idx;
byte seq;
bit lock;

bit valid[2] = 1; /* of the object that updater 0 or 1 takes away */
bit freed[2];
bit written[2]; /* by a section that found it valid */
bit saw[2]; /* no variable of the code's: that one did */

/* Stores under way: see LATE in order.inc. */
bit late_valid[2], late_seq[2], late_idx[2];
byte new_seq[2];
bit new_idx[2];

active [2] proctype late()
{
	byte u = _pid;
end:
	do
	:: atomic { late_valid[u] -> valid[u] = 0; late_valid[u] = 0 }
	:: atomic { late_seq[u] -> seq = new_seq[u]; late_seq[u] = 0 }
	:: atomic { late_idx[u] -> idx = new_idx[u]; late_idx[u] = 0 }
	od
}
#define BARRIER(u) (!late_valid[u] && !late_seq[u] && !late_idx[u])

/* --- Readers ------------------------------------------------------------------------------------- */

/* Accesses n .. n + 4: index, beginning, look at the object, use of it, end. `c` is what comes before all. */
#define SECTION(n, i, v, c, before_begun, before_ended)                            \
	:: ACCESS(n, c) i = idx THEN                                               \
	:: ACCESS(n + 1, BITS(n) | before_begun) begun[2 * r + i]++ THEN           \
	:: ACCESS(n + 2, c | B(BITS(n + 1)))                                       \
		v = valid[o]; saw[o] = saw[o] || v THEN                            \
	:: ACCESS(n + 3, BITS(n + 2))                                              \
		assert(!v || !freed[o]); written[o] = written[o] || v THEN         \
	:: ACCESS(n + 4, BITS(n) | B(BITS(n + 1)) | C(BITS(n + 1) | BITS(n + 2) | BITS(n + 3)) | before_ended) \
		ended[2 * r + i]++ THEN

inline one_section()
{
	did = 0;
	do
	SECTION(0, i0, v0, 0, 0, 0)
	:: ALL(31) -> break
	od
}

/* The second may begin before the end of the first is counted: no barrier stands between the two. */
inline two_sections()
{
	did = 0;
	do
	SECTION(0, i0, v0, 0, 0, 0)
	SECTION(5, i1, v1, C(15), BITS(1), BITS(4))
	:: ALL(1023) -> break
	od
}

proctype reader(byte r)
{
	short did;
	bit i0, i1, v0, v1, o;

	select(o : 0 .. 1);
#ifndef ONE_SECTION
	if
	:: r == 0 -> two_sections(); goto done
	:: else
	fi;
#endif
	one_section();
done:
	skip
}

/* --- Updaters ------------------------------------------------------------------------------------ */

#ifdef BEGUN_FIRST
#define ENDED_BEFORE BITS(2) | BITS(3)
#define BEGUN_BEFORE 0
#else
#define ENDED_BEFORE 0
#define BEGUN_BEFORE A(BITS(0) | BITS(1))
#endif

/* look(): `open` is 0 when ends and beginnings on index `at` are as many. */
inline look(at)
{
	did = 0;
	open = 0;
	do
	:: ACCESS(0, ENDED_BEFORE) open = open - ended[at] THEN
	:: ACCESS(1, ENDED_BEFORE) open = open - ended[2 + at] THEN
	:: ACCESS(2, BEGUN_BEFORE) open = open + begun[at] THEN
	:: ACCESS(3, BEGUN_BEFORE) open = open + begun[2 + at] THEN
	:: ALL(15) -> break
	od
}

/* The same for both indices at once, of two CPUs each. */
inline look_both()
{
	did = 0;
	open = 0;
	open1 = 0;
	do
	:: ACCESS(0, 0) open = open - ended[0]; open1 = open1 - ended[1] THEN
	:: ACCESS(1, 0) open = open - ended[2]; open1 = open1 - ended[3] THEN
	:: ACCESS(2, BEGUN_BEFORE) open = open + begun[0] THEN
	:: ACCESS(3, BEGUN_BEFORE) open = open + begun[2] THEN
	:: ACCESS(4, BEGUN_BEFORE) open1 = open1 + begun[1] THEN
	:: ACCESS(5, BEGUN_BEFORE) open1 = open1 + begun[3] THEN
	:: ALL(63) -> break
	od
}

inline wait_empty(at)
{
	do
	:: look(at);
	   if
	   :: open == 0 -> break
	   :: else
	   fi
	od
}

/* Without L, what comes after the wait may be loaded before the looks that end it. */
inline maybe_load_early()
{
#ifdef NO_L
	if
	:: w = written[u]; early = 1
	:: skip
	fi
#else
	skip
#endif
}

/*
 * The proof that there is no reader, tried until it is had; when it is not had at once the code goes on as
 * the other updater does. It writes nothing, so that one such updater beside one of those is enough.
 */
inline no_readers()
{
#ifndef NO_F
	BARRIER(u);
#endif
	maybe_load_early();
	do
	:: look_both();
	   if
#ifdef ONE_INDEX
	   :: open == 0 -> break
#else
	   :: open == 0 && open1 == 0 -> break
#endif
	   :: else
	   fi
	od
}

inline grace_period()
{
	i = idx;
	atomic { new_seq[u] = seq + 1; late_seq[u] = 1 };
#ifndef NO_F_GP
	BARRIER(u); /* F */
#endif
#ifndef NO_FIRST_LOOK
	wait_empty(1 - i);
#endif
	atomic { new_idx[u] = 1 - i; late_idx[u] = 1 };
#ifndef NO_D
	BARRIER(u);
#endif
	maybe_load_early();
#ifndef NO_SECOND_LOOK
	wait_empty(i);
#endif
	atomic { BARRIER(u) -> seq++ } /* release */
}

proctype updater(byte u)
{
	byte did, cookie;
	short open, open1;
	bit i, w, early;

	late_valid[u] = 1;
#ifdef FAST
	if
	:: u == 0 -> no_readers(); goto waited
	:: else
	fi;
#endif
#ifndef NO_F
	BARRIER(u); /* F, in srcu_cookie() */
#endif
#ifdef EARLY_COOKIE
	cookie = (seq + 2) / 2 * 2;
#else
	cookie = (seq + 3) / 2 * 2;
#endif
	do
	:: seq >= cookie -> break
	:: atomic { seq < cookie && seq % 2 == 0 && !lock -> lock = 1 };
	   if
	   :: seq < cookie -> grace_period()
	   :: else
	   fi;
	   lock = 0
	od;
waited:
	if
	:: early
	:: else -> w = written[u] /* after L */
	fi;
	atomic {
		assert(!saw[u] || w);
		freed[u] = 1
	}
}

init {
	atomic { run reader(0); run reader(1); run updater(0); run updater(1) }
}
