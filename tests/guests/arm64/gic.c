/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The GICv3 a guest sees (IHI 0069): SGI, PPI and SPI, edge and level, both EOI modes, priorities and
 * preemption, more in flight than there are list registers, state bits, routing, and what must be
 * ignored. Most of it acknowledges with interrupts masked, so that nothing moves on its own.
 */
#include <guest.h>

#define GICD	  GUEST_ARM64_GICD
#define NONE	  1023
#define PRIO	  0xa0
#define MANY	  16
#define FIRST_PPI 20 /* PPIs that nothing is wired to */
#define NR_PPIS	  3

static u64 redist; /* SGI frame of vCPU 0 */
static u32 spi; /* first of MANY unwired SPIs, 0 = there are none */
static bool mode1; /* EOImode 1: priority drop and deactivation apart */

static u64 regs(u32 intid)
{
	return intid < 32 ? redist : GICD;
}

static bool get_bit(u32 reg, u32 intid)
{
	return mmio_read(regs(intid) + reg + intid / 32 * 4) >> intid % 32 & 1;
}

static void set_bit(u32 reg, u32 intid)
{
	mmio_write(regs(intid) + reg + intid / 32 * 4, 1U << intid % 32);
}

static u32 byte_read(u64 addr)
{
	u32 v;

	__asm__ volatile("ldrb %w0, [%1]" : "=r"(v) : "r"(addr) : "memory");
	return v;
}

static void byte_write(u64 addr, u32 v)
{
	__asm__ volatile("strb %w0, [%1]" : : "rZ"(v), "r"(addr) : "memory");
}

static void set_priority(u32 intid, u32 prio)
{
	byte_write(regs(intid) + GICD_IPRIORITYR + intid, prio);
}

static void set_edge(u32 intid, bool edge)
{
	u64 at = regs(intid) + GICD_ICFGR + intid / 16 * 4;
	u32 bit = 2U << intid % 16 * 2;
	u32 v = mmio_read(at);

	mmio_write(at, edge ? v | bit : v & ~bit);
}

static void pend(u32 intid)
{
	if (intid < 16)
		gic_send_sgi(0, intid);
	else
		set_bit(GICD_ISPENDR, intid);
}

static u32 ack(void)
{
	u32 intid;

	dsb();
	intid = read_icc(ICC_IAR1_EL1);
	dsb();
	return intid;
}

/* The next one, when more are pending than a virtual CPU interface holds: it may take a moment. */
static u32 ack_soon(void)
{
	u32 intid;

	for (u32 i = 0; i < 1000; i++) {
		intid = ack();
		if (intid != NONE)
			break;
	}
	return intid;
}

static void drop(u32 intid)
{
	write_icc(ICC_EOIR1_EL1, intid);
	isb();
}

static void deactivate(u32 intid)
{
	write_icc(ICC_DIR_EL1, intid);
	isb();
}

static void end(u32 intid)
{
	drop(intid);
	if (mode1)
		deactivate(intid);
}

static void set_mode(bool one)
{
	mode1 = one;
	write_icc(ICC_CTLR_EL1, one ? ICC_CTLR_EOIMODE : 0);
	isb();
}

static bool idle(u32 intid)
{
	return !get_bit(GICD_ISPENDR, intid) && !get_bit(GICD_ISACTIVER, intid);
}

static bool all_quiet(void)
{
	return ack() == NONE && !(u32)read_icc(ICC_AP1R0_EL1) && read_icc(ICC_RPR_EL1) == 0xff;
}

static void prepare(u32 intid)
{
	set_priority(intid, PRIO);
	if (intid >= 32) {
		mmio_write(GICD + GICD_IGROUPR + intid / 32 * 4, ~0U);
		mmio_write(GICD + GICD_IROUTER + 8 * intid, cpu_mpidr(0) & 0xffffff);
	}
	set_bit(GICD_ISENABLER, intid);
}

/* --- One at a time --------------------------------------------------------------------------- */
static u32 taken[1024];

