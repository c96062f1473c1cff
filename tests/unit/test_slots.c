/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slots that change and pages that move, under readers, vCPUs and page caches. The second stage here is
 * as a machine has it: a table, and for each vCPU what it remembers of it until it is told to forget.
 */
#include "host.h"

#include <string.h>

#include <cupel/abi.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <cupel/vm.h>

#define RAM   MIB(1)
#define PAGES (RAM / PAGE_SIZE)

static struct vm *vm;

/* --- The second stage --------------------------------------------------------------------------- */

#define S2_PAGES 1024
#define S2_VALID 1UL
#define S2_WRITE 2UL

static u64 table[S2_PAGES];
static u64 tlb[4][S2_PAGES];
static void (*on_unmap)(gpaddr_t gpa, u64 size);

static void set_entries(struct vm *of, const struct host_mapping *m)
{
	bool writable = !(m->slot_flags & (SLOT_READONLY | SLOT_DIRTY_LOG));
	u64 first = m->gpa / PAGE_SIZE;

	if (of != vm || first + m->size / PAGE_SIZE > S2_PAGES)
		return;
	for (u64 n = 0; n < m->size / PAGE_SIZE; n++) {
		u64 entry = (m->pa + n * PAGE_SIZE) | S2_VALID | (writable ? S2_WRITE : 0);

		/* What is mapped can only get more rights. */
		entry |= table[first + n] & S2_WRITE;
		store_release(&table[first + n], m->map ? entry : 0);
	}
	if (!m->map && on_unmap)
		on_unmap(m->gpa, m->size);
}

/* An access of the guest; NULL: it faulted, and has to leave. *refused: there is nothing to come back for. */
static u64 *guest_at(struct vcpu *v, gpaddr_t gpa, bool write, bool *refused)
{
	u64 *mine = &tlb[v->id][gpa / PAGE_SIZE];

	if (v->arch.served & VCPU_REQ_TLB) {
		v->arch.served &= ~VCPU_REQ_TLB;
		memset(tlb[v->id], 0, sizeof(tlb[v->id]));
	}
	if (!(*mine & S2_VALID) || (write && !(*mine & S2_WRITE)))
		*mine = load_acquire(&table[gpa / PAGE_SIZE]);
	if (*mine & S2_VALID && (!write || *mine & S2_WRITE))
		return pa_to_va((*mine & PAGE_MASK) + (gpa & (PAGE_SIZE - 1)));
	*refused = !vm_fault(v, gpa, write);
	return NULL;
}

static int make_vm(void **state)
{
	struct vm_config c = { .name = "unit", .memory = RAM, .vcpus = 4 };
	const char *why;
	int err;

	memset(table, 0, sizeof(table));
	memset(tlb, 0, sizeof(tlb));
	on_unmap = NULL;
	host_stage2 = NULL;
	vm = vm_create(&c, NULL, 0, &err, &why);
	if (!vm)
		return -1;
	host_stage2 = set_entries;
	for (u64 n = 0; n < PAGES; n++)
		table[n] = (vm->slots->slot[0].pa + n * PAGE_SIZE) | S2_VALID | S2_WRITE;
	return 0;
}

static int drop_vm(void **state)
{
	host_stage2 = NULL;
	vm_destroy(vm);
	return 0;
}

static void run(struct vcpu *v, host_guest_t guest)
{
	v->arch.guest = guest;
	vcpu_load(v);
	while (vcpu_run(v) != VCPU_EXIT_LEAVE)
		cpu_relax();
	vcpu_put(v);
}

/* --- Slots -------------------------------------------------------------------------------------- */

static void add_one(gpaddr_t gpa, u32 pages)
{
	struct mem_slot s = { .gpa = gpa, .size = pages * PAGE_SIZE };

	s.pa = va_to_pa(vm_memory_alloc(vm, size_to_order(s.size)));
	assert_int_equal(vm_add_slot(vm, &s), 0);
}

