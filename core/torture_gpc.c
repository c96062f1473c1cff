/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * torture=gpc: a VM for every kind of page cache, read and written through caches from all CPUs, in thread and
 * in interrupt context, while its pages move, its slots move and change, caches are refreshed, change their
 * keys, go and come, and VMs are made and destroyed beside. Memory that nobody may have any more is poisoned at
 * once; every word that was written is compared with what its CPU remembers. Must never serialise what it
 * tortures: nothing but a cache's change of key is done by one CPU at a time.
 */
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/torture.h>
#include <string.h>

#include "slots.h"

#define VM_MEMORY MIB(4)
#define SLOT_AWAY MIB(16) /* from the end of memory to where a slot is, and on to where it goes */
#define SLOT_SIZE (4 * PAGE_SIZE)
#define SHORT_NS  1000UL
#define LONG_NS	  100000UL

/* Caches of a VM. The first two keep their page, and what is written there is checked. */
enum { FIXED_0, FIXED_1, NR_FIXED, CHANGING = NR_FIXED, IN_SLOT, NR_CACHES };

enum {
	READS,
	READS_IRQ,
	TWO_AT_ONCE,
	NOT_VALID,
	RACED,
	REFRESHED,
	AGAIN,
	GONE,
	INVALIDATIONS,
	WAITS,
	TAKEN,
	PAGE_MOVES,
	SLOT_MOVES,
	SLOT_FLAGS,
	KEYS,
	OWN_MEMORY,
	VMS,
	POISON,
	LOST,
	ERRORS,
	LEFT_OVER,
};

static const struct torture_count counts[] = {
	[READS] = { "reads", TORTURE_MUST, "lookups that gave a page, in thread context" },
	[READS_IRQ] = { "reads_irq", TORTURE_MUST, "in interrupt context" },
	[TWO_AT_ONCE] = { "two_at_once", TORTURE_MUST, "with another page held" },
	[NOT_VALID] = { "not_valid", TORTURE_MUST, "lookups that gave none" },
	[RACED] = { "raced", TORTURE_MUST_SMP, "whose page was taken away meanwhile" },
	[REFRESHED] = { "refreshed", TORTURE_MUST, "refreshes that gave a page" },
	[AGAIN] = { "again", TORTURE_MUST_SMP, "tries of them that met a change" },
	[GONE] = { "gone", TORTURE_MUST, "refreshes that found no memory" },
	[INVALIDATIONS] = { "invalidations", TORTURE_MUST, "caches that became invalid" },
	[WAITS] = { "waits", TORTURE_MUST, "times readers were waited for" },
	[TAKEN] = { "taken", TORTURE_MUST, "pages poisoned where they are, for a moment" },
	[PAGE_MOVES] = { "page_moves", TORTURE_MUST, "pages that went to another frame" },
	[SLOT_MOVES] = { "slot_moves", TORTURE_MUST, "slots that went to another address" },
	[SLOT_FLAGS] = { "slot_flags", TORTURE_MUST, "slots made read-only or logged, or not" },
	[KEYS] = { "keys", TORTURE_MUST, "caches that got another key, or none" },
	[OWN_MEMORY] = { "own_memory", TORTURE_MUST, "that got memory of the hypervisor" },
	[VMS] = { "vms", TORTURE_MUST, "VMs made and destroyed" },
	[POISON] = { "poison", TORTURE_NEVER, "lookups that found what nobody may have" },
	[LOST] = { "lost", TORTURE_NEVER, "words that were written and are not there" },
	[ERRORS] = { "errors", TORTURE_NEVER, "operations that failed for no reason" },
	[LEFT_OVER] = { "left_over", TORTURE_NEVER, "caches on a list at the end" },
	{ NULL },
};

struct subject {
	struct vm *vm;
	gpaddr_t pages, slot; /* the last pages of its memory; where the slot is when at home */
	void *slot_pages;
	struct gpc cache[NR_CACHES];
	u32 changing; /* exchanged by who changes the key of CHANGING, which guards the rest */
	u64 *own; /* hypervisor memory, for that */
	u64 *taken; /* where the guest's page for that is, which no mover moves */
	bool has_own;
};

