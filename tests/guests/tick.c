/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A periodic tick on every vCPU: n=N ticks of us=U, timer=virt|phys, wait=wfi|poll|leave|yield|roam. A lost
 * tick ends the chain and fails by time-out; a storm shows in the host's own count of interrupts.
 * Roaming, every vCPU moves to another CPU over and over, wherever its tick is just then.
 * hold=K gives the CPU away K times inside the handler, so that this vCPU is off its CPU with the tick
 * active and the next vCPU there finds what it left.
 */
#include <guest.h>

#define PATIENCE_S 20

static struct ticker {
	u64 deadline;
	u32 got, early;
	bool gave_up;
	u64 loads, host_irqs, ticks, took;
} __cacheline_aligned tickers[MAX_VCPUS];

static enum timer timer, watchdog;
static u64 period;
static u32 wanted, hold;
static void (*wait)(struct ticker *t);

static void on_tick(u32 irq)
{
	struct ticker *t = &tickers[cpu_id()];

	if (timer_now(timer) + timer_slack() < t->deadline)
		t->early++;
	WRITE_ONCE(t->got, t->got + 1);
	t->deadline += period;
	if (t->got < wanted)
		timer_set(timer, t->deadline);
	else
		timer_stop(timer);
	for (u32 i = 0; i < hold; i++)
		hc(HC_YIELD, 0, 0, 0);
}

static bool done(struct ticker *t)
{
	return READ_ONCE(t->got) >= wanted || READ_ONCE(t->gave_up);
}

/* The other timer, where there is one, ends a sleep that no tick ends. */
static void on_watchdog(u32 irq)
{
	timer_stop(watchdog);
	WRITE_ONCE(tickers[cpu_id()].gave_up, true);
}

static void wait_wfi(struct ticker *t)
{
	if (watchdog != timer) {
		timer_request(watchdog, on_watchdog);
		timer_set(watchdog, timer_now(watchdog) + period * wanted + PATIENCE_S * timer_hz());
	}
	sleep_until(done(t));
	if (watchdog != timer)
		timer_stop(watchdog);
}

static void wait_turning(struct ticker *t, void (*turn)(void))
{
	u64 end = timer_now(timer) + period * wanted + PATIENCE_S * timer_hz();

	while (!done(t)) {
		turn();
		if (timer_now(timer) > end)
			t->gave_up = true;
	}
}

static void wait_poll(struct ticker *t)
{
	wait_turning(t, cpu_pause);
}

static void turn_leave(void)
{
	hc(HC_LEAVE, 0, 0, 0);
}

static void wait_leave(struct ticker *t)
{
	wait_turning(t, turn_leave);
}

static void wait_yield(struct ticker *t)
{
	wait_turning(t, relax);
}

/* Any generator will do, as long as vCPUs differ. */
static void turn_roam(void)
{
	static u32 dice[MAX_VCPUS];
	u32 *d = &dice[cpu_id()];

	*d = (*d + cpu_id() + 1) * 1103515245 + 12345;
	hc(HC_MIGRATE, *d >> 16 & 7, 0, 0);
	spin_ticks(us_to_ticks(*d >> 20 & 127));
}

static void wait_roam(struct ticker *t)
{
	wait_turning(t, turn_roam);
}

static void run(u32 cpu)
{
	struct ticker *t = &tickers[cpu];

	irq_disable();
	t->loads = stat(HC_STAT_LOADS);
	t->host_irqs = stat(HC_STAT_HOST_IRQS);
	t->ticks = stat(HC_STAT_TICKS);
	t->took = timer_now(timer);
	timer_request(timer, on_tick);
	t->deadline = timer_now(timer) + period;
	timer_set(timer, t->deadline);
	irq_enable();
	wait(t);
	irq_disable();
	timer_stop(timer);
	t->loads = stat(HC_STAT_LOADS) - t->loads;
	t->host_irqs = stat(HC_STAT_HOST_IRQS) - t->host_irqs;
	t->ticks = stat(HC_STAT_TICKS) - t->ticks;
	t->took = timer_now(timer) - t->took;
	irq_enable();
}

/* Host interrupts that are no tick: IPIs of vCPUs that are done, and time slices among several. */
static u64 others(const struct ticker *t)
{
	return nr_vcpus > 1 ? nr_vcpus - 1 + t->took / ms_to_ticks(5) : 0;
}

static void judge(u32 cpu)
{
	struct ticker *t = &tickers[cpu];

	report(t->got == wanted, "vCPU %u: %u of %u ticks", cpu, t->got, wanted);
	report(!t->early, "vCPU %u: no tick before its time (%u)", cpu, t->early);
	report(!irq_unexpected[cpu], "vCPU %u: no unexpected interrupt (%u)", cpu,
	       irq_unexpected[cpu]);
	if (bare)
		return;
	report(t->ticks >= wanted, "vCPU %u: the host handed over %lu ticks", cpu, t->ticks);
	report(t->host_irqs <= t->ticks + t->loads + others(t),
	       "vCPU %u: %lu host interrupts, %lu ticks, %lu loads", cpu, t->host_irqs, t->ticks,
	       t->loads);
}

static void choose(void)
{
	timer = HAVE_PHYS_TIMER && cmdline_is("timer", "phys") ? TIMER_PHYS : TIMER_VIRT;
	watchdog = HAVE_PHYS_TIMER && timer == TIMER_VIRT ? TIMER_PHYS : TIMER_VIRT;
	period = us_to_ticks(cmdline_u64("us", 1000));
	wanted = cmdline_u64("n", 100);
	hold = cmdline_u64("hold", 0);
	wait = cmdline_is("wait", "poll")  ? wait_poll :
	       cmdline_is("wait", "leave") ? wait_leave :
	       cmdline_is("wait", "yield") ? wait_yield :
	       cmdline_is("wait", "roam")  ? wait_roam :
					     wait_wfi;
}

int guest_main(void)
{
	choose();
	smp_start();
	smp_run(run);
	for (u32 cpu = 0; cpu < nr_vcpus; cpu++)
		judge(cpu);
	return 0;
}
