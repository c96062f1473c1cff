/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The local APIC timer (APM volume 2, 16.4.1; SDM volume 3, 11.5.4): one-shot, periodic, by TSC
 * deadline where offered, masked, stopped, reprogrammed, and in the past; asleep, giving the CPU away,
 * and moving to another CPU. A sleeper whose interrupt is lost never wakes: the harness sees that.
 */
#include <guest.h>

#define W	 us_to_ticks(500)
#define FAR	 ms_to_ticks(40) /* enough to do something before it, on a busy machine too */
#define PATIENCE (2 * timer_hz())

enum way { WAY_HLT, WAY_YIELD, WAY_MIGRATE, NR_WAYS };
static const char *const way_names[] = { "asleep", "yielding", "moving" };
static enum way way;

static u32 irqs;
static u64 seen;

static void on_timer(u32 irq)
{
	seen = rdtsc();
	WRITE_ONCE(irqs, irqs + 1);
}

static void begin(u32 mode)
{
	irq_disable();
	lapic_write(LAPIC_TMICT, 0);
	lapic_write(LAPIC_LVTT, mode | VEC_TIMER);
	lapic_write(LAPIC_TDCR, TDCR_DIV1);
	irq_enable(); /* what a former case left pending */
	spin_ticks(us_to_ticks(20));
	irq_disable();
	irqs = 0;
	seen = 0;
}

static void wait_irqs(u32 n)
{
	u64 start = rdtsc();

	if (way == WAY_HLT) {
		sleep_until(READ_ONCE(irqs) >= n);
		return;
	}
	if (way == WAY_MIGRATE)
		hc(HC_MIGRATE, 1, 0, 0);
	irq_enable();
	while (READ_ONCE(irqs) < n && rdtsc() - start < PATIENCE)
		relax();
}

static bool one_not_before(u64 deadline)
{
	wait_irqs(1);
	spin_ticks(us_to_ticks(100)); /* for one too many */
	irq_disable();
	return irqs == 1 && seen + timer_slack() >= deadline;
}

static bool silent(u64 ticks)
{
	u64 start = rdtsc();

	irq_enable();
	if (way == WAY_MIGRATE)
		hc(HC_MIGRATE, 1, 0, 0);
	while (rdtsc() - start < ticks)
		if (way == WAY_HLT)
			cpu_pause();
		else
			relax();
	irq_disable();
	return irqs == 0;
}

static void say(bool ok, const char *what)
{
	lapic_write(LAPIC_TMICT, 0);
	report(ok, "%s: %s (irqs %u)", way_names[way], what, irqs);
}

static u64 arm(u64 ticks)
{
	u64 deadline = rdtsc() + ticks;

	lapic_write(LAPIC_TMICT, lapic_ticks(ticks));
	return deadline;
}

static void oneshot(void)
{
	u32 a, b;
	bool ok;

	begin(LVTT_ONESHOT);
	ok = one_not_before(arm(W));
	say(ok && lapic_read(LAPIC_TMCCT) == 0, "one-shot fires once, and its count is 0");
	begin(LVTT_ONESHOT);
	arm(100 * W);
	a = lapic_read(LAPIC_TMCCT);
	spin_ticks(W);
	b = lapic_read(LAPIC_TMCCT);
	say(a > b && a - b >= lapic_ticks(W) - lapic_ticks(timer_slack()) &&
		    a <= lapic_ticks(100 * W) && lapic_read(LAPIC_TMICT) == lapic_ticks(100 * W),
	    "the count goes down with time");
	begin(LVTT_ONESHOT);
	lapic_write(LAPIC_TMICT, 1);
	say(one_not_before(0), "the shortest count fires");
}

static void stopped(void)
{
	begin(LVTT_ONESHOT);
	arm(FAR);
	lapic_write(LAPIC_TMICT, 0);
	say(silent(FAR + W), "nothing: stopped");
	begin(LVTT_ONESHOT | LVT_MASKED);
	arm(W);
	say(silent(3 * W) && lapic_read(LAPIC_TMCCT) == 0, "nothing: masked, and it ran out");
	lapic_write(LAPIC_LVTT, LVTT_ONESHOT | VEC_TIMER);
	say(silent(W), "nothing: unmasked too late");
	begin(LVTT_ONESHOT);
	lapic_write(LAPIC_TMICT, ~0U);
	say(silent(3 * W), "nothing: the longest count");
}

