/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of the machine: semihosting when the command line says that somebody listens, else PSCI,
 * else a halt. Called from panics: no locks, no allocation.
 */
#include "../../drivers/firmware/psci.h"
#include "../../drivers/gic/gic.h"

#include <asm/boot.h>
#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/printk.h>

/* Semihosting for AArch32 and AArch64 (Arm DUI 0003), SYS_EXIT_EXTENDED */
#define SYS_EXIT_EXTENDED	     0x20
#define ADP_STOPPED_APPLICATION_EXIT 0x20026

static void semihosting_exit(int code)
{
	const u64 block[2] = { ADP_STOPPED_APPLICATION_EXIT, (u64)code };
	register u64 x0 __asm__("x0") = SYS_EXIT_EXTENDED;
	register const u64 *x1 __asm__("x1") = block;

	__asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
}

void arch_machine_exit(int code)
{
	arch_irq_disable();
	if (cmdline_get("semihosting"))
		semihosting_exit(code);
	psci_system_off();
	printk("the machine can't be switched off; halted with code %d\n", code);
	boot_halt();
}

void arch_machine_reboot(void)
{
	unsigned long flags = arch_irq_save();

	psci_system_reset();
	arch_irq_restore(flags);
	printk("the machine can't be reset\n");
}

void arch_stop_others(void)
{
	gic_send_sgi_others(GIC_SGI_STOP);
}
