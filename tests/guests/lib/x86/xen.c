/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen as an x86 guest finds it: CPUID leaves, the hypercall page, upcalls by vector (public headers
 * arch-x86/cpuid.h and hvm/params.h).
 */
#include <runtime.h>
#include <xen.h>

static u8 hypercall_page[4096] __aligned(4096);
static u32 base;
static irq_fn handler;

u64 xen_call_at(const u8 *at, u64 a, u64 b, u64 c, u64 d);

static void write_hypercall_msr(void *msr)
{
	wrmsr(*(u32 *)msr, (u64)hypercall_page);
}

bool xen_find(void)
{
	struct fault f;
	u32 msr;

	base = cpuid_hv_base(XEN_CPUID_EBX);
	if (!base || cpuid(base, 0).c != XEN_CPUID_ECX || cpuid(base, 0).d != XEN_CPUID_EDX ||
	    cpuid(base + 2, 0).a != 1)
		return false;
	msr = cpuid(base + 2, 0).b;
	return !try_call(write_hypercall_msr, &msr, &f);
}

s64 xen_call(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
	return (s64)xen_call_at(hypercall_page + XEN_HYPERCALL_SLOT * nr, a, b, c, d);
}

s64 xen_call_raw(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
	register u64 r10 __asm__("r10") = d;
	u64 ret;

	__asm__ volatile("vmmcall"
			 : "=a"(ret), "+r"(r10)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "memory");
	return (s64)ret;
}

u32 xen_id(void)
{
	return cpuid(base + 4, 0).b;
}

bool xen_has_own_route(void)
{
	return true;
}

bool xen_route_is_level(void)
{
	return true;
}

/* The runtime ends every interrupt at the APIC. This one never was there: what is in service stays so. */
static void take_raw(u32 vector)
{
	if (vector == VEC_CALLBACK) {
		handler(vector);
		return;
	}
	irq_deliver(vector);
	if (vector != VEC_SPURIOUS)
		lapic_write(LAPIC_EOI, 0);
}

s64 xen_route_upcalls(enum xen_route route, irq_fn fn)
{
	struct {
		u32 vcpu;
		u8 vector;
	} own = { xen_id(), route == XEN_ROUTE_OWN ? VEC_UPCALL : 0 };
	struct {
		u16 domid;
		u16 pad;
		u32 index;
		u64 value;
	} shared = { DOMID_SELF, 0, HVM_PARAM_CALLBACK_IRQ,
		     (u64)XEN_CALLBACK_VECTOR << XEN_CALLBACK_TYPE_SHIFT | VEC_CALLBACK };
	s64 err = 0;

	handler = fn;
	irq_request(VEC_UPCALL, fn);
	irq_raw = take_raw;
	if (route == XEN_ROUTE_SHARED)
		err = xen_call(XEN_hvm_op, HVMOP_set_param, (u64)&shared, 0, 0);
	if (route == XEN_ROUTE_OWN)
		err = xen_call(XEN_hvm_op, HVMOP_set_evtchn_upcall_vector, (u64)&own, 0, 0);
	return err;
}
