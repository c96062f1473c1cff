/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters that one CPU writes, in thread and in interrupt context. A plain load, add and store would
 * lose the increment of an interrupt in between; an exception's return clears the exclusive monitor
 * (Arm ARM B2.12.5), so that this one is tried again. The line stays this CPU's: no contention.
 */
#ifndef ASM_LOCAL_H
#define ASM_LOCAL_H

static inline void local_inc(unsigned long *p)
{
	unsigned long value;
	unsigned int failed;

	__asm__ volatile("1:	ldxr	%0, %2\n"
			 "	add	%0, %0, #1\n"
			 "	stxr	%w1, %0, %2\n"
			 "	cbnz	%w1, 1b"
			 : "=&r"(value), "=&r"(failed), "+Q"(*p)
			 :
			 : "memory");
}

/* Read one, on any CPU. What has to come after it needs a barrier. */
static inline unsigned long local_read(const unsigned long *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

#endif
