/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory these models run on. There is one memory, and each access takes effect in it at one moment; a
 * CPU's accesses take effect in any order but for what the code under test orders. That is how arm64 behaves
 * as seen by other CPUs (Arm ARM B2.3: other-multi-copy-atomic), and all that x86 can do is part of it.
 *
 * A stretch of accesses is a loop whose branches are ACCESSes: each happens once, when those it names as
 * coming before it have happened. Which come before: what an address, data or control dependency says, the
 * accesses of one address, and what a barrier between them says unless a broken twin took it away. Not
 * modelled: that a CPU may see its own store before others do (no model reads back what it stores).
 *
 * A store that is only late, beside a program that runs in order, is LATE(): it happens by itself some
 * time before the next BARRIER().
 */
#define BITS(n)	  (1 << (n))
#define HAS(n)	  ((did & BITS(n)) != 0)
#define ALL(mask) ((did & (mask)) == (mask))
#define ACCESS(n, mask) \
	atomic          \
	{               \
		(!HAS(n) && ALL(mask))->did = did | BITS(n);
/* The same when `cond` is true as well. */
#define ACCESS_IF(n, mask, cond) \
	atomic                   \
	{                        \
		(!HAS(n) && ALL(mask) && (cond))->did = did | BITS(n);
#define THEN }
