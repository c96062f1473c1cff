/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPU interface in software, for VMs whose interrupts are not emulated with list registers
 * (irqchip=external): the state words are the same, acknowledging and ending are done here, and the
 * line to the vCPU is HCR_EL2.VI or VF. All priority bits are group priority: the binary point is
 * kept for the guest to read back. The host GIC is never touched from here.
 */
#include "vgic.h"

#include <asm/sysreg.h>

#include "../timer/arm_vtimer.h"

static u32 group_of(u32 word)
{
	return word & VIRQ_GROUP1 ? 2 : 1;
}

u32 vgic_soft_running(struct vcpu *v)
{
	u32 apr = v->arch.vgic.soft.apr;

	return apr ? (u32)__builtin_ctz(apr) : VGIC_PRIO_IDLE;
}

/* The best deliverable interrupt of these groups, whatever runs; INTID_NONE. Cleans the queue. */
static u32 best_pending(struct vcpu *v, u32 groups, u32 *best_word)
{
	struct vgic *g = v->vm->arch.vgic;
	u32 best = INTID_NONE;

	*best_word = VIRQ_PRIO_MASK << VIRQ_PRIO_SHIFT;
	for (u32 w = 0; w < VGIC_WORDS; w++) {
		for (u64 map = v->arch.vgic.queue[w]; map; map &= map - 1) {
			u32 intid = w * 64 + __builtin_ctzl(map);
			u32 word = READ_ONCE(*vgic_word(g, v, intid));

			if (!virq_concerns(intid, word, v) || !virq_deliverable(g, word)) {
				v->arch.vgic.queue[w] &= ~BIT(intid % 64);
			} else if (!(word & VIRQ_ACTIVE) && (group_of(word) & groups) &&
				   (best == INTID_NONE || virq_prio(word) < virq_prio(*best_word))) {
				best = intid;
				*best_word = word;
			}
		}
	}
	return best;
}

/* The one that would be acknowledged now. */
static u32 signalled(struct vcpu *v, u32 groups, u32 *word)
{
	struct vgic_soft *s = &v->arch.vgic.soft;
	u32 intid = best_pending(v, groups & s->grpen, word);

	if (intid == INTID_NONE || virq_prio(*word) << 3 >= s->pmr ||
	    virq_prio(*word) >= vgic_soft_running(v))
		return INTID_NONE;
	return intid;
}

void vgic_soft_update(struct vcpu *v)
{
	struct vgic_soft *s = &v->arch.vgic.soft;
	u32 word, intid = signalled(v, 3, &word);
	bool is_fiq = v->vm->arch.vgic->model == VGIC_MODEL_V3 && !(word & VIRQ_GROUP1);
	u64 hcr = v->arch.hcr & ~(HCR_VI | HCR_VF);

	v->arch.vgic.dirty = false;
	if (intid != INTID_NONE)
		hcr |= is_fiq ? HCR_VF : HCR_VI;
	s->irq = hcr & HCR_VI;
	s->fiq = hcr & HCR_VF;
	if (hcr == v->arch.hcr)
		return;
	v->arch.hcr = hcr;
	write_sysreg(hcr, hcr_el2);
}

void vgic_soft_load(struct vcpu *v)
{
	/* Every access to the CPU interface traps, where the guest's model has system registers. */
	if (vgic_hw.write_hcr && v->vm->arch.vgic->model == VGIC_MODEL_V3)
		vgic_hw.write_hcr(VGIC_HCR_TC | VGIC_HCR_TALL0 | VGIC_HCR_TALL1);
	vgic_soft_update(v);
}

void vgic_soft_put(struct vcpu *v)
{
	/* A virtual line left high would keep a CPU from idling. */
	write_sysreg(v->arch.hcr & ~(HCR_VI | HCR_VF), hcr_el2);
	if (vgic_hw.write_hcr)
		vgic_hw.write_hcr(0);
}

u32 vgic_soft_highest(struct vcpu *v, u32 groups)
{
	u32 word;

	return best_pending(v, groups, &word);
}

/* GICv2: the IAR names who asked; the others keep the SGI pending. */
static u32 take_source(struct vcpu *v, u32 intid)
{
	u8 *map = &v->arch.vgic.sgi_source[intid];
	u32 left = READ_ONCE(*map), source = left ? (u32)__builtin_ctz(left) : 0;

	left = atomic_fetch_and_full(map, (u8)~BIT32(source)) & ~BIT32(source);
	if (left) /* pairs with vgic_sgi(): source first, then the word */
		atomic_fetch_or_full(&v->arch.vgic.irq[intid], VIRQ_PENDING);
	return source << 10;
}

u32 vgic_soft_ack(struct vcpu *v, u32 groups)
{
	struct vgic *g = v->vm->arch.vgic;
	u32 word, intid = signalled(v, groups, &word), next, iar = intid;

	if (intid == INTID_NONE)
		return INTID_NONE;
	do {
		if (!virq_deliverable(g, word))
			return INTID_NONE;
		next = (word & ~(VIRQ_PENDING | VIRQ_VCPU_MASK << VIRQ_HOLDER_SHIFT)) |
		       VIRQ_ACTIVE | v->id << VIRQ_HOLDER_SHIFT;
	} while (!atomic_cmpxchg_full(vgic_word(g, v, intid), &word, next)); /* vgic_post() */
	v->arch.vgic.soft.apr |= BIT32(virq_prio(word));
	v->guest_ticks += is_guest_timer(intid);
	if (g->model == VGIC_MODEL_V2 && intid < VGIC_NR_SGIS)
		iar |= take_source(v, intid);
	vgic_soft_update(v);
	return iar;
}

void vgic_soft_eoi(struct vcpu *v, u32 intid)
{
	struct vgic_soft *s = &v->arch.vgic.soft;

	if (intid >= VGIC_NR_INTIDS)
		return;
	s->apr &= s->apr - 1;
	if (!s->eoimode)
		vgic_deactivate(v->vm->arch.vgic, v, v, intid);
	v->arch.vgic.dirty = true;
}
