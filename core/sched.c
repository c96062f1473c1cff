/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A run queue per CPU, round robin with a time slice. A CPU's loop loads a vCPU, runs it, puts it and
 * takes the next: there is no context switch, and nothing here ever waits for another CPU except
 * sched_remove().
 *
 * A wake-up is never lost. Each way to miss one is a store-buffering pattern (each side stores, then
 * looks at what the other stores), closed by a full barrier on both sides:
 *
 *   blocking CPU                            waker
 *     run_state = BLOCKED      block()        post an interrupt or a request
 *     barrier                                 barrier                     vcpu_wake()
 *     wakeable? requests?                     run_state == BLOCKED?
 *
 *   idling CPU                              waker
 *     idle = true       idle_until()          run_state = RUNNABLE        vcpu_wake()
 *     barrier                                 barrier
 *     anything RUNNABLE?                      idle? -> kick               sched_notify()
 *
 *   moving CPU                              waker
 *     sched_cpu = new    enqueue()            run_state = RUNNABLE        vcpu_wake()
 *     barrier                                 barrier
 *     sched_poke(new), which looks            sched_cpu? -> its idle flag
 *
 * A kick reaches a CPU that is about to idle, since it looks with interrupts masked and a pending
 * interrupt ends arch_cpu_idle(). A kick reaches a CPU that is about to enter a guest for the reason
 * given in vcpu_run().
 */
#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/evtchn.h>
#include <cupel/lock.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>
#include <cupel/sched.h>
#include <cupel/smp.h>
#include <cupel/steal.h>
#include <cupel/vm.h>
#include <cupel/xen.h>

#include "core.h"

u64 sched_slice_ns = 5000000;

struct run_queue {
	/* Guards the list, nr, attention, and sched_cpu and rq_next of the vCPUs on the list. */
	spinlock_t lock;
	u32 nr;
	struct vcpu *first; /* the next to be looked at; who has run goes to the end */
	struct vcpu *current; /* written by the owner */
	bool attention; /* calls or moves are due: no vCPU is picked before they are done */
	bool slice_armed;
	bool parked; /* no vCPU comes here; guarded by the lock too */
	u64 slice_end; /* of `current` */
	u64 slice_ns, slice_ticks; /* the last conversion */
	struct soft_timer slice;
	/* Written by the owner, read by every waker. */
	bool idle __cacheline_aligned;
} __cacheline_aligned;

static void slice_over(struct soft_timer *t);

static DEFINE_PER_CPU(struct run_queue, run_queue) = {
	.lock = SPINLOCK_INIT("run_queue"),
	.slice.fn = slice_over,
};

static void append(struct run_queue *rq, struct vcpu *v)
{
	struct vcpu **p = &rq->first;

	while (*p)
		p = &(*p)->rq_next;
	v->rq_next = NULL;
	*p = v;
}

static void unlink(struct run_queue *rq, struct vcpu *v)
{
	struct vcpu **p = &rq->first;

	while (*p != v)
		p = &(*p)->rq_next;
	*p = v->rq_next;
	v->rq_next = NULL;
}

/* --- Waking, poking ----------------------------------------------------------------------------- */

void sched_notify(struct vcpu *v)
{
	int cpu = READ_ONCE(v->sched_cpu);

	if (cpu < 0 || cpu == (int)cpu_id())
		return;
	/* The caller's exchange of run_state is the barrier between that store and these looks. */
	if (READ_ONCE(per_cpu_ptr(run_queue, cpu)->idle))
		arch_cpu_kick((u32)cpu);
}

void sched_poke(u32 cpu)
{
	struct run_queue *rq = per_cpu_ptr(run_queue, cpu);
	unsigned long flags;
	struct vcpu *v;

	spin_lock_irqsave(&rq->lock, flags);
	WRITE_ONCE(rq->attention, true);
	/* Under the lock, so that it can't be taken off the queue and freed meanwhile. */
	v = READ_ONCE(rq->current);
	if (v)
		vcpu_request_quiet(v, VCPU_REQ_PREEMPT);
	spin_unlock_irqrestore(&rq->lock, flags);
	if (cpu != cpu_id())
		arch_cpu_kick(cpu);
}

