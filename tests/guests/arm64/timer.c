/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The edge cases of the EL1 timers (Arm ARM D11.2.4): each with the virtual and the physical timer,
 * and with three ways of waiting: asleep, giving the CPU away, and moving to another CPU. Waiting
 * without end is not one of them: the other timer wakes a sleeper whose interrupt was lost.
 *
 * What it can't do is to move the counter: that is the hypervisor's.
 */
#include <guest.h>

#define W	 us_to_ticks(300) /* the usual distance of a deadline */
#define FAR	 ms_to_ticks(500) /* more than a move to another CPU takes */
#define PATIENCE (2 * timer_hz())
#define TVAL_MAX 0x7fffffffUL

enum way { WAY_WFI, WAY_YIELD, WAY_MIGRATE, NR_WAYS };
static const char *const way_names[] = { "asleep", "yielding", "moving" };

static enum timer timer;
static enum way way;

/* What the handler saw; irqs counts calls, `repeats` of them leave the timer as it is. */
static u32 irqs, repeats;
/*
 * Interrupts that were not due any more: a list register keeps what was pending when the guest moved
 * the deadline, until the hypervisor looks. Only when the former deadline had passed.
 */
static u32 stale, may_be_stale;
static u64 seen_count, seen_ctl, seen_cval;
static bool gave_up;

