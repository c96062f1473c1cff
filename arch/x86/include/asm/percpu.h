/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The per-CPU offset lives in the GS base and, so that it can be read in one load without RDMSR or
 * FSGSBASE, in a per-CPU word of its own. While a guest's GS base is loaded (between #VMEXIT and
 * VMLOAD of the host state) no per-CPU variable may be touched.
 */
#ifndef ASM_X86_PERCPU_H
#define ASM_X86_PERCPU_H

#include <asm/msr.h>
#include <cupel/types.h>

/* Section "percpu": each CPU's copy holds that CPU's own offset; 0 in the section itself. */
extern unsigned long x86_percpu_offset;

/*
 * Not volatile, so that a function reads it once; the memory operand keeps the read on its side of every
 * "memory" clobber, set_this_cpu_offset() among them. Code never migrates between CPUs.
 */
static inline unsigned long this_cpu_offset(void)
{
	unsigned long off;

	__asm__("movq %%gs:%1, %0" : "=r"(off) : "m"(x86_percpu_offset));
	return off;
}

static inline void set_this_cpu_offset(unsigned long off)
{
	*(unsigned long *)((unsigned long)&x86_percpu_offset + off) = off;
	wrmsr(MSR_GS_BASE, off);
}

#endif