static void slots_come_and_go(void **state)
{
	u64 generation = vm->generation;
	paddr_t pa;

	add_one(MIB(2), 4);
	pa = vm_find_slot(vm, MIB(2))->pa;
	assert_int_equal(table[MIB(2) / PAGE_SIZE + 3], (pa + 3 * PAGE_SIZE) | S2_VALID | S2_WRITE);
	assert_int_equal(vm_move_slot(vm, MIB(2), MIB(3)), 0);
	assert_null(vm_find_slot(vm, MIB(2)));
	assert_int_equal(vm_find_slot(vm, MIB(3))->pa, pa);
	assert_int_equal(table[MIB(2) / PAGE_SIZE], 0);
	assert_int_equal(table[MIB(3) / PAGE_SIZE], pa | S2_VALID | S2_WRITE);
	assert_int_equal(vm_set_slot_flags(vm, MIB(3), SLOT_READONLY), 0);
	assert_int_equal(table[MIB(3) / PAGE_SIZE], pa | S2_VALID);
	assert_null(vm_gpa_to_va(vm, MIB(3), 1, true));
	assert_int_equal(vm_copy_to(vm, MIB(3), "x", 1), -EFAULT);
	assert_int_equal(vm_set_slot_flags(vm, MIB(3), 0), 0);
	assert_non_null(vm_gpa_to_va(vm, MIB(3), 1, true));
	assert_int_equal(vm_delete_slot(vm, MIB(3)), 0);
	assert_null(vm_find_slot(vm, MIB(3)));
	assert_int_equal(table[MIB(3) / PAGE_SIZE], 0);
	assert_int_equal(vm->generation, generation + 5);
	assert_int_equal(vm->slots->generation, vm->generation);
	assert_int_equal(vm->invalidating, 0);
}

static void what_is_refused(void **state)
{
	struct mem_slot far = { .gpa = MIB(3), .size = PAGE_SIZE, .pa = PAGE_SIZE, .flags = 4 };
	u64 generation, free;

	add_one(MIB(2), 1);
	generation = vm->generation;
	free = mm_stats().free_pages;
	assert_int_equal(vm_add_slot(vm, &far), -EINVAL);
	assert_int_equal(vm_delete_slot(vm, MIB(2) + PAGE_SIZE), -ENOENT);
	assert_int_equal(vm_move_slot(vm, MIB(1), MIB(5)), -ENOENT);
	assert_int_equal(vm_move_slot(vm, MIB(2), PAGE_SIZE), -EEXIST);
	assert_int_equal(vm_move_slot(vm, MIB(2), MIB(2) + 1), -EINVAL);
	assert_int_equal(vm_move_slot(vm, MIB(2), ~0xfffUL), -EINVAL);
	assert_int_equal(vm_set_slot_flags(vm, MIB(2), 4), -EINVAL);
	assert_int_equal(vm_set_slot_flags(vm, MIB(4), 0), -ENOENT);
	assert_int_equal(vm_move_page(vm, MIB(2) + PAGE_SIZE), -ENOENT);
	assert_int_equal(vm_dirty_log(vm, MIB(2), &free, 1), -EINVAL); /* keeps none */
	assert_int_equal(vm_dirty_log(vm, MIB(4), &free, 1), -ENOENT);
	assert_int_equal(vm->generation, generation);
	assert_int_equal(vm->invalidating, 0);
	assert_int_equal(mm_stats().free_pages, free);
}

/* --- The order of a change ---------------------------------------------------------------------- */

static struct gpc cache;
static u64 seen_generation;
static int seen_refresh;
static bool seen_valid, seen_slot;

static void look(gpaddr_t gpa, u64 size)
{
	seen_generation = vm->generation;
	seen_valid = cache.valid;
	seen_slot = vm_find_slot(vm, gpa);
	seen_refresh = gpc_refresh(&cache);
}

