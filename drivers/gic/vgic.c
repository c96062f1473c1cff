/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's interrupt controller: state words, posting, and what is done with them at load and put.
 * Must never take a lock on the way from a poster to a vCPU, nor wait for another CPU.
 */
#include "vgic.h"

#include <cupel/abi.h>
#include <cupel/config.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <string.h>

#include "../timer/arm_vtimer.h"

struct vgic_hw vgic_hw;

DEFINE_PER_CPU(struct vcpu *, guest_current);

void vgic_cpu_init(void)
{
	if (platform.gic.kind == GIC_V3)
		vgic_v3_cpu_init();
	else
		vgic_v2_cpu_init();
	/* For a machine on which they reach no CPU, as on QEMU 10.0's imx8mp-evk. */
	if (unlikely(cmdline_get("arm64.no-lrs") != NULL))
		vgic_hw.nr_lrs = 0;
}

/*
 * An end of interrupt has to be seen to, or there is room again. What asked is taken away here, so that
 * the level falls before the host ends its interrupt; the exit path refills.
 */
static void maintenance(struct irq_desc *d, void *arg)
{
	struct vcpu *v = this_cpu(guest_current);

	if (!v || v->vm->arch.vgic->soft)
		return;
	vgic_lr_sync(v);
	v->arch.vgic.dirty = true;
}

void vgic_maintenance_init(void)
{
	u32 irq = platform.gic.maint_intid;

	if (!irq)
		return;
	if (!cpu_id() && irq_request(irq, maintenance, NULL))
		printk("vgic: maintenance interrupt %u is taken\n", irq);
	irq_enable(irq);
}

void vgic_notify(struct vgic *g, struct vcpu *v, u32 intid, u32 word)
{
	u32 target = word & (VIRQ_LISTED | VIRQ_ACTIVE) ? virq_holder(word) : virq_target(word);

	if (intid >= VGIC_NR_PRIVATE)
		v = target < g->vm->nr_vcpus ? g->vm->vcpu[target] : NULL;
	if (!v)
		return;
	if (v == this_cpu(guest_current)) {
		vgic_queue(v, intid);
		return;
	}
	/* The word was written before: pairs with the acquire in vgic_fold(). */
	atomic_fetch_or_release(&v->arch.vgic.posted[intid / 64], BIT(intid % 64));
	vcpu_request(v, VCPU_REQ_EVENT);
}

void vgic_post(struct vgic *g, struct vcpu *v, u32 intid, u32 bits)
{
	/* Full: against the owner's cmpxchg in vgic_lr.c, one of the two sees the other. */
	u32 old = atomic_fetch_or_full(vgic_word(g, v, intid), bits);

	if ((old & bits) != bits && virq_deliverable(g, old | bits))
		vgic_notify(g, v, intid, old | bits);
}

void vgic_set_bits(struct vgic *g, struct vcpu *v, u32 intid, u32 bits)
{
	if (v && intid < VGIC_NR_PRIVATE && v == this_cpu(guest_current) && !g->soft)
		vgic_lr_post(v, intid, bits);
	else
		vgic_post(g, v, intid, bits);
}

void vgic_pend(struct vm *vm, struct vcpu *v, u32 intid)
{
	vgic_set_bits(vm->arch.vgic, v, intid, VIRQ_PENDING);
}

void vgic_set_line(struct vm *vm, struct vcpu *v, u32 intid, bool level)
{
	struct vgic *g = vm->arch.vgic;
	u32 *word = vgic_word(g, v, intid);
	u32 old = READ_ONCE(*word);

	if (level && (old & VIRQ_EDGE)) {
		vgic_set_bits(g, v, intid, VIRQ_PENDING);
	} else if (level) {
		vgic_set_bits(g, v, intid, VIRQ_LINE);
	} else if (old & VIRQ_LINE) {
		old = atomic_fetch_and_full(word, ~VIRQ_LINE);
		/* A line that fell takes its request back. */
		if ((old & VIRQ_LISTED) || g->soft)
			vgic_notify(g, v, intid, old);
	}
}

