/* SPDX-License-Identifier: GPL-2.0-only */
/* One of Xen's hypercalls between two reads of the TSC. */
#ifndef XEN_TIMED_H
#define XEN_TIMED_H

#include <asm/xen.h>
#include <cupel/types.h>

/* Ticks that it took; *result is what it answered. */
static inline u64 xen_timed(u64 nr, u64 a, u64 b, u64 c, u64 *result)
{
	u64 t0 = nr, t1;

	__asm__ volatile("mov %%rdx, %%r9; mov %%rax, %%r11; rdtsc; mov %%eax, %%ecx; mov %%r9, %%rdx; "
			 "mov %%r11, %%rax; vmmcall; "
			 "mov %%rax, %%r11; rdtsc; sub %%ecx, %%eax; mov %%r11, %1"
			 : "+a"(t0), "=r"(t1), "+D"(a), "+S"(b), "+d"(c)
			 :
			 : "rcx", "r8", "r9", "r10", "r11", "memory");
	*result = t1;
	return (u32)t0;
}

#endif
