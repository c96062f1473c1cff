/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's interrupts, however they arrived: by exception, or as the end of a stay in guest mode. One
 * at a time; another that waits comes by itself once interrupts are unmasked.
 */
#include "../../drivers/gic/gic.h"

#include <asm/host.h>
#include <cupel/irq.h>
#include <cupel/percpu.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

static __noinline __cold void unwanted(u32 intid)
{
	irq_disable(intid);
	printk("CPU %u: interrupt %u has no handler, now masked\n", cpu_id(), intid);
}

/*
 * A machine without GIC has a GICC that never names an interrupt (bcm2836_init()), which keeps the question
 * out of the way of those that have one.
 */
static __noinline void no_gic_irq(void)
{
	u32 intid = platform.gic.kind == GIC_BCM2836 ? bcm2836_ack() : GIC_SPURIOUS_MIN;

	if (intid < GIC_SPURIOUS_MIN && !irq_dispatch(intid))
		unwanted(intid);
}

static __always_inline void host_irq(bool v3)
{
	u32 iar = gic_ack(v3);
	u32 intid = gic_intid(v3, iar);

	if (unlikely(intid >= GIC_SPURIOUS_MIN)) {
		if (!v3)
			no_gic_irq();
		return;
	}
	gic_eoi(v3, iar);
	if (unlikely(!irq_dispatch(intid)))
		unwanted(intid);
	if (!(irq_to_desc(intid)->flags & IRQ_FORWARDED))
		gic_deactivate(v3, iar);
}

void arm64_host_irq(void)
{
	if (likely(gic_v3))
		host_irq(true);
	else
		host_irq(false);
}