/* When the second stage goes, caches have gone, none comes back, and the slots do not say so yet. */
static void a_change_in_order(void **state)
{
	u64 generation;

	add_one(MIB(2), 2);
	assert_int_equal(gpc_init(&cache, vm, 0, NULL), 0);
	assert_int_equal(gpc_activate(&cache, MIB(2), 8), 0);
	generation = vm->generation;
	on_unmap = look;
	assert_int_equal(vm_move_slot(vm, MIB(2), MIB(3)), 0);
	assert_int_equal(seen_generation, generation | GENERATION_BUSY);
	assert_false(seen_valid);
	assert_true(seen_slot);
	assert_int_equal(seen_refresh, -EAGAIN);
	assert_int_equal(gpc_refresh(&cache), -EFAULT);
	assert_int_equal(vm_move_slot(vm, MIB(3), MIB(2)), 0);
	assert_int_equal(gpc_refresh(&cache), 0);
	gpc_destroy(&cache);
}

static void a_page_move_in_order(void **state)
{
	assert_int_equal(gpc_init(&cache, vm, 0, NULL), 0);
	assert_int_equal(gpc_activate(&cache, 5 * PAGE_SIZE, 8), 0);
	on_unmap = look;
	assert_int_equal(vm_move_page(vm, 5 * PAGE_SIZE), 0);
	assert_false(seen_generation & GENERATION_BUSY);
	assert_false(seen_valid);
	assert_int_equal(seen_refresh, -EAGAIN);
	assert_int_equal(gpc_refresh(&cache), 0);
	assert_ptr_equal(cache.va, vm_gpa_to_va(vm, 5 * PAGE_SIZE, 8, true));
	gpc_destroy(&cache);
}

/* --- Pages -------------------------------------------------------------------------------------- */

static void a_page_moves(void **state)
{
	u8 *before = vm_gpa_to_va(vm, 3 * PAGE_SIZE, PAGE_SIZE, true), *after, text[8];
	u64 generation = vm->generation;

	memcpy(before + PAGE_SIZE - 4, "abcdefgh", 8);
	assert_int_equal(vm_move_page(vm, 3 * PAGE_SIZE + 7), 0);
	after = vm_gpa_to_va(vm, 3 * PAGE_SIZE, PAGE_SIZE, true);
	assert_ptr_not_equal(after, before);
	assert_int_equal(vm->generation, generation);
	assert_memory_equal(after + PAGE_SIZE - 4, "abcd", 4);
	assert_int_equal(*(u64 *)before, FRAME_POISON);
	assert_int_equal(*(u64 *)(before + PAGE_SIZE - 8), FRAME_POISON);
	assert_int_equal(table[3], va_to_pa(after) | S2_VALID | S2_WRITE);
	/* What lies on two pages is in one piece no more, but copies go over it. */
	assert_null(vm_gpa_to_va(vm, 4 * PAGE_SIZE - 4, 8, false));
	assert_int_equal(vm_copy_from(vm, text, 4 * PAGE_SIZE - 4, 8), 0);
	assert_memory_equal(text, "abcdefgh", 8);
	assert_int_equal(vm_copy_to(vm, 4 * PAGE_SIZE - 4, "ABCDEFGH", 8), 0);
	assert_memory_equal(after + PAGE_SIZE - 4, "ABCD", 4);
	assert_true(vm_is_memory(vm, 0, RAM, true));
}

