/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lock checking of debug builds. Locks of one name are one class. Every CPU keeps what it holds; each
 * pair "held A, then took B" becomes an edge A -> B that stays for good, and an edge that would close
 * a circle is reported with both chains, whether or not it deadlocked this time. Takes none of the
 * locks it checks.
 */
#include <cupel/percpu.h>
#include <cupel/printk.h>
#include <string.h>

#include "lock_debug.h"

#define MAX_CLASSES 64
#define MAX_HELD    16

struct held {
	const void *lock;
	int class;
	const struct lock_site *site;
};

struct held_stack {
	struct held held[MAX_HELD];
	u32 count;
	bool busy; /* this CPU is inside a check or a report: what that locks is not checked */
};

/* Where an order was first seen. */
struct edge {
	const struct lock_site *outer, *inner;
};

static DEFINE_PER_CPU(struct held_stack, held_stack);

DEFINE_PER_CPU(u32, irq_depth);

/* Names are only ever added: an index below nr_classes stays valid. */
static const char *class_name[MAX_CLASSES];
static u32 nr_classes;
static u64 after[MAX_CLASSES]; /* bit b of after[a]: b was taken while a was held */
static struct edge edges[MAX_CLASSES][MAX_CLASSES];

/*
 * Where a class was first waited for in an interrupt handler, and where it was first held with interrupts
 * on. Both: the handler may find the lock held by the very CPU it interrupted, and wait for good.
 */
static const struct lock_site *waited_in_irq[MAX_CLASSES], *held_irqs_on[MAX_CLASSES];

/* Guards the graph against writers; not a lock of <cupel/lock.h>, which would check itself. */
static u32 graph_busy;

static void graph_lock(void)
{
	/* Pairs with the release in graph_unlock(). */
	while (atomic_xchg_acquire(&graph_busy, 1U))
		cpu_relax();
}

static void graph_unlock(void)
{
	store_release(&graph_busy, 0U); /* pairs with the acquire in graph_lock() */
}

static int find_class(const char *name, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		if (class_name[i] == name || !strcmp(class_name[i], name))
			return (int)i;
	}
	return -1;
}

/* -1 for a lock without a name, or when the table is full: such a lock has no order. */
static int class_of(const char *name)
{
	int class;

	if (!name)
		return -1;
	/* Pairs with the release below: names up to the count are there. */
	class = find_class(name, load_acquire(&nr_classes));
	if (class >= 0)
		return class;
	graph_lock();
	class = find_class(name, nr_classes);
	if (class < 0 && nr_classes < MAX_CLASSES) {
		class = (int)nr_classes;
		class_name[class] = name;
		store_release(&nr_classes, nr_classes + 1);
	}
	graph_unlock();
	return class;
}

/* A chain of edges from -> ... -> to, in path[]; its length, or 0. Depth first, each class once. */
static u32 find_path(int from, int to, u8 *path, u32 depth, u64 *seen)
{
	u64 next;

	path[depth] = (u8)from;
	if (from == to)
		return depth + 1;
	*seen |= 1UL << from;
	for (next = READ_ONCE(after[from]); next; next &= next - 1) {
		int class = __builtin_ctzl(next);
		u32 len;

		if (*seen & (1UL << class))
			continue;
		len = find_path(class, to, path, depth + 1, seen);
		if (len)
			return len;
	}
	return 0;
}

static void print_step(const char *outer, const char *inner, const struct edge *e)
{
	printk("    %s (%s:%u) -> %s (%s:%u)\n", outer, e->outer->file, e->outer->line, inner,
	       e->inner->file, e->inner->line);
}

