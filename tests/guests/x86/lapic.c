/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The local APIC a guest sees (APM volume 2, 16): requests and service, priorities by vector, TPR and
 * CR8, end of interrupt, NMI, the interrupt shadow, and x2APIC mode at the end, since there is no way
 * back. Vectors of the tests have a class (high half) of their own each.
 */
#include <guest.h>

#define VEC(class) ((class) << 4 | 1)
#define MAX_ORDER  16

static u32 order[MAX_ORDER], taken;
static bool isr_set, irr_clear;

static void note(u32 vector)
{
	if (taken < MAX_ORDER)
		order[taken] = vector;
	taken++;
	isr_set = lapic_bit(LAPIC_ISR, vector);
	irr_clear = !lapic_bit(LAPIC_IRR, vector);
}

static void send(u32 vector)
{
	if (lapic_x2)
		wrmsr(MSR_X2APIC + X2APIC_SELF_IPI / 16, vector);
	else
		lapic_write(LAPIC_ICR, ICR_SELF | ICR_ASSERT | vector);
}

static void open_window(void)
{
	irq_enable();
	spin_ticks(us_to_ticks(20));
	irq_disable();
}

static void forget(void)
{
	open_window();
	taken = 0;
}

static const char *mode(void)
{
	return lapic_x2 ? "x2APIC" : "xAPIC";
}

static void request_and_service(void)
{
	u32 v = VEC(4);
	bool requested, served;

	forget();
	send(v);
	requested = lapic_bit(LAPIC_IRR, v) && !lapic_bit(LAPIC_ISR, v) && !taken;
	open_window();
	served = taken == 1 && isr_set && irr_clear;
	report(requested && served && !lapic_bit(LAPIC_ISR, v) && !lapic_bit(LAPIC_IRR, v),
	       "%s: IRR, then ISR, then neither (%d %d)", mode(), requested, served);
	taken = 0;
	send(v);
	send(v);
	open_window();
	report(taken == 1, "%s: two requests before service are one (%u)", mode(), taken);
}

static void highest_first(void)
{
	static const u32 class[] = { 5, 9, 4, 12, 7 };
	bool ok = true;

	forget();
	for (u32 i = 0; i < ARRAY_SIZE(class); i++)
		send(VEC(class[i]));
	open_window();
	for (u32 i = 1; i < taken && i < MAX_ORDER; i++)
		ok &= order[i] < order[i - 1];
	report(ok && taken == ARRAY_SIZE(class), "%s: the highest vector first (%u taken)", mode(),
	       taken);
}

/* --- Nesting --------------------------------------------------------------------------------- */
static u32 depth, deepest, ppr_bad;

static void nest(u32 vector)
{
	note(vector);
	depth++;
	deepest = max(deepest, depth);
	if ((lapic_read(LAPIC_PPR) & 0xf0) != (vector & 0xf0))
		ppr_bad++;
	if (vector < VEC(8)) {
		send(vector + 0x10);
		open_window();
	}
	depth--;
}

static void hold_back(u32 vector)
{
	note(vector);
	if (vector != VEC(6))
		return;
	send(VEC(6) + 1); /* the same class */
	send(VEC(5));
	open_window();
	depth = taken; /* how many came in between */
}

static void nesting(void)
{
	forget();
	depth = deepest = ppr_bad = 0;
	for (u32 c = 5; c <= 8; c++)
		irq_request(VEC(c), nest);
	send(VEC(5));
	open_window();
	report(deepest == 4 && taken == 4 && !ppr_bad, "%s: higher classes nest (%u deep, %u, %u)",
	       mode(), deepest, taken, ppr_bad);
	forget();
	irq_request(VEC(5), note);
	irq_request(VEC(6), hold_back);
	irq_request(VEC(6) + 1, note);
	send(VEC(6));
	open_window();
	report(depth == 1 && taken == 3 && order[1] == VEC(6) + 1 && order[2] == VEC(5),
	       "%s: the same class and lower ones wait (%u, %u)", mode(), depth, taken);
	for (u32 c = 5; c <= 8; c++)
		irq_request(VEC(c), note);
}

