/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine of the host build: memory, CPUs that are threads, a console that is a buffer. */
#ifndef UNIT_HOST_H
#define UNIT_HOST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/types.h>

/* Pages, per-CPU areas, a console. Once per process; the calling thread becomes CPU 0. */
void host_setup(u32 cpus, u64 memory);
/* As a cmocka group setup: 8 CPUs, 64 MiB. */
int host_group_setup(void **state);

/* What was printed since the last call of host_console_clear(), NUL terminated. */
const char *host_console(void);
void host_console_clear(void);

/* fn(cpu, arg) on CPUs 1..n at once, each a thread with its own per-CPU area; waits for all. */
void host_on_cpus(u32 n, void (*fn)(u32 cpu, void *arg), void *arg);

/*
 * Runs fn(arg) in a child process that is expected to end through arch_machine_exit(): returns its
 * code, -1 if it did not end so; what it printed is in host_last_words().
 */
int host_dies(void (*fn)(void *arg), void *arg);
const char *host_last_words(void);

/* A CPU that arch_cpu_start() can't start. */
extern u32 host_broken_cpu;

/* Stop the clock at `now`; 0 lets it run again. */
void host_set_time(u64 now);
/* Whether a kick waits for the calling CPU. */
bool host_kick_pending(void);
/* Kicks sent to a CPU so far. */
u32 host_kicks(u32 cpu);

/* The guest that arch_vcpu_init() gives to every vCPU. */
struct vcpu;
extern int (*host_guest)(struct vcpu *v);
/* What arch_vm_init() and arch_vcpu_init() return; for errors half way. */
extern int host_vm_init_result, host_vcpu_init_result;

u64 host_random(u64 *state); /* xorshift64: a failure repeats */

#endif