/* --- Coming, going, moving ---------------------------------------------------------------------- */

/* False when that CPU is parked. */
static bool put_on_queue(struct vcpu *v, u32 cpu)
{
	struct run_queue *rq = per_cpu_ptr(run_queue, cpu);
	unsigned long flags;
	bool parked;

	spin_lock_irqsave(&rq->lock, flags);
	parked = rq->parked;
	if (!parked) {
		append(rq, v);
		WRITE_ONCE(rq->nr, rq->nr + 1);
		WRITE_ONCE(v->sched_cpu, (int)cpu);
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return !parked;
}

static void enqueue(struct vcpu *v, u32 cpu)
{
	if (unlikely(!put_on_queue(v, cpu))) {
		int there = (int)cpu;

		/* Unless it has been asked to go elsewhere: then it is on its way from the boot CPU. */
		atomic_cmpxchg_full(&v->sched_next, &there, 0);
		cpu = 0;
		(void)put_on_queue(v, cpu);
	}
	/*
	 * Full: pairs with the exchanges of run_state in vcpu_wake() and vcpu_power_on() and with the
	 * barrier in ask_move(). Whoever made it runnable, or asked it to move on, either saw the new
	 * sched_cpu, or what they did is seen in the turn asked for here.
	 */
	smp_mb();
	sched_poke(cpu);
}

int sched_park(bool parked)
{
	struct run_queue *rq = this_cpu_ptr(run_queue);
	unsigned long flags;
	int err;

	spin_lock_irqsave(&rq->lock, flags);
	err = parked && rq->nr ? -EBUSY : 0;
	if (!err)
		rq->parked = parked;
	spin_unlock_irqrestore(&rq->lock, flags);
	return err;
}

void sched_assign(struct vcpu *v, u32 cpu)
{
	WRITE_ONCE(v->sched_next, (int)cpu);
	enqueue(v, cpu);
}

/* On the vCPU's own CPU. Its deadline is what it halted for: no need to ask again whether it may run. */
static void wake_timer_fired(struct soft_timer *t)
{
	struct vcpu *v = container_of(t, struct vcpu, wake_timer);

	v->halted = false;
	vcpu_wake(v);
}

static void arm_wake_timer(struct vcpu *v)
{
	u64 deadline = arch_vcpu_next_deadline(v);

	if (unlikely(v->xen))
		deadline = min(deadline, xen_vcpu_deadline(v));
	if (deadline == ~0UL)
		return;
	v->wake_timer.fn = wake_timer_fired;
	soft_timer_arm(&v->wake_timer, deadline);
}

/*
 * Take off the list a vCPU that is to go elsewhere; NULL when all are in their place. On the way, a
 * vCPU that came here blocked gets its timer. On the queue's own CPU, which runs nothing now.
 */
static struct vcpu *next_leaver(struct run_queue *rq)
{
	struct vcpu *v;
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	for (v = rq->first; v; v = v->rq_next) {
		if (READ_ONCE(v->sched_next) != v->sched_cpu)
			break;
		if (READ_ONCE(v->run_state) == VCPU_BLOCKED && !v->wake_timer.armed)
			arm_wake_timer(v);
	}
	if (v) {
		soft_timer_cancel(&v->wake_timer);
		unlink(rq, v);
		WRITE_ONCE(rq->nr, rq->nr - 1);
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return v;
}

static void send(struct vcpu *v)
{
	int to = READ_ONCE(v->sched_next);

	if (to < 0)
		store_release(&v->sched_cpu, -1); /* pairs with the acquire in sched_remove() */
	else
		enqueue(v, (u32)to);
}

/* Calls and moves that are due. */
static __noinline void attend(struct run_queue *rq)
{
	struct vcpu *v;
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	WRITE_ONCE(rq->attention, false);
	spin_unlock_irqrestore(&rq->lock, flags);
	smp_run_calls();
	while ((v = next_leaver(rq)))
		send(v);
}

static void ask_move(struct vcpu *v, int to)
{
	int cpu;

	WRITE_ONCE(v->sched_next, to);
	/* Pairs with the barrier in sched_assign(): this sees the new queue, or that turn sees `to`. */
	smp_mb();
	cpu = READ_ONCE(v->sched_cpu);
	if (cpu >= 0)
		sched_poke((u32)cpu);
}

void sched_migrate(struct vcpu *v, u32 cpu)
{
	ask_move(v, (int)cpu);
}

void sched_remove(struct vcpu *v)
{
	/* Asked for again and again: a guest's own wish to move may come in between. */
	for (;;) {
		/* Pairs with the release in settle_one(): everything done to it there is over. */
		int cpu = load_acquire(&v->sched_cpu);

		if (cpu < 0)
			return;
		if (READ_ONCE(v->sched_next) >= 0)
			ask_move(v, -1);
		if (cpu == (int)cpu_id())
			attend(this_cpu_ptr(run_queue));
		else
			cpu_relax();
	}
}

/* --- Running ------------------------------------------------------------------------------------ */

static bool other_runnable(const struct run_queue *rq, const struct vcpu *than)
{
	for (const struct vcpu *v = rq->first; v; v = v->rq_next) {
		if (v != than && READ_ONCE(v->run_state) == VCPU_RUNNABLE)
			return true;
	}
	return false;
}

static u64 slice_ticks(struct run_queue *rq)
{
	if (unlikely(rq->slice_ns != sched_slice_ns)) {
		rq->slice_ns = sched_slice_ns;
		rq->slice_ticks = ns_to_ticks(sched_slice_ns);
	}
	return rq->slice_ticks;
}

/*
 * One timer serves every slice: it is left armed when a vCPU gives up early, and when it fires it
 * looks whether the slice that runs now is over.
 */
static void slice_over(struct soft_timer *t)
{
	struct run_queue *rq = this_cpu_ptr(run_queue);
	struct vcpu *v = rq->current;
	bool waiting;

	if (!v)
		return;
	spin_lock(&rq->lock);
	waiting = other_runnable(rq, v);
	spin_unlock(&rq->lock);
	if (arch_counter() >= rq->slice_end) {
		if (waiting)
			vcpu_request_quiet(v, VCPU_REQ_PREEMPT);
		rq->slice_end = arch_counter() + slice_ticks(rq);
	}
	soft_timer_arm(t, rq->slice_end);
}

static void start_slice(struct run_queue *rq)
{
	if (likely(READ_ONCE(rq->nr) == 1))
		return;
	rq->slice_end = arch_counter() + slice_ticks(rq);
	if (!rq->slice.armed)
		soft_timer_arm(&rq->slice, rq->slice_end);
}

/* The next runnable vCPU, RUNNING from now on; NULL when there is none or attention comes first. */
static struct vcpu *pick(struct run_queue *rq)
{
	struct vcpu *v = NULL;
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	if (likely(!rq->attention)) {
		v = rq->first;
		while (v && READ_ONCE(v->run_state) != VCPU_RUNNABLE)
			v = v->rq_next;
	}
	if (v) {
		if (v->rq_next) {
			unlink(rq, v);
			append(rq, v);
		}
		/* From RUNNABLE only the owner moves on; acquire pairs with the waker's exchange. */
		atomic_xchg_acquire(&v->run_state, VCPU_RUNNING);
		/* Left over from an earlier run: nothing asks for this one to end yet. */
		if (READ_ONCE(v->requests) & VCPU_REQ_PREEMPT)
			atomic_fetch_and_relaxed(&v->requests, ~VCPU_REQ_PREEMPT);
		rq->current = v;
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return v;
}

/* Whether a halted vCPU has a reason to run. Also true for what ends or restarts it. */
static bool may_run(struct vcpu *v)
{
	return (READ_ONCE(v->requests) & (VCPU_REQ_STOP | VCPU_REQ_RESET)) ||
	       arch_vcpu_wakeable(v) || (unlikely(v->xen) && xen_vcpu_wakeable(v));
}

static void block(struct vcpu *v)
{
	v->halted = true;
	WRITE_ONCE(v->run_state, VCPU_BLOCKED);
	/* Pairs with the barriers in vcpu_wake() and vcpu_request(). */
	smp_mb();
	if (may_run(v))
		vcpu_wake(v);
	else
		arm_wake_timer(v);
}

/* The last vCPU to go off takes its VM with it: nothing could ever run in there again. */
static void check_all_off(struct vm *vm)
{
	/* Pairs with the same barrier of another vCPU going off: the later one sees both. */
	smp_mb();
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		if (READ_ONCE(vm->vcpu[i]->run_state) != VCPU_OFF)
			return;
	}
	vm_stop(vm, -1, "every vCPU is off");
}

static u32 state_after(enum vcpu_exit e)
{
	switch (e) {
	case VCPU_EXIT_BLOCK: return VCPU_BLOCKED;
	case VCPU_EXIT_OFF:
	case VCPU_EXIT_STOP: return VCPU_OFF;
	default: return VCPU_RUNNABLE;
	}
}

/* For those whose time is accounted for; Xen's guests all are. */
static __noinline void begin_stay(struct vcpu *v)
{
	steal_load(v);
	if (v->xen)
		xen_vcpu_load(v);
}

static __noinline void end_stay(struct vcpu *v, u32 state)
{
	steal_put(v, state);
	if (v->xen)
		xen_vcpu_put(v, state);
}

static void after_run(struct vcpu *v, enum vcpu_exit e)
{
	if (unlikely(v->steal.on))
		end_stay(v, state_after(e));
	switch (e) {
	case VCPU_EXIT_BLOCK: block(v); break;
	case VCPU_EXIT_OFF:
		/* Pairs with the exchange in vcpu_power_on(): its caller finds the vCPU put. */
		store_release(&v->run_state, VCPU_OFF);
		evtchn_gone_off(v);
		check_all_off(v->vm);
		break;
	case VCPU_EXIT_STOP:
		store_release(&v->run_state, VCPU_OFF); /* as above */
		break;
	default:
		/* Pairs with the acquire in pick() on the CPU that runs it next. */
		store_release(&v->run_state, VCPU_RUNNABLE);
		break;
	}
}

static void run_one(struct run_queue *rq, struct vcpu *v)
{
	enum vcpu_exit e = VCPU_EXIT_BLOCK;

	if (v->wake_timer.armed)
		soft_timer_cancel(&v->wake_timer);
	if (!v->halted || may_run(v)) {
		v->halted = false;
		start_slice(rq);
		if (unlikely(v->steal.on))
			begin_stay(v);
		vcpu_load(v);
		e = vcpu_run(v);
		vcpu_put(v);
	}
	WRITE_ONCE(rq->current, NULL);
	after_run(v, e);
}

bool sched_turn(void)
{
	struct run_queue *rq = this_cpu_ptr(run_queue);
	struct vcpu *v;

	if (unlikely(READ_ONCE(rq->attention))) {
		attend(rq);
		return true;
	}
	v = pick(rq);
	if (v)
		run_one(rq, v);
	return v;
}

static bool has_work(struct run_queue *rq)
{
	bool work;

	spin_lock(&rq->lock);
	work = rq->attention || other_runnable(rq, NULL);
	spin_unlock(&rq->lock);
	return work;
}

static void idle_until(bool (*done)(void *), void *arg)
{
	struct run_queue *rq = this_cpu_ptr(run_queue);

	arch_irq_disable();
	WRITE_ONCE(rq->idle, true);
	/* Pairs with the full exchange of run_state before sched_notify() looks at idle. */
	smp_mb();
	if (!has_work(rq) && !done(arg))
		arch_cpu_idle();
	WRITE_ONCE(rq->idle, false);
	arch_irq_enable();
}

void sched_loop_until(bool (*done)(void *), void *arg)
{
	while (!done(arg)) {
		if (!sched_turn())
			idle_until(done, arg);
	}
}
