/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vCPU 0 moves from CPU to CPU with its timer armed, pending, and active in its handler; each time the
 * tick must arrive once, and a later tick must arrive on the new CPU. The other vCPUs tick all along:
 * what a vCPU leaves on a CPU must not cost the next one there its ticks. rounds=N.
 */
#include <guest.h>

#define TURNS	   1000 /* yields until a move is given up */
#define PATIENCE_S 20

static enum timer timer;
static u32 got, moved, stuck;
static bool move_in_handler, over;

static struct {
	u32 got;
	u64 deadline;
} __cacheline_aligned other[MAX_VCPUS];

static void move(void)
{
	u64 from = stat(HC_STAT_CPU);

	hc(HC_MIGRATE, 1, 0, 0);
	for (u32 i = 0; i < TURNS; i++) {
		if (stat(HC_STAT_CPU) != from) {
			moved++;
			return;
		}
		hc(HC_YIELD, 0, 0, 0);
	}
	stuck++;
}

static void other_tick(u32 cpu)
{
	other[cpu].got++;
	other[cpu].deadline += us_to_ticks(500);
	timer_set(TIMER_VIRT, other[cpu].deadline);
}

/* vCPUs share the handler of an interrupt. */
static void on_tick(u32 irq)
{
	if (cpu_id()) {
		other_tick(cpu_id());
		return;
	}
	timer_stop(timer);
	WRITE_ONCE(got, got + 1);
	if (move_in_handler)
		move();
}

static bool got_one(void)
{
	u64 start = timer_now(timer);
	bool ok;

	while (!READ_ONCE(got) && timer_now(timer) - start < PATIENCE_S * timer_hz())
		relax();
	spin_ticks(us_to_ticks(200)); /* for one too many */
	ok = got == 1;
	got = 0;
	return ok;
}

/* Whatever became of the tick in question, a later one must come. */
static bool then_plain_tick(bool ok)
{
	timer_set(timer, timer_now(timer) + us_to_ticks(500));
	return got_one() && ok;
}

static bool armed(void)
{
	timer_set(timer, timer_now(timer) + us_to_ticks(2000));
	move();
	return then_plain_tick(got_one());
}

static bool pending(void)
{
	irq_disable();
	timer_set(timer, timer_now(timer) + us_to_ticks(100));
	spin_ticks(us_to_ticks(200));
	move();
	irq_enable();
	return then_plain_tick(got_one());
}

static bool active(void)
{
	bool ok;

	move_in_handler = true;
	timer_set(timer, timer_now(timer) + us_to_ticks(100));
	ok = got_one();
	move_in_handler = false;
	return then_plain_tick(ok);
}

static void try_all(enum timer t, const char *how, bool (*one)(void))
{
	u32 rounds = cmdline_u64("rounds", 20), bad = 0;

	timer = t;
	timer_request(timer, on_tick);
	for (u32 i = 0; i < rounds; i++)
		bad += !one();
	report(!bad, "%s timer: %s while moving (%u of %u failed)", timer_name(t), how, bad, rounds);
}

static void mover(u32 cpu)
{
	for (u32 t = 0; t <= HAVE_PHYS_TIMER; t++) {
		try_all(t, "armed", armed);
		try_all(t, "pending", pending);
		try_all(t, "active", active);
	}
	store_release(&over, true); /* pairs with the acquire in ticker() */
}

/* Has the chain of ticks caught up with time? A lost tick ends it. */
static bool caught_up(u32 cpu)
{
	u64 start = timer_now(TIMER_VIRT);

	while (timer_now(TIMER_VIRT) - start < PATIENCE_S * timer_hz()) {
		if (READ_ONCE(other[cpu].deadline) > timer_now(TIMER_VIRT))
			return true;
		relax();
	}
	return false;
}

/* Polls: a lost tick must not hide in a sleep without end. */
static void ticker(u32 cpu)
{
	bool ok;

	timer_request(TIMER_VIRT, on_tick);
	other[cpu].deadline = timer_now(TIMER_VIRT) + us_to_ticks(500);
	timer_set(TIMER_VIRT, other[cpu].deadline);
	while (!load_acquire(&over)) /* pairs with the release in mover() */
		relax();
	ok = caught_up(cpu);
	irq_disable();
	timer_stop(TIMER_VIRT);
	irq_enable();
	report(ok, "vCPU %u kept its tick: %u", cpu, other[cpu].got);
}

static void play(u32 cpu)
{
	if (cpu)
		ticker(cpu);
	else
		mover(cpu);
}

int guest_main(void)
{
	if (bare) {
		skip("moving needs a hypervisor");
		return 0;
	}
	smp_start();
	smp_run(play);
	if (moved)
		report(!stuck, "%u moves, %u did not happen", moved, stuck);
	else
		skip("there is one CPU only");
	return 0;
}
