/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Xen guest's time: ns since its VM was made, told on x86 through vcpu_time_info; and the timers a vCPU
 * sets in it, which raise VIRQ_TIMER. A timer is armed on the CPU where its vCPU is loaded; while the vCPU
 * sleeps, the scheduler's wake-up timer stands in for it, and one that is due at load is raised there.
 * Must never write time info that a reader could take for whole while it is not.
 */
#include "xen.h"

#define NS_100MS 100000000UL
#define FAR_FUTURE \
	BIT(50) /* ns: beyond, a guest's clock has wrapped, and it has work to do (FACTS 3.6) */

_Static_assert(sizeof(struct vcpu_time_info) == 32, "xen.h: vcpu_time_info");
_Static_assert(offsetof(struct vcpu_time_info, tsc_to_system_mul) == 24, "xen.h: vcpu_time_info");

u64 xen_counter_to_time(const struct vm *vm, u64 counter)
{
	return ticks_to_ns(counter - vm->xen->boot);
}

u64 xen_system_time(const struct vm *vm)
{
	return xen_counter_to_time(vm, arch_counter());
}

/* The first value at which it is that late. */
u64 xen_time_to_counter(const struct vm *vm, u64 ns)
{
	u64 ticks = ns_to_ticks(ns), counter;

	if (ticks_to_ns(ticks) < ns)
		ticks++;
	return __builtin_add_overflow(vm->xen->boot, ticks, &counter) ? ~0UL : counter;
}

/* --- Timers ------------------------------------------------------------------------------------- */

static u64 first_timer(const struct xen_vcpu *x)
{
	return min(x->once, x->next);
}

/* ~0 when it is beyond any: a period may be longer than the counter's, and must not end before it begins. */
static u64 later(u64 counter, u64 ticks)
{
	u64 at;

	return __builtin_add_overflow(counter, ticks, &at) ? ~0UL : at;
}

/* Raise what is due, and set the host's timer for the rest. Owner CPU, loaded, interrupts off. */
static void run_timers(struct vcpu *v, u64 now)
{
	struct xen_vcpu *x = v->xen;
	bool due = first_timer(x) <= now;

	if (x->once <= now)
		x->once = ~0UL;
	/* Periods that went by while nobody could look are one tick, as the event is pending but once. */
	if (x->period && x->next <= now)
		x->next = later(now - (now - x->next) % x->period, x->period);
	if (first_timer(x) != ~0UL)
		soft_timer_arm(&x->timer, first_timer(x));
	else
		soft_timer_cancel(&x->timer);
	if (due)
		evtchn_virq(v, VIRQ_TIMER);
}

static void timer_fired(struct soft_timer *t)
{
	struct xen_vcpu *x = container_of(t, struct xen_vcpu, timer);

	run_timers(x->vcpu, arch_counter());
}

void xen_set_singleshot(struct vcpu *v, u64 deadline)
{
	v->xen->once = deadline;
	run_timers(v, arch_counter());
}

void xen_set_periodic(struct vcpu *v, u64 period)
{
	struct xen_vcpu *x = v->xen;
	u64 now = arch_counter();

	x->period = period;
	x->next = period ? later(now, period) : ~0UL;
	run_timers(v, now);
}

s64 xen_set_timer_op(struct vcpu *v, s64 timeout)
{
	u64 now = xen_system_time(v->vm);
	u64 ns = (u64)timeout;

	if (!timeout) {
		xen_set_singleshot(v, ~0UL);
		return 0;
	}
	if (timeout < 0 || (ns > now && ns - now > FAR_FUTURE))
		ns = now + NS_100MS;
	xen_set_singleshot(v, xen_time_to_counter(v->vm, ns));
	return 0;
}

u64 xen_vcpu_deadline(const struct vcpu *v)
{
	const struct xen_vcpu *x = v->xen;
	u64 first = first_timer(x);

	return x->polling ? min(first, x->poll_until) : first;
}

/* --- What the guest computes its time from ------------------------------------------------------ */

static void write_time(struct vcpu *v, struct vcpu_time_info *to, u64 now)
{
	struct vcpu_time_info t = { .system_time = xen_counter_to_time(v->vm, now) };
	u32 version = READ_ONCE(to->version) | 1;

	arch_xen_time(v, now, &t);
	WRITE_ONCE(to->version, version);
	smp_wmb(); /* pairs with the guest's read barrier after it has read an even version */
	WRITE_ONCE(to->tsc_timestamp, t.tsc_timestamp);
	WRITE_ONCE(to->system_time, t.system_time);
	WRITE_ONCE(to->tsc_to_system_mul, t.tsc_to_system_mul);
	WRITE_ONCE(to->tsc_shift, t.tsc_shift);
	WRITE_ONCE(to->flags, t.flags);
	smp_wmb(); /* pairs with the guest's read barrier before it reads the version again */
	WRITE_ONCE(to->version, version + 1);
}

/* False: the page can't be reached now. */
static bool write_time_at(struct vcpu *v, struct gpc *g, u32 offset, u64 now)
{
	srcu_token_t token = guest_read_lock();
	u8 *at = gpc_get(g, offset + sizeof(struct vcpu_time_info));

	if (at) {
		write_time(v, (struct vcpu_time_info *)(at + offset), now);
		gpc_dirty(g);
		gpc_put(g);
	}
	guest_read_unlock(token);
	return at;
}

/* With another look at where the page is, when it is not where it was. */
static bool write_time_in(struct vcpu *v, struct gpc *g, u32 offset, u64 now)
{
	return write_time_at(v, g, offset, now) ||
	       (!gpc_refresh(g) && write_time_at(v, g, offset, now));
}

static void write_all_times(struct vcpu *v, u64 now)
{
	struct xen_vcpu *x = v->xen;

	x->time_written = now;
	/* Before the pages are looked at: who gives one a new place says so after it. */
	WRITE_ONCE(x->time_stale, false);
	if (!write_time_in(v, evtchn_vcpu_info(v), XEN_VCPU_TIME, now) ||
	    (READ_ONCE(x->time_wanted) && !write_time_in(v, &x->time, 0, now)))
		WRITE_ONCE(x->time_stale, true);
}

void xen_time_changed(struct vcpu *v)
{
	if (XEN_HAS_TIME)
		write_all_times(v, arch_counter());
}

/* --- A stay on a CPU ---------------------------------------------------------------------------- */

void xen_time_init(struct vcpu *v)
{
	struct xen_vcpu *x = v->xen;

	x->once = x->next = x->poll_until = ~0UL;
	x->period_posted = ~0UL;
	x->timer.fn = timer_fired;
	x->time_stale = true;
}

void xen_time_load(struct vcpu *v, u64 now)
{
	struct xen_vcpu *x = v->xen;

	if (unlikely(READ_ONCE(x->period_posted) != ~0UL)) {
		/* Pairs with the full barrier of the vcpu_request() that came after it was posted. */
		x->period = atomic_xchg_acquire(&x->period_posted, ~0UL);
		x->next = x->period ? later(now, x->period) : ~0UL;
	}
	/* The guest's multiplier is exact to 2^-32: once a second keeps it within a ns of ours. */
	if (XEN_HAS_TIME &&
	    unlikely(READ_ONCE(x->time_stale) || now - x->time_written > arch_counter_hz()))
		xen_time_changed(v);
	if (first_timer(x) != ~0UL)
		run_timers(v, now);
}

void xen_time_put(struct vcpu *v)
{
	if (v->xen->timer.armed)
		soft_timer_cancel(&v->xen->timer);
}
