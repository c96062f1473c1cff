/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self-tests of the vGIC: what is posted gets into list registers, best first, and nothing is lost on
 * the way out. The guest's part is played by writing the list registers as an acknowledge or an end
 * would leave them.
 */
#include "selftest_vm.h"

#include "hyp.h"

#include <string.h>

/* A vCPU whose private interrupts are all enabled, in group 1, loaded. NULL: no list registers. */
static struct vcpu *loaded_vcpu(struct selftest_ctx *t, u32 vcpus)
{
	struct vm *vm;

	if (!arch_has_irqchip(IRQCHIP_FULL)) {
		t->skipped = "no list registers";
		return NULL;
	}
	vm = selftest_vm_create(vcpus, IRQCHIP_FULL);
	CHECK(t, vm);
	if (!vm)
		return NULL;
	vm->arch.vgic->ctlr = 3;
	for (u32 i = 0; i < vcpus; i++)
		for (u32 n = 0; n < VGIC_NR_PRIVATE; n++)
			vm->vcpu[i]->arch.vgic.irq[n] |= VIRQ_ENABLED | VIRQ_GROUP1 |
							 10U << VIRQ_PRIO_SHIFT;
	selftest_load(vm->vcpu[0]);
	return vm->vcpu[0];
}

static void done(struct vcpu *v)
{
	struct vm *vm = v->vm;

	selftest_put(v);
	selftest_vm_destroy(vm);
}

/* State bits of the list register that holds `intid`, 0 if none does. */
static u64 lr_state(u32 intid)
{
	for (u32 i = 0; i < vgic_hw.nr_lrs; i++) {
		u64 val = vgic_hw.read_lr(i);

		if ((val & (LR_PENDING | LR_ACTIVE)) && (val & 0x3ff) == intid)
			return val & (LR_PENDING | LR_ACTIVE);
	}
	return 0;
}

/* The guest acknowledges (true) or ends (false) what a list register holds. */
static void guest_takes(u32 intid, bool ack)
{
	for (u32 i = 0; i < vgic_hw.nr_lrs; i++) {
		u64 val = vgic_hw.read_lr(i);

		if (!(val & (LR_PENDING | LR_ACTIVE)) || (val & 0x3ff) != intid)
			continue;
		val &= ~(LR_PENDING | LR_ACTIVE);
		vgic_hw.write_lr(i, ack ? val | LR_ACTIVE : val);
	}
}

static u32 listed_count(void)
{
	u32 n = 0;

	for (u32 i = 0; i < vgic_hw.nr_lrs; i++)
		n += vgic_hw.read_lr(i) & (LR_PENDING | LR_ACTIVE) ? 1 : 0;
	return n;
}

static void pend(struct vcpu *v, u32 intid)
{
	vgic_pend(v->vm, v, intid);
	if (v->cpu >= 0)
		vgic_fold(v);
}

#define EDGE_PPI 17

SELFTEST(vgic_lists_what_is_posted)
{
	struct vcpu *v = loaded_vcpu(t, 1);

	if (!v)
		return;
	v->arch.vgic.irq[EDGE_PPI] |= VIRQ_EDGE;
	pend(v, EDGE_PPI);
	CHECK(t, lr_state(EDGE_PPI) == LR_PENDING && listed_count() == 1);
	pend(v, EDGE_PPI);
	CHECK(t, lr_state(EDGE_PPI) == LR_PENDING && listed_count() == 1);
	guest_takes(EDGE_PPI, true);
	pend(v, EDGE_PPI);
	CHECK(t, lr_state(EDGE_PPI) == (LR_PENDING | LR_ACTIVE));
	guest_takes(EDGE_PPI, true);
	guest_takes(EDGE_PPI, false);
	CHECK(t, listed_count() == 0);
	pend(v, EDGE_PPI);
	CHECK(t, lr_state(EDGE_PPI) == LR_PENDING && listed_count() == 1);
	done(v);
}

SELFTEST(vgic_disabled_interrupts_wait)
{
	struct vcpu *v = loaded_vcpu(t, 1);
	struct mmio_access a = { .offset = 0x180, .size = 4, .write = true, .value = BIT(5) };

	if (!v)
		return;
	pend(v, 5);
	CHECK(t, lr_state(5) == LR_PENDING);
	vgic_common_access(v, v, 0, VGIC_NR_PRIVATE, &a);
	vgic_fold(v);
	CHECK(t, lr_state(5) == 0);
	a.offset = 0x100;
	a.value = BIT(5);
	vgic_common_access(v, v, 0, VGIC_NR_PRIVATE, &a);
	vgic_fold(v);
	CHECK(t, lr_state(5) == LR_PENDING);
	done(v);
}