/* Again when the first deadline passed before the second was set: then there is nothing to see. */
static void reprogram_one(const char *what, u64 first, u64 second)
{
	u64 former, deadline;
	u32 tries = 10;

	do {
		begin(LVTT_ONESHOT);
		former = arm(first);
		deadline = arm(second);
	} while (rdtsc() >= former && --tries);
	say(tries && one_not_before(deadline), what);
}

static void reprogrammed(void)
{
	reprogram_one("set later, then sooner", 60 * W, W);
	reprogram_one("set sooner, then later", 20 * W, 24 * W);
}

static void divided(void)
{
	u64 start;

	begin(LVTT_ONESHOT);
	lapic_write(LAPIC_TDCR, 0x3); /* by 16 */
	start = rdtsc();
	lapic_write(LAPIC_TMICT, lapic_ticks(W) / 4);
	say(one_not_before(start + 4 * W - 16 * W / 1000), "the divider stretches time");
	lapic_write(LAPIC_TDCR, TDCR_DIV1);
}

static void periodic(void)
{
	u64 start, end;

	begin(LVTT_PERIODIC);
	start = rdtsc();
	lapic_write(LAPIC_TMICT, lapic_ticks(2 * W));
	wait_irqs(20);
	irq_disable();
	end = seen;
	say(irqs >= 20 && end - start + timer_slack() >= irqs * 2 * W,
	    "periodic: twenty, none early");
	begin(LVTT_PERIODIC);
	lapic_write(LAPIC_TMICT, lapic_ticks(W));
	spin_ticks(10 * W); /* interrupts off: they merge into one request */
	lapic_write(LAPIC_TMICT, 0);
	irq_enable();
	spin_ticks(W);
	irq_disable();
	say(irqs >= 1 && irqs <= 2, "periodic with interrupts off merges");
}

static void deadline(void)
{
	u64 d;

	if (!lapic_has_deadline()) {
		skip("%s: no TSC deadline", way_names[way]);
		return;
	}
	begin(LVTT_DEADLINE);
	d = rdtsc() + FAR;
	wrmsr(MSR_TSC_DEADLINE, d);
	say(rdmsr(MSR_TSC_DEADLINE) == d && one_not_before(d) && !rdmsr(MSR_TSC_DEADLINE),
	    "a TSC deadline fires once, and is 0 then");
	begin(LVTT_DEADLINE);
	wrmsr(MSR_TSC_DEADLINE, rdtsc() - W);
	say(one_not_before(0), "a past TSC deadline fires at once");
	begin(LVTT_DEADLINE);
	wrmsr(MSR_TSC_DEADLINE, 1);
	say(one_not_before(0), "TSC deadline 1 fires at once");
	begin(LVTT_DEADLINE);
	wrmsr(MSR_TSC_DEADLINE, rdtsc() + FAR);
	wrmsr(MSR_TSC_DEADLINE, 0);
	say(silent(FAR + W), "nothing: TSC deadline taken back");
	begin(LVTT_DEADLINE);
	wrmsr(MSR_TSC_DEADLINE, rdtsc() + FAR);
	lapic_write(LAPIC_LVTT, LVTT_ONESHOT | VEC_TIMER);
	say(silent(FAR + W) && !rdmsr(MSR_TSC_DEADLINE),
	    "nothing: another mode disarms the deadline");
	begin(LVTT_ONESHOT);
	wrmsr(MSR_TSC_DEADLINE, rdtsc());
	say(silent(W), "nothing: a deadline in another mode");
	begin(LVTT_DEADLINE);
	lapic_write(LAPIC_TMICT, 1000);
	say(silent(W) && !lapic_read(LAPIC_TMCCT), "nothing: a count in deadline mode");
}

int guest_main(void)
{
	irq_request(VEC_TIMER, on_timer);
	for (way = 0; way < NR_WAYS; way++) {
		oneshot();
		stopped();
		reprogrammed();
		divided();
		periodic();
		deadline();
	}
	report(!irq_unexpected[0], "no unexpected interrupt (%u)", irq_unexpected[0]);
	return 0;
}