/* What a CPU has written: one word a page in thread context, one in interrupts. */
struct memory {
	u64 word[NR_GPC_KINDS][NR_FIXED][2];
};

static struct subject *subjects;
static struct memory *memories;

static void fill(u64 *page, u64 value)
{
	for (u32 i = 0; i < PAGE_SIZE / sizeof(*page); i++)
		WRITE_ONCE(page[i], value);
}

/* --- Readers ------------------------------------------------------------------------------------ */

static struct subject *choose(u64 *random)
{
	return &subjects[torture_choose(random, NR_GPC_KINDS)];
}

static bool is_fixed(u32 n)
{
	return n < NR_FIXED;
}

static u32 word_of(const struct torture_worker *w, bool irq)
{
	return (w->cpu * 2 + irq) % (PAGE_SIZE / sizeof(u64));
}

/* True when it is no poison. */
static bool check_word(const struct subject *s, u32 n, const u64 *word)
{
	if (READ_ONCE(*word) != FRAME_POISON)
		return true;
	torture_fail(POISON, "gpc=%s, cache %u: poison", gpc_kind_names[s->cache[n].kind], n);
	return false;
}

static void use_page(struct torture_worker *w, struct subject *s, u32 n, u64 *page, bool irq)
{
	u64 *random = irq ? &w->irq_random : &w->random;
	struct memory *m = w->own;
	u64 *seen = &m->word[s - subjects][n % NR_FIXED][irq], *word = &page[word_of(w, irq)];

	if (!check_word(s, n, word))
		return;
	if (is_fixed(n)) {
		if (READ_ONCE(*word) != *seen)
			torture_fail(LOST, "gpc=%s: %lu is there, %lu was written",
				     gpc_kind_names[s->cache[n].kind], READ_ONCE(*word), *seen);
		WRITE_ONCE(*word, ++*seen);
		gpc_dirty(&s->cache[n]);
	}
	torture_delay(random, torture_one_in(random, 8) ? LONG_NS : SHORT_NS);
	check_word(s, n, word);
	if (READ_ONCE(s->cache[n].valid) != GPC_VALID)
		torture_count(RACED);
}

/* The inner one: its frame may move, and nobody compares its words. */
static void read_inner(struct torture_worker *w, struct subject *s, bool irq)
{
	u64 *page = gpc_get(&s->cache[CHANGING], PAGE_SIZE);

	if (!page)
		return;
	check_word(s, CHANGING, &page[word_of(w, irq)]);
	torture_count(TWO_AT_ONCE);
	gpc_put(&s->cache[CHANGING]);
}

/* False: not valid. */
static bool read_one(struct torture_worker *w, struct subject *s, u32 n, bool irq)
{
	srcu_token_t token = guest_read_lock();
	u64 *page = gpc_get(&s->cache[n], PAGE_SIZE);

	if (page) {
		if (is_fixed(n))
			read_inner(w, s, irq);
		use_page(w, s, n, page, irq);
		gpc_put(&s->cache[n]);
	}
	guest_read_unlock(token);
	torture_count(!page ? NOT_VALID : irq ? READS_IRQ : READS);
	return page;
}

/* --- Updaters ----------------------------------------------------------------------------------- */

static void check_err(int err, int allowed, const char *what)
{
	if (err && err != allowed && err != -EAGAIN)
		torture_fail(ERRORS, "%s: %d", what, err);
}

static void refresh_one(struct subject *s, u32 n)
{
	int err = gpc_refresh(&s->cache[n]);

	if (!err)
		torture_count(REFRESHED);
	else if (n == IN_SLOT && err == -EFAULT)
		torture_count(GONE);
	else
		check_err(err, n == CHANGING ? -EINVAL : 0, "refresh");
}

static gpaddr_t random_page(const struct subject *s, u64 *random)
{
	return s->pages + torture_random(random) % NR_FIXED * PAGE_SIZE;
}

