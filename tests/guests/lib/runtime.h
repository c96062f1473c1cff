/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the runtime say to each other; not for guests. */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <cupel/types.h>
#include <stdarg.h>

void count_failure(void);
/* Bare: print the plan. */
void report_end(void);
/* An interrupt that the controller handed over: its handler, or a note that there is none. */
void irq_deliver(u32 irq);
/* Fill in a fault if a try_call() is in progress on this vCPU; its stack, or 0. */
u64 try_fault(u64 cause, u64 code, u64 addr, u64 pc);

#endif