SELFTEST(vgic_best_go_first_when_there_are_too_many)
{
	struct vcpu *v = loaded_vcpu(t, 1);
	u32 nr = vgic_hw.nr_lrs, taken = 0;

	if (!v)
		return;
	if (nr + 4 > VGIC_NR_SGIS) {
		t->skipped = "more list registers than SGIs";
		done(v);
		return;
	}
	/* The later, the more urgent. */
	for (u32 i = 0; i < nr + 4; i++) {
		v->arch.vgic.irq[i] &= ~(VIRQ_PRIO_MASK << VIRQ_PRIO_SHIFT);
		v->arch.vgic.irq[i] |= (20 - i) << VIRQ_PRIO_SHIFT;
		pend(v, i);
	}
	vgic_fold(v);
	CHECK(t, listed_count() == nr && v->arch.vgic.overflow);
	for (u32 i = 0; i < nr; i++)
		CHECK(t, lr_state(i + 4) == LR_PENDING);
	/* One after another is taken and ended; the others follow. */
	for (u32 i = nr + 4; i--; taken++) {
		CHECK(t, lr_state(i) == LR_PENDING);
		guest_takes(i, true);
		guest_takes(i, false);
		vgic_lr_sync(v);
		vgic_fold(v);
	}
	CHECK(t, taken == nr + 4 && listed_count() == 0 && !v->arch.vgic.overflow);
	done(v);
}

SELFTEST(vgic_active_interrupts_come_back)
{
	struct vcpu *v = loaded_vcpu(t, 1);

	if (!v)
		return;
	pend(v, 1);
	guest_takes(1, true);
	pend(v, 2);
	selftest_put(v);
	CHECK(t, v->arch.vgic.irq[1] & VIRQ_ACTIVE);
	CHECK(t, (v->arch.vgic.irq[2] & (VIRQ_ACTIVE | VIRQ_PENDING)) == VIRQ_PENDING);
	CHECK(t, !(v->arch.vgic.irq[1] & VIRQ_LISTED) && !v->arch.vgic.lr_used);
	selftest_load(v);
	CHECK(t, lr_state(1) == LR_ACTIVE && lr_state(2) == LR_PENDING);
	done(v);
}

SELFTEST(vgic_a_line_that_falls_takes_its_request_back)
{
	struct vcpu *v = loaded_vcpu(t, 1);

	if (!v)
		return;
	vgic_set_line(v->vm, v, 20, true);
	vgic_fold(v);
	CHECK(t, lr_state(20) == LR_PENDING);
	vgic_set_line(v->vm, v, 20, false);
	vgic_fold(v);
	CHECK(t, lr_state(20) == 0);
	vgic_set_line(v->vm, v, 20, true);
	vgic_fold(v);
	guest_takes(20, true);
	guest_takes(20, false);
	vgic_lr_sync(v);
	vgic_fold(v);
	CHECK(t, lr_state(20) == LR_PENDING); /* still high: again */
	done(v);
}

SELFTEST(vgic_posts_to_a_vcpu_that_is_not_loaded)
{
	struct vcpu *v = loaded_vcpu(t, 2), *other;

	if (!v)
		return;
	other = v->vm->vcpu[1];
	pend(other, 7);
	CHECK(t, listed_count() == 0);
	CHECK(t, other->requests & VCPU_REQ_EVENT);
	CHECK(t, other->arch.vgic.posted[0] == BIT(7));
	other->arch.vgic.vmcr = VMCR_VENG1 | 0xffUL << VMCR_PMR_SHIFT;
	CHECK(t, vgic_wakeable(other));
	other->arch.vgic.vmcr = VMCR_VENG1;
	CHECK(t, !vgic_wakeable(other)); /* masked by priority */
	selftest_put(v);
	selftest_load(other);
	CHECK(t, lr_state(7) == LR_PENDING);
	selftest_put(other);
	selftest_load(v);
	CHECK(t, listed_count() == 0);
	done(v);
}

