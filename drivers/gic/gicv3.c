/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GICv3 and v4 as the host's interrupt controller (Arm IHI 0069). Each CPU's private interrupts have
 * their registers in its own redistributor, write-one-to-set and -clear: that is why their state needs
 * no lock. LPIs and the ITS are not used.
 */
#include "gic.h"

#include <cupel/arch.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

#define GROUP_1 0xffffffff
#define SPINS	1000000 /* for what the specification calls "a finite time" */

static volatile char *dist;
static DEFINE_PER_CPU(volatile char *, redist); /* RD frame of this CPU; written by the boot CPU */

static void wait_clear(volatile char *reg, u32 bits, const char *what)
{
	for (u32 i = 0; i < SPINS; i++) {
		if (!(mmio_read32(reg) & bits))
			return;
		cpu_relax();
	}
	panic("GICv3: %s of CPU %u never ends", what, cpu_id());
}

/* The registers that an interrupt's bit is in, as the calling CPU sees them. */
static inline volatile char *bank_of(u32 irq)
{
	return irq < GIC_SPI_BASE ? this_cpu(redist) + GICR_SGI_FRAME : dist;
}

/* A disable is only certain once RWP says so (12.9.4, 12.11.2). */
static void wait_disabled(u32 irq)
{
	if (irq < GIC_SPI_BASE)
		wait_clear(this_cpu(redist) + GICR_CTLR, GICR_CTLR_RWP, "register write");
	else
		wait_clear(dist + GICD_CTLR, GICD_CTLR_RWP, "register write");
}

static void gicv3_mask(struct irq_desc *d)
{
	gic_write_bit(bank_of(d->irq), GICD_ICENABLER, d->irq);
	wait_disabled(d->irq);
}

static void gicv3_unmask(struct irq_desc *d)
{
	gic_write_bit(bank_of(d->irq), GICD_ISENABLER, d->irq);
}

static __noinline int set_other_state(struct irq_desc *d, enum irq_state which, bool on)
{
	gic_write_bit(bank_of(d->irq), gic_state_register(which, on), d->irq);
	if (which == IRQ_STATE_MASKED && on)
		wait_disabled(d->irq);
	return 0;
}

/*
 * On every load of a vCPU. Setting or clearing is ordered against what can raise the interrupt by the
 * caller, with a DSB after its last such write.
 */
static int gicv3_set_state(struct irq_desc *d, enum irq_state which, bool on)
{
	if (unlikely(which != IRQ_STATE_ACTIVE))
		return set_other_state(d, which, on);
	gic_write_bit(bank_of(d->irq), on ? GICD_ISACTIVER : GICD_ICACTIVER, d->irq);
	return 0;
}

static int gicv3_get_state(struct irq_desc *d, enum irq_state which, bool *on)
{
	u32 offset = gic_state_register(which, which != IRQ_STATE_MASKED);

	*on = gic_read_bit(bank_of(d->irq), offset, d->irq) != (which == IRQ_STATE_MASKED);
	return 0;
}

static const struct irq_chip gicv3_chip = {
	.name = "gicv3",
	.flags = IRQ_CHIP_PERCPU_STATE_LOCKLESS,
	.mask = gicv3_mask,
	.unmask = gicv3_unmask,
	.set_state = gicv3_set_state,
	.get_state = gicv3_get_state,
};

/* GICR_TYPER packs the four affinity bytes; MPIDR has Aff3 further up. */
static u64 typer_hwid(u64 typer)
{
	u64 aff = GICR_TYPER_AFF(typer);

	return (aff & 0xffffff) | (aff >> 24) << 32;
}

/* Redistributors mostly come in the order of the CPUs, so the search starts after the last hit. */
static void assign_redist(volatile char *rd, u64 hwid, u32 *hint)
{
	for (u32 i = 0; i < platform.nr_cpus; i++) {
		u32 cpu = (*hint + i) % platform.nr_cpus;

		if (platform.cpus[cpu].hwid != hwid)
			continue;
		*per_cpu_ptr(redist, cpu) = rd;
		*hint = cpu + 1;
		return;
	}
}

static int scan_region(const struct mem_range *r, u32 *hint, const char **why)
{
	volatile char *base = gic_map(r);
	u64 offset = 0, typer;

	do {
		if (offset + 2 * GICR_FRAME > r->size)
			return 0; /* firmware lists one region per cluster: LAST is not always set */
		if (GIC_PIDR2_ARCH(mmio_read32(base + offset + GICR_PIDR2)) < 3) {
			*why = "a redistributor region holds none";
			return -ENODEV;
		}
		typer = mmio_read64(base + offset + GICR_TYPER);
		assign_redist(base + offset, typer_hwid(typer), hint);
		if (platform.gic.redist_stride)
			offset += platform.gic.redist_stride;
		else
			offset += (typer & GICR_TYPER_VLPIS ? 4 : 2) * GICR_FRAME;
	} while (!(typer & GICR_TYPER_LAST));
	return 0;
}