/* Not by the page mover, which waits for all readers there are: here only the cache's own wait counts. */
static void take_page(struct subject *s, u64 *random)
{
	invalidation_begin(s->vm);
	gpc_invalidate(s->vm, s->pages + CHANGING * PAGE_SIZE, PAGE_SIZE);
	fill(s->taken, FRAME_POISON);
	torture_delay(random, LONG_NS);
	fill(s->taken, 0);
	invalidation_end(s->vm);
	torture_count(TAKEN);
}

/* Nobody has the own memory any more: whoever still reads it finds poison. */
static void change_key(struct subject *s, u64 *random)
{
	struct gpc *g = &s->cache[CHANGING];
	u32 to = torture_random(random) % 3;

	/* Acquire and release: what is guarded is written by one CPU at a time. */
	if (atomic_xchg_acquire(&s->changing, 1U))
		return;
	if (to == 0) {
		gpc_deactivate(g);
	} else if (to == 1) {
		check_err(gpc_activate(g, s->pages + CHANGING * PAGE_SIZE, PAGE_SIZE), 0, "activate");
	} else {
		if (!s->has_own)
			fill(s->own, 0);
		check_err(gpc_activate_va(g, s->own, PAGE_SIZE), 0, "own memory");
		torture_count(OWN_MEMORY);
	}
	if (s->has_own && to != 2)
		fill(s->own, FRAME_POISON);
	s->has_own = to == 2;
	store_release(&s->changing, 0U); /* pairs with the exchange above */
	torture_count(KEYS);
}

static void move_slot(struct subject *s, u64 *random)
{
	bool home = torture_one_in(random, 2);
	gpaddr_t away = s->slot + SLOT_AWAY;

	/* It may be where it is to go. */
	if (!vm_move_slot(s->vm, home ? away : s->slot, home ? s->slot : away))
		torture_count(SLOT_MOVES);
}

static void change_flags(struct subject *s, u64 *random)
{
	static const u32 flags[] = { 0, SLOT_DIRTY_LOG, SLOT_READONLY };

	if (!vm_set_slot_flags(s->vm, s->slot, flags[torture_random(random) % ARRAY_SIZE(flags)]))
		torture_count(SLOT_FLAGS);
}

static void step(struct torture_worker *w)
{
	u64 *random = &w->random;
	struct subject *s = choose(random);
	u32 n = torture_random(random) % NR_CACHES;

	switch (torture_random(random) % 64) {
	case 0: move_slot(s, random); break;
	case 1: change_flags(s, random); break;
	case 2 ... 4: change_key(s, random); break;
	case 5 ... 8:
		if (!vm_move_page(s->vm, random_page(s, random)))
			torture_count(PAGE_MOVES);
		break;
	case 9 ... 11: take_page(s, random); break;
	case 12: gpc_invalidate(s->vm, random_page(s, random), PAGE_SIZE); break;
	default:
		if (!read_one(w, s, n, false))
			refresh_one(s, n);
		break;
	}
}

static void tick(struct torture_worker *w)
{
	read_one(w, choose(&w->irq_random), torture_random(&w->irq_random) % NR_CACHES, true);
}

/* --- VMs ---------------------------------------------------------------------------------------- */

static struct vm *new_vm(enum gpc_kind kind)
{
	static const u8 image[64]; /* it never runs */
	struct vm_config c = { .name = "torture", .memory = VM_MEMORY, .vcpus = 2, .gpc = kind };
	const char *why = "";
	struct vm *vm;
	int err;

	vm = vm_create(&c, image, sizeof(image), &err, &why);
	if (!vm)
		printk("torture gpc: cannot make a VM: %s (%d)\n", why, err);
	return vm;
}

static gpaddr_t memory_end(const struct vm *vm)
{
	u32 i = 0;

	while (vm->slots->slot[i].size != VM_MEMORY)
		i++;
	return vm->slots->slot[i].gpa + VM_MEMORY;
}

