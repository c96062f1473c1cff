/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * List registers: what is deliverable or active goes into them, best first; what does not fit stays
 * in the words, and the maintenance interrupt says when there is room again. Only the owner of a
 * loaded vCPU comes here, with interrupts off.
 *
 * While something is left out (`overflow`):
 *  - pending and left out: NPIE, an exit when no list register is pending any more;
 *  - active and left out: the end of it finds no list register and counts in EOIcount; LRENPIE makes
 *    that an exit, and the interrupt of highest priority among those left out is the one that ended,
 *    since a CPU interface nests by priority. With EOImode = 1 ICC_DIR_EL1 traps and names it.
 */
#include "vgic.h"

#include <asm/sysreg.h>

#include "../timer/arm_vtimer.h"

/* The first list register does most of the work; the others are reached by a table. */
static inline void lr_write(u32 lr, u64 val)
{
	if (likely(vgic_hw.sysregs && !lr))
		write_sysreg(val, SYS_ICH_LR0);
	else
		vgic_hw.write_lr(lr, val);
}

static u64 *queue_of(struct vcpu *v, u32 intid)
{
	return &v->arch.vgic.queue[intid / 64];
}

/* The first queued INTID from `from` on; VGIC_NR_INTIDS: none. */
static u32 next_queued(struct vcpu *v, u32 from)
{
	for (u32 w = from / 64; w < VGIC_WORDS; w++, from = 0) {
		u64 map = v->arch.vgic.queue[w] & ~0UL << from % 64;

		if (map)
			return w * 64 + __builtin_ctzl(map);
	}
	return VGIC_NR_INTIDS;
}

#define for_each_queued(v, intid)                                   \
	for (u32 intid = next_queued(v, 0); intid < VGIC_NR_INTIDS; \
	     intid = next_queued(v, intid + 1))

/* GICv2: an SGI comes from somebody, and that somebody is part of it. */
static bool has_source(struct vgic *g, u32 intid)
{
	return g->model == VGIC_MODEL_V2 && intid < VGIC_NR_SGIS;
}

/* Has v to keep it in view: it is active here, or can be delivered? */
static bool wanted(struct vgic *g, struct vcpu *v, u32 intid, u32 word)
{
	return virq_concerns(intid, word, v) && ((word & VIRQ_ACTIVE) || virq_deliverable(g, word));
}

/* The word after its list register read `val`. */
static u32 unlisted(u32 word, u64 val)
{
	word &= ~(VIRQ_LISTED | VIRQ_ACTIVE | VIRQ_LRPEND);
	if (val & LR_ACTIVE)
		word |= VIRQ_ACTIVE;
	if (word & VIRQ_EDGE)
		return val & LR_PENDING ? word | VIRQ_PENDING : word;
	if (!(val & LR_PENDING)) {
		word &= ~VIRQ_PENDING; /* the guest took it */
		/* The guest deactivated the host's interrupt too: it comes again if the line is high. */
		if ((word & VIRQ_HW) && !(val & LR_ACTIVE))
			word &= ~VIRQ_LINE;
	}
	return word;
}

static void fold_lr(struct vcpu *v, u32 lr, u64 val)
{
	struct vgic *g = v->vm->arch.vgic;
	struct vgic_cpu *c = &v->arch.vgic;
	u32 intid = c->lr_intid[lr];
	u32 *word = vgic_word(g, v, intid);
	u32 old = READ_ONCE(*word);

	c->lr_used &= ~BIT32(lr);
	if ((val & LR_PENDING) && is_guest_timer(intid))
		v->guest_ticks--; /* not taken: counted again when it is listed again */
	if (has_source(g, intid) && (val & LR_ACTIVE))
		c->sgi_active[intid] = val >> LR_CPUID_SHIFT & 7;
	else if (has_source(g, intid) && (val & LR_PENDING))
		atomic_fetch_or_full(&c->sgi_source[intid], BIT32(val >> LR_CPUID_SHIFT & 7));
	/* Full: a poster sees LISTED gone, or this sees what it posted. Pairs with vgic_post(). */
	while (!atomic_cmpxchg_full(word, &old, unlisted(old, val)))
		;
	old = unlisted(old, val);
	if (wanted(g, v, intid, old))
		*queue_of(v, intid) |= BIT(intid % 64);
	else if (virq_deliverable(g, old))
		vgic_notify(g, v, intid, old); /* an SPI that was routed away meanwhile */
}

