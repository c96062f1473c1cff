/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks: a ticket spinlock and a fair rwlock. Every lock says, where it is declared, what it guards.
 *
 * Counters are kept per call site and per CPU, and only while lock_stats_enabled is true, so that a
 * count never adds a shared cache line to the path it counts. Acquire is an acquire operation and
 * pairs with the release in unlock of the previous holder.
 */
#ifndef CUPEL_LOCK_H
#define CUPEL_LOCK_H

#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/percpu.h>
#include <cupel/types.h>

struct lock_site { /* one per spin_lock()/read_lock()/… in the source, in section "lock_sites" */
	const char *lock;
	const char *file;
	u32 line;
} __aligned(32);

struct lock_count {
	u64 acquired; /* times the lock was taken here */
	u64 contended; /* times it was not free at the first look */
	u64 spins; /* iterations of the wait loop */
};

typedef struct spinlock {
	u32 next; /* ticket to be handed out */
	u32 owner; /* ticket being served */
	const char *name; /* lock class: debug builds check the order of classes */
} spinlock_t;

typedef struct rwlock {
	u32 asked; /* layout private to core/lock.c */
	u32 done;
	const char *name;
} rwlock_t;

#define SPINLOCK_INIT(n) { .next = 0, .owner = 0, .name = (n) }
#define RWLOCK_INIT(n)	 { .asked = 0, .done = 0, .name = (n) }

extern bool lock_stats_enabled;
/* Give every CPU its counters: once, before lock_stats_enabled is first set. -ENOMEM. */
int lock_stats_init(void);

#define LOCK_SITE(l)                                                         \
	({                                                                   \
		static const struct lock_site __used __section("lock_sites") \
			site_ = { #l, __FILE__, __LINE__ };                  \
		&site_;                                                      \
	})

void spin_lock_at(spinlock_t *l, const struct lock_site *site);
bool spin_trylock_at(spinlock_t *l, const struct lock_site *site);
void spin_unlock(spinlock_t *l);
void read_lock_at(rwlock_t *l, const struct lock_site *site);
bool read_trylock_at(rwlock_t *l, const struct lock_site *site);
void read_unlock(rwlock_t *l);
void write_lock_at(rwlock_t *l, const struct lock_site *site);
void write_unlock(rwlock_t *l);

/* The plain forms need interrupts already off, or a lock that no interrupt handler takes. */
#define spin_lock(l)	spin_lock_at((l), LOCK_SITE(l))
#define spin_trylock(l) spin_trylock_at((l), LOCK_SITE(l))
#define read_lock(l)	read_lock_at((l), LOCK_SITE(l))
#define read_trylock(l) read_trylock_at((l), LOCK_SITE(l))
#define write_lock(l)	write_lock_at((l), LOCK_SITE(l))

#define spin_lock_irqsave(l, flags)        \
	do {                               \
		(flags) = arch_irq_save(); \
		spin_lock(l);              \
	} while (0)
#define spin_unlock_irqrestore(l, flags) \
	do {                             \
		spin_unlock(l);          \
		arch_irq_restore(flags); \
	} while (0)

/* Sum over CPUs of all sites whose lock expression contains `match` (NULL: all). */
struct lock_count lock_stats_sum(const char *match);
/* Set every counter of every CPU to zero. Callers make sure nobody is taking locks they count. */
void lock_stats_reset(void);
/* Walk sites that were used; fn returns false to stop. */
void lock_stats_walk(bool (*fn)(const struct lock_site *, const struct lock_count *, void *),
		     void *arg);

#endif
