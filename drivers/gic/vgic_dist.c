/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The distributor registers that every frame shares (GICv2 and GICv3 distributor, SGI frame of a
 * redistributor): one bit, two bits or a byte an interrupt. Reserved registers read as zero and
 * ignore writes; nothing a guest writes here may reach the host GIC but through the HW interrupts.
 */
#include "vgic.h"

#include <cupel/abi.h>

#include "../timer/arm_vtimer.h"

static u32 *word_of(const struct vgic_frame *f, u32 intid)
{
	return vgic_word(f->g, f->owner, intid);
}

/* Clear `clear` and set `set` in one word; the word as it is then. */
static u32 change(u32 *word, u32 clear, u32 set)
{
	u32 old = READ_ONCE(*word);

	/* Pairs with the owner's cmpxchg in vgic_lr.c and every poster's. */
	while (!atomic_cmpxchg_full(word, &old, (old & ~clear) | set))
		;
	return (old & ~clear) | set;
}

/* Bring live state into the words of private interrupts: the timers' lines are alive as well. */
static bool peek_private(const struct vgic_frame *f)
{
	if (!vgic_peek(f->self, f->owner))
		return false;
	if (f->self == f->owner)
		vtimer_sync_lines(f->self);
	return true;
}

/* Bring live state into the words of 32 interrupts; false: run the instruction again. */
static bool peek(const struct vgic_frame *f, u32 first)
{
	if (first < VGIC_NR_PRIVATE)
		return peek_private(f);
	for (u32 i = first; i < first + 32; i++) {
		u32 word = READ_ONCE(*word_of(f, i));

		if ((word & VIRQ_LISTED) && !vgic_peek(f->self, f->g->vm->vcpu[virq_holder(word)]))
			return false;
	}
	return true;
}

static u64 gather(const struct vgic_frame *f, u32 first, u32 bits)
{
	u64 val = 0;

	for (u32 i = 0; i < 32; i++)
		val |= (u64) !!(READ_ONCE(*word_of(f, first + i)) & bits) << i;
	return val;
}

static u32 *enabled_of(const struct vgic_frame *f, u32 first)
{
	return first ? &f->g->enabled[first / 32] : &f->owner->arch.vgic.enabled;
}

/* Notify whoever an interrupt concerns if it can be delivered, or if its list register is stale. */
static void look_again(const struct vgic_frame *f, u32 intid, u32 word)
{
	if ((word & VIRQ_LISTED) || virq_deliverable(f->g, word))
		vgic_notify(f->g, f->owner, intid, word);
}

#define for_each_bit(i, val, map) \
	for (u32 map = (u32)(val), i; map && ((i = __builtin_ctz(map)), true); map &= map - 1)

static void access_group(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	if (!a->write) {
		a->value = gather(f, first, VIRQ_GROUP1);
		return;
	}
	spin_lock(&f->g->lock);
	for (u32 i = 0; i < 32; i++) {
		u32 set = a->value >> i & 1 ? VIRQ_GROUP1 : 0;

		look_again(f, first + i, change(word_of(f, first + i), VIRQ_GROUP1, set));
	}
	spin_unlock(&f->g->lock);
}

static __noinline void write_enable(const struct vgic_frame *f, u32 first, u32 val)
{
	u32 *enabled = enabled_of(f, first);

	/* What is enabled now must not be what a timer wanted long ago. */
	if (!first && !peek(f, first))
		return;
	vgic_peek_end(f->self);
	spin_lock(&f->g->lock);
	WRITE_ONCE(*enabled, *enabled | val);
	if (first)
		vgic_spis_in_use(f->g);
	for_each_bit(i, val, map) vgic_set_bits(f->g, f->owner, first + i, VIRQ_ENABLED);
	spin_unlock(&f->g->lock);
}

static void access_enable(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	if (a->write)
		write_enable(f, first, (u32)a->value);
	else
		a->value = READ_ONCE(*enabled_of(f, first));
}

static void access_disable(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	u32 *enabled = enabled_of(f, first);

	if (!a->write) {
		a->value = READ_ONCE(*enabled);
		return;
	}
	spin_lock(&f->g->lock);
	WRITE_ONCE(*enabled, *enabled & ~(u32)a->value);
	for_each_bit(i, a->value, map)
		look_again(f, first + i, change(word_of(f, first + i), VIRQ_ENABLED, 0));
	spin_unlock(&f->g->lock);
}