#define PICK(r) (timer == TIMER_PHYS ? read_sysreg(cntp_##r##_el0) : read_sysreg(cntv_##r##_el0))
#define PUT(r, v)                                        \
	do {                                             \
		if (timer == TIMER_PHYS)                 \
			write_sysreg(cntp_##r##_el0, v); \
		else                                     \
			write_sysreg(cntv_##r##_el0, v); \
		isb();                                   \
	} while (0)

static u64 count(void)
{
	return timer_now(timer);
}

static u32 intid(void)
{
	return timer == TIMER_PHYS ? INTID_PTIMER : INTID_VTIMER;
}

static void on_timer(u32 irq)
{
	seen_ctl = PICK(ctl);
	seen_cval = PICK(cval);
	seen_count = count();
	if (!(seen_ctl & CTL_ISTATUS)) {
		stale++;
		return;
	}
	if (irqs >= repeats)
		PUT(ctl, CTL_IMASK);
	WRITE_ONCE(irqs, irqs + 1);
}

static void on_watchdog(u32 irq)
{
	timer_stop(timer ^ 1);
	WRITE_ONCE(gave_up, true);
}

static bool waited(u64 start)
{
	if (count() - start > PATIENCE)
		gave_up = true;
	return irqs > repeats || READ_ONCE(gave_up);
}

static void wait_irq(void)
{
	u64 start = count();

	if (way == WAY_WFI) {
		timer_set(timer ^ 1, timer_now(timer ^ 1) + PATIENCE);
		sleep_until(waited(start));
		timer_stop(timer ^ 1);
		return;
	}
	if (way == WAY_MIGRATE)
		hc(HC_MIGRATE, 1, 0, 0);
	irq_enable();
	while (!waited(start))
		relax();
}

static void begin(void)
{
	irq_disable();
	PUT(ctl, 0);
	irqs = repeats = stale = may_be_stale = 0;
	gave_up = false;
	seen_count = seen_ctl = seen_cval = 0;
}

/* Wait for exactly one interrupt, not before `deadline`, from a timer that was enabled. */
static bool fires(u64 deadline)
{
	wait_irq();
	spin_ticks(us_to_ticks(50)); /* for one too many */
	irq_disable();
	PUT(ctl, 0);
	return irqs == 1 && stale <= may_be_stale && seen_count >= deadline &&
	       seen_ctl == (CTL_ENABLE | CTL_ISTATUS);
}

/* Nothing comes for `ticks`, whichever way they pass. */
static bool silent(u64 ticks)
{
	u64 start = count();

	irq_enable();
	if (way == WAY_MIGRATE)
		hc(HC_MIGRATE, 1, 0, 0);
	while (count() - start < ticks)
		if (way == WAY_WFI)
			cpu_pause();
		else
			relax();
	irq_disable();
	return irqs == 0 && stale == 0;
}

static void say(bool ok, const char *what)
{
	report(ok, "%s %s: %s (irqs %u, stale %u, ctl %lx, late %ld)", timer_name(timer),
	       way_names[way], what, irqs, stale, seen_ctl, (long)(seen_count - seen_cval));
	PUT(ctl, 0);
}

static void basic(void)
{
	u64 cval;

	begin();
	cval = count() + W;
	PUT(cval, cval);
	PUT(ctl, CTL_ENABLE);
	say(fires(cval) && seen_cval == cval, "one interrupt at CVAL");
	begin();
	PUT(tval, W);
	cval = PICK(cval);
	PUT(ctl, CTL_ENABLE);
	say(fires(cval), "one interrupt at TVAL");
}

static void past_one(const char *what, bool use_tval, u64 v)
{
	begin();
	if (use_tval)
		PUT(tval, v & 0xffffffff);
	else
		PUT(cval, v);
	PUT(ctl, CTL_ENABLE);
	say(fires(0) && seen_count - seen_cval < (1UL << 63), what);
}

static void past(void)
{
	past_one("CVAL in the past", false, count() - W);
	past_one("CVAL 0", false, 0);
	past_one("TVAL in the past", true, -W);
	past_one("TVAL 0", true, 0);
}

/* CVAL = counter - 2^31: in the past, or, soon after the counter's start, around the end of time. */
static void past_or_wrapped(void)
{
	if (count() > 0x80000000) {
		past_one("TVAL -2^31", true, 0x80000000);
		return;
	}
	begin();
	PUT(tval, 0x80000000);
	PUT(ctl, CTL_ENABLE);
	say(silent(W), "nothing: TVAL -2^31 before the counter gets there");
}

static void never_one(const char *what, u64 cval, u64 ctl)
{
	begin();
	PUT(cval, cval);
	PUT(ctl, ctl);
	say(silent(2 * W), what);
}

static void never(void)
{
	never_one("nothing: CVAL beyond the largest TVAL", count() + TVAL_MAX + W, CTL_ENABLE);
	never_one("nothing: CVAL far in the future", count() + (1UL << 40), CTL_ENABLE);
	never_one("nothing: the largest CVAL", ~0UL, CTL_ENABLE);
	never_one("nothing: disabled", 0, 0);
	never_one("nothing: masked", 0, CTL_ENABLE | CTL_IMASK);
	never_one("nothing: disabled and masked", 0, CTL_IMASK);
}

static void maybe_move(void)
{
	if (way == WAY_MIGRATE)
		hc(HC_MIGRATE, 1, 0, 0);
	else if (way == WAY_YIELD)
		relax();
}

static s32 tval_of(u64 cval)
{
	PUT(cval, cval);
	maybe_move();
	return (s32)PICK(tval);
}

static void arithmetic(void)
{
	s32 t;

	begin();
	say(tval_of(count() - W) < 0, "TVAL of a past CVAL is negative");
	say(tval_of(count() + TVAL_MAX + FAR) <= 0, "TVAL wraps above its largest value");
	say(tval_of(count() + 2 * TVAL_MAX + FAR) <= (s32)FAR, "TVAL is the low half");
	PUT(tval, 0xffffffff);
	maybe_move();
	say(PICK(cval) < count(), "TVAL -1 puts CVAL before the counter");
	PUT(tval, 0x80000000);
	say(PICK(cval) + (1UL << 31) <= count(), "TVAL is signed");
	PUT(tval, 0);
	spin_ticks(W / 4);
	t = PICK(tval);
	say(t < 0 && t > -(s64)PATIENCE, "TVAL counts on below zero");
}

static void reprogram_one(const char *what, u64 first, u64 second)
{
	u64 former, cval;

	begin();
	former = count() + first;
	PUT(cval, former);
	PUT(ctl, CTL_ENABLE);
	maybe_move();
	cval = count() + second;
	PUT(cval, cval);
	may_be_stale = !bare && count() >= former;
	say(fires(cval), what);
}

static void reprogram(void)
{
	reprogram_one("set later, then sooner", 40 * W, W);
	reprogram_one("set sooner, then later", 10 * W, 12 * W);
}

/* The line stays high until CVAL moves: the interrupt comes again after each end of interrupt. */
static void again(void)
{
	begin();
	repeats = 4;
	PUT(cval, count() + W);
	PUT(ctl, CTL_ENABLE);
	wait_irq();
	irq_disable();
	say(irqs == 5, "again after each EOI until stopped");
}

/* An emulator may be late to notice that a timer has expired. */
static bool expires(u64 ctl)
{
	u64 start = count();

	while (PICK(ctl) != (ctl | CTL_ISTATUS))
		if (count() - start > PATIENCE)
			return false;
	return true;
}

static void mask_then_unmask(void)
{
	u64 cval;
	bool quiet;

	begin();
	cval = count() + W;
	PUT(cval, cval);
	PUT(ctl, CTL_ENABLE | CTL_IMASK);
	quiet = silent(2 * W) && expires(CTL_ENABLE | CTL_IMASK);
	PUT(ctl, CTL_ENABLE);
	say(fires(cval) && quiet, "nothing while masked, one when unmasked");
	begin();
	PUT(cval, count() - W);
	quiet = silent(W);
	PUT(ctl, CTL_ENABLE);
	say(fires(0) && quiet, "nothing while disabled, one when enabled");
}

static void long_delay(void)
{
	u64 cval;

	begin();
	cval = count() + ms_to_ticks(25); /* some time slices */
	PUT(cval, cval);
	PUT(ctl, CTL_ENABLE);
	say(fires(cval) && seen_count - cval < timer_hz() / 2, "a long delay");
}

static bool gic_pending(void)
{
	return mmio_read(gic_ppi_regs(0) + GICD_ISPENDR) >> intid() & 1;
}

/* The level follows the timer as long as nothing was acknowledged (IHI 0069, 4.6: level-sensitive). */
static void level(void)
{
	bool low, high, masked, disabled;

	begin();
	gic_disable(intid());
	PUT(cval, count());
	low = !gic_pending();
	PUT(ctl, CTL_ENABLE);
	maybe_move();
	high = gic_pending();
	PUT(ctl, CTL_ENABLE | CTL_IMASK);
	maybe_move();
	masked = !gic_pending();
	PUT(ctl, CTL_ENABLE);
	PUT(ctl, 0);
	disabled = !gic_pending();
	report(low && high && masked && disabled, "%s %s: ISPENDR follows the timer (%d %d %d %d)",
	       timer_name(timer), way_names[way], low, high, masked, disabled);
	gic_enable(intid());
}

static void all_cases(void)
{
	basic();
	past();
	past_or_wrapped();
	never();
	arithmetic();
	reprogram();
	again();
	mask_then_unmask();
	long_delay();
	level();
}

int guest_main(void)
{
	for (timer = TIMER_VIRT; timer <= TIMER_PHYS; timer++) {
		timer_request(timer, on_timer);
		timer_request(timer ^ 1, on_watchdog);
		for (way = 0; way < NR_WAYS; way++)
			all_cases();
	}
	report(!irq_unexpected[0], "no unexpected interrupt (%u)", irq_unexpected[0]);
	return 0;
}
