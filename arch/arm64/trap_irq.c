/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's interrupts, however they arrived: by exception, or as the end of a stay in guest mode. One
 * at a time; another that waits comes by itself once interrupts are unmasked.
 */
#include "../../drivers/gic/gic.h"

#include <asm/host.h>
#include <cupel/irq.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>

static void unwanted(u32 intid)
{
	irq_disable(intid);
	printk("CPU %u: interrupt %u has no handler, now masked\n", cpu_id(), intid);
}

void arm64_host_irq(void)
{
	u32 iar = gic_ack();
	u32 intid = gic_intid(iar);
	const struct irq_desc *d = irq_to_desc(intid);

	if (unlikely(intid >= GIC_SPURIOUS_MIN))
		return;
	gic_eoi(iar);
	if (unlikely(!irq_dispatch(intid)))
		unwanted(intid);
	if (!(d->flags & IRQ_FORWARDED))
		gic_deactivate(iar);
}