/* A slot takes its moved pages with it. */
static void moved_pages_stay_with_their_slot(void **state)
{
	u8 *page;

	add_one(MIB(2), 4);
	assert_int_equal(vm_move_page(vm, MIB(2) + PAGE_SIZE), 0);
	page = vm_gpa_to_va(vm, MIB(2) + PAGE_SIZE, 8, true);
	assert_int_equal(vm_move_slot(vm, MIB(2), MIB(3)), 0);
	assert_ptr_equal(vm_gpa_to_va(vm, MIB(3) + PAGE_SIZE, 8, true), page);
	assert_int_equal(table[MIB(3) / PAGE_SIZE + 1], va_to_pa(page) | S2_VALID | S2_WRITE);
	assert_int_equal(table[MIB(3) / PAGE_SIZE + 2],
			 (vm_find_slot(vm, MIB(3))->pa + 2 * PAGE_SIZE) | S2_VALID | S2_WRITE);
}

static void all_memory_comes_back(void **state)
{
	u64 free = mm_stats().free_pages;

	make_vm(state);
	for (u32 i = 0; i < 300; i++)
		assert_int_equal(vm_move_page(vm, i % 7 * PAGE_SIZE), 0);
	add_one(MIB(2), 8);
	assert_int_equal(vm_set_slot_flags(vm, MIB(2), SLOT_DIRTY_LOG), 0);
	assert_int_equal(vm_move_page(vm, MIB(2)), 0);
	assert_int_equal(vm_delete_slot(vm, MIB(2)), 0);
	assert_int_equal(vm_set_slot_flags(vm, 0, SLOT_DIRTY_LOG), 0);
	drop_vm(state);
	assert_int_equal(mm_stats().free_pages, free);
}

static void write_to_old_frame(void *arg)
{
	u64 *old;

	make_vm(NULL);
	old = vm_gpa_to_va(vm, 0, 8, true);
	vm_move_page(vm, 0);
	old[100] = 1;
	for (u32 i = 0; i < 200; i++)
		vm_move_page(vm, PAGE_SIZE);
}

static void a_stale_write_is_found(void **state)
{
	assert_int_equal(host_dies(write_to_old_frame, NULL), 3);
	assert_non_null(strstr(host_last_words(), "written after its page had left it"));
}

/* --- Guests that work on pages that move -------------------------------------------------------- */

#define WORK_PAGES 4
#define WORK	   (16 * PAGE_SIZE)
#define MOVES	   400

static struct work {
	u64 round;
	u32 page;
	u32 bad, refused;
	u32 stays;
	u64 written[WORK_PAGES];
} __cacheline_aligned work[4];
static u32 stop;

/* In an exit, through a pointer as an exit has it. */
static void work_by_pointer(struct vcpu *v, struct work *w)
{
	u32 page = w->stays++ % WORK_PAGES;
	u64 *word = vm_gpa_to_va(v->vm, WORK + page * PAGE_SIZE + v->id * 64 + 16, 8, true);

	w->bad += *word != w->written[page];
	for (u32 i = 0; i < w->stays % 8; i++)
		cpu_relax();
	*word = ++w->written[page];
}

/* Its own words of every page: by itself, and by exits of it. */
static bool work_on_page(struct vcpu *v, struct work *w)
{
	gpaddr_t gpa = WORK + w->page * PAGE_SIZE + v->id * 64;
	bool refused = false;
	u64 *word = guest_at(v, gpa, true, &refused), value;

	w->refused += refused;
	if (!word)
		return false;
	w->bad += *word != w->round;
	*word = w->round + 1;
	if (vm_copy_from(v->vm, &value, gpa + 8, 8) || value != w->round)
		w->bad++;
	value = w->round + 1;
	w->bad += vm_copy_to(v->vm, gpa + 8, &value, 8) != 0;
	return true;
}

static int worker(struct vcpu *v)
{
	struct work *w = &work[v->id];

	work_by_pointer(v, w);
	for (u32 i = 0; i < 64 && !host_kick_pending(); i++) {
		if (!w->page && READ_ONCE(stop))
			return VCPU_EXIT_LEAVE;
		if (!work_on_page(v, w))
			return VCPU_EXIT_RESUME;
		w->page = (w->page + 1) % WORK_PAGES;
		w->round += !w->page;
	}
	return VCPU_EXIT_RESUME;
}

