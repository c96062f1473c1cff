/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files that change a guest's memory say to each other: slots_change.c, page_mover.c,
 * dirty_log.c and quiesce.c. Everything here is for the holder of vm->slots_lock, thread context, in no
 * read section, unless said otherwise.
 */
#ifndef CORE_SLOTS_H
#define CORE_SLOTS_H

#include <cupel/vm.h>

/*
 * Take vm->slots_lock. A vCPU's owner that waits for it inside an exit holds nothing of guest memory
 * meanwhile, so that the holder need not wait for it in turn.
 */
void slots_lock(struct vm *vm);
void slots_unlock(struct vm *vm);

/* vm_quiesce() under the lock. */
void slots_quiesce(struct vm *vm);
/* Until every read section of guest_srcu that is under way has ended. */
void slots_wait_for_readers(void);

/*
 * Make every vCPU of the VM stand still, holding nothing, with the second-stage flush that was posted
 * still to come; and let them go. In between interrupts are off, no section of guest_srcu looks
 * anything up, and nobody but the caller touches the VM's memory. *flags is the caller's.
 */
void vm_hold(struct vm *vm, unsigned long *flags);
void vm_let_go(struct vm *vm, unsigned long flags);

/* Around every change: what a page cache looks up in between is not to be kept. */
void invalidation_begin(struct vm *vm);
void invalidation_end(struct vm *vm);

/* The slot that begins at gpa, or that gpa lies in; or NULL. */
struct mem_slot *slot_at(struct vm *vm, gpaddr_t gpa);
struct mem_slot *slot_with(struct vm *vm, gpaddr_t gpa);
static inline u64 slot_pages(const struct mem_slot *s)
{
	return s->size >> PAGE_SHIFT;
}

/* Map [gpa, gpa+size) of a slot as its flags and frames say. */
int slot_map(struct vm *vm, const struct mem_slot *s, gpaddr_t gpa, u64 size);

/* dirty_log.c. A bitmap for a slot, or NULL; and mark [gpa, gpa+len) of one that has it: any context. */
u64 *dirty_bitmap_alloc(const struct mem_slot *s);
void dirty_bitmap_free(const struct mem_slot *s);
void slot_mark_dirty(const struct mem_slot *s, gpaddr_t gpa, u64 len);

/* page_mover.c: what a slot's moved pages and the VM's spare ones hold, when nobody looks any more. */
void frames_free(const struct mem_slot *s);
void page_mover_destroy(struct vm *vm);

#endif
