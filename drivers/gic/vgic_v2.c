/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * List registers of a GICv2: GICH, a window of memory that each CPU sees its own copy of (IHI 0048
 * 5.3). The algorithm in vgic_lr.c knows one layout, that of GICv3; it is translated here.
 */
#include "gic.h"
#include "vgic.h"

#include <asm/io.h>
#include <cupel/arch.h>
#include <cupel/platform.h>

#define GICH_HCR   0x000
#define GICH_VTR   0x004
#define GICH_VMCR  0x008
#define GICH_ELRSR 0x030
#define GICH_APR   0x0f0
#define GICH_LR(n) (0x100 + 4 * (n))

/* GICH_LRn (IHI 0048 5.3.9) */
#define LRV2_VID_MASK	 0x3ff
#define LRV2_PID_SHIFT	 10
#define LRV2_EOI	 BIT32(19)
#define LRV2_PRIO_SHIFT	 23
#define LRV2_PENDING	 BIT32(28)
#define LRV2_ACTIVE	 BIT32(29)
#define LRV2_GROUP1	 BIT32(30)
#define LRV2_HW		 BIT32(31)
#define LRV2_CPUID_SHIFT 10

static volatile void *gich; /* mapped by the boot CPU, read-only since */

static volatile void *reg(u32 offset)
{
	return (volatile char *)gich + offset;
}

static u64 read_lr(u32 n)
{
	u32 lr = mmio_read32(reg(GICH_LR(n)));
	u64 val = lr & LRV2_VID_MASK;

	val |= (u64)(lr >> LRV2_PRIO_SHIFT & VIRQ_PRIO_MASK) << LR_PRIO_SHIFT;
	if (lr & LRV2_GROUP1)
		val |= LR_GROUP1;
	if (lr & LRV2_HW)
		val |= LR_HW | (u64)(lr >> LRV2_PID_SHIFT & LRV2_VID_MASK) << LR_PINTID_SHIFT;
	else
		val |= (u64)(lr >> LRV2_CPUID_SHIFT & 7) << LR_CPUID_SHIFT |
		       (lr & LRV2_EOI ? LR_EOI : 0);
	if (lr & LRV2_PENDING)
		val |= LR_PENDING;
	if (lr & LRV2_ACTIVE)
		val |= LR_ACTIVE;
	return val;
}

static void write_lr(u32 n, u64 val)
{
	u32 lr = val & LRV2_VID_MASK;

	lr |= (u32)(val >> LR_PRIO_SHIFT & VIRQ_PRIO_MASK) << LRV2_PRIO_SHIFT;
	if (val & LR_HW)
		lr |= LRV2_HW | (u32)(val >> LR_PINTID_SHIFT & LRV2_VID_MASK) << LRV2_PID_SHIFT;
	else
		lr |= (u32)(val >> LR_CPUID_SHIFT & 7) << LRV2_CPUID_SHIFT |
		      (val & LR_EOI ? LRV2_EOI : 0);
	if (val & LR_PENDING)
		lr |= LRV2_PENDING;
	if (val & LR_ACTIVE)
		lr |= LRV2_ACTIVE;
	if (val & LR_GROUP1)
		lr |= LRV2_GROUP1;
	mmio_write32(reg(GICH_LR(n)), lr);
}

static u64 empty(void)
{
	return mmio_read32(reg(GICH_ELRSR));
}

static u64 read_hcr(void)
{
	return mmio_read32(reg(GICH_HCR));
}

static void write_hcr(u64 val)
{
	mmio_write32(reg(GICH_HCR), (u32)val);
}

static u64 read_vmcr(void)
{
	return mmio_read32(reg(GICH_VMCR));
}

static void load(struct vgic_cpu *c)
{
	mmio_write32(reg(GICH_VMCR), (u32)c->vmcr);
	mmio_write32(reg(GICH_APR), (u32)c->apr[0][0]);
}

static void put(struct vgic_cpu *c)
{
	mmio_write32(reg(GICH_HCR), 0);
	c->hcr = 0;
	c->vmcr = mmio_read32(reg(GICH_VMCR));
	c->apr[0][0] = mmio_read32(reg(GICH_APR));
}

static void describe(void)
{
	gich = gic_map(&platform.gic.hyp_if);
	vgic_hw = (struct vgic_hw){
		.nr_lrs = min((mmio_read32(reg(GICH_VTR)) & 0x3f) + 1, (u32)VGIC_MAX_LRS),
		.read_lr = read_lr,
		.write_lr = write_lr,
		.empty = empty,
		.read_hcr = read_hcr,
		.write_hcr = write_hcr,
		.read_vmcr = read_vmcr,
		.load = load,
		.put = put,
	};
}

void vgic_v2_cpu_init(void)
{
	/* Without GICH and GICV there are no list registers: irqchip=external only. */
	if (!platform.gic.hyp_if.size || !platform.gic.vcpu_if.size)
		return;
	if (!cpu_id())
		describe();
	if (!vgic_hw.nr_lrs)
		return;
	write_hcr(0);
	for (u32 lr = 0; lr < vgic_hw.nr_lrs; lr++)
		write_lr(lr, 0);
	vgic_maintenance_init();
}
