/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the pages are that a guest shares with its hypervisor: shared_info, each vCPU's vcpu_info, and the
 * records it has registered. To move one is: take its cache away, which waits for everybody inside; copy;
 * give the cache its new place. A delivery that comes meanwhile is left with its vCPU, and is finished
 * there. Must never lose what was pending, and never touch memory that is not the guest's.
 */
#include <cupel/mm.h>
#include <string.h>

#include "xen.h"

_Static_assert(XEN_SHARED_INFO_SIZE <= PAGE_SIZE, "shared_info is one page");
_Static_assert(XEN_LEGACY_VCPUS *XEN_VCPU_INFO_SIZE <= XEN_EVTCHN_PENDING, "vcpu_info come first");

/* Active is enough: what can't be looked up during a slot change is looked up when it is needed. */
static int settled(int err)
{
	return err == -XEN_EAGAIN ? 0 : err;
}

static u32 shared_offset(const struct vcpu *v)
{
	return v->id * XEN_VCPU_INFO_SIZE;
}

static bool lives_in_shared_info(const struct vcpu *v)
{
	return !v->xen->registered && v->id < XEN_LEGACY_VCPUS;
}

void xen_place_vcpu_info(struct vcpu *v)
{
	struct xen_vm *x = v->vm->xen;
	struct gpc *g = evtchn_vcpu_info(v);

	if (v->id >= XEN_LEGACY_VCPUS)
		gpc_activate_va(g, v->xen->info, XEN_VCPU_INFO_SIZE);
	else if (x->shared == INVALID_GPA)
		gpc_activate_va(g, (u8 *)x->page + shared_offset(v), XEN_VCPU_INFO_SIZE);
	else
		gpc_activate(g, x->shared + shared_offset(v), XEN_VCPU_INFO_SIZE);
}

/* --- shared_info -------------------------------------------------------------------------------- */

/* A device's registers are no place for it. */
static bool is_device(const struct vm *vm, gpaddr_t gpa)
{
	for (u32 i = 0; i < vm->nr_mmio; i++) {
		const struct mmio_window *w = &vm->mmio[i];

		if (gpa < w->base + w->size && w->base < gpa + PAGE_SIZE)
			return true;
	}
	return false;
}

static const void *shared_now(struct vm *vm)
{
	struct xen_vm *x = vm->xen;

	if (x->shared == INVALID_GPA)
		return x->page;
	return vm_gpa_to_va(vm, x->shared, XEN_SHARED_INFO_SIZE, false);
}

static void deactivate_shared(struct vm *vm)
{
	gpc_deactivate(evtchn_shared_info(vm));
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		if (lives_in_shared_info(vm->vcpu[i]))
			gpc_deactivate(evtchn_vcpu_info(vm->vcpu[i]));
	}
}

static int activate_shared(struct vm *vm)
{
	struct xen_vm *x = vm->xen;
	struct gpc *g = evtchn_shared_info(vm);
	int err;

	if (x->shared == INVALID_GPA)
		err = gpc_activate_va(g, x->page, XEN_SHARED_INFO_SIZE);
	else
		err = gpc_activate(g, x->shared, XEN_SHARED_INFO_SIZE);
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		if (lives_in_shared_info(vm->vcpu[i]))
			xen_place_vcpu_info(vm->vcpu[i]);
	}
	return settled(err);
}

static int add_page(struct vm *vm, gpaddr_t gpa)
{
	struct mem_slot slot = { .gpa = gpa, .size = PAGE_SIZE };
	void *page = vm_memory_alloc(vm, 0); /* may move to another frame, as all memory of the VM */
	int err;

	if (!page)
		return -XEN_ENOMEM;
	arch_page_give(page);
	slot.pa = va_to_pa(page);
	err = vm_add_slot(vm, &slot);
	if (err)
		return err;
	vm->xen->added = page;
	vm->xen->added_at = gpa;
	return 0;
}

/* The page that was added once goes there; with shared_info, if that is in it. */
static int move_added(struct vm *vm, gpaddr_t gpa)
{
	struct xen_vm *x = vm->xen;
	unsigned long flags;
	int err = vm_move_slot(vm, x->added_at, gpa);

	if (err)
		return err;
	spin_lock_irqsave(&x->lock, flags);
	if (x->shared == x->added_at) {
		deactivate_shared(vm);
		x->shared = gpa;
		activate_shared(vm);
	}
	x->added_at = gpa;
	spin_unlock_irqrestore(&x->lock, flags);
	return 0;
}

/*
 * Where there is none. One page at most: a guest can't have the hypervisor's memory for the asking. A
 * change of slots must not be waited for with a lock held; so of two at once one is turned away.
 */
static s64 make_memory(struct vm *vm, gpaddr_t gpa)
{
	struct xen_vm *x = vm->xen;
	int err;

	/* Full: pairs with the release below; who comes next sees `added` and `added_at`. */
	if (atomic_xchg_full(&x->adding, true))
		return -XEN_EBUSY;
	err = x->added ? move_added(vm, gpa) : add_page(vm, gpa);
	store_release(&x->adding, false);
	return err ? -XEN_ENOMEM : 0;
}

