/* SPDX-License-Identifier: GPL-2.0-only */
/* What debug builds check about every lock; in the others the calls vanish, and the checks with them. */
#ifndef CORE_LOCK_DEBUG_H
#define CORE_LOCK_DEBUG_H

#include <cupel/lock.h>

#ifdef CONFIG_DEBUG
#define LOCK_DEBUG true
#else
#define LOCK_DEBUG false
#endif

void lock_check_before(const void *l, const char *name, const struct lock_site *site);
void lock_check_taken(const void *l, const char *name, const struct lock_site *site);
void lock_check_released(const void *l, const char *name);

/* How many interrupt handlers the calling CPU is in; counted in debug builds only. */
DECLARE_PER_CPU(u32, irq_depth);

/* Before waiting: double lock, and order against what this CPU holds. */
static __always_inline void lock_debug_before(const void *l, const char *name,
					      const struct lock_site *site)
{
	if (LOCK_DEBUG)
		lock_check_before(l, name, site);
}

static __always_inline void lock_debug_taken(const void *l, const char *name,
					     const struct lock_site *site)
{
	if (LOCK_DEBUG)
		lock_check_taken(l, name, site);
}

/* Before letting go: the calling CPU must hold it. */
static __always_inline void lock_debug_released(const void *l, const char *name)
{
	if (LOCK_DEBUG)
		lock_check_released(l, name);
}

/* Around an interrupt handler: a lock that one waits for is never to be held with interrupts on. */
static __always_inline void lock_debug_irq_enter(void)
{
	if (LOCK_DEBUG)
		this_cpu(irq_depth)++;
}

static __always_inline void lock_debug_irq_exit(void)
{
	if (LOCK_DEBUG)
		this_cpu(irq_depth)--;
}

#endif
