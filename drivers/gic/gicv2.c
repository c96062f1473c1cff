/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GICv2 as the host's interrupt controller (Arm IHI 0048). Its per-CPU registers are banked in the one
 * distributor of all CPUs, and this driver does not promise that they may be written without the
 * descriptor's lock: it is the machine on which the locked setter can't be left out.
 */
#include "gic.h"

#include <cupel/arch.h>
#include <cupel/platform.h>

/*
 * Without security extensions bit 0 of the CTLRs enables group 0. With them the groups are firmware's,
 * this write is ignored, and bit 0 enables the non-secure group 1 that we are in (4.3.4, 4.4.1).
 */
#define GROUP_0 0

static volatile char *dist;
volatile char *gicc_base;

/* This CPU's bit in target lists; read by others when they send. 0 until its gic_cpu_init(). */
static DEFINE_PER_CPU(u32, target);

static void gicv2_mask(struct irq_desc *d)
{
	gic_write_bit(dist, GICD_ICENABLER, d->irq);
}

static void gicv2_unmask(struct irq_desc *d)
{
	gic_write_bit(dist, GICD_ISENABLER, d->irq);
}

/* The pending state of an SGI belongs to its sender and is not in these registers (4.3.7). */
static bool no_such_state(u32 irq, enum irq_state which)
{
	return which == IRQ_STATE_PENDING && irq < GIC_NR_SGIS;
}

static int gicv2_set_state(struct irq_desc *d, enum irq_state which, bool on)
{
	if (no_such_state(d->irq, which))
		return -EINVAL;
	gic_write_bit(dist, gic_state_register(which, on), d->irq);
	return 0;
}

static int gicv2_get_state(struct irq_desc *d, enum irq_state which, bool *on)
{
	u32 offset = gic_state_register(which, which != IRQ_STATE_MASKED);

	if (no_such_state(d->irq, which))
		return -EINVAL;
	*on = gic_read_bit(dist, offset, d->irq) != (which == IRQ_STATE_MASKED);
	return 0;
}

static const struct irq_chip gicv2_chip = {
	.name = "gicv2",
	.mask = gicv2_mask,
	.unmask = gicv2_unmask,
	.set_state = gicv2_set_state,
	.get_state = gicv2_get_state,
};

/* Reads of the first eight targets give the reader's own bit, where there are several CPUs (4.3.12). */
static u32 own_target(void)
{
	u32 mask = mmio_read32(dist + GICD_ITARGETSR);

	mask |= mask >> 16;
	mask |= mask >> 8;
	return mask & 0xff;
}

/*
 * Where pages may be of 64 KiB a GIC-400 is wired so that each 4 KiB show sixteen times (Arm DEN 0029, "GIC-400
 * and 64KB translation granule"). The second page of an interface, with GICC_DIR, then follows the last of them.
 */
static void skip_aliases(struct gic_info *g)
{
	const volatile char *regs = gic_map(&g->cpu_if);

	if (g->cpu_if.size < KIB(128) ||
	    mmio_read32(regs + GICC_IIDR) != mmio_read32(regs + GIC_LAST_ALIAS + GICC_IIDR))
		return;
	g->cpu_if.base += GIC_LAST_ALIAS;
	g->vcpu_if.base += GIC_LAST_ALIAS;
}

static int gicv2_init(const char **why)
{
	struct gic_info *g = &platform.gic;
	u32 lines, here;

	if (g->cpu_if.size < GICC_DIR + 4) {
		*why = "the GICv2 CPU interface is too small to have GICC_DIR";
		return -ENODEV;
	}
	skip_aliases(g);
	dist = gic_map(&g->dist);
	gicc_base = (volatile char *)g->cpu_if.base;
	lines = GICD_TYPER_LINES(mmio_read32(dist + GICD_TYPER));
	mmio_write32(dist + GICD_CTLR, 0);
	gic_reset_bank(dist, GIC_SPI_BASE, lines, GROUP_0);
	here = own_target() * 0x01010101;
	for (u32 irq = GIC_SPI_BASE; irq < lines; irq += 4)
		mmio_write32(dist + GICD_ITARGETSR + irq, here);
	mmio_write32(dist + GICD_CTLR, GICD_CTLR_ENABLE);
	return (int)lines;
}

static void gicv2_cpu_init(void)
{
	gic_reset_bank(dist, 0, GIC_SPI_BASE, GROUP_0);
	/* A uniprocessor's target registers read as zero. */
	this_cpu(target) = max(own_target(), 1U);
	for (u32 i = 0; i < 4; i++)
		mmio_write32(gicc_base + GICC_APR + 4 * i, 0);
	mmio_write32(gicc_base + GICC_PMR, 0xf0);
	mmio_write32(gicc_base + GICC_BPR, 0);
	mmio_write32(gicc_base + GICC_CTLR, GICC_CTLR_ENABLE | GICC_CTLR_EOIMODE);
}

/* Eight CPU interfaces; firmware has no way to say which CPU is which, so all are tried. */
static int gicv2_check_cpu(u32 cpu)
{
	return 0;
}

static void gicv2_send_sgi(u32 cpu, u32 sgi)
{
	mmio_write32(dist + GICD_SGIR, GICD_SGIR_TARGETS(READ_ONCE(*per_cpu_ptr(target, cpu))) | sgi);
}

static void gicv2_send_sgi_others(u32 sgi)
{
	mmio_write32(dist + GICD_SGIR, GICD_SGIR_OTHERS | sgi);
}

const struct gic_driver gicv2_driver = {
	.chip = &gicv2_chip,
	.init = gicv2_init,
	.cpu_init = gicv2_cpu_init,
	.check_cpu = gicv2_check_cpu,
	.send_sgi = gicv2_send_sgi,
	.send_sgi_others = gicv2_send_sgi_others,
};