static void init_dist(u32 lines)
{
	u64 here = platform.cpus[0].hwid;

	mmio_write32(dist + GICD_CTLR, 0);
	wait_clear(dist + GICD_CTLR, GICD_CTLR_RWP, "disabling the distributor");
	gic_reset_bank(dist, GIC_SPI_BASE, lines, GROUP_1);
	wait_clear(dist + GICD_CTLR, GICD_CTLR_RWP, "resetting the distributor");
	mmio_write32(dist + GICD_CTLR, GICD_CTLR_ARE | GICD_CTLR_ENABLE_G1A);
	wait_clear(dist + GICD_CTLR, GICD_CTLR_RWP, "enabling the distributor");
	/* Only with affinity routing on are these registers there (12.9.22). */
	for (u32 irq = GIC_SPI_BASE; irq < lines; irq++)
		mmio_write64(dist + GICD_IROUTER + 8 * irq, here);
}

static int gicv3_init(const char **why)
{
	u32 lines, hint = 0;

	*why = "no GICv3 distributor where firmware says";
	if (platform.gic.dist.size < GICD_PIDR2 + 4)
		return -ENODEV;
	dist = gic_map(&platform.gic.dist);
	if (GIC_PIDR2_ARCH(mmio_read32(dist + GICD_PIDR2)) < 3)
		return -ENODEV;
	for (u32 i = 0; i < platform.gic.nr_redist; i++) {
		int r = scan_region(&platform.gic.redist[i], &hint, why);

		if (r)
			return r;
	}
	if (!this_cpu(redist)) {
		*why = "no redistributor for the boot CPU";
		return -ENXIO;
	}
	lines = GICD_TYPER_LINES(mmio_read32(dist + GICD_TYPER));
	init_dist(lines);
	return (int)lines;
}

static void wake_redist(volatile char *rd)
{
	u32 waker = mmio_read32(rd + GICR_WAKER);

	mmio_write32(rd + GICR_WAKER, waker & ~GICR_WAKER_SLEEP);
	wait_clear(rd + GICR_WAKER, GICR_WAKER_CHILDREN, "waking the redistributor");
}

/* Whatever firmware left active: the priority must not stay raised (12.2.5). */
static void clear_active_priorities(u64 ctlr)
{
	write_sysreg(0, SYS_ICC_AP0R0_EL1);
	write_sysreg(0, SYS_ICC_AP1R0_EL1);
	if (ICC_CTLR_PRIBITS(ctlr) > 5)
		write_sysreg(0, SYS_ICC_AP1R1_EL1);
	if (ICC_CTLR_PRIBITS(ctlr) > 6) {
		write_sysreg(0, SYS_ICC_AP1R2_EL1);
		write_sysreg(0, SYS_ICC_AP1R3_EL1);
	}
}

static void gicv3_cpu_init(void)
{
	volatile char *rd = this_cpu(redist);

	wake_redist(rd);
	gic_reset_bank(rd + GICR_SGI_FRAME, 0, GIC_SPI_BASE, GROUP_1);
	wait_clear(rd + GICR_CTLR, GICR_CTLR_RWP, "resetting the redistributor");

	write_sysreg(ICC_SRE_SRE | ICC_SRE_DFB | ICC_SRE_DIB | ICC_SRE_EL2_EN, SYS_ICC_SRE_EL2);
	isb();
	if (!(read_sysreg(SYS_ICC_SRE_EL2) & ICC_SRE_SRE))
		panic("GICv3: firmware keeps the system register interface switched off");
	write_sysreg(0, SYS_ICC_IGRPEN0_EL1);
	write_sysreg(0xff, SYS_ICC_PMR_EL1);
	write_sysreg(0, SYS_ICC_BPR1_EL1);
	write_sysreg(ICC_CTLR_EOIMODE, SYS_ICC_CTLR_EL1);
	isb();
	clear_active_priorities(read_sysreg(SYS_ICC_CTLR_EL1));
	write_sysreg(1, SYS_ICC_IGRPEN1_EL1);
	isb();
}

static int gicv3_check_cpu(u32 cpu)
{
	return *per_cpu_ptr(redist, cpu) ? 0 : -ENXIO;
}

/* 12.2.18: a list of 16 within one group of affinity 3.2.1, range selector for Aff0 above 15. */
static void gicv3_send_sgi(u32 cpu, u32 sgi)
{
	u64 id = platform.cpus[cpu].hwid;
	u64 aff0 = MPIDR_AFF(id, 0);

	write_sysreg(MPIDR_AFF(id, 3) << 48 | aff0 >> 4 << 44 | MPIDR_AFF(id, 2) << 32 |
			     ICC_SGI1R_INTID(sgi) | MPIDR_AFF(id, 1) << 16 | BIT(aff0 & 0xf),
		     SYS_ICC_SGI1R_EL1);
	isb();
}

static void gicv3_send_sgi_others(u32 sgi)
{
	write_sysreg(ICC_SGI1R_OTHERS | ICC_SGI1R_INTID(sgi), SYS_ICC_SGI1R_EL1);
	isb();
}

const struct gic_driver gicv3_driver = {
	.chip = &gicv3_chip,
	.init = gicv3_init,
	.cpu_init = gicv3_cpu_init,
	.check_cpu = gicv3_check_cpu,
	.send_sgi = gicv3_send_sgi,
	.send_sgi_others = gicv3_send_sgi_others,
};
