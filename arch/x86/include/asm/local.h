/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters that one CPU writes, in thread and in interrupt context: one instruction, without the bus
 * lock that would make it atomic against other CPUs too (SDM vol. 3A, 9.1.2).
 */
#ifndef ASM_LOCAL_H
#define ASM_LOCAL_H

static inline void local_inc(unsigned long *p)
{
	__asm__ volatile("incq %0" : "+m"(*p) : : "memory", "cc");
}

/* Read one, on any CPU. What has to come after it needs a barrier. */
static inline unsigned long local_read(const unsigned long *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

#endif