static void take_one(u32 unused)
{
	u32 intid = ack();

	if (intid < 1020) {
		taken[intid]++;
		end(intid);
	} else {
		irq_unexpected[0]++;
	}
}

static bool once(u32 intid)
{
	taken[intid] = 0;
	pend(intid);
	irq_enable();
	spin_ticks(us_to_ticks(20));
	irq_disable();
	return taken[intid] == 1 && idle(intid) && all_quiet();
}

static void each_once(const char *kind, u32 first, u32 n)
{
	u32 bad = 0;

	irq_raw = take_one;
	for (u32 i = first; i < first + n; i++)
		bad += !once(i);
	irq_raw = NULL;
	report(!bad, "EOImode %d, each %s arrives exactly once (%u of %u did not)", mode1, kind,
	       bad, n);
}

static void each_spi_once(bool edge)
{
	if (!spi)
		return;
	for (u32 i = spi; i < spi + MANY; i++)
		set_edge(i, edge);
	each_once(edge ? "edge SPI" : "level SPI", spi, MANY);
}

static void all_once(void)
{
	each_once("SGI", 0, 16);
	each_once("PPI", FIRST_PPI, NR_PPIS);
	each_spi_once(true);
	each_spi_once(false);
}

/* --- State bits ------------------------------------------------------------------------------ */
static void state_bits(u32 intid)
{
	bool pending, active, both, dropped;

	pend(intid);
	pending = get_bit(GICD_ISPENDR, intid) && !get_bit(GICD_ISACTIVER, intid);
	active = ack() == intid && !get_bit(GICD_ISPENDR, intid) && get_bit(GICD_ISACTIVER, intid);
	pend(intid);
	both = get_bit(GICD_ISPENDR, intid) && get_bit(GICD_ISACTIVER, intid) && ack() == NONE;
	drop(intid);
	dropped = get_bit(GICD_ISACTIVER, intid) == mode1;
	if (mode1) {
		dropped &= ack() == NONE; /* pending, but still active */
		deactivate(intid);
	}
	dropped &= ack() == intid;
	end(intid);
	report(pending && active && both && dropped && idle(intid),
	       "EOImode %d, INTID %u: pending, active and both can be read (%d %d %d %d)", mode1,
	       intid, pending, active, both, dropped);
}

static void withdrawn(u32 intid)
{
	bool disabled, enabled, cleared;

	set_bit(GICD_ICENABLER, intid);
	pend(intid);
	disabled = ack() == NONE && get_bit(GICD_ISPENDR, intid);
	set_bit(GICD_ISENABLER, intid);
	enabled = ack() == intid;
	end(intid);
	pend(intid);
	set_bit(GICD_ICPENDR, intid);
	cleared = ack() == NONE && idle(intid);
	report(disabled && enabled && cleared,
	       "EOImode %d, INTID %u: enable and pending bits rule (%d %d %d)", mode1, intid,
	       disabled, enabled, cleared);
}

static void group_enables(u32 intid)
{
	bool dist, iface;

	mmio_write(GICD + GICD_CTLR, GICD_CTLR_ARE);
	pend(intid);
	dist = ack() == NONE;
	mmio_write(GICD + GICD_CTLR, GICD_CTLR_ARE | GICD_CTLR_GRP1);
	dist &= ack() == intid;
	end(intid);
	write_icc(ICC_IGRPEN1_EL1, 0);
	isb();
	pend(intid);
	iface = ack() == NONE;
	write_icc(ICC_IGRPEN1_EL1, 1);
	isb();
	iface &= ack() == intid;
	end(intid);
	report(dist && iface, "INTID %u: group 1 enables rule (%d %d)", intid, dist, iface);
}

