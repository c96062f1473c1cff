/* SPDX-License-Identifier: GPL-2.0-only */
/* For self-tests that need more than one CPU. */
#ifndef CORE_SELFTEST_H
#define CORE_SELFTEST_H

#include <cupel/types.h>

/* fn(cpu, arg) on every online CPU at once, this one included; back when all are done. */
void selftest_on_all_cpus(void (*fn)(u32 cpu, void *arg), void *arg);

/* A CPU's share of `all`, so that a machine of many CPUs emulated by a few is done in time. */
u32 selftest_rounds(u32 all);

#endif
