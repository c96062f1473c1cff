/* SPDX-License-Identifier: GPL-2.0-only */
/* What debug builds check about every lock; nothing in the others. */
#ifndef CORE_LOCK_DEBUG_H
#define CORE_LOCK_DEBUG_H

#include <cupel/lock.h>

enum lock_kind { LOCK_SPIN, LOCK_READ, LOCK_WRITE };

#ifdef CONFIG_DEBUG
/* Before waiting: double lock, and order against what this CPU holds. */
void lock_debug_before(const void *l, const char *name, const struct lock_site *site);
void lock_debug_taken(const void *l, const char *name, const struct lock_site *site,
		      enum lock_kind kind);
void lock_debug_released(const void *l, const char *name);
#else
static inline void lock_debug_before(const void *l, const char *name, const struct lock_site *site)
{
}
static inline void lock_debug_taken(const void *l, const char *name, const struct lock_site *site,
				    enum lock_kind kind)
{
}
static inline void lock_debug_released(const void *l, const char *name)
{
}
#endif

#endif