/* An interrupt left out ended: it is the one of highest priority that is active. */
static void end_of_unlisted(struct vcpu *v)
{
	struct vgic *g = v->vm->arch.vgic;
	u32 best = 0, best_prio = VGIC_PRIO_IDLE;

	for_each_queued(v, intid)
	{
		u32 word = READ_ONCE(*vgic_word(g, v, intid));

		if ((word & (VIRQ_ACTIVE | VIRQ_LISTED)) == VIRQ_ACTIVE &&
		    virq_concerns(intid, word, v) && virq_prio(word) < best_prio) {
			best = intid;
			best_prio = virq_prio(word);
		}
	}
	if (best_prio != VGIC_PRIO_IDLE)
		vgic_deactivate(g, v, v, best);
}

void vgic_lr_sync(struct vcpu *v)
{
	struct vgic_cpu *c = &v->arch.vgic;
	u32 ended = 0;

	if (c->overflow) {
		ended = vgic_hw.read_hcr() >> VGIC_HCR_EOICOUNT_SHIFT & 0x1f;
		/* With EOImode = 1 the end is the write that trapped; QEMU counts the drop as well. */
		if (ended && vgic_hw.tdir && (vgic_hw.read_vmcr() & VMCR_VEOIM))
			ended = 0;
		c->hcr = VGIC_HCR_EN;
		vgic_hw.write_hcr(c->hcr);
	}
	for (u32 map = c->lr_used; map; map &= map - 1) {
		u32 lr = __builtin_ctz(map);

		fold_lr(v, lr, vgic_hw.read_lr(lr));
		vgic_hw.write_lr(lr, 0);
	}
	while (ended--)
		end_of_unlisted(v);
	WRITE_ONCE(c->syncs, c->syncs + 1);
}

/* Pending, and nothing else. */
static inline u64 fresh_lr_value(const struct vgic_cpu *c, u32 intid, u32 word)
{
	u64 val = intid | (u64)virq_prio(word) << LR_PRIO_SHIFT | LR_PENDING;

	if (word & VIRQ_GROUP1)
		val |= LR_GROUP1;
	if (word & VIRQ_HW)
		return val | LR_HW | (u64)c->hw_intid[intid] << LR_PINTID_SHIFT;
	/* A line is looked at again when the interrupt ends. */
	return word & VIRQ_EDGE ? val : val | LR_EOI;
}

static u64 lr_value(struct vgic *g, struct vcpu *v, u32 intid, u32 word)
{
	u64 val = fresh_lr_value(&v->arch.vgic, intid, word);

	if (!(word & VIRQ_ACTIVE))
		return val;
	/* Active and pending at once: never for a host interrupt, and a line shows at the end. */
	if ((word & VIRQ_HW) || !(word & VIRQ_PENDING) || !virq_deliverable(g, word))
		val &= ~LR_PENDING;
	return val | LR_ACTIVE;
}

/* GICv2: an SGI in flight has one source; the others keep it pending until this one ends. */
static u64 sgi_lr_value(struct vcpu *v, u32 intid, u64 val)
{
	u8 *map = &v->arch.vgic.sgi_source[intid];
	u32 source = v->arch.vgic.sgi_active[intid], left = READ_ONCE(*map);

	if (!(val & LR_ACTIVE) && left) {
		source = __builtin_ctz(left);
		left = atomic_fetch_and_full(map, (u8)~BIT32(source)) & ~BIT32(source);
	}
	if (left) /* pairs with the posts of vgic_sgi(): source first, then the word */
		atomic_fetch_or_full(&v->arch.vgic.irq[intid], VIRQ_PENDING);
	return (val & ~LR_PENDING) | (val & LR_ACTIVE ? 0 : LR_PENDING) | LR_EOI |
	       (u64)source << LR_CPUID_SHIFT;
}

/* The word of an interrupt that goes into one of v's list registers as `val`. */
static inline u32 listed(struct vcpu *v, u32 word, u64 val)
{
	word = (word | VIRQ_LISTED) & ~(VIRQ_VCPU_MASK << VIRQ_HOLDER_SHIFT);
	word |= v->id << VIRQ_HOLDER_SHIFT;
	if (!(val & LR_PENDING))
		return word;
	return (word & VIRQ_EDGE ? word & ~VIRQ_PENDING : word) | VIRQ_LRPEND;
}

static inline void fill_lr(struct vcpu *v, u32 lr, u32 intid, u64 val)
{
	v->arch.vgic.lr_used |= BIT32(lr);
	v->arch.vgic.lr_intid[lr] = (u16)intid;
	if ((val & LR_PENDING) && is_guest_timer(intid))
		v->guest_ticks++;
	lr_write(lr, val);
}

static void list(struct vcpu *v, u32 lr, u32 intid)
{
	struct vgic *g = v->vm->arch.vgic;
	u32 *word = vgic_word(g, v, intid);
	u32 old = READ_ONCE(*word);
	u64 val;

	do {
		if (!wanted(g, v, intid, old))
			return;
		val = lr_value(g, v, intid, old);
	} while (!atomic_cmpxchg_full(word, &old, listed(v, old, val))); /* vgic_post() */
	if (has_source(g, intid))
		val = sgi_lr_value(v, intid, val);
	fill_lr(v, lr, intid, val);
}

