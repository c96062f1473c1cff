/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters that one CPU writes. A thread stands in for it, and its interrupts come at places of their own:
 * load and store are enough, and what a sanitizer can see.
 */
#ifndef ASM_HOST_LOCAL_H
#define ASM_HOST_LOCAL_H

static inline void local_inc(unsigned long *p)
{
	__atomic_store_n(p, __atomic_load_n(p, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

#endif
