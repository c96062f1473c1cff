/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine of the host build, for the unit tests and for the host program: memory from the process,
 * CPUs that are threads, guests that are functions. It does what <cupel/arch.h> asks of an architecture.
 */
#ifndef HOST_MACHINE_H
#define HOST_MACHINE_H

#include <cupel/arch.h>
#include <cupel/types.h>

/* Pages, per-CPU areas. Once per process; the calling thread becomes CPU 0. No console. */
void host_machine(u32 cpus, u64 memory);

/* Before host_machine(): thread i stays on the i-th host CPU this process may use, round and round. */
extern bool host_pinned;
/* More threads than host CPUs: who spins gives its host CPU away each time. Set unless told otherwise. */
extern bool host_crowded;
/* Host CPUs that this process may use. */
u32 host_nr_cpus(void);

/* fn(cpu, arg) on CPUs 1..n at once, each a thread with its own per-CPU area; waits for all. */
void host_on_cpus(u32 n, void (*fn)(u32 cpu, void *arg), void *arg);

/* A CPU that arch_cpu_start() can't start. */
extern u32 host_broken_cpu;

/* Stop the clock at `now`; 0 lets it run again. */
void host_set_time(u64 now);
/* Whether a kick waits for the calling CPU; whether that or its timer would interrupt it. */
bool host_kick_pending(void);
bool host_irq_pending(void);
/* Kicks sent to a CPU so far. */
u32 host_kicks(u32 cpu);

/* The guest that arch_vcpu_init() gives to every vCPU: returns an enum vcpu_exit. */
struct vcpu;
typedef int (*host_guest_t)(struct vcpu *v);
extern host_guest_t host_guest;
/* The page that a guest was given last: arch_page_give(). */
extern const void *host_given;
/* What arch_vm_init() and arch_vcpu_init() return; for errors half way. */
extern int host_vm_init_result, host_vcpu_init_result;

/* What a test makes of a VM's second stage: told of every mapping and removal, by who changes it. */
struct vm;
struct host_mapping {
	u64 gpa, pa, size;
	u32 slot_flags;
	bool map; /* false: removed */
};
extern void (*host_stage2)(struct vm *vm, const struct host_mapping *m);

/* The image of a guest that is a function: arch_vm_init() gives it to every vCPU of its VM. */
#define HOST_IMAGE_MAGIC "host guest"
struct host_image {
	char magic[16];
	host_guest_t guest;
};

#endif
