/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HC_EVTCHN: a guest has one of its ports raised from a host interrupt, so that deliveries in that context can
 * be tested and measured. A timer knows its VM by number only, and finds it again when it fires: the VM may
 * be gone by then. How many there are is bounded.
 */
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/percpu.h>

#include "evtchn.h"

#define RAISERS 8 /* a CPU */

struct raiser {
	struct soft_timer timer;
	u32 vm_id;
	u32 port;
};

static DEFINE_PER_CPU(struct { struct raiser of[RAISERS]; }, raisers);

static void raise_now(struct soft_timer *t)
{
	const struct raiser *r = container_of(t, struct raiser, timer);

	/* A port that was closed meanwhile, a VM that has ended: nobody is left to be told. */
	(void)evtchn_raise_id(r->vm_id, r->port);
}

s64 evtchn_raise_later(struct vm *vm, u32 port, u64 ns)
{
	unsigned long flags = arch_irq_save();
	struct raiser *r = this_cpu_ptr(raisers)->of;
	u64 now = arch_counter(), delay = ns_to_ticks(ns);
	s64 err = -EBUSY;

	for (u32 i = 0; err && i < RAISERS; i++, r++) {
		if (r->timer.armed)
			continue;
		*r = (struct raiser){ .timer.fn = raise_now, .vm_id = vm->id, .port = port };
		soft_timer_arm(&r->timer, delay < ~0UL - now ? now + delay : ~0UL - 1);
		err = 0;
	}
	arch_irq_restore(flags);
	return err;
}