static void work_or_move(u32 cpu, void *arg)
{
	if (cpu <= 2) {
		run(vm->vcpu[cpu - 1], worker);
		return;
	}
	for (u32 n = 0; n < MOVES; n++)
		assert_int_equal(vm_move_page(vm, WORK + n % WORK_PAGES * PAGE_SIZE), 0);
	WRITE_ONCE(stop, 1);
}

static void check_work(u32 n)
{
	for (u32 i = 0; i < n; i++) {
		assert_int_equal(work[i].bad, 0);
		assert_int_equal(work[i].refused, 0);
		for (u32 page = 0; page < WORK_PAGES; page++)
			assert_int_equal(*(u64 *)vm_gpa_to_va(vm, WORK + page * PAGE_SIZE + i * 64,
							      8, false),
					 work[i].round);
	}
}

static void moves_lose_nothing(void **state)
{
	memset(work, 0, sizeof(work));
	stop = 0;
	host_on_cpus(3, work_or_move, NULL);
	check_work(2);
}

/* The same by the owners of the vCPUs, in the middle of an exit: neither waits for the other for good. */
static int working_mover(struct vcpu *v)
{
	u32 n = work[v->id].stays;
	int e = worker(v), err = 0;

	if (n % 4 == 0)
		err = vm_move_page(v->vm, WORK + n % WORK_PAGES * PAGE_SIZE);
	else if (n % 4 == 1)
		err = vm_set_slot_flags(v->vm, MIB(2), n & 8 ? SLOT_READONLY : 0);
	else if (n % 4 == 2)
		vm_quiesce(v->vm);
	if (err)
		work[v->id].refused++;
	if (n == MOVES)
		WRITE_ONCE(stop, 1);
	return e;
}

static void work_and_move(u32 cpu, void *arg)
{
	run(vm->vcpu[cpu - 1], working_mover);
}

static void owners_do_not_wait_for_each_other(void **state)
{
	add_one(MIB(2), 1);
	memset(work, 0, sizeof(work));
	stop = 0;
	host_on_cpus(3, work_and_move, NULL);
	check_work(3);
}

/* --- Waiting ------------------------------------------------------------------------------------ */

static u32 inside, done;

static int holder(struct vcpu *v)
{
	u64 until = arch_counter() + 30 * 1000 * 1000;

	if (READ_ONCE(done))
		return VCPU_EXIT_LEAVE;
	WRITE_ONCE(inside, 1);
	while (arch_counter() < until)
		;
	store_release(&done, 1);
	return VCPU_EXIT_RESUME;
}

static void hold_and_quiesce(u32 cpu, void *arg)
{
	if (cpu == 1) {
		run(vm->vcpu[1], holder);
		return;
	}
	while (!READ_ONCE(inside))
		cpu_relax();
	vm_quiesce(vm);
	assert_int_equal(load_acquire(&done), 1);
}

static void quiesce_waits_for_who_is_inside(void **state)
{
	inside = done = 0;
	host_on_cpus(2, hold_and_quiesce, NULL);
}

/* Nobody is inside: it does not wait, but whoever comes is asked first. */
static void quiesce_asks_who_is_not_inside(void **state)
{
	vm_quiesce(vm);
	assert_int_equal(vm->vcpu[0]->requests, VCPU_REQ_SYNC | VCPU_REQ_TLB);
	inside = done = 0;
	run(vm->vcpu[0], holder);
	assert_int_equal(vm->vcpu[0]->requests, 0);
	assert_true(vm->vcpu[0]->arch.served & VCPU_REQ_TLB);
	/* The caller's own holds nothing, by what it says. */
	vcpu_load(vm->vcpu[0]);
	vm_quiesce(vm);
	vcpu_put(vm->vcpu[0]);
}

/* --- Readers of slots --------------------------------------------------------------------------- */

#define CHANGES 300