void vgic_map_hw(struct vcpu *v, u32 intid, u32 host_intid)
{
	v->arch.vgic.hw_intid[intid] = (u16)host_intid;
	atomic_fetch_or_full(&v->arch.vgic.irq[intid], VIRQ_HW);
}

static struct vtimer *hw_timer(struct vcpu *v, u32 intid)
{
	for (u32 i = 0; i < NR_TIMERS; i++)
		if (v->arch.timer[i].intid == intid && v->arch.timer[i].direct)
			return &v->arch.timer[i];
	return NULL;
}

void vgic_hw_set_active(struct vcpu *v, u32 intid, bool on)
{
	v->vm->set_active(hw_timer(v, intid)->desc, IRQ_STATE_ACTIVE, on);
	v->active_writes++;
}

void vgic_rescan(struct vgic *g)
{
	for (u32 i = 0; i < g->vm->nr_vcpus; i++) {
		struct vcpu *v = g->vm->vcpu[i];

		for (u32 w = 0; w < VGIC_WORDS; w++)
			atomic_fetch_or_release(&v->arch.vgic.posted[w], ~0UL); /* vgic_fold() */
		if (v != this_cpu(guest_current))
			vcpu_request(v, VCPU_REQ_EVENT);
		else
			v->arch.vgic.dirty = true;
	}
}

static __noinline void queue_posted(struct vgic_cpu *c)
{
	for (u32 w = 0; w < VGIC_WORDS; w++)
		if (READ_ONCE(c->posted[w]))
			/* Pairs with the release in vgic_notify(). */
			c->queue[w] |= atomic_xchg_acquire(&c->posted[w], 0);
}

/* By hand, since this is on the way of every load and compilers leave the loop. */
_Static_assert(VGIC_WORDS == 4, "any_set()");
static inline bool any_set(const u64 *map)
{
	return READ_ONCE(map[0]) | READ_ONCE(map[1]) | READ_ONCE(map[2]) | READ_ONCE(map[3]);
}

/* Anything queued, once what was posted is. */
static inline bool take_posted(struct vgic_cpu *c)
{
	if (unlikely(any_set(c->posted)))
		queue_posted(c);
	return any_set(c->queue);
}

/* SPIs that another vCPU deactivated while they were listed here. */
static void take_drops(struct vgic *g, struct vcpu *v)
{
	for (u32 w = 0; w < VGIC_WORDS; w++) {
		u64 mine = READ_ONCE(g->drop[w]) & v->arch.vgic.queue[w];

		for (; mine; mine &= mine - 1) {
			u32 intid = w * 64 + __builtin_ctzl(mine);
			u32 *word = vgic_word(g, v, intid);

			if ((READ_ONCE(*word) & (VIRQ_LISTED | VIRQ_ACTIVE)) &&
			    virq_holder(READ_ONCE(*word)) != v->id)
				continue;
			vgic_lr_sync(v);
			atomic_fetch_and_full(&g->drop[w], ~BIT(intid % 64));
			atomic_fetch_and_full(word, ~VIRQ_ACTIVE);
		}
	}
}

void vgic_fold(struct vcpu *v)
{
	struct vgic *g = v->vm->arch.vgic;

	take_posted(&v->arch.vgic);
	if (g->soft) {
		/* Whatever made it dirty was an access to a device model. */
		vtimer_sync_lines(v);
		vgic_soft_update(v);
		return;
	}
	if (g->spis)
		take_drops(g, v);
	if (unlikely(READ_ONCE(v->arch.vgic.peek))) {
		/* Cleared first: whoever asks after this gets another fold. Pairs with vgic_peek(). */
		atomic_xchg_full(&v->arch.vgic.peek, 0);
		vgic_lr_sync(v);
	}
	vgic_lr_refill(v);
}

void vgic_load(struct vcpu *v)
{
	struct vgic *g = v->vm->arch.vgic;
	bool queued = take_posted(&v->arch.vgic);

	if (g->soft) {
		vgic_soft_load(v);
		return;
	}
	vgic_hw.load(&v->arch.vgic);
	if (queued)
		vgic_lr_refill(v);
	else
		vgic_lr_none_queued(v);
}