/* With x->lock held. What is there goes along; where nothing is any more, the new page begins empty. */
static s64 move_shared(struct vm *vm, gpaddr_t gpa)
{
	struct xen_vm *x = vm->xen;
	gpaddr_t before = x->shared;
	bool copied;

	deactivate_shared(vm);
	copied = !vm_copy_to(vm, gpa, shared_now(vm), XEN_SHARED_INFO_SIZE);
	if (copied)
		x->shared = gpa;
	if (!activate_shared(vm) && copied)
		return 0;
	x->shared = before;
	activate_shared(vm);
	return -XEN_EFAULT;
}

s64 xen_move_shared_info(struct vcpu *v, u64 gfn)
{
	gpaddr_t gpa = gfn << PAGE_SHIFT;
	struct vm *vm = v->vm;
	struct xen_vm *x = vm->xen;
	unsigned long flags;
	s64 err;

	if (gfn != gpa >> PAGE_SHIFT || is_device(vm, gpa))
		return -XEN_EINVAL;
	if (!vm_is_memory(vm, gpa, PAGE_SIZE, true)) {
		err = make_memory(vm, gpa);
		if (err)
			return err;
	}
	spin_lock_irqsave(&x->lock, flags);
	err = gpa == x->shared ? 0 : move_shared(vm, gpa);
	spin_unlock_irqrestore(&x->lock, flags);
	evtchn_memory_changed(vm);
	return err;
}

/* --- vcpu_info ---------------------------------------------------------------------------------- */

static const void *vcpu_info_now(struct vcpu *v)
{
	const u8 *shared = shared_now(v->vm);

	if (!lives_in_shared_info(v))
		return v->xen->info;
	return shared ? shared + shared_offset(v) : NULL;
}

/*
 * Everything counts as pending in the new place, so that no selector bit is lost which somebody set in the
 * old one after it was copied: the guest gets one upcall too many and finds nothing. As Xen does.
 */
static void mark_all_pending(struct xen_vcpu_info *info)
{
	info->evtchn_pending_sel = ~0UL;
	info->evtchn_upcall_pending = 1;
}

static s64 place_registered(struct vcpu *v, gpaddr_t gpa)
{
	u8 buf[XEN_VCPU_INFO_SIZE] __aligned(8) = { 0 };
	const void *old = vcpu_info_now(v);
	struct gpc *g = evtchn_vcpu_info(v);

	gpc_deactivate(g);
	if (old)
		memcpy(buf, old, sizeof(buf));
	mark_all_pending((struct xen_vcpu_info *)buf);
	if (vm_copy_to(v->vm, gpa, buf, sizeof(buf)) ||
	    settled(gpc_activate(g, gpa, XEN_VCPU_INFO_SIZE))) {
		xen_place_vcpu_info(v);
		return -XEN_EINVAL;
	}
	v->xen->registered = true;
	WRITE_ONCE(v->xen->time_stale, true);
	return 0;
}

s64 xen_register_vcpu_info(struct vcpu *v, u64 gfn, u64 offset)
{
	gpaddr_t gpa = (gfn << PAGE_SHIFT) + offset;
	struct xen_vm *x = v->vm->xen;
	srcu_token_t token;
	unsigned long flags;
	s64 err;

	if (offset > PAGE_SIZE - XEN_VCPU_INFO_SIZE || !IS_ALIGNED(offset, sizeof(u64)) ||
	    gfn != gpa >> PAGE_SHIFT)
		return -XEN_EINVAL;
	spin_lock_irqsave(&x->lock, flags);
	err = v->xen->registered ? -XEN_EINVAL : place_registered(v, gpa);
	spin_unlock_irqrestore(&x->lock, flags);
	/* Refused or not, it had no place for a while, and may have given up on what came then. */
	evtchn_memory_changed(v->vm);
	if (err)
		return err;
	token = guest_read_lock();
	arch_evtchn_upcall(v);
	guest_read_unlock(token);
	return 0;
}

/* --- Records ------------------------------------------------------------------------------------ */

s64 xen_register_runstate(struct vcpu *v, gpaddr_t first, gpaddr_t second, u32 bytes_in_first)
{
	struct xen_runstate *r = &v->xen->run;
	struct xen_vm *x = v->vm->xen;
	u32 rest = sizeof(r->now) - bytes_in_first;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&x->lock, flags);
	gpc_deactivate(&r->area[0]);
	gpc_deactivate(&r->area[1]);
	if (bytes_in_first)
		err = settled(gpc_activate(&r->area[0], first, bytes_in_first));
	if (bytes_in_first && rest && !err)
		err = settled(gpc_activate(&r->area[1], second, rest));
	spin_lock(&r->lock);
	r->first = err ? 0 : bytes_in_first;
	spin_unlock(&r->lock);
	spin_unlock_irqrestore(&x->lock, flags);
	if (err)
		return -XEN_EFAULT;
	xen_runstate_publish(v);
	return 0;
}

s64 xen_register_time(struct vcpu *v, gpaddr_t gpa)
{
	struct gpc *g = &v->xen->time;
	struct xen_vm *x = v->vm->xen;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&x->lock, flags);
	gpc_deactivate(g);
	if (gpa != INVALID_GPA)
		err = settled(gpc_activate(g, gpa, sizeof(struct vcpu_time_info)));
	WRITE_ONCE(v->xen->time_wanted, gpa != INVALID_GPA && !err);
	spin_unlock_irqrestore(&x->lock, flags);
	WRITE_ONCE(v->xen->time_stale, true);
	return err ? -XEN_EFAULT : 0;
}