/* --- Priorities ------------------------------------------------------------------------------ */
static void priority_order(void)
{
	static const u32 prio[] = { 0x80, 0x40, 0xc0, 0x20, 0x60, 0xa0 };
	u32 bad = 0, last = 0;

	for (u32 i = 0; i < ARRAY_SIZE(prio); i++) {
		set_priority(i, prio[i]);
		pend(i);
	}
	for (u32 i = 0; i < ARRAY_SIZE(prio); i++) {
		u32 intid = ack();

		bad += intid >= ARRAY_SIZE(prio) || prio[intid] < last ||
		       read_icc(ICC_RPR_EL1) != prio[intid];
		if (intid < ARRAY_SIZE(prio))
			last = prio[intid];
		end(intid);
	}
	for (u32 i = 0; i < ARRAY_SIZE(prio); i++)
		set_priority(i, PRIO);
	report(!bad && all_quiet(), "EOImode %d, the highest priority first (%u wrong)", mode1, bad);
}

static void priority_mask(void)
{
	bool masked, open;

	write_icc(ICC_PMR_EL1, PRIO);
	isb();
	pend(1);
	masked = ack() == NONE;
	write_icc(ICC_PMR_EL1, 0xf0);
	isb();
	open = ack() == 1;
	end(1);
	report(masked && open, "EOImode %d, PMR masks its own priority and below (%d %d)", mode1,
	       masked, open);
}

static const u32 nest_prio[] = { 0xc0, 0x90, 0x60, 0x30 };
static u32 depth, deepest, nest_bad;

/* Each level sends the next, which is more urgent; the last also sends one that is not. */
static void nest(u32 unused)
{
	u32 level = depth++, intid = ack();

	if (intid != level || read_icc(ICC_RPR_EL1) != nest_prio[level])
		nest_bad++;
	deepest = max(deepest, depth);
	pend(level + 1);
	irq_enable();
	spin_ticks(us_to_ticks(10));
	irq_disable();
	depth--;
	end(intid);
}

static void preemption(void)
{
	u32 n = ARRAY_SIZE(nest_prio);

	depth = deepest = nest_bad = 0;
	for (u32 i = 0; i < n; i++)
		set_priority(i, nest_prio[i]);
	set_priority(n, nest_prio[n - 1]); /* no more urgent than the deepest: waits */
	irq_raw = nest;
	pend(0);
	/* The one that had to wait comes at depth 0 in the end, as INTID n: an error for nest(). */
	set_bit(GICD_ICENABLER, n);
	irq_enable();
	spin_ticks(us_to_ticks(200));
	irq_disable();
	irq_raw = NULL;
	set_bit(GICD_ISENABLER, n);
	report(deepest == n && !nest_bad && ack() == n, "EOImode %d, %u levels nest (%u, %u wrong)",
	       mode1, n, deepest, nest_bad);
	end(n);
	for (u32 i = 0; i <= n; i++)
		set_priority(i, PRIO);
	report(all_quiet(), "EOImode %d, nothing is left of them (%lx)", mode1,
	       read_icc(ICC_AP1R0_EL1));
}

static void no_preemption(void)
{
	bool equal, lower, after;

	pend(2);
	(void)ack();
	set_priority(3, PRIO);
	set_priority(4, 0xc0);
	pend(3);
	equal = ack() == NONE;
	pend(4);
	lower = ack() == NONE;
	end(2);
	after = ack() == 3;
	end(3);
	after &= ack() == 4;
	end(4);
	set_priority(4, PRIO);
	report(equal && lower && after, "EOImode %d, equal or lower priority waits (%d %d %d)",
	       mode1, equal, lower, after);
}

/* --- More than list registers ---------------------------------------------------------------- */
static void many_pending(const char *kind, u32 first)
{
	u32 bad = 0;

	for (u32 i = first; i < first + MANY; i++) {
		taken[i] = 0;
		pend(i);
	}
	irq_raw = take_one;
	irq_enable();
	spin_ticks(us_to_ticks(200));
	irq_disable();
	irq_raw = NULL;
	for (u32 i = first; i < first + MANY; i++)
		bad += taken[i] != 1 || !idle(i);
	report(!bad && all_quiet(), "EOImode %d, %u %s pending at once: each taken once (%u wrong)",
	       mode1, MANY, kind, bad);
}

