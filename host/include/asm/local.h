/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters that one CPU writes. What the host's architecture has for it is measured; a sanitizer sees only
 * what the compiler knows of, and gets load and store: a thread's interrupts come at places of their own.
 */
#ifndef ASM_HOST_LOCAL_H
#define ASM_HOST_LOCAL_H

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#include "../../../arch/x86/include/asm/local.h"
#elif defined(__aarch64__) && !defined(__SANITIZE_THREAD__)
#include "../../../arch/arm64/include/asm/local.h"
#else
/* Release, acquire: a sanitizer does not know barriers; one comes before the one, and after the other. */
static inline void local_inc(unsigned long *p)
{
	__atomic_store_n(p, __atomic_load_n(p, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
}

static inline unsigned long local_read(const unsigned long *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
#endif

#endif
