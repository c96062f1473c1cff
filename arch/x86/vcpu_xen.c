/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The x86 half of Xen's guest ABI: how an upcall becomes an interrupt, guest memory by virtual address,
 * the hypercall page and the scale of the time info. The ABI itself is core/xen.c's.
 *
 * An upcall goes through the local APIC when the vCPU has a vector of its own, as an edge. With the
 * callback vector of the VM it is a level: it is there while evtchn_upcall_pending is set, it passes the
 * APIC by, and nobody ends it. Other kinds of callback (GSI, INTx) need chips that guests here have not.
 */
#include <asm/virt.h>
#include <asm/vlapic.h>
#include <asm/xen.h>
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/evtchn.h>
#include <cupel/mm.h>
#include <cupel/vm.h>
#include <cupel/xen.h>
#include <string.h>

#define FIRST_VECTOR 16 /* below are the exceptions: APM vol. 2, 16.6.1 */

/* --- Upcalls ------------------------------------------------------------------------------------ */

bool arch_xen_callback_valid(u64 param)
{
	if (!param)
		return true; /* off */
	return param >> XEN_CALLBACK_TYPE_SHIFT == XEN_CALLBACK_VECTOR &&
	       arch_xen_vector_valid(param & 0xff);
}

bool arch_xen_vector_valid(u8 vector)
{
	return vector >= FIRST_VECTOR;
}

/* The vector that upcalls of this vCPU take through its APIC; 0: they don't. */
static u8 apic_vector(const struct vcpu *v)
{
	return vlapic_enabled(v->arch.lapic) ? xen_upcall_vector(v) : 0;
}

void arch_evtchn_upcall(struct vcpu *v)
{
	u8 vector = apic_vector(v);

	if (vector)
		vlapic_post(v, vector);
	else
		vcpu_request(v, VCPU_REQ_EVENT); /* deliver() looks at evtchn_upcall_pending */
}

enum upcall { UPCALL_NONE, UPCALL_PENDING, UPCALL_UNKNOWN };

static enum upcall look(struct vcpu *v)
{
	srcu_token_t token = guest_read_lock();
	struct gpc *g = evtchn_vcpu_info(v);
	const struct xen_vcpu_info *i = gpc_get(g, sizeof(*i));
	enum upcall u = UPCALL_UNKNOWN;

	if (likely(i)) {
		v->arch.upcall_blind = false;
		u = READ_ONCE(i->evtchn_upcall_pending) ? UPCALL_PENDING : UPCALL_NONE;
		gpc_put(g);
	}
	guest_read_unlock(token);
	return u;
}

/*
 * vcpu_info can't be read now. Its page may be on the move, and an upcall may have been marked before: have
 * xen_upcall_refresh() look again. Where that found no memory there is nothing to ask for: once there is some,
 * evtchn_serve() tells of what is pending in it.
 */
static void look_again(struct vcpu *v)
{
	if (v->arch.upcall_blind)
		return;
	v->arch.upcall_unknown = true;
	vcpu_request_quiet(v, VCPU_REQ_EVENT);
}

int xen_callback_pending(struct vcpu *v)
{
	u64 callback = xen_callback(v->vm);
	enum upcall u;

	if (!callback || apic_vector(v))
		return -1;
	u = look(v);
	if (u == UPCALL_UNKNOWN)
		look_again(v);
	return u == UPCALL_PENDING ? (int)(callback & 0xff) : -1;
}

bool xen_upcall_wakeable(struct vcpu *v)
{
	enum upcall u;

	if (!xen_callback(v->vm) || apic_vector(v))
		return false;
	u = look(v);
	if (u != UPCALL_UNKNOWN)
		return u == UPCALL_PENDING;
	look_again(v);
	return !v->arch.upcall_blind;
}

void xen_upcall_refresh(struct vcpu *v)
{
	int err = gpc_refresh(evtchn_vcpu_info(v));

	v->arch.upcall_unknown = false;
	v->arch.upcall_blind =
		err && err != -EAGAIN; /* -EAGAIN: found unknown again, and asked for again */
	/* It finds no memory either, and so is asked again, and tells what is pending, when there is some. */
	if (v->arch.upcall_blind)
		vcpu_request_quiet(v, VCPU_REQ_EVTCHN);
}

/* --- Memory of the guest ------------------------------------------------------------------------ */

int arch_guest_read(struct vcpu *v, void *to, u64 va, u32 len)
{
	u32 error;

	return guest_copy(v, &va, to, len, WALK_READ, &error) ? -EFAULT : 0;
}

int arch_guest_write(struct vcpu *v, u64 va, const void *from, u32 len)
{
	u32 error;

	return guest_copy(v, &va, (void *)from, len, WALK_WRITE, &error) ? -EFAULT : 0;
}

int arch_guest_translate(struct vcpu *v, u64 va, gpaddr_t *gpa)
{
	struct guest_paging p;
	u32 error;

	v->vm->arch.backend->paging(v, &p);
	return guest_walk(v, &p, va, WALK_WRITE, gpa, &error) ? -EFAULT : 0;
}

/* mov $n, %eax; vmmcall; ret; then INT3 to the end. APM vol. 3. */
static void make_call(u8 *slot, u32 n)
{
	static const u8 call[] = { 0xb8, 0, 0, 0, 0, 0x0f, 0x01, 0xd9, 0xc3 };

	memset(slot, 0xcc, XEN_HYPERCALL_SLOT);
	memcpy(slot, call, sizeof(call));
	slot[1] = n;
}

bool xen_hypercall_page(struct vcpu *v, u64 value)
{
	u8 page[8 * XEN_HYPERCALL_SLOT];
	u32 step = sizeof(page) / XEN_HYPERCALL_SLOT;
	gpaddr_t gpa = value & ~(u64)(PAGE_SIZE - 1);

	/* The low bits choose one of the pages that leaf 2 counts. */
	if (value != gpa || !vm_is_memory(v->vm, gpa, PAGE_SIZE, true))
		return false;
	for (u32 n = 0; n < PAGE_SIZE / XEN_HYPERCALL_SLOT; n += step) {
		for (u32 i = 0; i < step; i++)
			make_call(page + i * XEN_HYPERCALL_SLOT, n + i);
		if (vm_copy_to(v->vm, gpa + n * XEN_HYPERCALL_SLOT, page, sizeof(page)))
			return false;
	}
	return true;
}

/* --- Time --------------------------------------------------------------------------------------- */

#define TIME_TSC_STABLE 1 /* pvclock: vCPUs that read at once agree */

void arch_xen_time(const struct vcpu *v, u64 now, struct vcpu_time_info *t)
{
	struct time_scale s = guest_time_scale();

	t->tsc_timestamp = now + v->arch.tsc_offset;
	t->tsc_to_system_mul = s.mul;
	t->tsc_shift = s.shift;
	t->flags = TIME_TSC_STABLE;
}
