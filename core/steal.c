/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The account of stolen time. `runnable_since` says when a vCPU began to wait for a CPU: the owner writes
 * it at put, whoever wakes it writes it before it is runnable, and the load that ends the wait adds it up.
 * Must never take a lock, nor count time that a vCPU spent asleep or running.
 */
#include <cupel/arch.h>
#include <cupel/steal.h>

/*
 * runnable_since: when, in counter ticks, 0 = it does not wait; above that the number of the stay on a CPU
 * that came before. A waker that was held up for as long as the vCPU woke, ran and slept again meets
 * another number, and leaves alone what is not its own to write.
 */
#define TIME_BITS 48
#define TIME_MASK (BIT(TIME_BITS) - 1)
#define ONE_STAY  BIT(TIME_BITS)

static u64 now_bits(void)
{
	u64 now = arch_counter() & TIME_MASK;

	return now ? now : 1;
}

u64 steal_ns(const struct vcpu *v)
{
	return ticks_to_ns(v->steal.ticks);
}

void steal_runnable(struct vcpu *v)
{
	u64 old;

	/* Pairs with the barrier in steal_put(): who saw it blocked sees this emptied. */
	smp_rmb();
	old = READ_ONCE(v->runnable_since);
	/* The exchange of run_state that follows is what orders this before the load. */
	if (!(old & TIME_MASK))
		atomic_cmpxchg_relaxed(&v->runnable_since, &old, old | now_bits());
}

void steal_put(struct vcpu *v, u32 run_state)
{
	u64 stay = (READ_ONCE(v->runnable_since) & ~TIME_MASK) + ONE_STAY;

	WRITE_ONCE(v->runnable_since, run_state == VCPU_RUNNABLE ? stay | now_bits() : stay);
	/* Emptied before run_state says so: pairs with the barrier in steal_runnable(). */
	smp_wmb();
	if (run_state == VCPU_RUNNABLE)
		arch_steal_preempted(v);
}

/* What the wait that ends now has taken. Counters of two CPUs may differ by a little: that is nothing. */
static u64 waited(const struct vcpu *v)
{
	u64 since = READ_ONCE(v->runnable_since) & TIME_MASK;
	u64 ticks = (now_bits() - since) & TIME_MASK;

	return since && ticks < BIT(TIME_BITS - 1) ? ticks : 0;
}

void steal_load(struct vcpu *v)
{
	u64 ticks = waited(v);

	v->steal.ticks += ticks;
	if (ticks || v->steal.behind)
		v->steal.behind = !arch_steal_publish(v, steal_ns(v));
}
