/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The owner's loop around a guest, and what anybody else may do to a vCPU. The loop is the hottest
 * path there is: it takes no lock, and reads one word that others write.
 */
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/evtchn.h>
#include <cupel/gpc.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>
#include <cupel/steal.h>
#include <cupel/vcpu.h>
#include <cupel/xen.h>

#include "core.h"

/* Requests that the arch serves. */
#define ARCH_REQUESTS (VCPU_REQ_EVENT | VCPU_REQ_TLB | VCPU_REQ_RESET)

void vcpu_load(struct vcpu *v)
{
	arch_irq_disable();
	ASSERT(v->cpu < 0);
	WRITE_ONCE(v->cpu, (int)cpu_id());
	v->loads++;
	arch_vcpu_load(v);
}

void vcpu_put(struct vcpu *v)
{
	arch_irq_disable();
	arch_vcpu_put(v);
	/* Pairs with the acquire in at_rest() of quiesce.c: all use of guest memory is over. */
	store_release(&v->cpu, -1);
	arch_irq_enable();
}

/* VCPU_EXIT_RESUME when the guest may be entered. STOP is never taken back: it stays for good. */
static __noinline enum vcpu_exit serve_requests(struct vcpu *v)
{
	u32 bits;

	WRITE_ONCE(v->mode, VCPU_OUTSIDE);
	/*
	 * Acquire pairs with the releases of vcpu_ask() and vcpu_request_quiet(): sees what was posted.
	 * Release pairs with the acquire in at_rest() of quiesce.c: what was found in guest memory is used
	 * no more.
	 */
	bits = atomic_fetch_and_full(&v->requests, VCPU_REQ_STOP);
	if (bits & VCPU_REQ_SYNC)
		vcpu_sync(v);
	if (bits & VCPU_REQ_STOP)
		return VCPU_EXIT_STOP;
	if (bits & ARCH_REQUESTS)
		arch_vcpu_requests(v, bits & ARCH_REQUESTS);
	if ((bits & VCPU_REQ_GPC) && !gpc_serve(v))
		return VCPU_EXIT_YIELD;
	if ((bits & VCPU_REQ_EVTCHN) && !evtchn_serve(v))
		return VCPU_EXIT_YIELD;
	if ((bits & VCPU_REQ_TIME) && !xen_serve(v))
		return VCPU_EXIT_YIELD;
	return bits & VCPU_REQ_PREEMPT ? VCPU_EXIT_PREEMPT : VCPU_EXIT_RESUME;
}

/* Requests, or pages that hardware uses: as long as those are what they were, in it goes. */
static __noinline enum vcpu_exit look_before_entry(struct vcpu *v)
{
	if (!READ_ONCE(v->requests) && gpc_pins_valid(v))
		return arch_vcpu_enter(v);
	return serve_requests(v);
}

enum vcpu_exit vcpu_run(struct vcpu *v)
{
	enum vcpu_exit e;

	arch_irq_disable();
	do {
		/* Release: whoever reads IN_GUEST with acquire (vcpu_request()) also sees v->cpu. */
		store_release(&v->mode, VCPU_IN_GUEST);
		/*
		 * Pairs with the barrier in vcpu_request(), which sets a bit and then reads mode:
		 * either the bit is seen here, or IN_GUEST is seen there and a kick follows. The
		 * kick can't come too early: interrupts are off from here to the guest.
		 */
		smp_mb();
		if (unlikely(READ_ONCE(v->before_entry)))
			e = look_before_entry(v);
		else
			e = arch_vcpu_enter(v);
	} while (e == VCPU_EXIT_RESUME);
	arch_irq_enable();
	return e;
}

inline void vcpu_ask(struct vcpu *v, u32 bits)
{
	/* Release: pairs with the acquire in serve_requests(). */
	atomic_fetch_or_release(&v->requests, bits);
	/* Pairs with the barriers in vcpu_run() (mode) and in block() of sched.c (run_state). */
	smp_mb();
	/* Acquire: pairs with the release in vcpu_run(), so that cpu is the one it runs on. */
	if (load_acquire(&v->mode) == VCPU_IN_GUEST) {
		int cpu = READ_ONCE(v->cpu);

		if (cpu >= 0 && cpu != (int)cpu_id())
			arch_cpu_kick((u32)cpu);
	}
}

void vcpu_request(struct vcpu *v, u32 bits)
{
	vcpu_ask(v, bits);
	vcpu_wake(v);
}

void vcpu_wake(struct vcpu *v)
{
	u32 state = VCPU_BLOCKED;

	/*
	 * Full: pairs with the one in block() of sched.c. What the caller posted comes before this
	 * look at run_state, as BLOCKED there comes before the look at what was posted.
	 */
	smp_mb();
	if (READ_ONCE(v->run_state) != VCPU_BLOCKED)
		return;
	if (unlikely(v->steal.on))
		steal_runnable(v);
	/* Full: RUNNABLE comes before sched_notify()'s look at where the vCPU lives. */
	if (atomic_cmpxchg_full(&v->run_state, &state, VCPU_RUNNABLE))
		sched_notify(v);
}

int vcpu_power_on(struct vcpu *v)
{
	u32 state = VCPU_OFF;

	if (unlikely(v->steal.on))
		steal_runnable(v);
	/* Full: as in vcpu_wake(). */
	if (!atomic_cmpxchg_full(&v->run_state, &state, VCPU_RUNNABLE))
		return -EBUSY;
	sched_notify(v);
	return 0;
}
