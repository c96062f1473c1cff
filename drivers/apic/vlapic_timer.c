/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer of a guest's local APIC: one-shot, periodic and TSC-deadline, all kept as one deadline of
 * the host counter. While the vCPU is loaded a soft timer of that CPU watches it; while it is not, the
 * scheduler asks for the deadline. The timer's input clock is the TSC. (APM vol. 2, 16.4.1)
 */
#include <asm/vlapic.h>
#include <cupel/vm.h>

#define PERIODS_PER_SEC_MAX 50000

static bool deadline_mode(const struct vlapic *l)
{
	return (l->lvt[VLAPIC_LVT_TIMER] & APIC_LVT_TIMER_MODE) == APIC_LVT_TIMER_DEADLINE;
}

static bool periodic_mode(const struct vlapic *l)
{
	return (l->lvt[VLAPIC_LVT_TIMER] & APIC_LVT_TIMER_MODE) == APIC_LVT_TIMER_PERIODIC;
}

/* Divide configuration: bits 3,1,0 are log2(divisor) - 1, and 7 means one. */
static u32 divider_shift(const struct vlapic *l)
{
	u32 n = (l->timer_divider & 3) | (l->timer_divider & 8) >> 1;

	return (n + 1) & 7;
}

/* A period that a guest may ask for is not one that the host has to keep up with. */
static u64 period(const struct vlapic *l)
{
	if (!periodic_mode(l))
		return 0;
	return max((u64)l->timer_count << divider_shift(l), arch_counter_hz() / PERIODS_PER_SEC_MAX);
}

/* The next period that lies ahead: a guest that was away for long gets one tick, not a storm. */
static u64 next_period(const struct vlapic *l, u64 now)
{
	u64 next = l->timer_deadline + l->timer_period;

	if (next <= now)
		next += (now - next) / l->timer_period * l->timer_period + l->timer_period;
	return next;
}

static void expire(struct vlapic *l)
{
	u32 lvt = l->lvt[VLAPIC_LVT_TIMER];

	l->timer_deadline = l->timer_period ? next_period(l, arch_counter()) : 0;
	if (lvt & APIC_LVT_MASKED)
		return;
	if ((lvt & APIC_LVT_VECTOR) < 16)
		vlapic_error(l, VLAPIC_ESR_RECEIVE_VECTOR);
	else
		vlapic_post(l->vcpu, lvt & APIC_LVT_VECTOR);
}

/* Interrupt context, on the CPU where the vCPU is loaded. */
static void timer_fired(struct soft_timer *t)
{
	struct vlapic *l = container_of(t, struct vlapic, timer);

	expire(l);
	if (l->timer_deadline)
		soft_timer_arm(&l->timer, l->timer_deadline);
}

void vlapic_timer_init(struct vlapic *l)
{
	l->timer.fn = timer_fired;
}

/* Have the deadline watched, or deal with it at once when it has passed. */
static void watch(struct vlapic *l)
{
	if (!l->loaded || !l->timer_deadline)
		return;
	if (l->timer_deadline <= arch_counter())
		expire(l);
	if (l->timer_deadline)
		soft_timer_arm(&l->timer, l->timer_deadline);
}

void vlapic_timer_load(struct vlapic *l)
{
	watch(l);
}

void vlapic_timer_put(struct vlapic *l)
{
	if (l->timer.armed)
		soft_timer_cancel(&l->timer);
}

void vlapic_timer_stop(struct vlapic *l)
{
	if (l->timer.armed)
		soft_timer_cancel(&l->timer);
	l->timer_deadline = 0;
	l->timer_period = 0;
}

static void start(struct vlapic *l, u64 ticks)
{
	vlapic_timer_stop(l);
	if (!ticks)
		return;
	l->timer_deadline = arch_counter() + ticks;
	l->timer_period = period(l);
	watch(l);
}

void vlapic_timer_set_count(struct vlapic *l, u32 count)
{
	if (deadline_mode(l))
		return;
	l->timer_count = count;
	start(l, (u64)count << divider_shift(l));
}

u32 vlapic_timer_count(const struct vlapic *l)
{
	u64 now = arch_counter();

	if (deadline_mode(l) || l->timer_deadline <= now)
		return 0;
	return min((l->timer_deadline - now) >> divider_shift(l), (u64)l->timer_count);
}

/* A new divider goes on with the count that is left. */
void vlapic_timer_set_divider(struct vlapic *l, u32 value)
{
	u64 left = vlapic_timer_count(l);

	l->timer_divider = value;
	if (left)
		start(l, left << divider_shift(l));
}

/* Entering or leaving TSC-deadline mode disarms (Intel SDM vol. 3A, 11.5.4.1). */
void vlapic_timer_set_lvt(struct vlapic *l, u32 value)
{
	bool was = deadline_mode(l);

	l->lvt[VLAPIC_LVT_TIMER] = value;
	if (deadline_mode(l) != was) {
		vlapic_timer_stop(l);
		l->timer_count = 0;
	} else if (l->timer_deadline && !deadline_mode(l)) {
		l->timer_period = period(l);
	}
}

/* A deadline beyond the end of the host's own counter is as good as none, and never early. */
void vlapic_timer_set_tsc(struct vlapic *l, u64 value)
{
	u64 now = arch_counter();
	u64 guest_now = now + l->vcpu->arch.tsc_offset;
	u64 ahead = value > guest_now ? value - guest_now : 0;

	if (!deadline_mode(l))
		return;
	vlapic_timer_stop(l);
	if (!value)
		return;
	if (__builtin_add_overflow(now, ahead, &l->timer_deadline))
		l->timer_deadline = ~0UL - 1;
	watch(l);
}

u64 vlapic_timer_tsc(const struct vlapic *l)
{
	if (!deadline_mode(l) || !l->timer_deadline)
		return 0;
	return l->timer_deadline + l->vcpu->arch.tsc_offset;
}
