/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Per-CPU variables: one copy per CPU of the section "percpu", reached by adding the CPU's offset
 * (TPIDR_EL2 on arm64, GS base on x86, a thread-local on the host build). The offset of CPU n is in
 * percpu_offset[n]. Until a CPU's own area exists the offset is 0 and the section itself serves as
 * the boot CPU's copy, so this_cpu() works from the first C instruction.
 *
 * A copy is cache-line aligned and no other CPU writes to it; other CPUs may read with
 * READ_ONCE(*per_cpu_ptr(var, cpu)).
 */
#ifndef CUPEL_PERCPU_H
#define CUPEL_PERCPU_H

#include <asm/percpu.h> /* unsigned long this_cpu_offset(void); void set_this_cpu_offset(…) */
#include <cupel/types.h>

#define NR_CPUS 1024

extern char __start_percpu[], __stop_percpu[];
extern unsigned long percpu_offset[NR_CPUS];

#define DECLARE_PER_CPU(type, name) extern __section("percpu") type name
#define DEFINE_PER_CPU(type, name)  __section("percpu") type name

/* Through an integer: a copy lies outside the object that the compiler knows. */
#define per_cpu_ptr_at(var, off) ((typeof(&(var)))((unsigned long)&(var) + (off)))
#define this_cpu_ptr(var)	 per_cpu_ptr_at(var, this_cpu_offset())
#define this_cpu(var)		 (*this_cpu_ptr(var))
#define per_cpu_ptr(var, cpu)	 per_cpu_ptr_at(var, percpu_offset[cpu])

DECLARE_PER_CPU(u32, cpu_number);

/* Logical number of the calling CPU, 0 = boot CPU. Any context. */
static inline u32 cpu_id(void)
{
	return this_cpu(cpu_number);
}

/*
 * Give each of `nr` CPUs its copy of the section, and fill percpu_offset[]. Boot CPU, after
 * page_alloc_init() and holding no lock; each CPU then does set_this_cpu_offset(percpu_offset[cpu])
 * itself. -ENOMEM, or -EINVAL when nr is 0 or beyond NR_CPUS.
 */
int percpu_init(u32 nr);

#endif