SELFTEST(vgic_an_spi_ends_where_it_is_held)
{
	struct vcpu *v = loaded_vcpu(t, 2), *other;
	struct vgic *g;

	if (!v)
		return;
	g = v->vm->arch.vgic;
	other = v->vm->vcpu[1];
	g->spi[0] |= VIRQ_ENABLED | VIRQ_GROUP1 | VIRQ_EDGE;
	g->spis = true;
	vgic_pend(v->vm, NULL, 32);
	vgic_fold(v);
	CHECK(t, lr_state(32) == LR_PENDING);
	guest_takes(32, true);
	/* The other vCPU deactivates it (EOImode = 1): only its holder can. */
	vgic_deactivate(g, other, NULL, 32);
	CHECK(t, lr_state(32) == LR_ACTIVE);
	vgic_fold(v);
	CHECK(t, lr_state(32) == 0 && !(g->spi[0] & VIRQ_ACTIVE));
	/* Routed away while active: the next one goes to the new target. */
	vgic_pend(v->vm, NULL, 32);
	vgic_fold(v);
	guest_takes(32, true);
	vgic_set_target(g, 32, 1);
	vgic_pend(v->vm, NULL, 32);
	guest_takes(32, false);
	vgic_lr_sync(v);
	CHECK(t, lr_state(32) == 0);
	CHECK(t, other->arch.vgic.posted[0] & BIT(32));
	done(v);
}

SELFTEST(vgic_soft_acknowledges_by_priority)
{
	struct vm *vm = selftest_vm_create(1, IRQCHIP_EXTERNAL);
	struct vcpu *v;

	CHECK(t, vm);
	if (!vm)
		return;
	v = vm->vcpu[0];
	vm->arch.vgic->ctlr = 3;
	v->arch.vgic.soft.grpen = 3;
	v->arch.vgic.soft.pmr = 0xf0;
	for (u32 n = 0; n < 3; n++)
		v->arch.vgic.irq[n] |= VIRQ_ENABLED | VIRQ_GROUP1 | (12 - n) << VIRQ_PRIO_SHIFT;
	selftest_load(v);
	pend(v, 0);
	pend(v, 1);
	CHECK(t, v->arch.hcr & HCR_VI);
	CHECK(t, (vgic_soft_ack(v, 3) & 0x3ff) == 1);
	CHECK(t, vgic_soft_ack(v, 3) == INTID_NONE); /* not urgent enough */
	pend(v, 2);
	CHECK(t, (vgic_soft_ack(v, 3) & 0x3ff) == 2);
	vgic_soft_eoi(v, 2);
	vgic_soft_eoi(v, 1);
	CHECK(t, vgic_soft_running(v) == VGIC_PRIO_IDLE);
	CHECK(t, (vgic_soft_ack(v, 3) & 0x3ff) == 0);
	vgic_soft_eoi(v, 0);
	vgic_fold(v);
	CHECK(t, !(v->arch.hcr & HCR_VI) && vgic_soft_ack(v, 3) == INTID_NONE);
	selftest_put(v);
	selftest_vm_destroy(vm);
}

/* Whatever a guest may write anywhere in its windows, at every size. */
static void walk_window(struct vcpu *v, const struct mmio_window *w)
{
	static const u64 values[] = { ~0UL, 0x0123456789abcdef, 0 };

	for (u64 offset = 0; offset < w->size; offset += 4) {
		for (u32 i = 0; i < ARRAY_SIZE(values); i++) {
			u64 val = values[i];

			vm_mmio(v, w->base + offset, 4, true, &val);
			vm_mmio(v, w->base + offset, 1, false, &val);
			vm_mmio(v, w->base + offset, 4, false, &val);
			if (offset % 8 == 0)
				vm_mmio(v, w->base + offset, 8, true, &val);
			v->arch.retry = false;
		}
	}
}

SELFTEST(vgic_registers_take_any_value)
{
	for (enum irqchip_kind kind = IRQCHIP_FULL; kind <= IRQCHIP_EXTERNAL; kind++) {
		struct vm *vm = arch_has_irqchip(kind) ? selftest_vm_create(2, kind) : NULL;

		if (!vm)
			continue;
		selftest_load(vm->vcpu[0]);
		for (u32 i = 0; i < vm->nr_mmio; i++)
			walk_window(vm->vcpu[0], &vm->mmio[i]);
		vgic_fold(vm->vcpu[0]);
		selftest_put(vm->vcpu[0]);
		selftest_vm_destroy(vm);
	}
}
