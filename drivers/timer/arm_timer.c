/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's clock and tick: the physical counter and the EL2 physical timer, which no guest can reach
 * or mask. Guests' own timers are arm_vtimer.c's; here they are only switched off. Registers: Arm ARM
 * (DDI 0487) D11.2, D19.12.
 */
#include "arm_timer.h"

#include <asm/host.h>
#include <asm/sysreg.h>
#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/irq.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

static u64 counter_hz;
static const char *counter_source;

u64 arch_counter_hz(void)
{
	return counter_hz;
}

const char *arch_counter_source(void)
{
	return counter_source;
}

void arch_tick_arm(u64 deadline)
{
	if (deadline == ~0UL) {
		write_sysreg(0, cnthp_ctl_el2);
	} else {
		write_sysreg(deadline, cnthp_cval_el2);
		write_sysreg(CNT_CTL_ENABLE, cnthp_ctl_el2);
	}
	/* The level follows before the interrupt is deactivated or unmasked. */
	isb();
}

static void tick_handler(struct irq_desc *d, void *arg)
{
	/* Off until it is armed again: the level must not outlive this handler. */
	arch_tick_arm(~0UL);
	soft_timer_tick();
}

void arm_timer_init(void)
{
	counter_hz = read_sysreg(cntfrq_el0);
	counter_source = "cntfrq_el0";
	if (!counter_hz) {
		counter_hz = platform.timer.clock_hz;
		counter_source = "fdt clock-frequency";
	}
	if (!counter_hz)
		cannot_start("timer: CNTFRQ_EL0 is zero and firmware names no frequency");
	if (!platform.timer.hyp_phys)
		cannot_start("timer: firmware names no EL2 physical timer interrupt");
	if (irq_request(platform.timer.hyp_phys, tick_handler, NULL))
		cannot_start("timer: interrupt %u is not to be had", platform.timer.hyp_phys);
}

void arm_timer_cpu_init(void)
{
	arch_tick_arm(~0UL);
	write_sysreg(0, cntv_ctl_el0);
	write_sysreg(0, cntp_ctl_el0);
	if (arm64_vhe) {
		/* The two above were CNTHV and CNTHP by another name; these are the guest's. */
		write_sysreg(0, SYS_CNTV_CTL_EL02);
		write_sysreg(0, SYS_CNTP_CTL_EL02);
	}
	isb();
	irq_enable(platform.timer.hyp_phys);
}
