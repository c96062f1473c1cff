/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counting atomic read-modify-writes on words that several CPUs write: what makes a path stop scaling.
 * Each such operation of a measured path says so where it stands. Counted per CPU, and only while
 * lock_stats_enabled is true: a count never adds a shared cache line to the path it counts.
 */
#ifndef CUPEL_RMW_H
#define CUPEL_RMW_H

#include <cupel/atomic.h>
#include <cupel/lock.h>
#include <cupel/percpu.h>
#include <cupel/types.h>

DECLARE_PER_CPU(u64, shared_rmw); /* of this CPU since the last reset; an interrupt may lose one */

/* The line above or below is one. Locks count their own. Any context. */
static inline void count_shared_rmw(void)
{
	if (unlikely(READ_ONCE(lock_stats_enabled)))
		WRITE_ONCE(this_cpu(shared_rmw), this_cpu(shared_rmw) + 1);
}

/* Of all CPUs, since boot or the last reset; lock_stats_reset() resets these too. */
u64 shared_rmw_sum(void);

#endif