/* All active at once: only possible when the priority drop does not deactivate. */
static void many_active(u32 first, bool backwards)
{
	u32 order[MANY], bad = 0;

	for (u32 i = 0; i < MANY; i++)
		pend(first + i);
	for (u32 i = 0; i < MANY; i++) {
		order[i] = ack_soon();
		drop(order[i]);
	}
	for (u32 i = 0; i < MANY; i++)
		bad += !get_bit(GICD_ISACTIVER, first + i) || get_bit(GICD_ISPENDR, first + i);
	for (u32 i = 0; i < MANY; i++) {
		u32 intid = order[backwards ? MANY - 1 - i : i];

		if (intid >= 1020) {
			bad++;
			continue;
		}
		deactivate(intid);
		bad += !idle(intid);
	}
	report(!bad && all_quiet(), "%u active at once from INTID %u, deactivated %s (%u wrong)",
	       MANY, first, backwards ? "backwards" : "in order", bad);
}

/* A hardware-backed timer interrupt among many others in flight. */
static void timer_among_many(void)
{
	u32 n = 0, bad = 0, timers = 0;

	gic_enable(INTID_VTIMER);
	for (u32 i = 0; i < MANY; i++)
		pend(i);
	timer_set(TIMER_VIRT, timer_now(TIMER_VIRT));
	while (!timer_due(TIMER_VIRT))
		cpu_pause();
	for (; n < 4 * MANY; n++) {
		u32 intid = ack_soon();

		if (intid >= 1020)
			break;
		if (intid == INTID_VTIMER) {
			timers++;
			timer_stop(TIMER_VIRT);
		} else {
			bad += intid >= MANY;
		}
		end(intid);
	}
	gic_disable(INTID_VTIMER);
	report(!bad && n == MANY + 1 && timers == 1 && all_quiet(),
	       "EOImode %d, the timer among %u others (%u taken, %u of the timer, %u wrong)", mode1,
	       MANY, n, timers, bad);
}

/* --- What must be ignored -------------------------------------------------------------------- */
static void ignored(void)
{
	static const u32 bad[] = { 1020, 1021, 1022, 1023 };
	bool one;

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++)
		drop(bad[i]);
	if (mode1)
		deactivate(spi ? spi : FIRST_PPI);
	report(all_quiet(), "EOImode %d, ends of what is not active change nothing", mode1);
	/* No such target, and a set of targets of which one exists. */
	write_icc(ICC_SGI1R_EL1, 5UL << 24 | 0xffUL << 32 | 1);
	write_icc(ICC_SGI1R_EL1, 5UL << 24 | 1UL << 15);
	isb();
	report(all_quiet(), "EOImode %d, an SGI to nobody changes nothing", mode1);
	write_icc(ICC_SGI1R_EL1, 5UL << 24 | 1UL << 40);
	isb();
	one = ack() == NONE;
	report(one, "EOImode %d, an SGI to all others does not come back", mode1);
}

static void beyond_the_end(void)
{
	u32 lines = 32 * ((mmio_read(GICD + GICD_TYPER) & 31) + 1);

	if (lines < 1020) {
		mmio_write(GICD + GICD_ISENABLER + lines / 8, ~0U);
		mmio_write(GICD + GICD_ISPENDR + lines / 8, ~0U);
		report(!mmio_read(GICD + GICD_ISPENDR + lines / 8) && ack() == NONE,
		       "interrupts beyond the last (%u) are not there", lines);
	}
	mmio_write(GICD + GICD_ISENABLER, ~0U);
	report(!mmio_read(GICD + GICD_ISENABLER), "the distributor has no SGIs and PPIs");
	mmio_write(GICD + GICD_IIDR, 0xffffffff);
	mmio_write(GICD + GICD_TYPER, 0);
	report((mmio_read(GICD + GICD_TYPER) & 31) == lines / 32 - 1, "read-only registers stay");
}

