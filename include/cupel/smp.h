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

#endif