/* --- Task priority --------------------------------------------------------------------------- */
static u64 read_cr8(void)
{
	u64 v;

	__asm__ volatile("mov %%cr8, %0" : "=r"(v));
	return v;
}

static void write_cr8(u64 v)
{
	__asm__ volatile("mov %0, %%cr8" : : "r"(v) : "memory");
}

static void task_priority(void)
{
	u32 held, after;
	bool linked;

	forget();
	lapic_write(LAPIC_TPR, 0x70);
	linked = read_cr8() == 7;
	send(VEC(7));
	send(VEC(8));
	open_window();
	held = taken;
	linked &= lapic_read(LAPIC_PPR) == 0x70;
	lapic_write(LAPIC_TPR, 0);
	open_window();
	after = taken;
	report(held == 1 && order[0] == VEC(8) && after == 2, "%s: TPR holds back (%u, then %u)",
	       mode(), held, after);
	forget();
	write_cr8(9);
	linked &= lapic_read(LAPIC_TPR) == 0x90;
	send(VEC(9));
	open_window();
	held = taken;
	write_cr8(0);
	open_window();
	report(linked && held == 0 && taken == 1, "%s: CR8 is TPR (%d, %u, %u)", mode(), linked,
	       held, taken);
	forget();
	lapic_write(LAPIC_TPR, 0xff);
	report(read_cr8() == 15, "%s: CR8 reads the class of TPR (%lu)", mode(), read_cr8());
	lapic_write(LAPIC_TPR, 0);
}

/* --- NMI ------------------------------------------------------------------------------------- */
static u32 nmis, nmi_depth, nmi_deepest;
static bool nmi_again;

static void send_nmi(void)
{
	lapic_icr(lapic_id(), ICR_NMI | ICR_ASSERT);
}

static void on_nmi(u32 vector)
{
	nmis++;
	nmi_depth++;
	nmi_deepest = max(nmi_deepest, nmi_depth);
	if (nmi_again) {
		nmi_again = false;
		send_nmi();
		spin_ticks(us_to_ticks(20));
	}
	nmi_depth--;
}

static void nmi(void)
{
	irq_request(VEC_NMI, on_nmi);
	forget();
	nmis = 0;
	send_nmi();
	spin_ticks(us_to_ticks(20));
	report(nmis == 1, "%s: an NMI comes with interrupts off (%u)", mode(), nmis);
	nmis = nmi_deepest = 0;
	nmi_again = true;
	send_nmi();
	spin_ticks(us_to_ticks(50));
	report(nmis == 2 && nmi_deepest == 1, "%s: an NMI in an NMI waits for IRET (%u, %u deep)",
	       mode(), nmis, nmi_deepest);
}

/* --- The interrupt shadow (APM volume 2, 15.21.5) -------------------------------------------- */
static void shadow(void)
{
	u32 none, one;

	forget();
	send(VEC(4));
	__asm__ volatile("sti; cli" : : : "memory");
	none = taken;
	__asm__ volatile("sti; nop; cli" : : : "memory");
	one = taken;
	report(none == 0 && one == 1, "%s: STI takes effect one instruction late (%u %u)", mode(),
	       none, one);
	forget();
	send(VEC(4));
	__asm__ volatile("sti; hlt; cli" : : : "memory");
	report(taken == 1, "%s: STI, HLT with one pending does not sleep (%u)", mode(), taken);
}

static void shorthands(void)
{
	u32 self, all;

	forget();
	lapic_icr(0, ICR_SELF | ICR_ASSERT | VEC(4));
	open_window();
	self = taken;
	lapic_icr(0, ICR_ALL | ICR_ASSERT | VEC(4));
	open_window();
	all = taken;
	lapic_icr(lapic_id(), ICR_FIXED | ICR_ASSERT | VEC(4));
	open_window();
	report(self == 1 && all == 2 && taken == 3, "%s: self, all, and by its own id (%u %u %u)",
	       mode(), self, all, taken);
	forget();
	lapic_icr(0, ICR_OTHERS | ICR_ASSERT | VEC(4));
	lapic_icr(0xee, ICR_FIXED | ICR_ASSERT | VEC(4));
	open_window();
	report(taken == 0, "%s: others and nobody are not this vCPU (%u)", mode(), taken);
}