/* The list register that holds an interrupt, or did when last looked at; -1: none. */
static int find_lr(const struct vgic_cpu *c, u32 intid)
{
	for (u32 map = c->lr_used; map; map &= map - 1)
		if (c->lr_intid[__builtin_ctz(map)] == intid)
			return __builtin_ctz(map);
	return -1;
}

/*
 * Where a private interrupt can go without a look at any other: the list register it had, if that has
 * ended unseen, or an unused one; -1: there is more to it.
 */
static inline int place_for(const struct vgic_cpu *c, u32 intid, u32 word)
{
	u32 spare = ~c->lr_used & (u32)(BIT(vgic_hw.nr_lrs) - 1);
	int lr;

	if (unlikely(c->overflow || !vgic_hw.sysregs))
		return -1;
	if (!(word & VIRQ_LISTED))
		return spare ? __builtin_ctz(spare) : -1;
	lr = find_lr(c, intid);
	return lr >= 0 && read_sysreg(SYS_ICH_ELRSR) >> lr & 1 ? lr : -1;
}

/* What becomes of the word of a private interrupt that is pending and goes into a list register. */
static inline u32 freshly_listed(u32 word)
{
	return (word & VIRQ_EDGE ? word & ~VIRQ_PENDING : word) | VIRQ_LISTED | VIRQ_LRPEND;
}

/* The long way; here too the end of the last one must not take this one along. */
static __noinline void post_and_queue(struct vcpu *v, u32 intid, u32 bits)
{
	int lr = -1;

	if (READ_ONCE(v->arch.vgic.irq[intid]) & VIRQ_LISTED)
		lr = find_lr(&v->arch.vgic, intid);
	if (lr >= 0 && !(vgic_hw.read_lr((u32)lr) & (LR_PENDING | LR_ACTIVE)))
		fold_lr(v, (u32)lr, 0);
	vgic_post(v->vm->arch.vgic, v, intid, bits);
}

/* No call but the last one: this is on the way of every tick. */
void vgic_lr_post(struct vcpu *v, u32 intid, u32 bits)
{
	struct vgic *g = v->vm->arch.vgic;
	struct vgic_cpu *c = &v->arch.vgic;
	u32 *word = &c->irq[intid];
	u32 old = READ_ONCE(*word), now;
	int lr = place_for(c, intid, old);

	do {
		/* The end of the last one must not take this one along. */
		now = (old & VIRQ_LISTED ? unlisted(old, 0) : old) | bits;
		if (unlikely(lr < 0 || (now & VIRQ_ACTIVE) || !virq_deliverable(g, now))) {
			post_and_queue(v, intid, bits);
			return;
		}
	} while (!atomic_cmpxchg_full(word, &old, freshly_listed(now))); /* vgic_post() */
	fill_lr(v, (u32)lr, intid, fresh_lr_value(c, intid, now));
}

/* Leave a listed interrupt as it is? */
static bool still_right(struct vgic *g, const struct vgic_cpu *c, u32 intid, u32 word, u64 val)
{
	if (!(val & (LR_ACTIVE | LR_PENDING)))
		return false;
	if (has_source(g, intid)) /* looked at again when it ends */
		return (val & LR_ACTIVE) || (word & VIRQ_ENABLED);
	/* Posted again: that goes in, whether it makes a difference or not. */
	if ((word & VIRQ_EDGE) && (word & VIRQ_PENDING))
		return false;
	if (val & LR_ACTIVE)
		return true;
	/* Pending as before, with the priority and the group it has now. */
	return (word & VIRQ_ENABLED) && ((word & VIRQ_EDGE) || virq_pending(word)) &&
	       val == fresh_lr_value(c, intid, word);
}

/* A listed interrupt was posted again, or changed its configuration. */
static void update_listed(struct vcpu *v, u32 intid, u32 word)
{
	struct vgic *g = v->vm->arch.vgic;
	int found = find_lr(&v->arch.vgic, intid);
	u32 lr = (u32)found;
	u64 val;

	if (found < 0)
		return;
	val = vgic_hw.read_lr(lr);
	if (still_right(g, &v->arch.vgic, intid, word, val))
		return;
	fold_lr(v, lr, val);
	vgic_hw.write_lr(lr, 0);
	word = READ_ONCE(*vgic_word(g, v, intid));
	if (wanted(g, v, intid, word))
		list(v, lr, intid);
}

