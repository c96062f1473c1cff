/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Handlers of interrupts and faults, and timing helpers, for both architectures. Runs in interrupt
 * context: must not wait for anything.
 */
#include <guest.h>
#include <runtime.h>

#define MAX_IRQS 1024

static irq_fn handlers[MAX_IRQS];
irq_fn irq_raw;
u32 irq_unexpected[MAX_VCPUS];
struct try_state try_state[MAX_VCPUS];

void irq_request(u32 irq, irq_fn fn)
{
	WRITE_ONCE(handlers[irq], fn);
}

void irq_deliver(u32 irq)
{
	irq_fn fn = irq < MAX_IRQS ? READ_ONCE(handlers[irq]) : NULL;

	if (fn)
		fn(irq);
	else
		irq_unexpected[cpu_id()]++;
}

u64 try_fault(u64 cause, u64 code, u64 addr, u64 pc)
{
	struct try_state *t = &try_state[cpu_id()];
	u64 sp = t->sp;

	t->fault = (struct fault){ cause, code, addr, pc };
	t->sp = 0;
	return sp;
}

bool try_call(void (*fn)(void *arg), void *arg, struct fault *f)
{
	struct try_state *t = &try_state[cpu_id()];
	bool faulted = try_call_asm(fn, arg, &t->sp);

	t->sp = 0;
	if (faulted)
		*f = t->fault;
	return faulted;
}

u64 ms_to_ticks(u64 ms)
{
	return us_to_ticks(ms * 1000);
}

u64 us_to_ticks(u64 us)
{
	return us * timer_hz() / 1000000;
}

void spin_ticks(u64 ticks)
{
	u64 start = timer_now(TIMER_VIRT);

	while (timer_now(TIMER_VIRT) - start < ticks)
		cpu_pause();
}
