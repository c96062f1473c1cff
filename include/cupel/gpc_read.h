/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reader's half of the page cache, inline: what is measured. Must never wait for an updater, and in
 * the SRCU kinds must not write a line that another CPU touches (targeted: once per CPU and
 * invalidation). Include <cupel/gpc.h> instead.
 */
#ifndef CUPEL_GPC_READ_H
#define CUPEL_GPC_READ_H

/* The rwlock kinds; core/gpc.c. */
void *gpc_get_locked(struct gpc *g, u32 len);
void gpc_put_locked(struct gpc *g);
/* targeted: this CPU's bit in g->readers was clear. */
void gpc_mark_reader(struct gpc *g, u32 cpu);

/* Whether va may be used: active, valid, of the slots' present generation, long enough. */
static inline bool gpc_check(const struct gpc *g, u32 len)
{
	/* Acquire: pairs with the release in publish(); va and len are those stored before it. */
	if (unlikely(load_acquire(&g->valid) != GPC_VALID) || unlikely(len > READ_ONCE(g->len)))
		return false;
	return likely(READ_ONCE(g->generation) == READ_ONCE(*g->present));
}

static inline void *gpc_get(struct gpc *g, u32 len)
{
	if (unlikely(g->kind <= GPC_TRYLOCK))
		return gpc_get_locked(g, len);
	if (g->kind == GPC_TARGETED) {
		u32 cpu = cpu_id();

		/*
		 * The section is counted in (barrier B); then the bit; then `valid`. Acquire: pairs with
		 * take_readers(): a bit that was set after that comes with what `valid` was there.
		 */
		if (unlikely(!(load_acquire(&g->readers[cpu / 64]) & BIT(cpu % 64))))
			gpc_mark_reader(g, cpu);
	}
	return likely(gpc_check(g, len)) ? READ_ONCE(g->va) : NULL;
}

static inline void gpc_put(struct gpc *g)
{
	if (unlikely(g->kind <= GPC_TRYLOCK))
		gpc_put_locked(g);
}

/* The page was written: into the dirty log, if its slot keeps one. Between gpc_get() and gpc_put(). */
static inline void gpc_dirty(struct gpc *g)
{
	if (unlikely(READ_ONCE(g->vm->dirty_slots)) &&
	    !(g->flags & (GPC_NEVER_DIRTY | GPC_READONLY)) && g->gpa != INVALID_GPA)
		vm_mark_dirty(g->vm, g->gpa);
}

#endif
