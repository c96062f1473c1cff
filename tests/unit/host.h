/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine of the host build as tests see it: beside host/machine.h, a console that is a buffer. */
#ifndef UNIT_HOST_H
#define UNIT_HOST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <cupel/atomic.h>

#include "../../host/machine.h"

/* Pages, per-CPU areas, a console. Once per process; the calling thread becomes CPU 0. */
void host_setup(u32 cpus, u64 memory);
/* As a cmocka group setup: 8 CPUs, 64 MiB. */
int host_group_setup(void **state);

/* What was printed since the last call of host_console_clear(), NUL terminated. */
const char *host_console(void);
void host_console_clear(void);

/*
 * Runs fn(arg) in a child process that is expected to end through arch_machine_exit(): returns its
 * code, -1 if it did not end so; what it printed is in host_last_words().
 */
int host_dies(void (*fn)(void *arg), void *arg);
const char *host_last_words(void);

u64 host_random(u64 *state); /* xorshift64: a failure repeats */

#endif
