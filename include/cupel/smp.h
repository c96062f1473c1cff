/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs: bringing them up, and running a function on one. */
#ifndef CUPEL_SMP_H
#define CUPEL_SMP_H

#include <cupel/types.h>

extern u32 nr_cpus_online; /* logical CPUs 0..n-1 need not be contiguous: ask cpu_online() */
bool cpu_online(u32 cpu);
/* Next online CPU after `prev` (-1 to begin); -1 when there are no more. */
int cpu_next_online(int prev);
#define for_each_online_cpu(c) for (int c = cpu_next_online(-1); c >= 0; c = cpu_next_online(c))

/* Start every enabled CPU of `platform`; names each that fails on the console and goes on. */
void smp_start_all(void);
/* A secondary CPU, on its own stack and per-CPU area, ends here: marks itself online, then idles. */
__noreturn void cpu_main(u32 cpu);

/* Where the arch's boot path ends on the boot CPU: memory, per-CPU areas and interrupts are up. */
__noreturn void cupel_main(void);

typedef void (*smp_fn_t)(void *arg);
/*
 * Run fn(arg) on `cpu` from its idle/scheduler loop (not from interrupt context), interrupts on.
 * -ENODEV if it is not online, -EBUSY while an earlier call is still waiting to run.
 * smp_call_async() returns at once; smp_call_wait() until the last call on that CPU has ended.
 */
int smp_call_async(u32 cpu, smp_fn_t fn, void *arg);
void smp_call_wait(u32 cpu);
int smp_call(u32 cpu, smp_fn_t fn, void *arg);
/* Run what was posted to the calling CPU, if anything. Called by the idle/scheduler loop. */
bool smp_run_calls(void);

/*
 * Park a CPU: it is no longer online, takes no calls and no vCPUs, and idles; what it did before counts.
 * Unpark: it is as before. Both come back when it is done, in thread context. -EINVAL for the boot
 * CPU and the calling one (they are never parked), or one that is not parked; -ENODEV when it is not
 * online; -EBUSY while an earlier call waits to run there, or vCPUs have their place there. Not from
 * two CPUs that park each other.
 */
int smp_park(u32 cpu);
int smp_unpark(u32 cpu);

#endif