static __cold void report_order(const struct held *h, int class, const struct lock_site *site,
				const u8 *path, u32 len)
{
	const struct edge now = { h->site, site };

	printk("lock order: CPU %u now takes\n", cpu_id());
	print_step(class_name[h->class], class_name[class], &now);
	printk("  but the opposite has been seen:\n");
	for (u32 i = 0; i + 1 < len; i++)
		print_step(class_name[path[i]], class_name[path[i + 1]],
			   &edges[path[i]][path[i + 1]]);
	panic("lock order: %s and %s are taken in both orders", class_name[h->class],
	      class_name[class]);
}

static void check_edge(const struct held *h, int class, const struct lock_site *site)
{
	u8 path[MAX_CLASSES];
	u64 seen = 0;
	u32 len;

	if (h->class < 0 || (READ_ONCE(after[h->class]) & (1UL << class)))
		return;
	graph_lock();
	len = find_path(class, h->class, path, 0, &seen);
	if (!len) {
		edges[h->class][class] = (struct edge){ h->site, site };
		WRITE_ONCE(after[h->class], after[h->class] | 1UL << class);
	}
	graph_unlock();
	if (len)
		report_order(h, class, site, path, len);
}

/* Note `site` in `mine`; both sides known: report. */
static void check_irq_use(int class, const struct lock_site **mine, const struct lock_site **other,
			  const struct lock_site *site)
{
	const struct lock_site *theirs;

	if (READ_ONCE(mine[class]))
		return;
	WRITE_ONCE(mine[class], site);
	/* Pairs with the same barrier on the other side: the later one sees both. */
	smp_mb();
	theirs = READ_ONCE(other[class]);
	if (theirs)
		panic("lock %s: %s:%u and %s:%u: waited for in an interrupt handler and held with interrupts on",
		      class_name[class], site->file, site->line, theirs->file, theirs->line);
}

/* False while this CPU is inside a check already; true begins one. */
static bool enter_check(struct held_stack *s)
{
	if (s->busy)
		return false;
	s->busy = true;
	return true;
}

void lock_check_before(const void *l, const char *name, const struct lock_site *site)
{
	unsigned long flags = arch_irq_save();
	struct held_stack *s = this_cpu_ptr(held_stack);

	if (enter_check(s)) {
		int class = class_of(name);

		if (class >= 0 && this_cpu(irq_depth))
			check_irq_use(class, waited_in_irq, held_irqs_on, site);
		for (u32 i = 0; i < s->count; i++) {
			if (s->held[i].lock == l)
				panic("lock %s taken twice by CPU %u: %s:%u, then %s:%u",
				      site->lock, cpu_id(), s->held[i].site->file,
				      s->held[i].site->line, site->file, site->line);
			if (class >= 0)
				check_edge(&s->held[i], class, site);
		}
		s->busy = false;
	}
	arch_irq_restore(flags);
}

void lock_check_taken(const void *l, const char *name, const struct lock_site *site)
{
	bool irqs_on = arch_irqs_enabled();
	unsigned long flags = arch_irq_save();
	struct held_stack *s = this_cpu_ptr(held_stack);

	if (enter_check(s)) {
		int class = class_of(name);

		if (class >= 0 && irqs_on)
			check_irq_use(class, held_irqs_on, waited_in_irq, site);
		if (s->count == MAX_HELD)
			panic("CPU %u holds more than %d locks", cpu_id(), MAX_HELD);
		s->held[s->count++] = (struct held){ l, class, site };
		s->busy = false;
	}
	arch_irq_restore(flags);
}

void lock_check_released(const void *l, const char *name)
{
	unsigned long flags = arch_irq_save();
	struct held_stack *s = this_cpu_ptr(held_stack);

	if (enter_check(s)) {
		u32 i = s->count;

		while (i > 0 && s->held[i - 1].lock != l)
			i--;
		if (!i)
			panic("lock %s let go by CPU %u, which does not hold it", name ? name : "?",
			      cpu_id());
		memmove(&s->held[i - 1], &s->held[i], (s->count - i) * sizeof(s->held[0]));
		s->count--;
		s->busy = false;
	}
	arch_irq_restore(flags);
}