static void reader(void)
{
	while (!READ_ONCE(stop)) {
		srcu_token_t token = guest_read_lock();
		const struct mem_slot *s = vm_find_slot(vm, MIB(2) + PAGE_SIZE);

		for (u32 i = 0; s && i < 20; i++) {
			assert_int_equal(READ_ONCE(s->size), 2 * PAGE_SIZE);
			assert_int_equal(READ_ONCE(s->gpa), MIB(2));
			if (i % 8 == 0)
				cpu_relax();
		}
		guest_read_unlock(token);
	}
}

static void read_or_change(u32 cpu, void *arg)
{
	if (cpu <= 2) {
		reader();
		return;
	}
	for (u32 n = 0; n < CHANGES; n++) {
		assert_int_equal(vm_move_slot(vm, MIB(2), MIB(3)), 0);
		assert_int_equal(vm_move_slot(vm, MIB(3), MIB(2)), 0);
	}
	WRITE_ONCE(stop, 1);
}

static void readers_find_whole_slots(void **state)
{
	add_one(MIB(2), 2);
	stop = 0;
	host_on_cpus(3, read_or_change, NULL);
}

/* --- The dirty log ------------------------------------------------------------------------------ */

#define LOG	  MIB(2)
#define LOG_PAGES 80

static u64 bitmap[2];

static bool is_logged(u32 page)
{
	return bitmap[page / 64] & BIT(page % 64);
}

static u32 fetch(void)
{
	assert_int_equal(vm_dirty_log(vm, LOG, bitmap, 2), 0);
	return (u32)(__builtin_popcountl(bitmap[0]) + __builtin_popcountl(bitmap[1]));
}

static void make_log(void)
{
	add_one(LOG, LOG_PAGES);
	assert_int_equal(vm_set_slot_flags(vm, LOG, SLOT_DIRTY_LOG), 0);
	assert_int_equal(vm->dirty_slots, 1);
}

static void the_hypervisor_is_logged(void **state)
{
	u8 page[PAGE_SIZE];

	make_log();
	assert_int_equal(fetch(), 0);
	vm_copy_to(vm, LOG + 5, "x", 1);
	vm_copy_to(vm, LOG + 79 * PAGE_SIZE, NULL, PAGE_SIZE);
	assert_int_equal(fetch(), 2);
	assert_true(is_logged(0) && is_logged(79));
	vm_copy_to(vm, LOG + 4 * PAGE_SIZE - 1, "xy", 2);
	assert_int_equal(fetch(), 2);
	assert_true(is_logged(3) && is_logged(4));
	vm_mark_dirty(vm, LOG + 7 * PAGE_SIZE + 9);
	vm_mark_dirty(vm, LOG + LOG_PAGES * PAGE_SIZE); /* nothing there */
	vm_mark_dirty(vm, 0); /* keeps no log */
	assert_int_equal(fetch(), 1);
	assert_true(is_logged(7));
	vm_copy_from(vm, page, LOG, PAGE_SIZE);
	vm_gpa_to_va(vm, LOG, PAGE_SIZE, true);
	assert_int_equal(fetch(), 0);
}

/* A cache that is written says so; one whose writes do not count says that. */
static void caches_are_logged(void **state)
{
	struct gpc *g[2] = { &(struct gpc){ 0 }, &(struct gpc){ 0 } };

	make_log();
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(gpc_init(g[i], vm, i ? GPC_NEVER_DIRTY : 0, NULL), 0);
		assert_int_equal(gpc_activate(g[i], LOG + (10 + i) * PAGE_SIZE, 8), 0);
	}
	assert_int_equal(fetch(), 0);
	for (u32 i = 0; i < 2; i++) {
		srcu_token_t token = guest_read_lock();

		gpc_refresh(g[i]);
		assert_non_null(gpc_get(g[i], 8));
		gpc_dirty(g[i]);
		gpc_put(g[i]);
		guest_read_unlock(token);
	}
	assert_int_equal(fetch(), 1);
	assert_true(is_logged(10));
	for (u32 i = 0; i < 2; i++)
		gpc_destroy(g[i]);
}