/* An empty list register, or -1. */
static int free_lr(struct vcpu *v)
{
	struct vgic_cpu *c = &v->arch.vgic;
	u32 all = (u32)(BIT(vgic_hw.nr_lrs) - 1);

	if (c->lr_used == all)
		for (u32 done = (u32)vgic_hw.empty() & all; done; done &= done - 1)
			fold_lr(v, __builtin_ctz(done), 0);
	return c->lr_used == all ? -1 : __builtin_ctz(~c->lr_used);
}

/* One pass over the queue. False: no list register left. */
static bool refill_word(struct vcpu *v, u32 w)
{
	struct vgic *g = v->vm->arch.vgic;
	u64 *queue = &v->arch.vgic.queue[w];

	while (*queue) {
		u32 intid = w * 64 + __builtin_ctzl(*queue);
		u32 word = READ_ONCE(*vgic_word(g, v, intid));
		int lr;

		if ((word & VIRQ_LISTED) && virq_concerns(intid, word, v)) {
			*queue &= *queue - 1;
			update_listed(v, intid, word);
			continue;
		}
		if (!wanted(g, v, intid, word)) {
			*queue &= *queue - 1;
			continue;
		}
		lr = free_lr(v);
		if (lr < 0)
			return false;
		*queue &= ~BIT(intid % 64);
		list(v, lr, intid);
	}
	return true;
}

/* Lower is better: pending ones by priority, then active ones by priority. */
static u32 rank(struct vgic *g, u32 word)
{
	bool fresh = virq_deliverable(g, word) && !(word & VIRQ_ACTIVE);

	return virq_prio(word) + (fresh ? 0 : 32);
}

static int best_queued(struct vcpu *v, u32 *best_rank)
{
	struct vgic *g = v->vm->arch.vgic;
	int best = -1;

	*best_rank = ~0U;
	for_each_queued(v, intid)
	{
		u32 word = READ_ONCE(*vgic_word(g, v, intid));

		if (!wanted(g, v, intid, word)) {
			*queue_of(v, intid) &= ~BIT(intid % 64);
		} else if (rank(g, word) < *best_rank) {
			*best_rank = rank(g, word);
			best = (int)intid;
		}
	}
	return best;
}

/* SPIs may end on another vCPU than took them: then the end has to name its interrupt. */
void vgic_spis_in_use(struct vgic *g)
{
	WRITE_ONCE(g->spis, true);
	if (vgic_hw.tdir && g->vm->nr_vcpus > 1)
		WRITE_ONCE(g->hcr, VGIC_HCR_EN | VGIC_HCR_TDIR);
}

static void set_hcr(struct vgic_cpu *c, u64 hcr)
{
	if (c->hcr == hcr)
		return;
	c->hcr = hcr;
	vgic_hw.write_hcr(hcr);
}

/* More in flight than list registers: take all back and put the best in. */
static void refill_best(struct vcpu *v)
{
	struct vgic *g = v->vm->arch.vgic;
	struct vgic_cpu *c = &v->arch.vgic;
	u64 hcr;
	u32 left;
	int intid;

	vgic_lr_sync(v);
	for (u32 lr = 0; lr < vgic_hw.nr_lrs; lr++) {
		intid = best_queued(v, &left);
		if (intid < 0)
			break;
		*queue_of(v, (u32)intid) &= ~BIT(intid % 64);
		list(v, lr, (u32)intid);
	}
	c->overflow = best_queued(v, &left) >= 0;
	hcr = READ_ONCE(g->hcr);
	if (c->overflow)
		hcr |= VGIC_HCR_LRENPIE | (vgic_hw.tdir ? VGIC_HCR_TDIR : 0) |
		       (left < 32 ? VGIC_HCR_NPIE : 0);
	set_hcr(c, hcr);
}

void vgic_lr_none_queued(struct vcpu *v)
{
	struct vgic_cpu *c = &v->arch.vgic;

	c->dirty = false;
	c->overflow = false;
	set_hcr(c, READ_ONCE(v->vm->arch.vgic->hcr));
}

void vgic_lr_refill(struct vcpu *v)
{
	struct vgic_cpu *c = &v->arch.vgic;

	c->dirty = false;
	if (unlikely(c->overflow)) {
		refill_best(v);
		return;
	}
	for (u32 w = 0; w < VGIC_WORDS; w++) {
		if (!refill_word(v, w)) {
			refill_best(v);
			return;
		}
	}
	set_hcr(c, READ_ONCE(v->vm->arch.vgic->hcr));
}

bool vgic_lr_pending(struct vcpu *v)
{
	struct vgic_cpu *c = &v->arch.vgic;

	if (!c->lr_used)
		return false;
	for (u32 map = c->lr_used & ~(u32)vgic_hw.empty(); map; map &= map - 1)
		if (vgic_hw.read_lr(__builtin_ctz(map)) & LR_PENDING)
			return true;
	return false;
}