static void stray_ends(void)
{
	forget();
	lapic_write(LAPIC_EOI, 0);
	lapic_write(LAPIC_EOI, 0);
	send(VEC(4));
	open_window();
	report(taken == 1 && lapic_read(LAPIC_PPR) == 0,
	       "%s: an EOI without service changes nothing", mode());
}

static void registers(void)
{
	u32 version = lapic_read(LAPIC_VERSION);

	report((version & 0xff) >= 0x10 && (version >> 16 & 0xff) >= 4, "%s: version %x", mode(),
	       version);
	report((cpuid(1, 0).b >> 24) == (lapic_id() & 0xff),
	       "%s: CPUID and the APIC agree on the id", mode());
	lapic_write(LAPIC_LVT1, LVT_MASKED | 0x55);
	report(lapic_read(LAPIC_LVT1) == (LVT_MASKED | 0x55), "%s: an LVT entry can be read back",
	       mode());
	report(lapic_read(LAPIC_SVR) == (SVR_ENABLE | VEC_SPURIOUS), "%s: so can SVR", mode());
	report(rdmsr(MSR_APIC_BASE) >> 12 == LAPIC_BASE >> 12 && rdmsr(MSR_APIC_BASE) & APIC_BASE_BSP,
	       "%s: APIC base says where, and that this is the first vCPU", mode());
}

static void software_off(void)
{
	u32 off;

	forget();
	lapic_write(LAPIC_SVR, VEC_SPURIOUS);
	send(VEC(4));
	open_window();
	off = taken;
	report(lapic_read(LAPIC_LVTT) & LVT_MASKED, "%s: software disable masks the LVT", mode());
	lapic_write(LAPIC_SVR, SVR_ENABLE | VEC_SPURIOUS);
	taken = 0;
	send(VEC(4));
	open_window();
	report(off == 0 && taken >= 1, "%s: disabled it takes nothing, enabled it does (%u %u)",
	       mode(), off, taken);
}

/* --- x2APIC ---------------------------------------------------------------------------------- */
struct access {
	u32 msr;
	u64 value;
	bool write;
};

static void do_access(void *arg)
{
	struct access *a = arg;

	if (a->write)
		wrmsr(a->msr, a->value);
	else
		a->value = rdmsr(a->msr);
}

static void x2_refusals(void)
{
	static const struct access bad[] = {
		{ MSR_X2APIC + LAPIC_ID / 16, 1, true }, /* read-only */
		{ MSR_X2APIC + LAPIC_EOI / 16, 0, false }, /* write-only */
		{ MSR_X2APIC + LAPIC_EOI / 16, 1, true }, /* not 0 */
		{ MSR_X2APIC + LAPIC_ICR2 / 16, 0, false }, /* no such register here */
		{ MSR_X2APIC + LAPIC_DFR / 16, 0, false },
		{ MSR_X2APIC + LAPIC_TPR / 16, 1UL << 32, true }, /* reserved */
		{ MSR_APIC_BASE, LAPIC_BASE | APIC_BASE_ENABLE | APIC_BASE_BSP, true }, /* no way back */
	};

	if (bare) {
		skip("the emulator's x2APIC refuses less than the architecture");
		return;
	}
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		struct access a = bad[i];
		struct fault f = { 0 };

		report(try_call(do_access, &a, &f) && f.cause == VEC_GP,
		       "x2APIC: %s of MSR %x gives #GP", a.write ? "write" : "read", a.msr);
	}
}

static void both_modes(void)
{
	registers();
	request_and_service();
	highest_first();
	nesting();
	task_priority();
	nmi();
	shadow();
	shorthands();
	stray_ends();
	software_off();
}

int guest_main(void)
{
	irq_disable();
	for (u32 c = 4; c < 13; c++)
		irq_request(VEC(c), note);
	both_modes();
	if (cpuid(1, 0).c >> 21 & 1) {
		lapic_enable_x2();
		lapic_x2 = true;
		both_modes();
		x2_refusals();
	} else {
		skip("no x2APIC");
	}
	report(!irq_unexpected[0], "no unexpected interrupt (%u)", irq_unexpected[0]);
	return 0;
}
