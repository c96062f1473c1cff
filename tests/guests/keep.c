/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tick that is kept: the handler neither ends it nor moves the deadline, and gives the CPU away n=N
 * times meanwhile. Whoever has the CPU then (vm=keep+spin-long) leaves his own state there; on return
 * the tick that this guest has already may not interrupt the host again. With the word "abandon" the
 * guest ends in its handler: the next VM there (vm=abandon,tick-poll) must get its own ticks all the
 * same.
 */
#include <guest.h>

static u64 host_irqs, loads;
static u32 given, ticks;

static void on_tick(u32 irq)
{
	if (cmdline_get("abandon"))
		guest_exit(0);
	loads = stat(HC_STAT_LOADS);
	host_irqs = stat(HC_STAT_HOST_IRQS);
	for (given = 0; given < cmdline_u64("n", 40); given++)
		hc(HC_YIELD, 0, 0, 0);
	host_irqs = stat(HC_STAT_HOST_IRQS) - host_irqs;
	loads = stat(HC_STAT_LOADS) - loads;
	timer_stop(TIMER_VIRT);
	WRITE_ONCE(ticks, ticks + 1);
}

int guest_main(void)
{
	timer_request(TIMER_VIRT, on_tick);
	timer_set(TIMER_VIRT, timer_now(TIMER_VIRT) + us_to_ticks(1000));
	sleep_until(READ_ONCE(ticks));
	spin_ticks(us_to_ticks(100));
	report(ticks == 1, "one tick (%u)", ticks);
	report(loads >= given, "%lu loads while it was kept", loads);
	/* A few may be the host's own. */
	report(host_irqs <= given / 4, "%lu host interrupts in them", host_irqs);
	return 0;
}