static gpaddr_t touch_at;
static bool touch_writes, touch_refused;

static int toucher(struct vcpu *v)
{
	u64 *p = guest_at(v, touch_at, touch_writes, &touch_refused);

	if (!p)
		return touch_refused ? VCPU_EXIT_LEAVE : VCPU_EXIT_RESUME;
	if (touch_writes)
		*p += 1;
	return VCPU_EXIT_LEAVE;
}

static void touch(gpaddr_t gpa, bool write)
{
	touch_at = gpa;
	touch_writes = write;
	touch_refused = false;
	run(vm->vcpu[0], toucher);
}

static void the_guest_is_logged(void **state)
{
	make_log();
	touch(LOG + 3 * PAGE_SIZE, true);
	touch(LOG + 3 * PAGE_SIZE, true);
	touch(LOG + 4 * PAGE_SIZE, false);
	assert_true(table[LOG / PAGE_SIZE + 3] & S2_WRITE);
	assert_false(table[LOG / PAGE_SIZE + 4] & S2_WRITE);
	assert_int_equal(fetch(), 1);
	assert_true(is_logged(3));
	/* Caught again, with what the vCPU remembered. */
	touch(LOG + 3 * PAGE_SIZE, true);
	assert_int_equal(fetch(), 1);
	assert_true(is_logged(3));
	/* A page that moves is as dirty as it was. */
	touch(LOG + 6 * PAGE_SIZE, true);
	assert_int_equal(vm_move_page(vm, LOG + 6 * PAGE_SIZE), 0);
	assert_int_equal(fetch(), 1);
	assert_true(is_logged(6));
	assert_int_equal(vm_set_slot_flags(vm, LOG, 0), 0);
	assert_int_equal(vm->dirty_slots, 0);
	assert_true(table[LOG / PAGE_SIZE + 9] & S2_WRITE);
}

static void faults_that_nothing_mends(void **state)
{
	make_log();
	touch(MIB(3), false);
	assert_true(touch_refused);
	assert_int_equal(vm_set_slot_flags(vm, LOG, SLOT_READONLY | SLOT_DIRTY_LOG), 0);
	touch(LOG, false);
	assert_false(touch_refused);
	touch(LOG, true);
	assert_true(touch_refused);
	assert_int_equal(fetch(), 0);
	table[LOG / PAGE_SIZE] = 0; /* it lost its page: that comes back */
	vm_quiesce(vm);
	touch(LOG, false);
	assert_false(touch_refused);
}

/* Writes a page's value, marked before it is there, as copies do. */
static void log_writer(void)
{
	u64 seed = 99;

	for (u64 n = 1; !READ_ONCE(stop); n++) {
		gpaddr_t gpa = LOG + host_random(&seed) % LOG_PAGES * PAGE_SIZE;
		srcu_token_t token = guest_read_lock();
		u64 *p = vm_gpa_to_va(vm, gpa, 8, true);

		vm_mark_dirty(vm, gpa);
		for (u32 i = 0; i < n % 50; i++)
			cpu_relax();
		WRITE_ONCE(*p, n);
		guest_read_unlock(token);
	}
}

static void snapshot(u64 *copy)
{
	fetch();
	for (u32 page = 0; page < LOG_PAGES; page++) {
		if (is_logged(page))
			copy[page] = READ_ONCE(
				*(u64 *)vm_gpa_to_va(vm, LOG + page * PAGE_SIZE, 8, false));
	}
}

static u64 copies[LOG_PAGES];

static void write_or_fetch(u32 cpu, void *arg)
{
	u64 end = arch_counter() + 200 * 1000 * 1000;

	if (cpu == 1) {
		log_writer();
		return;
	}
	while (arch_counter() < end)
		snapshot(copies);
	WRITE_ONCE(stop, 1);
}

