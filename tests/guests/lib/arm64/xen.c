/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen as an arm64 guest finds it: HVC #0xEA1 with the number in x16, and a PPI for upcalls (Linux:
 * Documentation/devicetree/bindings/arm/xen.txt).
 */
#include <xen.h>

/* Arguments are clobbered (public arch-arm.h). */
s64 xen_call_raw(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
	register u64 x0 __asm__("x0") = a;
	register u64 x1 __asm__("x1") = b;
	register u64 x2 __asm__("x2") = c;
	register u64 x3 __asm__("x3") = d;
	register u64 x16 __asm__("x16") = nr;

	__asm__ volatile("hvc %5"
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3), "+r"(x16)
			 : "i"(XEN_HVC)
			 : "x4", "memory");
	return (s64)x0;
}

s64 xen_call(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
	return xen_call_raw(nr, a, b, c, d);
}

static void ask_version(void *answer)
{
	*(s64 *)answer = xen_call_raw(XEN_version, XENVER_version, 0, 0, 0);
}

bool xen_find(void)
{
	s64 version = 0;
	struct fault f;

	return xen_intid && !try_call(ask_version, &version, &f) && version > 0;
}

u32 xen_id(void)
{
	return cpu_id();
}

bool xen_has_own_route(void)
{
	return false;
}

bool xen_route_is_level(void)
{
	return false;
}

s64 xen_route_upcalls(enum xen_route route, irq_fn fn)
{
	irq_request(xen_intid, fn);
	gic_enable(xen_intid);
	return 0;
}
