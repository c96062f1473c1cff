/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The local APIC, its timer behind the common timer calls, and IPIs. The clock is the TSC; it is
 * measured against the APIC timer, whose frequency the hypervisor tells (its leaf 0x10) or which
 * runs at 1 GHz, as on every emulator here.
 */
#include <guest.h>

#define CPUID_CUPEL_EBX	  0x65707543 /* "Cupe" */
#define CPUID_HV_TIMING	  0x10 /* EAX TSC kHz, EBX APIC timer kHz */
#define CALIBRATE_TICKS	  2000000
#define CPUID_1C_DEADLINE (1 << 24)

bool lapic_x2;
static u64 tsc_hz, timer_freq;
static bool use_deadline;
static u32 ids[MAX_VCPUS];

u32 lapic_read(u32 reg)
{
	return lapic_x2 ? rdmsr(MSR_X2APIC + reg / 16) : mmio_read(LAPIC_BASE + reg);
}

void lapic_write(u32 reg, u32 v)
{
	if (lapic_x2)
		wrmsr(MSR_X2APIC + reg / 16, v);
	else
		mmio_write(LAPIC_BASE + reg, v);
}

void lapic_icr(u32 apic_id, u32 low)
{
	if (lapic_x2) {
		__asm__ volatile("mfence; lfence"
				 :
				 :
				 : "memory"); /* WRMSR to x2APIC orders nothing */
		wrmsr(MSR_X2APIC + LAPIC_ICR / 16, (u64)apic_id << 32 | low);
		return;
	}
	lapic_write(LAPIC_ICR2, apic_id << 24);
	lapic_write(LAPIC_ICR, low);
}

u32 lapic_id(void)
{
	return lapic_x2 ? lapic_read(LAPIC_ID) : lapic_read(LAPIC_ID) >> 24;
}

bool lapic_bit(u32 reg, u32 vector)
{
	return lapic_read(reg + vector / 32 * 16) >> vector % 32 & 1;
}

void lapic_enable_x2(void)
{
	wrmsr(MSR_APIC_BASE, rdmsr(MSR_APIC_BASE) | APIC_BASE_X2APIC | APIC_BASE_ENABLE);
}

void ipi_send(u32 cpu, u32 ipi)
{
	lapic_icr(cpu, ICR_FIXED | ICR_ASSERT | (VEC_IPI + ipi));
}

void ipi_request(u32 ipi, irq_fn fn)
{
	irq_request(VEC_IPI + ipi, fn);
}

bool lapic_has_deadline(void)
{
	return cpuid(1, 0).c & CPUID_1C_DEADLINE;
}

/* Both clocks over the same span, read at both ends in the same order. */
static void calibrate(void)
{
	u32 c0, c1, hv = cpuid_hv_base(CPUID_CUPEL_EBX);
	u64 t0, t1;

	timer_freq = 1000000000;
	if (hv) {
		struct cpuid c = cpuid(hv + CPUID_HV_TIMING, 0);

		timer_freq = c.b ? c.b * 1000UL : timer_freq;
		tsc_hz = c.a * 1000UL;
	}
	if (tsc_hz)
		return;
	lapic_write(LAPIC_TMICT, ~0U);
	c0 = lapic_read(LAPIC_TMCCT);
	t0 = rdtsc();
	while (c0 - lapic_read(LAPIC_TMCCT) < CALIBRATE_TICKS)
		cpu_pause();
	c1 = lapic_read(LAPIC_TMCCT);
	t1 = rdtsc();
	lapic_write(LAPIC_TMICT, 0);
	tsc_hz = (t1 - t0) * timer_freq / (c0 - c1);
}

void arch_cpu_init(u32 cpu)
{
	ids[cpu] = cpu;
	wrmsr(MSR_GS_BASE, (u64)&ids[cpu]);
	if (!cpu) {
		for (u32 v = 0; v < 256; v++)
			idt_set(v, NULL);
		lapic_x2 = rdmsr(MSR_APIC_BASE) & APIC_BASE_X2APIC;
	} else if (lapic_x2) {
		lapic_enable_x2();
	}
	lapic_write(LAPIC_SVR, SVR_ENABLE | VEC_SPURIOUS);
	lapic_write(LAPIC_TPR, 0);
	lapic_write(LAPIC_TDCR, TDCR_DIV1);
	lapic_write(LAPIC_LVTT, LVT_MASKED | VEC_TIMER);
	if (!cpu) {
		calibrate();
		use_deadline = lapic_has_deadline();
	}
}

u64 lapic_ticks(u64 tsc)
{
	u64 seconds = tsc / tsc_hz, rest = tsc % tsc_hz;

	return seconds * timer_freq + DIV_ROUND_UP(rest * timer_freq, tsc_hz);
}

const char *timer_name(enum timer t)
{
	return use_deadline ? "lapic-deadline" : "lapic";
}

u64 timer_now(enum timer t)
{
	return rdtsc();
}

u64 timer_hz(void)
{
	return tsc_hz;
}

/* One APIC tick of rounding, and a calibration good to a thousandth of a period of 20 ms. */
u64 timer_slack(void)
{
	return use_deadline ? 0 : tsc_hz / 50000;
}

void timer_request(enum timer t, irq_fn fn)
{
	timer_stop(t);
	irq_request(VEC_TIMER, fn);
	lapic_write(LAPIC_LVTT, (use_deadline ? LVTT_DEADLINE : LVTT_ONESHOT) | VEC_TIMER);
}

void timer_set(enum timer t, u64 deadline)
{
	u64 now = rdtsc(), ticks;

	if (use_deadline) {
		__asm__ volatile("mfence" : : : "memory"); /* LVTT before the MSR (SDM 11.5.4.1) */
		wrmsr(MSR_TSC_DEADLINE, deadline ? deadline : 1);
		return;
	}
	ticks = (s64)(deadline - now) > 0 ? lapic_ticks(deadline - now) : 1;
	lapic_write(LAPIC_TMICT, min(ticks, (u64)~0U));
}

void timer_stop(enum timer t)
{
	if (use_deadline)
		wrmsr(MSR_TSC_DEADLINE, 0);
	else
		lapic_write(LAPIC_TMICT, 0);
}

void timer_mask(enum timer t, bool masked)
{
	u32 v = lapic_read(LAPIC_LVTT);

	lapic_write(LAPIC_LVTT, masked ? v | LVT_MASKED : v & ~LVT_MASKED);
}

bool timer_due(enum timer t)
{
	return lapic_bit(LAPIC_IRR, VEC_TIMER);
}