void vgic_put(struct vcpu *v)
{
	struct vgic_cpu *c = &v->arch.vgic;

	if (v->vm->arch.vgic->soft) {
		vgic_soft_put(v);
		return;
	}
	if (c->lr_used || c->overflow)
		vgic_lr_sync(v);
	vgic_hw.put(c);
}

/* Has v folded its list registers back since `self` began to wait for it? Begins the wait if not. */
static bool folded_since(struct vgic_cpu *c, struct vcpu *v)
{
	u64 syncs = READ_ONCE(v->arch.vgic.syncs);

	if (c->peek_at == v)
		return syncs != c->peek_syncs;
	c->peek_at = v;
	c->peek_syncs = syncs;
	return false;
}

bool vgic_peek(struct vcpu *self, struct vcpu *v)
{
	struct vgic_cpu *c = &self->arch.vgic;
	u64 *done = &c->peek_done[v->id / 64];

	if (v->vm->arch.vgic->soft || (*done & BIT(v->id % 64)))
		return true;
	if (self == v) {
		vgic_lr_sync(v);
		c->dirty = true;
	} else if (load_acquire(&v->cpu) >= 0 && !folded_since(c, v)) {
		/* The acquire pairs with vcpu_put(): loaded nowhere, all is in the words. */
		atomic_xchg_full(&v->arch.vgic.peek, 1); /* pairs with vgic_fold() */
		vcpu_request(v, VCPU_REQ_EVENT);
		self->arch.retry = true;
		return false;
	}
	*done |= BIT(v->id % 64);
	return true;
}

void vgic_peek_end(struct vcpu *self)
{
	struct vgic_cpu *c = &self->arch.vgic;

	c->peek_at = NULL;
	c->peek_done[0] = 0;
	c->peek_done[1] = 0;
}

void vgic_deactivate(struct vgic *g, struct vcpu *self, struct vcpu *v, u32 intid)
{
	u32 *word = vgic_word(g, v, intid);
	u32 old = READ_ONCE(*word);

	if ((old & VIRQ_LISTED) && !virq_concerns(intid, old, self)) {
		atomic_fetch_or_full(&g->drop[intid / 64], BIT(intid % 64)); /* take_drops() */
		vgic_notify(g, v, intid, old);
		return;
	}
	if (old & VIRQ_LISTED)
		vgic_lr_sync(self);
	old = atomic_fetch_and_full(word, ~VIRQ_ACTIVE);
	if ((old & VIRQ_ACTIVE) && (old & VIRQ_HW))
		vgic_hw_set_active(self, intid, false);
	self->arch.vgic.dirty = true;
	if (virq_deliverable(g, old))
		vgic_notify(g, v, intid, old & ~VIRQ_ACTIVE);
}

/* Would be signalled by a CPU interface that has these enables and this mask. */
static bool signalled(const struct vgic *g, u32 word, u32 groups, u32 pmr)
{
	u32 group = word & VIRQ_GROUP1 ? 2 : 1;

	return virq_deliverable(g, word) && !(word & VIRQ_ACTIVE) && (groups & group) &&
	       virq_prio(word) << 3 < pmr;
}

static void interface_state(struct vcpu *v, u32 *groups, u32 *pmr)
{
	struct vgic_cpu *c = &v->arch.vgic;

	if (v->vm->arch.vgic->soft) {
		*groups = c->soft.grpen;
		*pmr = c->soft.pmr;
		return;
	}
	*groups = c->vmcr & (VMCR_VENG0 | VMCR_VENG1);
	*pmr = c->vmcr >> VMCR_PMR_SHIFT & 0xff;
}

bool vgic_would_signal(struct vcpu *v, u32 intid)
{
	u32 groups, pmr;

	interface_state(v, &groups, &pmr);
	return signalled(v->vm->arch.vgic, READ_ONCE(v->arch.vgic.irq[intid]) | VIRQ_LINE, groups,
			 pmr);
}

