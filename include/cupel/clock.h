/* SPDX-License-Identifier: GPL-2.0-only */
/* Time: arch_counter() ticks and their conversion. */
#ifndef CUPEL_CLOCK_H
#define CUPEL_CLOCK_H

#include <cupel/arch.h>

#define NSEC_PER_SEC 1000000000UL

/* Exact to 1 tick, saturating instead of wrapping. */
u64 ticks_to_ns(u64 ticks);
u64 ns_to_ticks(u64 ns);

/*
 * How guests are told to do it: ns = (ticks << shift, or >> -shift) * mul >> 32, with mul as large as it
 * can be.
 */
struct time_scale {
	u32 mul;
	signed char shift;
};
struct time_scale guest_time_scale(void);

/*
 * One-shot soft timers of the calling CPU, driven by its host tick. The callback runs in interrupt
 * context with interrupts off. A timer belongs to the CPU that armed it; soft_timer_cancel() from
 * there only. Deadline in arch_counter() ticks.
 */
struct soft_timer {
	u64 deadline;
	void (*fn)(struct soft_timer *t);
	struct soft_timer *next;
	bool armed;
};
void soft_timer_arm(struct soft_timer *t, u64 deadline);
void soft_timer_cancel(struct soft_timer *t);
/* The arch's tick interrupt calls this. */
void soft_timer_tick(void);

#endif
