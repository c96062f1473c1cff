/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GICv3 distributor and redistributors as a guest sees them: one security state (GICD_CTLR.DS = 1),
 * affinity routing always on, no LPIs. Reserved registers read as zero and ignore writes.
 */
#include "vgic.h"

#include "vgic_ids.h"

#define GICD_CTLR	 0x0000
#define GICD_TYPER	 0x0004
#define GICD_IIDR	 0x0008
#define GICD_IROUTER	 0x6000
#define GICD_IROUTER_END 0x7fe0
#define GIC_PIDR2	 0xffe8

#define CTLR_ENABLES 3
#define CTLR_ARE     BIT(4)
#define CTLR_DS	     BIT(6)

/* GICD_TYPER (12.9.38): 10 bits of INTID, Aff3 valid, no 1-of-N */
#define TYPER_VALUE ((VGIC_NR_INTIDS / 32 - 1) | 9UL << 19 | BIT(24) | BIT(25))

#define IROUTER_IRM BIT(31)
#define IROUTER_AFF 0xff00ffffffUL

#define GICR_STRIDE	0x20000
#define GICR_SGI_FRAME	0x10000
#define GICR_IIDR	0x0004
#define GICR_TYPER	0x0008
#define GICR_WAKER	0x0014
#define GICR_TYPER_LAST BIT(4)
#define WAKER_SLEEP	BIT(1)
#define WAKER_ASLEEP	BIT(2)

/* Part of a 64-bit register, for an access of 4 or 8 bytes. */
static u64 part(u64 reg, const struct mmio_access *a)
{
	return a->size == 8 ? reg : (u32)(reg >> (a->offset & 4) * 8);
}

static u64 merge(u64 reg, const struct mmio_access *a)
{
	u32 shift = (a->offset & 4) * 8;

	if (a->size == 8)
		return a->value;
	return (reg & ~(0xffffffffUL << shift)) | (a->value & 0xffffffff) << shift;
}

/* 1-of-N goes to the first vCPU, as an implementation may choose. */
static u32 route_target(struct vgic *g, u64 route)
{
	u32 id = route & IROUTER_IRM ? 0 : vcpu_id_of(route & IROUTER_AFF);

	return id < g->vm->nr_vcpus ? id : VIRQ_VCPU_MASK;
}

static void access_route(struct vgic *g, struct mmio_access *a)
{
	u32 intid = (a->offset - GICD_IROUTER) / 8;

	if (intid < VGIC_NR_PRIVATE || intid >= VGIC_NR_INTIDS || a->size < 4) {
		a->value = 0;
		return;
	}
	spin_lock(&g->lock);
	if (a->write) {
		g->route[intid] = merge(g->route[intid], a) & (IROUTER_AFF | IROUTER_IRM);
		vgic_set_target(g, intid, route_target(g, g->route[intid]));
	}
	a->value = part(g->route[intid], a);
	spin_unlock(&g->lock);
}

static __noinline bool other_access(struct vgic *g, struct mmio_access *a)
{
	switch (a->offset) {
	case GICD_CTLR:
		if (a->write)
			vgic_set_ctlr(g, a->value & CTLR_ENABLES);
		else
			a->value = READ_ONCE(g->ctlr) | CTLR_ARE | CTLR_DS;
		return true;
	case GICD_TYPER: a->value = TYPER_VALUE; return true;
	case GIC_PIDR2: a->value = VGIC_PIDR2_V3; return true;
	}
	if (a->offset >= GICD_IROUTER && a->offset < GICD_IROUTER_END)
		access_route(g, a);
	else
		a->value = 0;
	return true;
}

bool vgicd_v3_access(struct vcpu *v, void *dev, struct mmio_access *a)
{
	if (vgic_is_common(a->offset))
		return vgic_common_access(v, NULL, VGIC_NR_PRIVATE,
					  VGIC_NR_INTIDS - VGIC_NR_PRIVATE, a);
	if (a->offset != GICD_IIDR)
		return other_access(dev, a);
	a->value = VGIC_IIDR;
	return true;
}

static u64 redist_typer(struct vcpu *v)
{
	u64 aff = vcpu_affinity(v);
	u64 typer = (aff & 0xffffff) << 32 | aff >> 32 << 56 | (u64)v->id << 8;

	return v->id + 1 == v->vm->nr_vcpus ? typer | GICR_TYPER_LAST : typer;
}

static void access_rd_frame(struct vcpu *v, struct mmio_access *a)
{
	struct vgic_cpu *c = &v->arch.vgic;

	switch (a->offset) {
	case GICR_IIDR: a->value = VGIC_IIDR; return;
	case GICR_TYPER:
	case GICR_TYPER + 4: a->value = part(redist_typer(v), a); return;
	case GICR_WAKER:
		if (a->write)
			WRITE_ONCE(c->asleep, a->value & WAKER_SLEEP);
		else
			a->value = READ_ONCE(c->asleep) ? WAKER_SLEEP | WAKER_ASLEEP : 0;
		return;
	case GIC_PIDR2: a->value = VGIC_PIDR2_V3; return;
	}
	a->value = 0;
}

bool vgicr_access(struct vcpu *v, void *dev, struct mmio_access *a)
{
	struct vgic *g = dev;
	struct vcpu *owner = g->vm->vcpu[a->offset / GICR_STRIDE];

	a->offset %= GICR_STRIDE;
	if (a->offset < GICR_SGI_FRAME) {
		access_rd_frame(owner, a);
		return true;
	}
	a->offset -= GICR_SGI_FRAME;
	if (vgic_is_common(a->offset))
		return vgic_common_access(v, owner, 0, VGIC_NR_PRIVATE, a);
	a->value = 0;
	return true;
}
