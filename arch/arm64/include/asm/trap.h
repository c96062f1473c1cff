/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exceptions that the hypervisor itself takes. One that nobody expected ends in panic(); a caller that
 * expects one runs the access under arm64_try().
 */
#ifndef ASM_TRAP_H
#define ASM_TRAP_H

#include <cupel/types.h>

struct trap_info {
	u64 esr, elr, far;
};

/*
 * Run fn(arg); true when it came to its end, false when an exception ended it (*info says which).
 * Thread context, not nested. fn must not hold a lock across the access.
 */
bool arm64_try(void (*fn)(void *arg), void *arg, struct trap_info *info);

/* An exception's class in words, and for aborts what kind of fault it is ("" otherwise). */
const char *esr_class_name(u64 esr);
const char *esr_fault_name(u64 esr);

#endif
