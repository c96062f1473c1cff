/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interrupt controller of a Raspberry Pi 3, which has no GIC: for each core a word of what waits, a mask
 * for its timers, and mailboxes, the bits of one of which are SGIs. Broadcom's "ARM Quad A7 core" (QA7),
 * revision 3.4, chapter 4. There are no priorities, and no active state: an interrupt comes again until
 * it is silenced where it comes from. A core writes its own registers only, but for the mailboxes.
 */
#include "gic.h"

#include <cupel/arch.h>
#include <cupel/percpu.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/smp.h>

#define NR_CORES 4

/* 4.1: four bytes a core, but for the mailboxes */
#define TIMER_CONTROL 0x40 /* a bit a timer: interrupt; four bits above: FIQ */
#define MBOX_CONTROL  0x50 /* a bit a mailbox, likewise */
#define IRQ_SOURCE    0x60 /* what waits and is let through */
#define MBOX_SET      0x80 /* mailbox 0; 16 bytes a core */
#define MBOX_CLEAR    0xc0 /* reads as what is set; ones clear */
#define LOCAL_SIZE    0x100

#define SOURCE_TIMERS 0xfU /* CNTPS, CNTPNS, CNTHP, CNTV: INTIDs from BCM2836_TIMERS on */
#define SOURCE_MBOX0  BIT32(4)

static volatile char *local;
/* This core's registers, of those that come by four bytes a core, and its mailbox. */
static DEFINE_PER_CPU(volatile char *, own);
static DEFINE_PER_CPU(volatile char *, mailbox);

static u32 core_of(u32 cpu)
{
	return platform.cpus[cpu].hwid & (NR_CORES - 1);
}

/* SGIs can't be masked one by one, and are never left pending: they have no state. */
static u32 timer_bit(u32 irq)
{
	return irq < BCM2836_TIMERS ? 0 : BIT32(irq - BCM2836_TIMERS);
}

/* Four timers share the register: nobody may come in between, from this core either. */
static __noinline void set_mask(u32 irq, bool masked)
{
	unsigned long flags = arch_irq_save();
	volatile char *reg = this_cpu(own) + TIMER_CONTROL;
	u32 control = mmio_read32(reg) & ~timer_bit(irq);

	mmio_write32(reg, masked ? control : control | timer_bit(irq));
	arch_irq_restore(flags);
}

static void bcm2836_mask(struct irq_desc *d)
{
	set_mask(d->irq, true);
}

static void bcm2836_unmask(struct irq_desc *d)
{
	set_mask(d->irq, false);
}

static bool has_state(const struct irq_desc *d, enum irq_state which)
{
	return which == IRQ_STATE_MASKED && timer_bit(d->irq);
}

static int bcm2836_set_state(struct irq_desc *d, enum irq_state which, bool on)
{
	if (!has_state(d, which))
		return -EINVAL;
	set_mask(d->irq, on);
	return 0;
}

static int bcm2836_get_state(struct irq_desc *d, enum irq_state which, bool *on)
{
	if (!has_state(d, which))
		return -EINVAL;
	*on = !(mmio_read32(this_cpu(own) + TIMER_CONTROL) & timer_bit(d->irq));
	return 0;
}

static const struct irq_chip bcm2836_chip = {
	.name = "bcm2836",
	.flags = IRQ_CHIP_PERCPU_STATE_LOCKLESS,
	.mask = bcm2836_mask,
	.unmask = bcm2836_unmask,
	.set_state = bcm2836_set_state,
	.get_state = bcm2836_get_state,
};

u32 bcm2836_ack(void)
{
	u32 source = mmio_read32(this_cpu(own) + IRQ_SOURCE), sgi;

	if (source & SOURCE_MBOX0) {
		sgi = (u32)__builtin_ctz(mmio_read32(this_cpu(mailbox)));
		mmio_write32(this_cpu(mailbox), BIT32(sgi));
		/* Cleared before the handler looks: what is stored after that sends it anew (gic_send_sgi()). */
		dsb(sy);
		return sgi;
	}
	if (source & SOURCE_TIMERS)
		return BCM2836_TIMERS + (u32)__builtin_ctz(source);
	/* Nobody here can silence it. */
	if (source)
		panic("interrupt controller: firmware left the GPU's interrupts on (0x%x)", source);
	return GIC_SPURIOUS_MIN;
}

static int bcm2836_init(const char **why)
{
	/* What arm64_host_irq() finds in place of a GICC: never anything, so that it asks bcm2836_ack(). */
	static u32 no_gicc[GICC_IAR / 4 + 1] = { [GICC_IAR / 4] = GIC_SPURIOUS_MIN };

	if (platform.gic.local.size < LOCAL_SIZE) {
		*why = "the BCM2836's local registers end before the mailboxes";
		return -ENODEV;
	}
	gicc_base = (volatile char *)no_gicc;
	local = gic_map(&platform.gic.local);
	return BCM2836_TIMERS + NR_CORES;
}

static void bcm2836_cpu_init(void)
{
	this_cpu(own) = local + 4 * core_of(cpu_id());
	this_cpu(mailbox) = local + MBOX_CLEAR + 16 * core_of(cpu_id());
	mmio_write32(this_cpu(own) + TIMER_CONTROL, 0);
	mmio_write32(this_cpu(mailbox), ~0U);
	mmio_write32(this_cpu(own) + MBOX_CONTROL, 1);
}

static int bcm2836_check_cpu(u32 cpu)
{
	return (platform.cpus[cpu].hwid & MPIDR_AFFINITY_MASK) < NR_CORES ? 0 : -ENXIO;
}

static void bcm2836_send_sgi(u32 cpu, u32 sgi)
{
	mmio_write32(local + MBOX_SET + 16 * core_of(cpu), BIT32(sgi));
}

static void bcm2836_send_sgi_others(u32 sgi)
{
	for_each_online_cpu(cpu) {
		if ((u32)cpu != cpu_id())
			bcm2836_send_sgi((u32)cpu, sgi);
	}
}

const struct gic_driver bcm2836_driver = {
	.chip = &bcm2836_chip,
	.init = bcm2836_init,
	.cpu_init = bcm2836_cpu_init,
	.check_cpu = bcm2836_check_cpu,
	.send_sgi = bcm2836_send_sgi,
	.send_sgi_others = bcm2836_send_sgi_others,
};
