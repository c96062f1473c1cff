/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer is stopped or masked between its assertion and the handler. Once the hypervisor has been
 * in between, no interrupt may come of it; and whatever happened, the next one must arrive: a host
 * that leaves the physical interrupt active with nothing to hand over loses all that follow.
 */
#include <guest.h>

#define PATIENCE (2 * timer_hz())

static enum timer timer;
static u32 irqs, stale;

static void on_timer(u32 irq)
{
	stale += !timer_due(timer);
	timer_stop(timer);
	WRITE_ONCE(irqs, irqs + 1);
}

static void assert_line(void)
{
	irq_disable();
	irqs = stale = 0;
	timer_set(timer, timer_now(timer) + us_to_ticks(20));
	spin_ticks(us_to_ticks(60));
}

static void open_window(void)
{
	irq_enable();
	spin_ticks(us_to_ticks(100));
	irq_disable();
}

static bool next_arrives(void)
{
	u64 start = timer_now(timer);

	irqs = 0;
	timer_set(timer, start + us_to_ticks(50));
	irq_enable();
	while (!READ_ONCE(irqs) && timer_now(timer) - start < PATIENCE)
		cpu_pause();
	irq_disable();
	return irqs == 1;
}

static void leave(void)
{
	hc(HC_LEAVE, 0, 0, 0);
}

static void nothing(void)
{
}

static void stop(void)
{
	timer_stop(timer);
}

static void mask(void)
{
	timer_mask(timer, true);
}

static void move_cval(void)
{
	timer_set(timer, timer_now(timer) + 10 * timer_hz());
}

static void try_one(const char *what, void (*before)(void), void (*withdraw)(void),
		    void (*after)(void))
{
	u32 rounds = cmdline_u64("rounds", 50), came = 0, lost = 0;

	for (u32 i = 0; i < rounds; i++) {
		assert_line();
		before();
		withdraw();
		after();
		open_window();
		came += irqs;
		lost += !next_arrives();
	}
	report(!lost, "%s timer, %s: the next one arrives (%u of %u lost)", timer_name(timer), what,
	       lost, rounds);
	if (after == leave || bare)
		report(!came, "%s timer, %s: nothing comes of it (%u of %u did)", timer_name(timer),
		       what, came, rounds);
}

static void try_all(void)
{
	timer_request(timer, on_timer);
	try_one("stopped", nothing, stop, leave);
	try_one("stopped after a load", leave, stop, leave);
	try_one("stopped after a load, no exit", leave, stop, nothing);
	try_one("masked", nothing, mask, leave);
	try_one("masked after a load", leave, mask, leave);
	try_one("masked after a load, no exit", leave, mask, nothing);
	try_one("moved after a load", leave, move_cval, leave);
	try_one("moved after a load, no exit", leave, move_cval, nothing);
}

int guest_main(void)
{
	for (timer = TIMER_VIRT; timer <= TIMER_PHYS; timer++)
		try_all();
	report(!irq_unexpected[0] || !bare, "interrupts that were gone when acknowledged: %u",
	       irq_unexpected[0]);
	return 0;
}