static u64 gather_pending(const struct vgic_frame *f, u32 first)
{
	u64 val = 0;

	for (u32 i = 0; i < 32; i++) {
		u32 word = READ_ONCE(*word_of(f, first + i));

		if (virq_pending(word) ||
		    (word & (VIRQ_LISTED | VIRQ_LRPEND)) == (VIRQ_LISTED | VIRQ_LRPEND))
			val |= BIT(i);
	}
	return val;
}

/* GICv2 SGIs have registers of their own for this (IHI 0048 4.3.7). */
static u64 settable(const struct vgic_frame *f, u32 first, u64 val)
{
	return f->g->model == VGIC_MODEL_V2 && !first ? val & ~0xffffUL : val;
}

/* True: the access was a read, or must be tried again; there is nothing left to do. */
static bool pending_is_read(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	if (!peek(f, first))
		return true;
	vgic_peek_end(f->self);
	if (!a->write)
		a->value = gather_pending(f, first);
	return !a->write;
}

static void access_set_pending(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	if (pending_is_read(f, first, a))
		return;
	for_each_bit(i, settable(f, first, a->value), map)
		vgic_set_bits(f->g, f->owner, first + i, VIRQ_PENDING);
}

static void access_clear_pending(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	if (pending_is_read(f, first, a))
		return;
	for_each_bit(i, settable(f, first, a->value), map)
		look_again(f, first + i, change(word_of(f, first + i), VIRQ_PENDING, 0));
}

static void set_active(const struct vgic_frame *f, u32 intid)
{
	u32 *word = word_of(f, intid), old = READ_ONCE(*word), holder;

	if (old & VIRQ_ACTIVE)
		return;
	holder = intid < VGIC_NR_PRIVATE ? f->owner->id : virq_target(old);
	if (holder >= f->g->vm->nr_vcpus)
		return;
	old = change(word, VIRQ_VCPU_MASK << VIRQ_HOLDER_SHIFT,
		     VIRQ_ACTIVE | holder << VIRQ_HOLDER_SHIFT);
	if ((old & VIRQ_HW) && f->owner == f->self)
		vgic_hw_set_active(f->self, intid, true);
	vgic_notify(f->g, f->owner, intid, old);
}

static void access_set_active(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	if (!peek(f, first))
		return;
	vgic_peek_end(f->self);
	if (!a->write) {
		a->value = gather(f, first, VIRQ_ACTIVE);
		return;
	}
	for_each_bit(i, a->value, map) set_active(f, first + i);
}

static void access_clear_active(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	if (!peek(f, first))
		return;
	vgic_peek_end(f->self);
	if (!a->write) {
		a->value = gather(f, first, VIRQ_ACTIVE);
		return;
	}
	for_each_bit(i, a->value, map) vgic_deactivate(f->g, f->self, f->owner, first + i);
}

static void access_priority(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	u64 val = 0;

	if (a->write)
		spin_lock(&f->g->lock);
	for (u32 i = 0; i < a->size; i++) {
		u32 *word = word_of(f, first + i);
		u32 prio = a->value >> (8 * i + 3) & VIRQ_PRIO_MASK;

		if (a->write)
			look_again(f, first + i,
				   change(word, VIRQ_PRIO_MASK << VIRQ_PRIO_SHIFT,
					  prio << VIRQ_PRIO_SHIFT));
		val |= (u64)virq_prio(READ_ONCE(*word)) << (8 * i + 3);
	}
	if (a->write)
		spin_unlock(&f->g->lock);
	a->value = val;
}

/*
 * Two bits an interrupt; only the upper one means something. SGIs are edges, timers are levels; that of
 * event channels is a latch which reads as the level that the device tree announces.
 */
static bool is_upcall(const struct vgic_frame *f, u32 intid)
{
	return intid == GUEST_ARM64_XEN_INTID && f->g->vm->config.xen;
}

static bool trigger_is_fixed(const struct vgic_frame *f, u32 intid)
{
	return intid < VGIC_NR_SGIS || is_guest_timer(intid) || is_upcall(f, intid);
}

