/* SPDX-License-Identifier: GPL-2.0-only */
/* The calling CPU's per-CPU offset lives in TPIDR_EL2, which no guest can reach. */
#ifndef ASM_PERCPU_H
#define ASM_PERCPU_H

register unsigned long asm_percpu_sp __asm__("sp");

/*
 * Not volatile, so that a function reads it once; the unused memory operand keeps the read on its side
 * of every "memory" clobber, set_this_cpu_offset() among them. Code never migrates between CPUs.
 */
static inline unsigned long this_cpu_offset(void)
{
	unsigned long off;

	__asm__("mrs %0, tpidr_el2" : "=r"(off) : "Q"(*(const unsigned long *)asm_percpu_sp));
	return off;
}

static inline void set_this_cpu_offset(unsigned long off)
{
	__asm__ volatile("msr tpidr_el2, %0" : : "r"(off) : "memory");
}

#endif
