/* SPDX-License-Identifier: GPL-2.0-only */
/* Time: conversions, and the one-shot timers that each CPU's host tick drives. Never waits. */
#include <cupel/clock.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>

#include "scale.h"

/* This CPU's armed timers, earliest first. Touched by this CPU only, with interrupts off. */
static DEFINE_PER_CPU(struct soft_timer *, soft_timers);

/* What the host timer of this CPU is set to; all ones: off. */
static DEFINE_PER_CPU(u64, tick_armed) = ~0UL;

/* The time the last tick worked with: all timers up to it have fired. */
static DEFINE_PER_CPU(u64, tick_done);

u64 ticks_to_ns(u64 ticks)
{
	return scale(ticks, NSEC_PER_SEC, arch_counter_hz());
}

u64 ns_to_ticks(u64 ns)
{
	return scale(ns, arch_counter_hz(), NSEC_PER_SEC);
}

/* A frequency between one and two GHz after the shift. */
struct time_scale guest_time_scale(void)
{
	struct time_scale s = { 0 };
	u64 hz = arch_counter_hz();

	for (; hz > 2 * NSEC_PER_SEC; hz >>= 1)
		s.shift--;
	for (; hz <= NSEC_PER_SEC; hz <<= 1)
		s.shift++;
	s.mul = (NSEC_PER_SEC << 32) / hz;
	return s;
}

static void rearm_tick(void)
{
	const struct soft_timer *first = this_cpu(soft_timers);
	u64 deadline = first ? first->deadline : ~0UL;

	if (this_cpu(tick_armed) == deadline)
		return;
	this_cpu(tick_armed) = deadline;
	arch_tick_arm(deadline);
}

static void unlink_timer(struct soft_timer *t)
{
	struct soft_timer **p = this_cpu_ptr(soft_timers);

	while (*p && *p != t)
		p = &(*p)->next;
	BUG_ON(!*p); /* armed on another CPU */
	*p = t->next;
	t->armed = false;
}

void soft_timer_arm(struct soft_timer *t, u64 deadline)
{
	unsigned long flags = arch_irq_save();
	struct soft_timer **p;

	if (t->armed)
		unlink_timer(t);
	/* A time already done with waits for the next tick, so that a callback can't loop this one. */
	deadline = max(deadline, this_cpu(tick_done) + 1);
	t->deadline = deadline;
	t->armed = true;
	for (p = this_cpu_ptr(soft_timers); *p && (*p)->deadline <= deadline;)
		p = &(*p)->next;
	t->next = *p;
	*p = t;
	rearm_tick();
	arch_irq_restore(flags);
}

void soft_timer_cancel(struct soft_timer *t)
{
	unsigned long flags = arch_irq_save();

	if (t->armed) {
		unlink_timer(t);
		rearm_tick();
	}
	arch_irq_restore(flags);
}

void soft_timer_tick(void)
{
	struct soft_timer *t;
	u64 now = arch_counter();

	/* Whatever the host timer was set to has fired: it must be set again, even to the same. */
	this_cpu(tick_armed) = ~0UL;
	this_cpu(tick_done) = now;
	while ((t = this_cpu(soft_timers)) && t->deadline <= now) {
		this_cpu(soft_timers) = t->next;
		t->armed = false;
		t->fn(t);
	}
	rearm_tick();
}
