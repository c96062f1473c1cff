/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's time: the TSC as the counter, its frequency from CPUID or from a timer that the ACPI
 * tables name, and each CPU's own tick, by TSC deadline where there is one, else by the APIC timer.
 * Guests never touch either. Must not be used before the ACPI tables were read.
 *
 * HPET: IA-PC HPET 1.0a, 2.3. ACPI PM timer: ACPI 6.5, 4.8.3.3. CPUID 15h: Intel SDM vol. 2A, CPUID.
 */
#include <asm/apic.h>
#include <asm/cpu.h>
#include <asm/io.h>
#include <asm/msr.h>
#include <asm/timer.h>
#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/irq.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

#define PM_TIMER_HZ	 3579545
#define HPET_PERIOD	 0x004 /* femtoseconds a tick, high half of the capabilities */
#define HPET_CONFIG	 0x010
#define HPET_COUNTER	 0x0f0
#define HPET_ENABLE	 BIT32(0)
#define HPET_SIZE	 0x400
#define HPET_PERIOD_MAX	 100000000 /* 100 ns: no HPET is slower */
#define FEMTOSEC_PER_SEC 1000000000000000UL

/* Long enough for 0.1 %, short enough not to be seen when booting. */
#define CALIBRATE_PER_SEC 1000
#define CALIBRATE_TRIES	  5

/* A counter that firmware vouches for. */
struct ref_timer {
	const char *name;
	u64 (*read)(void);
	u64 hz;
	u64 mask;
};

struct sample {
	u64 tsc;
	u64 ref;
	u64 apic; /* counts up */
};

static volatile u8 *hpet;
static u64 tsc_hz, apic_hz;
static const char *tsc_source = "none";
static bool tick_by_deadline;
static u64 apic_per_tsc; /* 32.32 fixed point */

u64 arch_counter_hz(void)
{
	return tsc_hz;
}

const char *arch_counter_source(void)
{
	return tsc_source;
}

static u64 hpet_read(void)
{
	return mmio_read32(hpet + HPET_COUNTER);
}

static bool find_hpet(struct ref_timer *r)
{
	u32 period;

	if (!platform.x86.hpet_base)
		return false;
	hpet = arch_map_device(platform.x86.hpet_base, HPET_SIZE);
	period = hpet ? mmio_read32(hpet + HPET_PERIOD) : 0;
	if (!period || period > HPET_PERIOD_MAX)
		return false;
	mmio_write32(hpet + HPET_CONFIG, mmio_read32(hpet + HPET_CONFIG) | HPET_ENABLE);
	*r = (struct ref_timer){ "hpet", hpet_read, FEMTOSEC_PER_SEC / period, 0xffffffff };
	return true;
}

static u64 pm_timer_read(void)
{
	return inl((u16)platform.x86.pm_timer_port);
}

static bool find_pm_timer(struct ref_timer *r)
{
	if (!platform.x86.pm_timer_port)
		return false;
	*r = (struct ref_timer){ "pm-timer", pm_timer_read, PM_TIMER_HZ,
				 platform.x86.pm_timer_32bit ? 0xffffffff : 0xffffff };
	return true;
}

/* All three at one moment: of several tries the one that took least. */
static struct sample take_sample(const struct ref_timer *r)
{
	struct sample best = { 0 };
	u64 shortest = ~0UL;

	for (u32 i = 0; i < CALIBRATE_TRIES; i++) {
		u64 before = arch_counter();
		u64 ref = r->read();
		u32 apic = lapic_read(APIC_TMCCT);
		u64 took = arch_counter() - before;

		if (took >= shortest)
			continue;
		shortest = took;
		best = (struct sample){ before + took / 2, ref, 0xffffffff - apic };
	}
	return best;
}

/* The reference may stand still on a broken machine: give up after a count of reads. */
static bool wait_ref(const struct ref_timer *r, u64 from, u64 ticks)
{
	for (u32 i = 0; i < 10000000; i++) {
		if (((r->read() - from) & r->mask) >= ticks)
			return true;
	}
	return false;
}