/* Of those posted or queued. */
static __noinline bool any_signalled(struct vcpu *v)
{
	struct vgic *g = v->vm->arch.vgic;
	struct vgic_cpu *c = &v->arch.vgic;
	u32 groups, pmr;

	interface_state(v, &groups, &pmr);
	for (u32 w = 0; w < VGIC_WORDS; w++) {
		u64 map = READ_ONCE(c->queue[w]) | load_acquire(&c->posted[w]); /* vgic_notify() */

		for (; map; map &= map - 1) {
			u32 intid = w * 64 + __builtin_ctzl(map);
			u32 word = READ_ONCE(*vgic_word(g, v, intid));

			if (virq_concerns(intid, word, v) && signalled(g, word, groups, pmr))
				return true;
		}
	}
	return false;
}

bool vgic_wakeable(struct vcpu *v)
{
	const struct vgic_cpu *c = &v->arch.vgic;

	return (any_set(c->queue) || any_set(c->posted)) && any_signalled(v);
}

void vgic_vcpu_reset(struct vcpu *v)
{
	struct vgic_cpu *c = &v->arch.vgic;

	memset(c, 0, sizeof(*c));
	for (u32 i = 0; i < VGIC_NR_SGIS; i++)
		c->irq[i] = VIRQ_EDGE;
	if (v->vm->config.xen)
		c->irq[GUEST_ARM64_XEN_INTID] = VIRQ_EDGE;
	c->asleep = true;
}

bool vgic_wants_gicv(const struct vm *vm)
{
	return vm->arch.vgic->model == VGIC_MODEL_V2 && !vm->arch.vgic->soft;
}

static int add_windows_v3(struct vm *vm, struct vgic *g)
{
	const struct mmio_window dist = { "gicd", GUEST_ARM64_GICD, KIB(64), vgicd_v3_access, g };
	const struct mmio_window redist = { "gicr", GUEST_ARM64_GICR, vm->config.vcpus * KIB(128),
					    vgicr_access, g };
	int err = vm_add_mmio(vm, &dist);

	return err ? err : vm_add_mmio(vm, &redist);
}

static int add_windows_v2(struct vm *vm, struct vgic *g)
{
	const struct mmio_window dist = { "gicd", GUEST_ARM64_GICD, KIB(4), vgicd_v2_access, g };
	const struct mmio_window cpu = { "gicc", GUEST_ARM64_GICC, GUEST_ARM64_GICC_SIZE,
					 vgicc_access, g };
	int err = vm_add_mmio(vm, &dist);

	return err || !g->soft ? err : vm_add_mmio(vm, &cpu);
}

static const char *cannot(const struct vm *vm)
{
	if (platform.gic.kind != GIC_V3 && vm->config.vcpus > 8)
		return "a GICv2 guest has at most 8 vCPUs";
	if (vm->config.vcpus > VGIC_MAX_VCPUS)
		return "more vCPUs than redistributors fit (123)";
	return NULL;
}

int vgic_vm_init(struct vm *vm, const char **why)
{
	struct vgic *g;

	*why = cannot(vm);
	if (*why)
		return -EINVAL;
	*why = "no memory for the interrupt controller";
	g = pages_alloc(size_to_order(sizeof(*g)));
	if (!g)
		return -ENOMEM;
	g->vm = vm;
	g->model = platform.gic.kind == GIC_V3 ? VGIC_MODEL_V3 : VGIC_MODEL_V2;
	g->soft = vm->config.irqchip == IRQCHIP_EXTERNAL;
	g->hcr = VGIC_HCR_EN;
	g->lock = (spinlock_t)SPINLOCK_INIT("vgic");
	vm->arch.vgic = g;
	return g->model == VGIC_MODEL_V3 ? add_windows_v3(vm, g) : add_windows_v2(vm, g);
}

void vgic_vm_destroy(struct vm *vm)
{
	if (vm->arch.vgic)
		pages_free(vm->arch.vgic, size_to_order(sizeof(struct vgic)));
	vm->arch.vgic = NULL;
}
