/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ICC_* system registers that trap: SGIs always (HCR_EL2.IMO), ICC_DIR_EL1 when an interrupt may end
 * where no list register has it (ICH_HCR_EL2.TDIR), and all of them for a CPU interface in software.
 */
#include "vgic.h"

#include "vgic_ids.h"

/* ICC_SGI1R_EL1 (IHI 0069 12.2.17) */
#define SGIR_LIST(val)	((val) & 0xffff)
#define SGIR_INTID(val) ((u32)((val) >> 24 & 0xf))
#define SGIR_RS		(0xfUL << 44)
#define SGIR_IRM	BIT(40)
#define SGIR_AFFINITY(val) \
	(((val) >> 16 & 0xff) << 8 | ((val) >> 32 & 0xff) << 16 | ((val) >> 48 & 0xff) << 32)

/* ICC_CTLR_EL1 (12.2.6): 5 bits of priority, 16 of INTID would need 1 in IDbits */
#define CTLR_EOIMODE BIT(1)
#define CTLR_PRIBITS (4UL << 8)
#define CTLR_A3V     BIT(15)

/* An SGI of the other group is not for this register (12.2.17, one security state). */
static inline void send_one(struct vcpu *self, struct vcpu *target, u32 intid, u32 group)
{
	struct vgic *g = self->vm->arch.vgic;

	if ((READ_ONCE(target->arch.vgic.irq[intid]) & VIRQ_GROUP1) != group)
		return;
	if (target == self && !g->soft)
		vgic_lr_post(self, intid, VIRQ_PENDING);
	else
		vgic_post(g, target, intid, VIRQ_PENDING);
}

static void send_to_others(struct vcpu *v, u32 intid, u32 group)
{
	for (u32 i = 0; i < v->vm->nr_vcpus; i++)
		if (v->vm->vcpu[i] != v)
			send_one(v, v->vm->vcpu[i], intid, group);
}

void vgic_icc_sgi(struct vcpu *v, u64 val, bool group1)
{
	struct vm *vm = v->vm;
	u32 group = group1 ? VIRQ_GROUP1 : 0;
	/* vCPUs are numbered by affinity in groups of 16: the list is a piece of that numbering. */
	u32 first = vcpu_id_of(SGIR_AFFINITY(val));

	if (unlikely(val & (SGIR_IRM | SGIR_RS))) {
		if (val & SGIR_IRM)
			send_to_others(v, SGIR_INTID(val), group);
		return;
	}
	for (u32 list = SGIR_LIST(val); list; list &= list - 1) {
		u32 id = first + (u32)__builtin_ctz(list);

		if (likely(id < vm->nr_vcpus))
			send_one(v, vm->vcpu[id], SGIR_INTID(val), group);
	}
}

static u64 running_priority(struct vcpu *v)
{
	u32 prio = vgic_soft_running(v);

	return prio == VGIC_PRIO_IDLE ? 0xff : (u64)prio << 3;
}

static bool ctlr_access(struct vgic_soft *s, bool write, u64 *val)
{
	if (write)
		s->eoimode = *val & CTLR_EOIMODE;
	else
		*val = CTLR_PRIBITS | CTLR_A3V | (s->eoimode ? CTLR_EOIMODE : 0);
	return true;
}

static bool field_access(struct vcpu *v, u32 *field, u32 mask, bool write, u64 *val)
{
	if (write) {
		*field = *val & mask;
		v->arch.vgic.dirty = true;
	} else {
		*val = *field;
	}
	return true;
}

static bool grpen_access(struct vcpu *v, u32 group, bool write, u64 *val)
{
	struct vgic_soft *s = &v->arch.vgic.soft;

	if (!write)
		*val = s->grpen >> group & 1;
	else
		s->grpen = (s->grpen & ~BIT32(group)) | (*val & 1) << group;
	v->arch.vgic.dirty = true;
	return true;
}

static bool soft_read_only(struct vcpu *v, u32 reg, u64 *val)
{
	switch (reg) {
	case ICC_REG(12, 8, 0): *val = vgic_soft_ack(v, 1); return true;
	case ICC_REG(12, 12, 0): *val = vgic_soft_ack(v, 2); return true;
	case ICC_REG(12, 8, 2): *val = vgic_soft_highest(v, 1); return true;
	case ICC_REG(12, 12, 2): *val = vgic_soft_highest(v, 2); return true;
	case ICC_REG(12, 11, 3): *val = running_priority(v); return true;
	}
	return false;
}

/* What exists only when the CPU interface is in software. */
static bool soft_access(struct vcpu *v, u32 reg, bool write, u64 *val)
{
	struct vgic_soft *s = &v->arch.vgic.soft;

	switch (reg) {
	case ICC_REG(4, 6, 0): return field_access(v, &s->pmr, 0xf8, write, val);
	case ICC_REG(12, 8, 3):
	case ICC_REG(12, 12, 3): return field_access(v, &s->bpr, 7, write, val);
	case ICC_REG(12, 8, 4):
	case ICC_REG(12, 9, 0): return field_access(v, &s->apr, ~0U, write, val);
	case ICC_REG(12, 12, 4): return ctlr_access(s, write, val);
	case ICC_REG(12, 12, 6): return grpen_access(v, 0, write, val);
	case ICC_REG(12, 12, 7): return grpen_access(v, 1, write, val);
	case ICC_REG(12, 8, 1):
	case ICC_REG(12, 12, 1):
		if (write)
			vgic_soft_eoi(v, *val & 0xffffff);
		return write;
	}
	return !write && soft_read_only(v, reg, val);
}

bool vgic_icc_access(struct vcpu *v, u32 reg, bool write, u64 *val)
{
	struct vgic *g = v->vm->arch.vgic;

	if (g->model != VGIC_MODEL_V3)
		return false;
	switch (reg) {
	case ICC_REG(12, 11, 7):
		if (write)
			vgic_icc_sgi(v, *val, false);
		return write;
	case ICC_REG(12, 11, 6):
		return write; /* ICC_ASGI1R_EL1: there is no other security state */
	case ICC_REG(12, 11, 1):
		if (write && (*val & 0xffffff) < VGIC_NR_INTIDS)
			vgic_deactivate(g, v, v, *val & 0xffffff);
		return write;
	}
	return g->soft && soft_access(v, reg, write, val);
}
