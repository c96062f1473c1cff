/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which interrupt controller this machine has, and what both generations do alike. Nothing on an
 * interrupt's path goes through here: that is inline in gic.h.
 */
#include "gic.h"

#include <cupel/arch.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

#define HOST_PRIORITY 0xa0a0a0a0 /* four interrupts: the middle of what non-secure software has */

bool gic_v3;
static const struct gic_driver *driver;

void gic_reset_bank(volatile char *bank, u32 first, u32 last, u32 groups)
{
	for (u32 irq = first; irq < last; irq += 32) {
		u32 word = irq / 32 * 4;

		mmio_write32(bank + GICD_ICENABLER + word, ~0U);
		mmio_write32(bank + GICD_ICPENDR + word, ~0U);
		mmio_write32(bank + GICD_ICACTIVER + word, ~0U);
		mmio_write32(bank + GICD_IGROUPR + word, groups);
		for (u32 i = 0; i < 32; i += 4)
			mmio_write32(bank + GICD_IPRIORITYR + irq + i, HOST_PRIORITY);
	}
	/* Two bits each, all level: PPIs here are timers and the like, and no SPI is used yet. */
	for (u32 irq = first; irq < last; irq += 16) {
		if (irq >= GIC_NR_SGIS)
			mmio_write32(bank + GICD_ICFGR + irq / 16 * 4, 0);
	}
}

u32 gic_state_register(enum irq_state which, bool on)
{
	switch (which) {
	case IRQ_STATE_ACTIVE: return on ? GICD_ISACTIVER : GICD_ICACTIVER;
	case IRQ_STATE_PENDING: return on ? GICD_ISPENDR : GICD_ICPENDR;
	case IRQ_STATE_MASKED: return on ? GICD_ICENABLER : GICD_ISENABLER;
	}
	return 0;
}

volatile char *gic_map(const struct mem_range *r)
{
	volatile char *regs = arch_map_device(r->base, r->size);

	/* Each frame has pages of its own, so that a hypervisor can map it: IHI 0069 12.1, IHI 0048 4.1. */
	if (!regs || !IS_ALIGNED(r->base, PAGE_SIZE))
		cannot_start("interrupt controller: no registers can be at 0x%lx",
			     (unsigned long)r->base);
	return regs;
}

static void kick_handler(struct irq_desc *d, void *arg)
{
	/* The interrupt itself is the message: guest mode or idle has ended. */
}

static void stop_handler(struct irq_desc *d, void *arg)
{
	arch_irq_disable();
	for (;;)
		arch_cpu_idle();
}

static const struct gic_driver *choose(const char **why)
{
	switch (platform.gic.kind) {
	case GIC_V3: return &gicv3_driver;
	case GIC_V2: return &gicv2_driver;
	case GIC_BCM2836: return &bcm2836_driver;
	case GIC_NONE: break;
	}
	*why = "firmware names no GICv3, GICv2 or BCM2836";
	return NULL;
}

void gic_init(void)
{
	const char *why = "";
	int lines;

	driver = choose(&why);
	lines = driver ? driver->init(&why) : -ENODEV;
	if (lines < 0)
		cannot_start("interrupt controller: %s", why);
	gic_v3 = platform.gic.kind == GIC_V3;
	for (u32 irq = 0; irq < (u32)lines; irq++) {
		u32 flags = irq < GIC_NR_SGIS ? IRQ_PERCPU : IRQ_LEVEL;

		irq_set_chip(irq, driver->chip, irq < GIC_SPI_BASE ? flags | IRQ_PERCPU : flags);
	}
	if (irq_request(GIC_SGI_KICK, kick_handler, NULL) ||
	    irq_request(GIC_SGI_STOP, stop_handler, NULL))
		panic("interrupt controller: SGIs are taken");
}

void gic_cpu_init(void)
{
	driver->cpu_init();
	irq_enable(GIC_SGI_KICK);
	irq_enable(GIC_SGI_STOP);
}

int gic_check_cpu(u32 cpu)
{
	return driver->check_cpu(cpu);
}

void gic_send_sgi(u32 cpu, u32 sgi)
{
	dsb(ishst); /* pairs with the DSB after the acknowledge: what was stored before is seen there */
	driver->send_sgi(cpu, sgi);
}

void gic_send_sgi_others(u32 sgi)
{
	if (!driver)
		return; /* a panic before gic_init(): nobody else runs yet */
	dsb(ishst);
	driver->send_sgi_others(sgi);
}
