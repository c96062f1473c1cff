/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler: a run queue per CPU, round robin with a time slice. There is no context switch: a
 * CPU's loop loads a vCPU, runs it, puts it, and takes the next. The hypervisor itself never blocks.
 */
#ifndef CUPEL_SCHED_H
#define CUPEL_SCHED_H

#include <cupel/types.h>
#include <cupel/vcpu.h>

extern u64 sched_slice_ns; /* default 5 ms */

/* Give a vCPU to a CPU's queue (it must be off any). It runs there once it is RUNNABLE. */
void sched_assign(struct vcpu *v, u32 cpu);
/* Take it away; waits until it is put. Thread context, not on the CPU that runs it. */
void sched_remove(struct vcpu *v);
/* Move to another CPU: at its next put. Any context. */
void sched_migrate(struct vcpu *v, u32 cpu);

/* One turn: posted calls and moves, or one vCPU if any is runnable; false: there was nothing to do. */
bool sched_turn(void);
/* Turns, idling between them, until done(arg) is true. The loop of every CPU, and of whoever waits. */
void sched_loop_until(bool (*done)(void *), void *arg);

#endif
