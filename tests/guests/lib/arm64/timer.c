/* SPDX-License-Identifier: GPL-2.0-only */
/* The EL1 virtual and physical timers behind the common timer calls (Arm ARM D11.2). */
#include <guest.h>

const char *timer_name(enum timer t)
{
	return t == TIMER_PHYS ? "physical" : "virtual";
}

u64 timer_now(enum timer t)
{
	isb();
	return t == TIMER_PHYS ? read_sysreg(cntpct_el0) : read_sysreg(cntvct_el0);
}

u64 timer_hz(void)
{
	return read_sysreg(cntfrq_el0);
}

u64 timer_slack(void)
{
	return 0;
}

static void write_ctl(enum timer t, u64 v)
{
	if (t == TIMER_PHYS)
		write_sysreg(cntp_ctl_el0, v);
	else
		write_sysreg(cntv_ctl_el0, v);
	isb();
}

static u64 read_ctl(enum timer t)
{
	isb();
	return t == TIMER_PHYS ? read_sysreg(cntp_ctl_el0) : read_sysreg(cntv_ctl_el0);
}

void timer_request(enum timer t, irq_fn fn)
{
	u32 intid = t == TIMER_PHYS ? INTID_PTIMER : INTID_VTIMER;

	timer_stop(t);
	irq_request(intid, fn);
	gic_enable(intid);
}

void timer_set(enum timer t, u64 deadline)
{
	if (t == TIMER_PHYS)
		write_sysreg(cntp_cval_el0, deadline);
	else
		write_sysreg(cntv_cval_el0, deadline);
	write_ctl(t, CTL_ENABLE);
}

void timer_stop(enum timer t)
{
	write_ctl(t, 0);
}

void timer_mask(enum timer t, bool masked)
{
	write_ctl(t, CTL_ENABLE | (masked ? CTL_IMASK : 0));
}

bool timer_due(enum timer t)
{
	return read_ctl(t) == (CTL_ENABLE | CTL_ISTATUS);
}