static void read_back(void)
{
	u32 id = spi ? spi : FIRST_PPI;
	u64 at = regs(id) + GICD_IPRIORITYR + (id & ~3);
	bool ok;

	mmio_write(at, 0x10204080);
	ok = mmio_read(at) == 0x10204080 && byte_read(at + 1) == 0x40;
	byte_write(at + 2, 0xf8);
	ok &= mmio_read(at) == 0x10f84080;
	mmio_write(at, 0xa0a0a0a0);
	report(ok, "priorities can be read back, by byte and by word");
	set_edge(id, true);
	ok = mmio_read(regs(id) + GICD_ICFGR + id / 16 * 4) >> id % 16 * 2 & 2;
	set_edge(id, false);
	ok &= !(mmio_read(regs(id) + GICD_ICFGR + id / 16 * 4) >> id % 16 * 2 & 2);
	report(ok, "edge and level can be read back");
}

/* --- Two vCPUs ------------------------------------------------------------------------------- */
static u32 other_got, other_deactivate;

static void on_other(u32 irq)
{
	WRITE_ONCE(other_got, other_got + (cpu_id() == 1));
}

static void other_ends(u32 cpu)
{
	write_icc(ICC_CTLR_EL1, ICC_CTLR_EOIMODE);
	isb();
	deactivate(other_deactivate);
	write_icc(ICC_CTLR_EL1, 0);
	isb();
}

static void routing(void)
{
	u64 start = timer_now(TIMER_VIRT);

	other_got = 0;
	irq_request(spi, on_other);
	mmio_write(GICD + GICD_IROUTER + 8 * spi, cpu_mpidr(1) & 0xffffff);
	pend(spi);
	while (!READ_ONCE(other_got) && timer_now(TIMER_VIRT) - start < 5 * timer_hz())
		relax();
	report(other_got == 1 && ack() == NONE, "an SPI goes to the vCPU it is routed to");
	mmio_write(GICD + GICD_IROUTER + 8 * spi, cpu_mpidr(0) & 0xffffff);
	irq_request(spi, NULL);
}

static void ended_elsewhere(void)
{
	bool active;

	set_mode(true);
	pend(spi);
	other_deactivate = ack();
	drop(other_deactivate);
	active = get_bit(GICD_ISACTIVER, spi);
	smp_post(1, other_ends);
	smp_wait(1);
	irq_disable();
	report(other_deactivate == spi && active && idle(spi),
	       "an SPI taken on one vCPU is deactivated on another");
	pend(spi);
	report(ack() == spi, "and comes again");
	end(spi);
	set_mode(false);
}

static void pairs(void)
{
	if (nr_vcpus < 2 || !spi) {
		skip("two vCPUs and SPIs");
		return;
	}
	smp_start();
	irq_disable();
	routing();
	ended_elsewhere();
}

static void in_mode(bool one)
{
	set_mode(one);
	all_once();
	state_bits(3);
	state_bits(FIRST_PPI);
	withdrawn(FIRST_PPI);
	if (spi) {
		state_bits(spi);
		withdrawn(spi);
		many_pending("SPIs", spi);
	}
	many_pending("SGIs", 0);
	priority_order();
	priority_mask();
	preemption();
	no_preemption();
	timer_among_many();
	ignored();
}

static void setup(void)
{
	u32 lines = 32 * ((mmio_read(GICD + GICD_TYPER) & 31) + 1);

	redist = gicr_base(0) + GICR_SGI;
	spi = lines > 64 ? lines - 32 : 0;
	if (spi + 32 > 1020)
		spi = 1020 - 32;
	for (u32 i = 0; i < 16; i++)
		prepare(i);
	for (u32 i = FIRST_PPI; i < FIRST_PPI + NR_PPIS; i++)
		prepare(i);
	for (u32 i = spi; spi && i < spi + MANY; i++)
		prepare(i);
	print("GIC with %u interrupts, SPIs from %u\n", lines, spi);
}

int guest_main(void)
{
	if (gic_v2) {
		skip("a GICv2 is another machine");
		return 0;
	}
	irq_disable();
	setup();
	read_back();
	in_mode(false);
	in_mode(true);
	many_active(0, false);
	many_active(0, true);
	if (spi) {
		many_active(spi, false);
		many_active(spi, true);
	}
	set_mode(false);
	group_enables(2);
	beyond_the_end();
	pairs();
	report(!irq_unexpected[0], "no unexpected interrupt (%u)", irq_unexpected[0]);
	return 0;
}
