/* SPDX-License-Identifier: GPL-2.0-only */
/* Stands in for the guest half while it is not linked: no exit can come, and none is survived. */
#include <asm/host.h>
#include <cupel/printk.h>

#define WEAK __attribute__((weak))

WEAK void arm64_guest_exit_sync(void)
{
	panic("exit from a guest that nobody entered");
}

WEAK void arm64_guest_exit_irq(void)
{
	arm64_guest_exit_sync();
}

WEAK void arm64_guest_exit_fiq(void)
{
	arm64_guest_exit_sync();
}

WEAK void arm64_guest_exit_serror(void)
{
	arm64_guest_exit_sync();
}

WEAK void arm64_guest_cpu_init(void)
{
}