static bool calibrate(const struct ref_timer *r)
{
	struct sample a, b;
	u64 ticks;

	lapic_write(APIC_TMICT, 0xffffffff);
	a = take_sample(r);
	if (!wait_ref(r, a.ref, r->hz / CALIBRATE_PER_SEC))
		return false;
	b = take_sample(r);
	lapic_write(APIC_TMICT, 0);
	ticks = (b.ref - a.ref) & r->mask;
	tsc_hz = (b.tsc - a.tsc) * r->hz / ticks;
	apic_hz = (b.apic - a.apic) * r->hz / ticks;
	tsc_source = r->name;
	return tsc_hz && apic_hz;
}

/* Crystal clock and the ratio of the TSC to it; the APIC timer runs on the crystal. */
static bool from_cpuid(void)
{
	struct cpuid_regs r = cpuid_checked(0x15, 0);

	if (!r.eax || !r.ebx || !r.ecx)
		return false;
	apic_hz = r.ecx;
	tsc_hz = (u64)r.ecx * r.ebx / r.eax;
	tsc_source = "cpuid-15h";
	return true;
}

static void find_frequencies(void)
{
	struct ref_timer r;

	if (from_cpuid())
		return;
	if (find_hpet(&r) && calibrate(&r))
		return;
	if (find_pm_timer(&r) && calibrate(&r))
		return;
	cannot_start("no clock: CPUID 15h, HPET and PM timer are all missing or stand still");
}

/* What this CPU's timer was last set to and has not yet reached; all ones: nothing. */
static DEFINE_PER_CPU(u64, tick_deadline) = ~0UL;

static void tick(struct irq_desc *d, void *arg)
{
	this_cpu(tick_deadline) = ~0UL;
	soft_timer_tick();
}

void x86_timer_init(void)
{
	tick_by_deadline = cpuid(1, 0).ecx & CPUID_1_ECX_TSC_DEADLINE;
	lapic_write(APIC_TDCR, APIC_TDCR_DIV_1);
	find_frequencies();
	apic_per_tsc = (apic_hz << 32) / tsc_hz;
	if (irq_request(X86_VEC_TIMER, tick, NULL))
		panic("the timer vector is taken");
}

void x86_timer_cpu_init(void)
{
	lapic_write(APIC_TDCR, APIC_TDCR_DIV_1);
	lapic_write(APIC_LVT_TIMER,
		    (tick_by_deadline ? APIC_LVT_TIMER_DEADLINE : APIC_LVT_TIMER_ONESHOT) |
			    X86_VEC_TIMER);
	/* SDM vol. 3A, 11.5.4.1: the mode must be in place before the deadline MSR is written. */
	__asm__ volatile("mfence" ::: "memory");
	arch_tick_arm(~0UL);
}

/* Too far for 32 bits fires early, which the tick takes for "not yet" and arms again. */
static u32 apic_count(u64 deadline)
{
	u64 now = arch_counter();
	u64 count;

	if (deadline <= now)
		return 1;
	count = (u64)((unsigned __int128)(deadline - now) * apic_per_tsc >> 32) + 1;
	return (u32)min(count, 0xffffffffUL);
}

bool x86_tick_is_armed(void)
{
	return this_cpu(tick_deadline) != ~0UL;
}

void x86_tick_lvt_written(void)
{
	if (this_cpu(tick_deadline) <= arch_counter())
		arch_tick_arm(this_cpu(tick_deadline));
}

/* Loading a vCPU may have masked the LVT entry while nothing was armed: no deadline is set behind that. */
void arch_tick_arm(u64 deadline)
{
	this_cpu(tick_deadline) = deadline;
	if (deadline != ~0UL)
		lapic_timer_unmask();
	if (tick_by_deadline)
		wrmsr(MSR_TSC_DEADLINE, deadline == ~0UL ? 0 : deadline);
	else
		lapic_write(APIC_TMICT, deadline == ~0UL ? 0 : apic_count(deadline));
}
