/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stolen time against the clock. mode=shared: all vCPUs spin on one CPU, so what each ran and what was
 * stolen from it are the interval, and what they all ran is the interval as well. mode=alone: nobody takes
 * anything from the only vCPU while it spins, and sleep is not stolen. mode=off: nothing is told.
 */
#include <guest.h>
#include <steal.h>

static struct rendezvous start;
static struct {
	u64 from, to, stolen;
} __cacheline_aligned span[MAX_VCPUS];

static u64 now_ns(void)
{
	return timer_now(TIMER_VIRT) * (1000000000 / 1000) / (timer_hz() / 1000);
}

static void spin_for(u64 ns)
{
	u64 from = now_ns();

	while (now_ns() - from < ns)
		cpu_pause();
}

/* The page may move in the middle of it: the record is where the guest was told, all the time. */
static void measure(u32 cpu)
{
	u64 ns = cmdline_u64("ms", 200) * 1000000, before;

	if (!steal_begin())
		guest_die("no stolen time is told");
	meet(&start, nr_vcpus);
	span[cpu].from = now_ns();
	before = steal_told();
	for (u32 i = 0; i < 4; i++) {
		spin_for(ns / 4);
		if (cmdline_get("move") &&
		    hc(HC_MEMORY, HC_MEMORY_MOVE_PAGE, steal_record() & ~4095UL, 0))
			guest_die("the record's page does not move");
	}
	span[cpu].stolen = steal_told() - before;
	span[cpu].to = now_ns();
}

static void check_shared(void)
{
	u64 from = ~0UL, to = 0, ran = 0, all;
	bool each = true;

	for (u32 i = 0; i < nr_vcpus; i++) {
		u64 mine = span[i].to - span[i].from;

		from = min(from, span[i].from);
		to = max(to, span[i].to);
		ran += mine - span[i].stolen;
		each &= span[i].stolen >= mine / 4 && span[i].stolen <= mine;
	}
	all = to - from;
	report(each, "each vCPU was stolen from: %lu and %lu us of %lu", span[0].stolen / 1000,
	       span[1].stolen / 1000, all / 1000);
	report(ran <= all && ran >= all - all / 8, "together they ran %lu us of %lu", ran / 1000,
	       all / 1000);
}

static bool awake;

static void wake(u32 irq)
{
	timer_stop(TIMER_VIRT);
	WRITE_ONCE(awake, true);
}

static void check_alone(void)
{
	u64 before, from;

	steal_begin();
	before = steal_told();
	spin_for(50000000);
	report(steal_told() == before, "nothing is stolen from one that is alone: %lu ns",
	       steal_told() - before);
	timer_request(TIMER_VIRT, wake);
	before = steal_told();
	from = now_ns();
	for (u32 i = 0; i < 10; i++) {
		WRITE_ONCE(awake, false);
		timer_set(TIMER_VIRT, timer_now(TIMER_VIRT) + us_to_ticks(5000));
		sleep_until(READ_ONCE(awake));
	}
	report(steal_told() - before < (now_ns() - from) / 4, "sleep is not stolen: %lu of %lu us",
	       (steal_told() - before) / 1000, (now_ns() - from) / 1000);
}

int guest_main(void)
{
	if (cmdline_is("mode", "off")) {
		report(!steal_begin(), "no stolen time is told");
	} else if (cmdline_is("mode", "alone")) {
		check_alone();
	} else {
		smp_start();
		smp_run(measure);
		check_shared();
	}
	return 0;
}