/* What is copied page by page as the log says is in the end what is there. */
static void no_write_falls_between_logs(void **state)
{
	make_log();
	memset(copies, 0, sizeof(copies));
	stop = 0;
	host_on_cpus(2, write_or_fetch, NULL);
	snapshot(copies);
	for (u32 page = 0; page < LOG_PAGES; page++)
		assert_int_equal(copies[page],
				 *(u64 *)vm_gpa_to_va(vm, LOG + page * PAGE_SIZE, 8, false));
	assert_int_equal(fetch(), 0);
}

/* --- The hypercall ------------------------------------------------------------------------------ */

static s64 call(u64 what, gpaddr_t gpa, u64 arg)
{
	enum vcpu_exit e;

	return hypercall(vm->vcpu[0], HC_MEMORY, what, gpa, arg, &e);
}

static void calls(void **state)
{
	void *page = vm_gpa_to_va(vm, PAGE_SIZE, 8, true);

	vm->state = VM_RUNNING;
	add_one(LOG, LOG_PAGES);
	assert_int_equal(call(HC_MEMORY_MOVE_PAGE, PAGE_SIZE, 0), 0);
	assert_ptr_not_equal(vm_gpa_to_va(vm, PAGE_SIZE, 8, true), page);
	page = vm_gpa_to_va(vm, PAGE_SIZE, 8, true);
	assert_int_equal(call(HC_MEMORY_STORM, PAGE_SIZE + 8, 3), 0);
	assert_ptr_not_equal(vm_gpa_to_va(vm, PAGE_SIZE, 8, true), page);
	assert_int_equal(call(HC_MEMORY_STORM, PAGE_SIZE, 0), 0);
	assert_int_equal(call(HC_MEMORY_STORM, PAGE_SIZE, 1UL << 33), -EINVAL);
	assert_int_equal(call(HC_MEMORY_FLAGS, LOG, SLOT_DIRTY_LOG), 0);
	vm_copy_to(vm, LOG + 66 * PAGE_SIZE - 1, "ab", 2);
	assert_int_equal(call(HC_MEMORY_DIRTY, LOG, 0), 2);
	assert_int_equal(call(HC_MEMORY_DIRTY, LOG, 0), 0);
	assert_int_equal(call(HC_MEMORY_MOVE_SLOT, LOG, MIB(3)), 0);
	assert_int_equal(call(HC_MEMORY_DIRTY, LOG, 0), -ENOENT);
	assert_int_equal(call(HC_MEMORY_DIRTY, 0, 0), -EINVAL);
	assert_int_equal(call(5, 0, 0), -EINVAL);
}

#define vm_test(f) cmocka_unit_test_setup_teardown(f, make_vm, drop_vm)

int main(void)
{
	const struct CMUnitTest tests[] = {
		vm_test(slots_come_and_go),
		vm_test(what_is_refused),
		vm_test(a_change_in_order),
		vm_test(a_page_move_in_order),
		vm_test(a_page_moves),
		vm_test(moved_pages_stay_with_their_slot),
		cmocka_unit_test(all_memory_comes_back),
		cmocka_unit_test(a_stale_write_is_found),
		vm_test(moves_lose_nothing),
		vm_test(owners_do_not_wait_for_each_other),
		vm_test(quiesce_waits_for_who_is_inside),
		vm_test(quiesce_asks_who_is_not_inside),
		vm_test(readers_find_whole_slots),
		vm_test(the_hypervisor_is_logged),
		vm_test(caches_are_logged),
		vm_test(the_guest_is_logged),
		vm_test(faults_that_nothing_mends),
		vm_test(no_write_falls_between_logs),
		vm_test(calls),
	};

	return cmocka_run_group_tests(tests, host_group_setup, NULL);
}
