/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GICv2 distributor and, for irqchip=external, CPU interface as a guest sees them (IHI 0048 4).
 * Reserved registers read as zero and ignore writes.
 */
#include "vgic.h"

#include "vgic_ids.h"

#define GICD_CTLR      0x000
#define GICD_TYPER     0x004
#define GICD_IIDR      0x008
#define GICD_SGIR      0xf00
#define GICD_CPENDSGIR 0xf10
#define GICD_SPENDSGIR 0xf20
#define GICD_SGI_END   0xf30
#define GICD_PIDR2     0xfe8

/* GICD_SGIR (IHI 0048 4.3.15) */
#define SGIR_FILTER(val) ((val) >> 24 & 3)
#define SGIR_LIST(val)	 ((u32)((val) >> 16 & 0xff))
enum { FILTER_LIST, FILTER_OTHERS, FILTER_SELF };

#define GICC_CTLR	  0x0000
#define GICC_PMR	  0x0004
#define GICC_BPR	  0x0008
#define GICC_IAR	  0x000c
#define GICC_EOIR	  0x0010
#define GICC_RPR	  0x0014
#define GICC_HPPIR	  0x0018
#define GICC_ABPR	  0x001c
#define GICC_APR0	  0x00d0
#define GICC_IIDR	  0x00fc
#define GICC_DIR	  0x1000
#define GICC_CTLR_ENABLES 3
#define GICC_CTLR_EOIMODE BIT(9)
#define GICC_INTID(val)	  ((u32)(val) & 0x3ff)

static void send_sgi(struct vcpu *v, u64 val)
{
	struct vgic *g = v->vm->arch.vgic;
	u32 all = (u32)BIT(g->vm->nr_vcpus) - 1, list = SGIR_LIST(val) & all;

	if (SGIR_FILTER(val) == FILTER_OTHERS)
		list = all & ~BIT32(v->id);
	else if (SGIR_FILTER(val) == FILTER_SELF)
		list = BIT32(v->id);
	for (; list; list &= list - 1)
		vgic_sgi(g, g->vm->vcpu[__builtin_ctz(list)], val & 0xf, v->id);
}

/* A byte an SGI, a bit a source: pending for the accessing vCPU (IHI 0048 4.3.16, 4.3.17). */
static void access_sgi_pending(struct vcpu *v, struct mmio_access *a)
{
	u32 first = a->offset & 0xf;
	u64 val = 0;

	for (u32 i = 0; i < a->size && i < 4; i++) {
		u8 *map = &v->arch.vgic.sgi_source[first + i], bits = (u8)(a->value >> 8 * i);

		if (a->write && a->offset >= GICD_SPENDSGIR) {
			for (u32 b = bits; b; b &= b - 1)
				vgic_sgi(v->vm->arch.vgic, v, first + i, __builtin_ctz(b));
		} else if (a->write && !(atomic_fetch_and_full(map, (u8)~bits) & ~bits)) {
			atomic_fetch_and_full(&v->arch.vgic.irq[first + i], ~VIRQ_PENDING);
		}
		val |= (u64)READ_ONCE(*map) << 8 * i;
	}
	a->value = val;
}

bool vgicd_v2_access(struct vcpu *v, void *dev, struct mmio_access *a)
{
	struct vgic *g = dev;

	if (vgic_is_common(a->offset))
		return vgic_common_access(v, v, 0, VGIC_NR_INTIDS, a);
	switch (a->offset) {
	case GICD_CTLR:
		if (a->write)
			vgic_set_ctlr(g, a->value & 3);
		else
			a->value = READ_ONCE(g->ctlr);
		return true;
	case GICD_TYPER:
		a->value = (VGIC_NR_INTIDS / 32 - 1) | (u64)(g->vm->nr_vcpus - 1) << 5;
		return true;
	case GICD_IIDR: a->value = VGIC_IIDR; return true;
	case GICD_PIDR2: a->value = VGIC_PIDR2_V2; return true;
	case GICD_SGIR:
		if (a->write)
			send_sgi(v, a->value);
		a->value = 0;
		return true;
	}
	if (a->offset >= GICD_CPENDSGIR && a->offset < GICD_SGI_END)
		access_sgi_pending(v, a);
	else
		a->value = 0;
	return true;
}

static void access_ctlr(struct vgic_soft *s, struct mmio_access *a)
{
	if (a->write) {
		s->grpen = a->value & GICC_CTLR_ENABLES;
		s->eoimode = a->value & GICC_CTLR_EOIMODE;
	}
	a->value = s->grpen | (s->eoimode ? GICC_CTLR_EOIMODE : 0);
}

static void access_field(u32 *field, u32 mask, struct mmio_access *a)
{
	if (a->write)
		*field = a->value & mask;
	a->value = *field;
}

static u64 read_only(struct vcpu *v, u64 offset)
{
	u32 prio = vgic_soft_running(v);

	switch (offset) {
	case GICC_IAR: return vgic_soft_ack(v, 3);
	case GICC_RPR: return prio == VGIC_PRIO_IDLE ? 0xff : prio << 3;
	case GICC_HPPIR: return vgic_soft_highest(v, 3);
	case GICC_IIDR: return VGIC_CPU_IIDR;
	}
	return 0;
}

static void write_only(struct vcpu *v, u64 offset, u32 intid)
{
	if (offset == GICC_EOIR)
		vgic_soft_eoi(v, intid);
	else if (offset == GICC_DIR && intid < VGIC_NR_INTIDS)
		vgic_deactivate(v->vm->arch.vgic, v, v, intid);
}

bool vgicc_access(struct vcpu *v, void *dev, struct mmio_access *a)
{
	struct vgic_soft *s = &v->arch.vgic.soft;

	v->arch.vgic.dirty = true;
	switch (a->offset) {
	case GICC_CTLR: access_ctlr(s, a); return true;
	case GICC_PMR: access_field(&s->pmr, 0xf8, a); return true;
	case GICC_BPR:
	case GICC_ABPR: access_field(&s->bpr, 7, a); return true;
	case GICC_APR0: access_field(&s->apr, ~0U, a); return true;
	}
	if (a->write)
		write_only(v, a->offset, GICC_INTID(a->value));
	else
		a->value = read_only(v, a->offset);
	return true;
}