static void access_config(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	u64 val = 0;

	if (a->write)
		spin_lock(&f->g->lock);
	for (u32 i = 0; i < 16; i++) {
		u32 *word = word_of(f, first + i);
		bool edge = a->value >> (2 * i + 1) & 1;

		if (a->write && !trigger_is_fixed(f, first + i))
			change(word, VIRQ_EDGE, edge ? VIRQ_EDGE : 0);
		if ((READ_ONCE(*word) & VIRQ_EDGE) && !is_upcall(f, first + i))
			val |= 2UL << 2 * i;
	}
	if (a->write)
		spin_unlock(&f->g->lock);
	a->value = val;
}

void vgic_set_target(struct vgic *g, u32 intid, u32 target)
{
	const struct vgic_frame f = { g, NULL, NULL };
	u32 word = change(word_of(&f, intid), VIRQ_VCPU_MASK << VIRQ_TARGET_SHIFT,
			  target << VIRQ_TARGET_SHIFT);

	look_again(&f, intid, word);
}

/* GICv2: a byte with a bit for each vCPU (IHI 0048 4.3.12). */
static void access_targets(const struct vgic_frame *f, u32 first, struct mmio_access *a)
{
	u32 present = (u32)BIT(min(f->g->vm->nr_vcpus, 8U)) - 1;
	u64 val = 0;

	if (f->g->model != VGIC_MODEL_V2) {
		a->value = 0;
		return;
	}
	spin_lock(&f->g->lock);
	for (u32 i = 0; i < a->size; i++) {
		u32 intid = first + i, map = a->value >> 8 * i & present;

		if (a->write && intid >= VGIC_NR_PRIVATE) {
			f->g->route[intid] = map;
			vgic_set_target(f->g, intid, map ? (u32)__builtin_ctz(map) : VIRQ_VCPU_MASK);
		}
		val |= (intid < VGIC_NR_PRIVATE ? BIT(f->owner->id) : f->g->route[intid]) << 8 * i;
	}
	spin_unlock(&f->g->lock);
	a->value = val;
}

/* A run of registers; INTID 0 is at a multiple of its size. */
struct bank {
	void (*access)(const struct vgic_frame *f, u32 first, struct mmio_access *a);
	u16 mask; /* size - 1 */
	u8 shift; /* from bytes to interrupts */
	u8 sizes; /* bit map of 1, 2 and 4: only bytes may be accessed alone (IHI 0069 12.1.3) */
};
#define BITS(fn)  { fn, 0x7f, 3, 4 }
#define PAIRS(fn) { fn, 0xff, 2, 4 }
#define BYTES(fn) { fn, 0x3ff, 0, 1 | 2 | 4 }

/* By offset / 0x80 (IHI 0069 12.8, IHI 0048 4.1.2). */
static const struct bank banks[VGIC_COMMON_END / 0x80] = {
	[1] = BITS(access_group),
	[2] = BITS(access_enable),
	[3] = BITS(access_disable),
	[4] = BITS(access_set_pending),
	[5] = BITS(access_clear_pending),
	[6] = BITS(access_set_active),
	[7] = BITS(access_clear_active),
	[8 ... 15] = BYTES(access_priority),
	[16 ... 23] = BYTES(access_targets),
	[24 ... 25] = PAIRS(access_config),
};

bool vgic_common_access(struct vcpu *self, struct vcpu *owner, u32 low, u32 count,
			struct mmio_access *a)
{
	struct vgic_frame *f = &self->arch.vgic.frame;
	const struct bank *b = &banks[a->offset / 0x80];
	u32 first = (u32)(a->offset & b->mask) << b->shift;

	if (unlikely(!(a->size & b->sizes) || first - low >= count)) {
		a->value = 0;
		return true;
	}
	*f = (struct vgic_frame){ self->vm->arch.vgic, self, owner };
	b->access(f, first, a);
	return true;
}

void vgic_set_ctlr(struct vgic *g, u32 enables)
{
	u32 old = READ_ONCE(g->ctlr);

	WRITE_ONCE(g->ctlr, enables);
	if (old != enables)
		vgic_rescan(g);
}

void vgic_sgi(struct vgic *g, struct vcpu *target, u32 intid, u32 source)
{
	struct vgic_cpu *c = &target->arch.vgic;

	if (g->model == VGIC_MODEL_V2)
		/* Before the word: pairs with whoever takes a source and looks for more. */
		atomic_fetch_or_full(&c->sgi_source[intid], BIT32(source));
	vgic_set_bits(g, target, intid, VIRQ_PENDING);
}
