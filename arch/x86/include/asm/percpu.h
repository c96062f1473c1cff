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

static inline unsigned long this_cpu_offset(void)
{
	unsigned long off;

	/* volatile: a loop that changes CPU state (a stack switch, bring-up) must read it again */
	__asm__ volatile("movq %%gs:x86_percpu_offset, %0" : "=r"(off));
	return off;
}

static inline void set_this_cpu_offset(unsigned long off)
{
	*(unsigned long *)((char *)&x86_percpu_offset + off) = off;
	wrmsr(MSR_GS_BASE, off);
}

#endif