/* One that nobody else knows, from its first page to its end. */
static void control(struct torture_worker *w)
{
	struct vm *vm = new_vm((enum gpc_kind)(torture_random(&w->random) % NR_GPC_KINDS));
	static struct gpc g;
	int err;

	if (!vm) {
		torture_fail(ERRORS, "no VM");
		return;
	}
	err = gpc_init(&g, vm, 0, vm->vcpu[1]);
	if (!err)
		err = gpc_activate(&g, memory_end(vm) - PAGE_SIZE, 8);
	if (!err)
		err = vm_move_page(vm, memory_end(vm) - PAGE_SIZE);
	check_err(err, 0, "a new VM");
	gpc_destroy(&g);
	vm_destroy(vm);
	torture_count(VMS);
}

static int subject_make(struct subject *s, enum gpc_kind kind)
{
	struct mem_slot slot = { .size = SLOT_SIZE };
	int err = 0;

	s->vm = new_vm(kind);
	s->own = page_alloc();
	s->slot_pages = pages_alloc(size_to_order(SLOT_SIZE));
	if (!s->vm || !s->own || !s->slot_pages)
		return -ENOMEM;
	s->pages = memory_end(s->vm) - NR_CACHES * PAGE_SIZE;
	s->taken = vm_gpa_to_va(s->vm, s->pages + CHANGING * PAGE_SIZE, PAGE_SIZE, true);
	s->slot = slot.gpa = memory_end(s->vm) + SLOT_AWAY;
	slot.pa = va_to_pa(s->slot_pages);
	err = vm_add_slot(s->vm, &slot);
	for (u32 i = 0; !err && i < NR_CACHES; i++) {
		gpaddr_t gpa = i == IN_SLOT ? s->slot : s->pages + i * PAGE_SIZE;

		err = gpc_init(&s->cache[i], s->vm,
			       (i == CHANGING ? GPC_INNER : 0) | (i == IN_SLOT ? GPC_READONLY : 0),
			       NULL);
		if (!err)
			err = gpc_activate(&s->cache[i], gpa, PAGE_SIZE);
	}
	return err;
}

static int setup(void)
{
	int err = 0;

	subjects = pages_alloc(size_to_order(NR_GPC_KINDS * sizeof(*subjects)));
	memories = pages_alloc(size_to_order(platform.nr_cpus * sizeof(*memories)));
	if (!subjects || !memories) {
		printk("torture gpc: no memory\n");
		return -ENOMEM;
	}
	for (u32 i = 0; i < platform.nr_cpus; i++)
		torture_worker(i)->own = &memories[i];
	for (u32 i = 0; !err && i < NR_GPC_KINDS; i++)
		err = subject_make(&subjects[i], (enum gpc_kind)i);
	return err;
}

static void finish(void)
{
	for (struct subject *s = subjects; s < subjects + NR_GPC_KINDS; s++) {
		for (u32 i = 0; i < NR_CACHES; i++) {
			gpc_destroy(&s->cache[i]);
			torture_add(AGAIN, s->cache[i].counts.again);
			torture_add(INVALIDATIONS, s->cache[i].counts.invalidations);
			torture_add(WAITS, s->cache[i].counts.waits);
		}
		if (s->vm->gpcs)
			torture_fail(LEFT_OVER, "gpc=%s", gpc_kind_names[s->vm->config.gpc]);
		vm_destroy(s->vm);
		pages_free(s->slot_pages, size_to_order(SLOT_SIZE));
		page_free(s->own);
	}
	pages_free(subjects, size_to_order(NR_GPC_KINDS * sizeof(*subjects)));
	pages_free(memories, size_to_order(platform.nr_cpus * sizeof(*memories)));
}

static const struct torture gpc_torture = {
	.name = "gpc",
	.help = "page caches: pages, slots and keys change under readers of every kind",
	.counts = counts,
	.setup = setup,
	.step = step,
	.tick = tick,
	.control = control,
	.finish = finish,
	.late = BIT(AGAIN) | BIT(INVALIDATIONS) | BIT(WAITS),
	.parks = true,
};
TORTURE(gpc_torture);
