/* SPDX-License-Identifier: GPL-2.0-only */
/* One of Xen's hypercalls between two reads of the virtual counter. */
#ifndef XEN_TIMED_H
#define XEN_TIMED_H

#include <asm/xen.h>
#include <cupel/types.h>

/* Ticks that it took; *result is what it answered. */
static inline u64 xen_timed(u64 nr, u64 a, u64 b, u64 c, u64 *result)
{
	register u64 x16 __asm__("x16") = nr;
	register u64 x0 __asm__("x0") = a;
	register u64 x1 __asm__("x1") = b;
	register u64 x2 __asm__("x2") = c;
	u64 t0, t1;

	__asm__ volatile("isb; mrs %0, cntvct_el0; hvc %6; isb; mrs %1, cntvct_el0"
			 : "=&r"(t0), "=&r"(t1), "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x16)
			 : "i"(XEN_HVC)
			 : "x3", "x4", "memory");
	*result = x0;
	return t1 - t0;
}

#endif
