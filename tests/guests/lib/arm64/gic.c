/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The GIC from the guest's side, version 3 or 2 as the device tree says: one priority, one group, and
 * the end of an interrupt deactivates it.
 */
#include <guest.h>
#include <runtime.h>

#define GICD GUEST_ARM64_GICD
#define GICC 0x08010000 /* GICv2's CPU interface, as on QEMU's virt */

bool gic_v2;

u64 gicr_base(u32 cpu)
{
	u64 aff = cpu_mpidr(cpu) & 0xffffff;

	for (u64 rd = GUEST_ARM64_GICR;; rd += GICR_STRIDE) {
		if (mmio_read(rd + GICR_TYPER + 4) == aff)
			return rd;
		if (mmio_read(rd + GICR_TYPER) & GICR_TYPER_LAST)
			guest_die("no redistributor for vCPU %u", cpu);
	}
}

u64 gic_ppi_regs(u32 cpu)
{
	return gic_v2 ? GICD : gicr_base(cpu) + GICR_SGI;
}

/* Base of the registers that rule this INTID for the calling vCPU. */
static u64 regs_of(u32 intid)
{
	return intid < 32 ? gic_ppi_regs(cpu_id()) : GICD;
}

void gic_enable(u32 intid)
{
	mmio_write(regs_of(intid) + GICD_ISENABLER + intid / 32 * 4, 1U << intid % 32);
}

void gic_disable(u32 intid)
{
	mmio_write(regs_of(intid) + GICD_ICENABLER + intid / 32 * 4, 1U << intid % 32);
}

void gic_send_sgi(u32 cpu, u32 intid)
{
	u64 id = cpu_mpidr(cpu), aff0 = id & 0xff;
	u64 v = (id & 0xff00) << 8 | (id & 0xff0000) << 16 | (id >> 32 & 0xff) << 48;

	dsb(); /* what was written before the SGI is seen by whoever takes it */
	if (gic_v2) {
		mmio_write(GICD + GICD_SGIR, 1U << (16 + cpu) | intid);
		return;
	}
	write_icc(ICC_SGI1R_EL1, v | (u64)intid << 24 | (aff0 >> 4) << 44 | 1UL << (aff0 & 15));
	isb();
}

void ipi_send(u32 cpu, u32 ipi)
{
	gic_send_sgi(cpu, ipi);
}

void ipi_request(u32 ipi, irq_fn fn)
{
	irq_request(ipi, fn);
}

u32 gic_ack(void)
{
	return gic_v2 ? mmio_read(GICC + GICC_IAR) : read_icc(ICC_IAR1_EL1);
}

void gic_end(u32 iar)
{
	if (gic_v2) {
		mmio_write(GICC + GICC_EOIR, iar);
		return;
	}
	write_icc(ICC_EOIR1_EL1, iar);
	isb();
}

static void dist_init(void)
{
	mmio_write(GICD + GICD_CTLR, GICD_CTLR_ARE | GICD_CTLR_GRP1);
	while (mmio_read(GICD + GICD_CTLR) & GICD_CTLR_RWP)
		cpu_pause();
}

/* Registers of SGIs and PPIs. */
static void private_init(u64 regs)
{
	for (u32 i = 0; i < 32; i += 4)
		mmio_write(regs + GICD_IPRIORITYR + i, 0xa0a0a0a0);
	mmio_write(regs + GICD_ISENABLER, 0xff); /* the IPIs */
}

static void redist_init(u64 rd)
{
	mmio_write(rd + GICR_WAKER, 0);
	while (mmio_read(rd + GICR_WAKER) & GICR_WAKER_ASLEEP)
		cpu_pause();
	mmio_write(rd + GICR_SGI + GICD_IGROUPR, ~0U);
	private_init(rd + GICR_SGI);
}

static void v2_init(void)
{
	mmio_write(GICD + GICD_CTLR, 1);
	private_init(GICD);
	mmio_write(GICC + GICC_PMR, 0xf0);
	mmio_write(GICC + GICC_CTLR, 1);
}

static void v3_init(u32 cpu)
{
	if (!cpu)
		dist_init();
	redist_init(gicr_base(cpu));
	write_icc(ICC_SRE_EL1, 7);
	isb();
	write_icc(ICC_PMR_EL1, 0xf0);
	write_icc(ICC_BPR1_EL1, 0);
	write_icc(ICC_CTLR_EL1, 0);
	write_icc(ICC_IGRPEN1_EL1, 1);
	isb();
}

void arch_cpu_init(u32 cpu)
{
	if (gic_v2)
		v2_init();
	else
		v3_init(cpu);
}
