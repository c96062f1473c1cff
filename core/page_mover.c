/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moves a guest's pages to other frames: the source of invalidations, as migration or compaction would
 * be. A frame that was left is filled with a pattern and goes to the end of a queue of spare ones, so
 * that whoever still uses it reads garbage, and if it writes, stops the machine when its turn comes.
 * All frames stay the VM's until it is gone.
 */
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/vm.h>

#include "core.h"
#include "slots.h"

#define SPARES 64 /* moves until a frame comes round again */

struct page_mover {
	u32 nr; /* frames that were added to the VM's memory, and so the length of the queue */
	u32 next; /* the oldest spare frame, once there are SPARES */
	void *added[SPARES];
	paddr_t spare[SPARES];
};

/* --- Frames ------------------------------------------------------------------------------------- */

static void poison(paddr_t frame)
{
	u64 *p = pa_to_va(frame);

	for (u32 i = 0; i < PAGE_SIZE / sizeof(*p); i++)
		p[i] = FRAME_POISON;
}

static void check_poison(const struct vm *vm, paddr_t frame)
{
	const u64 *p = pa_to_va(frame);

	for (u32 i = 0; i < PAGE_SIZE / sizeof(*p); i++) {
		if (p[i] != FRAME_POISON)
			panic("%s: a frame was written after its page had left it (0x%lx at 0x%x)",
			      vm->config.name, p[i], i * 8);
	}
}

/* Before the array can be read by anyone it says where the pages are. */
static int make_frames(struct mem_slot *s)
{
	paddr_t *frame;

	if (s->frame)
		return 0;
	frame = pages_alloc(size_to_order(slot_pages(s) * sizeof(*frame)));
	if (!frame)
		return -ENOMEM;
	for (u64 n = 0; n < slot_pages(s); n++)
		frame[n] = s->pa + n * PAGE_SIZE;
	/* Pairs with the acquires in slot_pa() and contiguous(). */
	store_release(&s->frame, frame);
	return 0;
}

void frames_free(const struct mem_slot *s)
{
	if (s->frame)
		pages_free(s->frame, size_to_order(slot_pages(s) * sizeof(*s->frame)));
}

static struct page_mover *mover_of(struct vm *vm)
{
	if (!vm->mover)
		vm->mover = pages_alloc(size_to_order(sizeof(*vm->mover)));
	return vm->mover;
}

/* The frame to move to, and where the one that is left is to be put: 0 = no memory. */
static paddr_t take_spare(struct vm *vm, paddr_t **left)
{
	struct page_mover *m = mover_of(vm);
	void *page = m && m->nr < SPARES ? page_alloc() : NULL;
	paddr_t frame;

	if (page) {
		m->added[m->nr] = page;
		*left = &m->spare[m->nr++];
		return va_to_pa(page);
	}
	if (!m || !m->nr)
		return 0;
	*left = &m->spare[m->next];
	m->next = (m->next + 1) % m->nr;
	frame = **left;
	check_poison(vm, frame);
	return frame;
}

void page_mover_destroy(struct vm *vm)
{
	struct page_mover *m = vm->mover;

	for (u32 i = 0; m && i < m->nr; i++)
		check_poison(vm, m->spare[i]);
	for (u32 i = 0; m && i < m->nr; i++)
		page_free(m->added[i]);
	if (m)
		pages_free(m, size_to_order(sizeof(*m)));
	vm->mover = NULL;
}

/* --- Moves -------------------------------------------------------------------------------------- */

static void move(struct vm *vm, struct mem_slot *s, gpaddr_t gpa, paddr_t to)
{
	unsigned long flags;

	invalidation_begin(vm);
	gpc_invalidate(vm, gpa, PAGE_SIZE);
	arch_stage2_unmap(vm, gpa, PAGE_SIZE);
	vm_hold(vm, &flags);
	arch_page_copy(pa_to_va(to), pa_to_va(slot_pa(s, gpa)));
	/* Pairs with the acquire in slot_pa(): who finds the frame finds the copy. */
	store_release(&s->frame[(gpa - s->gpa) >> PAGE_SHIFT], to);
	slot_map(vm, s, gpa, PAGE_SIZE); /* without memory for tables it comes back by a fault */
	vm_let_go(vm, flags);
	invalidation_end(vm);
}

static int move_page(struct vm *vm, gpaddr_t gpa)
{
	struct mem_slot *s = slot_with(vm, gpa);
	paddr_t to, from, *left;
	int err;

	if (!s)
		return -ENOENT;
	err = make_frames(s);
	if (err)
		return err;
	to = take_spare(vm, &left);
	if (!to)
		return -ENOMEM;
	from = slot_pa(s, gpa);
	move(vm, s, gpa, to);
	poison(from);
	*left = from;
	return 0;
}

int vm_move_page(struct vm *vm, gpaddr_t gpa)
{
	int err;

	slots_lock(vm);
	err = move_page(vm, ALIGN_DOWN(gpa, PAGE_SIZE));
	slots_unlock(vm);
	return err;
}
