/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page caches of every kind: the state machine, by itself; what must not happen when it races, with threads
 * held at known points; and storms over pages that are poisoned as soon as nobody may have them.
 */
#include "host.h"

#include <string.h>

#include <cupel/abi.h>
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <cupel/sched.h>

/*
 * What another CPU could do at a known point of core/gpc.c, done there: while a refresh looks the page up, just
 * before a refresh makes its address valid and just after, before the readers' bits are taken, and before a
 * reader sets its own.
 */
static struct {
	void (*in_lookup)(void), (*before_valid)(void), (*after_valid)(void);
	void (*before_bits_go)(void), (*before_bit)(void);
} at;

static void here(void (**point)(void))
{
	void (*fn)(void) = READ_ONCE(*point);

	if (!fn)
		return;
	WRITE_ONCE(*point, NULL); /* what it does passes here as well */
	fn();
}

static void *look_up_here(struct vm *of, gpaddr_t gpa, u64 len, bool write)
{
	void *va = vm_gpa_to_va(of, gpa, len, write);

	here(&at.in_lookup);
	return va;
}

static bool make_valid_here(u8 *valid, u8 *expected, u8 value)
{
	bool done;

	here(&at.before_valid);
	done = __atomic_compare_exchange_n(valid, expected, value, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
	here(&at.after_valid);
	return done;
}

static u64 take_bits_here(u64 *bits, u64 mask)
{
	here(&at.before_bits_go);
	return __atomic_fetch_and(bits, mask, __ATOMIC_SEQ_CST);
}

static u64 set_bit_here(u64 *bits, u64 mask)
{
	here(&at.before_bit);
	return __atomic_fetch_or(bits, mask, __ATOMIC_SEQ_CST);
}

#undef atomic_cmpxchg_full
#undef atomic_fetch_and_full
#undef atomic_fetch_or_full
#define vm_gpa_to_va		     look_up_here
#define atomic_cmpxchg_full(p, e, v) make_valid_here((p), (e), (v))
#define atomic_fetch_and_full(p, v)  take_bits_here((p), (v))
#define atomic_fetch_or_full(p, v)   set_bit_here((p), (v))
#include "../../core/gpc.c"
#undef vm_gpa_to_va

#define GPA 0x5000UL /* of the page that is cached */

static struct vm *vm;
static struct gpc cache, second;
static enum gpc_kind kind;

static int make_vm(void **state)
{
	struct vm_config c = { .name = "unit", .memory = MIB(1), .vcpus = 2 };
	const char *why;
	int err;

	memset(&at, 0, sizeof(at));
	kind = c.gpc = (enum gpc_kind)(uintptr_t)*state;
	vm = vm_create(&c, NULL, 0, &err, &why);
	if (!vm || gpc_init(&cache, vm, 0, NULL) || gpc_init(&second, vm, GPC_INNER, NULL))
		return -1;
	return 0;
}

static int drop_vm(void **state)
{
	gpc_destroy(&cache);
	gpc_destroy(&second);
	assert_null(vm->gpcs);
	vm_destroy(vm);
	return 0;
}

/* What a reader gets; it has put it when this returns. */
static void *peek(struct gpc *g, u32 len)
{
	srcu_token_t token = guest_read_lock();
	void *p = gpc_get(g, len);

	if (p)
		gpc_put(g);
	guest_read_unlock(token);
	return p;
}

static void *home(gpaddr_t gpa)
{
	return vm_gpa_to_va(vm, gpa, 1, false);
}

static void assert_on_list(const struct gpc *g, u32 times)
{
	u32 n = 0;

	for (const struct gpc *p = vm->gpcs; p; p = p->next)
		n += p == g;
	assert_int_equal(n, times);
}

/* --- States ------------------------------------------------------------------------------------- */

static void inactive_gives_nothing(void **state)
{
	assert_null(peek(&cache, 1));
	assert_int_equal(gpc_refresh(&cache), -EINVAL);
	gpc_deactivate(&cache);
	gpc_invalidate(vm, 0, MIB(1));
	assert_null(peek(&cache, 1));
	assert_on_list(&cache, 0);
}

static void active_gives_the_page(void **state)
{
	assert_int_equal(gpc_activate(&cache, GPA + 0x10, 32), 0);
	assert_on_list(&cache, 1);
	assert_ptr_equal(peek(&cache, 32), home(GPA + 0x10));
	assert_null(peek(&cache, 33));
	/* Again is no change. */
	assert_int_equal(gpc_activate(&cache, GPA + 0x10, 32), 0);
	assert_on_list(&cache, 1);
	assert_int_equal(cache.counts.refreshes, 1);
}

static void invalid_until_refreshed(void **state)
{
	gpc_activate(&cache, GPA, 64);
	gpc_invalidate(vm, GPA + PAGE_SIZE, PAGE_SIZE);
	gpc_invalidate(vm, 0, GPA);
	gpc_invalidate(vm, GPA, 0);
	assert_non_null(peek(&cache, 64));
	gpc_invalidate(vm, GPA + 0x800, 1);
	assert_null(peek(&cache, 64));
	assert_int_equal(gpc_refresh(&cache), 0);
	assert_ptr_equal(peek(&cache, 64), home(GPA));
	gpc_invalidate(vm, 0, ~0UL);
	assert_null(peek(&cache, 64));
	assert_int_equal(cache.counts.invalidations, 2);
}

static void deactivated_is_forgotten(void **state)
{
	gpc_activate(&cache, GPA, 64);
	gpc_activate(&second, GPA, 8);
	gpc_deactivate(&cache);
	assert_on_list(&cache, 0);
	assert_on_list(&second, 1);
	assert_null(peek(&cache, 1));
	assert_int_equal(gpc_refresh(&cache), -EINVAL);
	assert_non_null(peek(&second, 8));
	assert_int_equal(gpc_activate(&cache, GPA + 8, 8), 0);
	assert_ptr_equal(peek(&cache, 8), home(GPA + 8));
}

static void moves_to_another_key(void **state)
{
	static u64 own[2];

	gpc_activate(&cache, GPA, 64);
	assert_int_equal(gpc_activate(&cache, 2 * GPA, 8), 0);
	assert_on_list(&cache, 1);
	assert_ptr_equal(peek(&cache, 8), home(2 * GPA));
	assert_null(peek(&cache, 64));
	assert_int_equal(gpc_activate_va(&cache, own, sizeof(own)), 0);
	assert_on_list(&cache, 0);
	assert_ptr_equal(peek(&cache, sizeof(own)), own);
	/* Nothing a guest's memory does is of interest. */
	gpc_invalidate(vm, 0, ~0UL);
	vm->generation++;
	assert_ptr_equal(peek(&cache, 1), own);
	vm->generation--;
	assert_int_equal(gpc_refresh(&cache), 0);
	assert_int_equal(gpc_activate(&cache, GPA, 8), 0);
	assert_ptr_equal(peek(&cache, 8), home(GPA));
}

static void bad_keys_are_refused(void **state)
{
	static const struct {
		gpaddr_t gpa;
		u32 len;
		int err;
	} bad[] = {
		{ GPA + PAGE_SIZE - 8, 9, -EINVAL },
		{ GPA, 0, -EINVAL },
		{ GPA, PAGE_SIZE + 1, -EINVAL },
		{ GPA + 1, ~0U, -EINVAL },
		{ MIB(1), 8, -EFAULT },
		{ ~0UL - 7, 8, -EFAULT },
		{ 1UL << 52, 8, -EFAULT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(gpc_activate(&cache, bad[i].gpa, bad[i].len), bad[i].err);
		assert_false(cache.active);
		assert_on_list(&cache, 0);
		assert_null(peek(&cache, 1));
	}
	assert_int_equal(gpc_activate(&cache, GPA + PAGE_SIZE - 8, 8), 0);
	assert_int_equal(gpc_activate(&cache, GPA, PAGE_SIZE), 0);
	assert_int_equal(gpc_init(&second, vm, GPC_PINNED, NULL), -EINVAL);
}

/* --- Generations -------------------------------------------------------------------------------- */

static void of_another_generation(void **state)
{
	void *va;

	gpc_activate(&cache, GPA, 64);
	va = peek(&cache, 64);
	vm->generation |= GENERATION_BUSY;
	assert_null(peek(&cache, 64));
	assert_int_equal(gpc_refresh(&cache), -EAGAIN);
	vm->generation = (vm->generation & ~GENERATION_BUSY) + 1;
	assert_null(peek(&cache, 64));
	assert_int_equal(cache.valid, GPC_VALID);
	/* The page is where it was: nobody is waited for. */
	assert_int_equal(gpc_refresh(&cache), 0);
	assert_ptr_equal(peek(&cache, 64), va);
	assert_int_equal(cache.counts.invalidations, 0);
}

static void memory_that_goes_and_comes(void **state)
{
	struct mem_slot more = { .gpa = MIB(16), .size = 2 * PAGE_SIZE, .flags = SLOT_READONLY };
	void *pages = pages_alloc(1);

	more.pa = va_to_pa(pages);
	assert_int_equal(gpc_activate(&cache, MIB(16), 8), -EFAULT);
	assert_int_equal(vm_add_slot(vm, &more), 0);
	assert_int_equal(gpc_activate(&cache, MIB(16), 8), -EFAULT);
	gpc_init(&cache, vm, GPC_READONLY, NULL);
	assert_int_equal(gpc_activate(&cache, MIB(16), 8), 0);
	assert_ptr_equal(peek(&cache, 8), pages);
	assert_int_equal(vm_delete_slot(vm, MIB(16)), 0);
	assert_null(peek(&cache, 8));
	assert_int_equal(gpc_refresh(&cache), -EFAULT);
	assert_true(cache.active);
	assert_int_equal(vm_add_slot(vm, &more), 0);
	assert_int_equal(gpc_refresh(&cache), 0);
	assert_int_equal(vm_move_slot(vm, MIB(16), MIB(32)), 0);
	assert_int_equal(gpc_refresh(&cache), -EFAULT);
	assert_int_equal(vm_delete_slot(vm, MIB(32)), 0);
	pages_free(pages, 1);
}

static void write_and_say_so(struct gpc *g)
{
	srcu_token_t token = guest_read_lock();
	u64 *p = gpc_get(g, 8);

	assert_non_null(p);
	*p = 1;
	gpc_dirty(g);
	gpc_put(g);
	guest_read_unlock(token);
}

static void writes_are_logged_or_not(void **state)
{
	u64 log[4] = { 0 };

	assert_int_equal(vm_set_slot_flags(vm, 0, SLOT_DIRTY_LOG), 0);
	gpc_init(&second, vm, GPC_NEVER_DIRTY | GPC_INNER, NULL);
	gpc_activate(&cache, GPA, 8);
	gpc_activate(&second, GPA + PAGE_SIZE, 8);
	write_and_say_so(&cache);
	write_and_say_so(&second);
	assert_int_equal(vm_dirty_log(vm, 0, log, ARRAY_SIZE(log)), 0);
	assert_int_equal(log[0], BIT(GPA >> PAGE_SHIFT));
}

/* --- Nobody has it any more --------------------------------------------------------------------- */

/* CPU 1 holds the page until somebody who should wait for it does not, or for a while. */
static struct {
	bool inside, returned; /* CPU 1 has the page; an updater has returned */
	bool left; /* before it did */
	void (*update)(void);
} hold;

static void hold_the_page(void)
{
	srcu_token_t token = guest_read_lock();
	u64 *p = gpc_get(&cache, 8), end;

	assert_non_null(p);
	store_release(&hold.inside, true);
	end = arch_counter() + 10 * 1000 * 1000;
	while (!load_acquire(&hold.returned) && arch_counter() < end)
		cpu_relax();
	WRITE_ONCE(*p, 1);
	store_release(&hold.left, true);
	gpc_put(&cache);
	guest_read_unlock(token);
}

static void wait_until(const bool *flag)
{
	while (!load_acquire(flag))
		cpu_relax();
}

static void updater(u32 cpu)
{
	wait_until(&hold.inside);
	hold.update();
	assert_true(load_acquire(&hold.left));
	store_release(&hold.returned, true);
}

static void reader_and_updater(u32 cpu, void *arg)
{
	if (cpu == 1)
		hold_the_page();
	else
		updater(cpu);
}

static void assert_waits(void (*update)(void))
{
	memset(&hold, 0, sizeof(hold));
	hold.update = update;
	gpc_activate(&cache, GPA, 64);
	host_on_cpus(2, reader_and_updater, NULL);
}

static void invalidate_it(void)
{
	gpc_invalidate(vm, GPA, PAGE_SIZE);
}

static void deactivate_it(void)
{
	gpc_deactivate(&cache);
}

static void give_it_another_key(void)
{
	assert_int_equal(gpc_activate(&cache, GPA + PAGE_SIZE, 64), 0);
}

static void give_it_own_memory(void)
{
	static u64 own[2];

	assert_int_equal(gpc_activate_va(&cache, own, sizeof(own)), 0);
}

/* Slots that say something else, though nobody has taken the page away: a generation is enough. */
static void change_slots_and_refresh(void)
{
	static struct mem_slots other;
	struct mem_slots *before = vm->slots;

	other = *before;
	other.slot[0].pa += PAGE_SIZE;
	other.slot[0].size -= PAGE_SIZE;
	WRITE_ONCE(vm->generation, vm->generation + 1);
	store_release(&vm->slots, &other);
	assert_int_equal(gpc_refresh(&cache), 0);
	store_release(&vm->slots, before);
}

static void invalidate_waits(void **state)
{
	assert_waits(invalidate_it);
}

static void deactivate_waits(void **state)
{
	assert_waits(deactivate_it);
}

static void another_key_waits(void **state)
{
	assert_waits(give_it_another_key);
	assert_ptr_equal(peek(&cache, 64), home(GPA + PAGE_SIZE));
	assert_waits(give_it_own_memory);
}

static void another_address_waits(void **state)
{
	assert_waits(change_slots_and_refresh);
}

/* CPU 2 takes it away and waits; CPU 3 comes second and finds it not valid. */
static void one_after_the_other(u32 cpu, void *arg)
{
	if (cpu == 1) {
		hold_the_page();
	} else if (cpu == 2) {
		updater(cpu);
	} else {
		while (load_acquire(&cache.valid) == GPC_VALID)
			cpu_relax();
		if (kind > GPC_TRYLOCK)
			assert_true(load_acquire(&hold.inside));
		gpc_invalidate(vm, GPA, PAGE_SIZE);
		assert_true(load_acquire(&hold.left));
		store_release(&hold.returned, true);
	}
}

static void second_invalidation_waits_too(void **state)
{
	memset(&hold, 0, sizeof(hold));
	hold.update = invalidate_it;
	gpc_activate(&cache, GPA, 64);
	host_on_cpus(3, one_after_the_other, NULL);
	/* The first may as well be a refresh, or the end of it. */
	memset(&hold, 0, sizeof(hold));
	hold.update = deactivate_it;
	gpc_activate(&cache, GPA, 64);
	host_on_cpus(3, one_after_the_other, NULL);
}

static void nothing_to_wait_for(void **state)
{
	srcu_token_t token;

	gpc_activate(&cache, GPA, 64);
	invalidate_it();
	token = guest_read_lock();
	assert_null(gpc_get(&cache, 8));
	/* A section of this CPU's own would hold up a wait for ever. */
	invalidate_it();
	guest_read_unlock(token);
}

/* --- Refresh and activation, with an invalidation in the middle ---------------------------------- */

/* The page goes elsewhere: from now on its address is that of the next one. */
static struct mem_slots moved_slots;
static struct mem_slots *slots_before;

static void move_it(void)
{
	slots_before = vm->slots;
	moved_slots = *vm->slots;
	moved_slots.slot[0].pa += PAGE_SIZE;
	moved_slots.slot[0].size -= PAGE_SIZE;
	gpc_invalidate(vm, GPA, PAGE_SIZE);
	store_release(&vm->slots, &moved_slots);
}

static void assert_moved(void *from)
{
	assert_ptr_equal(home(GPA), (u8 *)from + PAGE_SIZE);
	assert_true(!peek(&cache, 8) || peek(&cache, 8) == home(GPA));
	assert_int_equal(gpc_refresh(&cache), 0);
	assert_ptr_equal(peek(&cache, 8), home(GPA));
	store_release(&vm->slots, slots_before);
}

static void moved_while_looked_up(void **state)
{
	void *from = home(GPA);

	at.in_lookup = move_it;
	assert_int_equal(gpc_activate(&cache, GPA, 64), 0);
	assert_true(cache.counts.again > 0);
	assert_moved(from);
}

static void moved_before_valid(void **state)
{
	void *from = home(GPA);

	at.before_valid = move_it;
	assert_int_equal(gpc_activate(&cache, GPA, 64), 0);
	assert_true(cache.counts.again > 0);
	assert_moved(from);
}

static void taken_as_soon_as_valid(void **state)
{
	at.after_valid = invalidate_it;
	assert_int_equal(gpc_activate(&cache, GPA, 64), 0);
	assert_null(peek(&cache, 8));
}

static void *seen;

static void peek_now(void)
{
	seen = peek(&cache, 8);
}

static void valid_comes_last(void **state)
{
	gpc_activate(&cache, GPA + PAGE_SIZE, 64);
	at.after_valid = peek_now;
	assert_int_equal(gpc_activate(&cache, GPA, 64), 0);
	assert_ptr_equal(seen, home(GPA));
	seen = NULL;
	gpc_invalidate(vm, GPA, 1);
	at.before_valid = peek_now;
	assert_int_equal(gpc_refresh(&cache), 0);
	assert_null(seen);
}

/* Again and again, in every try. */
static u32 tries;

static void invalidate_for_ever(void)
{
	assert_true(++tries < 10 * REFRESH_TRIES);
	invalidate_it();
	at.in_lookup = invalidate_for_ever;
}

static void endless_invalidations(void **state)
{
	tries = 0;
	at.in_lookup = invalidate_for_ever;
	assert_int_equal(gpc_activate(&cache, GPA, 64), -EAGAIN);
	assert_int_equal(cache.counts.again, REFRESH_TRIES);
	assert_true(cache.active);
	assert_on_list(&cache, 1);
	assert_null(peek(&cache, 8));
	assert_int_equal(gpc_refresh(&cache), -EAGAIN);
	at.in_lookup = NULL;
	assert_int_equal(gpc_refresh(&cache), 0);
	/* One that is under way as far as memory is concerned. */
	vm->invalidating++;
	invalidate_it();
	assert_int_equal(gpc_refresh(&cache), -EAGAIN);
	vm->invalidating--;
	assert_int_equal(gpc_refresh(&cache), 0);
}

/* --- targeted: bits ----------------------------------------------------------------------------- */

static void bit_before_valid(void **state)
{
	gpc_activate(&cache, GPA, 64);
	at.before_bit = invalidate_it;
	/* Nobody saw this reader's bit, so it must see that the page is gone. */
	assert_null(peek(&cache, 8));
	assert_null(at.before_bit);
}

static void bits_are_set_once(void **state)
{
	gpc_activate(&cache, GPA, 64);
	assert_int_equal(cache.readers[0], 0);
	peek(&cache, 8);
	assert_int_equal(cache.readers[0], BIT(cpu_id()));
	at.before_bit = invalidate_it;
	peek(&cache, 8);
	assert_non_null(at.before_bit);
	at.before_bit = NULL;
	invalidate_it();
	assert_int_equal(gpc_refresh(&cache), 0);
	assert_int_equal(cache.readers[0] | cache.draining[0], 0);
}

/* CPU 1 has begun a section and found its bit set; it has not looked at `valid` yet. */
static bool go_in;

static void half_a_reader(void)
{
	srcu_token_t token;
	u64 end;

	peek(&cache, 8);
	store_release(&hold.left, true); /* it has been here */
	wait_until(&go_in);
	token = guest_read_lock();
	assert_true(load_acquire(&cache.readers[0]) & BIT(1));
	store_release(&hold.inside, true);
	end = arch_counter() + 10 * 1000 * 1000;
	while (!load_acquire(&hold.returned) && arch_counter() < end)
		cpu_relax();
	/* With the bit gone nobody would wait for it: it must not find a page here. */
	assert_false(gpc_check(&cache, 8));
	guest_read_unlock(token);
}

static void let_it_in(void)
{
	store_release(&go_in, true);
	wait_until(&hold.inside);
}

static void bit_was_set_before(u32 cpu, void *arg)
{
	if (cpu == 1) {
		half_a_reader();
		return;
	}
	wait_until(&hold.left);
	invalidate_it();
	at.before_bits_go = let_it_in;
	gpc_refresh(&cache);
	store_release(&hold.returned, true);
}

static void bits_go_before_the_wait(void **state)
{
	memset(&hold, 0, sizeof(hold));
	go_in = false;
	gpc_activate(&cache, GPA, 64);
	host_on_cpus(2, bit_was_set_before, NULL);
	assert_true(hold.returned);
}

/* --- Pinned ------------------------------------------------------------------------------------- */

static struct gpc pinned;
static u32 stays;
static bool in_guest;

static int make_pinned(void **state)
{
	int err = make_vm(state);

	stays = 0;
	return err ? err : gpc_init(&pinned, vm, GPC_PINNED, vm->vcpu[0]);
}

static int drop_pinned(void **state)
{
	gpc_destroy(&pinned);
	assert_null(vm->vcpu[0]->pins);
	return drop_vm(state);
}

static enum vcpu_exit run_with(int (*guest)(struct vcpu *))
{
	enum vcpu_exit e;

	vm->vcpu[0]->arch.guest = guest;
	vcpu_load(vm->vcpu[0]);
	e = vcpu_run(vm->vcpu[0]);
	vcpu_put(vm->vcpu[0]);
	return e;
}

/* Each stay must find the page as it is now; then something changes it. */
static int guest_of_a_pinned_page(struct vcpu *v)
{
	assert_true(gpc_check(&pinned, 8));
	assert_int_equal(pinned.generation, vm->generation);
	switch (stays++) {
	case 0: return VCPU_EXIT_RESUME;
	case 1: vm->generation++; return VCPU_EXIT_RESUME;
	case 2: gpc_invalidate(vm, GPA, 8); return VCPU_EXIT_RESUME;
	default: return VCPU_EXIT_LEAVE;
	}
}

static void pinned_is_looked_at_again(void **state)
{
	assert_int_equal(gpc_activate(&pinned, GPA, 8), 0);
	assert_ptr_equal(vm->vcpu[0]->pins, &pinned);
	assert_int_equal(run_with(guest_of_a_pinned_page), VCPU_EXIT_LEAVE);
	assert_int_equal(stays, 4);
	assert_int_equal(pinned.counts.refreshes, 3);
}

static int never_entered(struct vcpu *v)
{
	fail_msg("the guest runs without its page");
	return VCPU_EXIT_LEAVE;
}

static void without_its_page_it_stays_out(void **state)
{
	assert_int_equal(gpc_activate(&pinned, GPA, 8), 0);
	gpc_invalidate(vm, GPA, 8);
	vm->generation |= GENERATION_BUSY;
	assert_int_equal(run_with(never_entered), VCPU_EXIT_YIELD);
	vm->generation &= ~GENERATION_BUSY;
	stays = 3;
	assert_int_equal(run_with(guest_of_a_pinned_page), VCPU_EXIT_LEAVE);
}

/* Uses the page as hardware does, until the hypervisor's interrupt ends its stay. */
static int hardware(struct vcpu *v)
{
	store_release(&in_guest, true);
	while (!host_kick_pending())
		cpu_relax();
	for (u32 i = 0; i < 1000; i++)
		barrier();
	store_release(&in_guest, false);
	return VCPU_EXIT_LEAVE;
}

static void use_and_take(u32 cpu, void *arg)
{
	if (cpu == 1) {
		run_with(hardware);
		return;
	}
	wait_until(&in_guest);
	gpc_invalidate(vm, GPA, 8);
	assert_false(load_acquire(&in_guest));
}

static void guest_mode_is_left_first(void **state)
{
	assert_int_equal(gpc_activate(&pinned, GPA, 8), 0);
	host_on_cpus(2, use_and_take, NULL);
}

/* --- Interrupts --------------------------------------------------------------------------------- */

static u32 ticks, ticks_with_page;

static void tick(struct soft_timer *t)
{
	ticks++;
	ticks_with_page += peek(&cache, 8) != NULL;
	soft_timer_arm(t, arch_counter() + 2000);
}

/* Every CPU updates, and reads both in interrupts and outside: none waits for itself. */
static void update_and_be_interrupted(u32 cpu, void *arg)
{
	static struct soft_timer timer[4];
	u64 end = arch_counter() + 50 * 1000 * 1000;

	if (cpu == 1) {
		timer[cpu].fn = tick;
		soft_timer_arm(&timer[cpu], arch_counter());
	}
	while (arch_counter() < end) {
		peek(&cache, 8);
		if (cpu != 3)
			invalidate_it();
		gpc_refresh(&cache);
		cpu_relax();
	}
	if (cpu == 1)
		soft_timer_cancel(&timer[cpu]);
}

static void interrupts_read_too(void **state)
{
	ticks = ticks_with_page = 0;
	gpc_activate(&cache, GPA, 64);
	host_on_cpus(3, update_and_be_interrupted, NULL);
	assert_true(ticks > 0 && ticks_with_page > 0);
}

/* --- Storms ------------------------------------------------------------------------------------- */

#define STORM_NS  (150 * 1000 * 1000UL)
#define STORM_GPC 3

static struct gpc storm[STORM_GPC];
static u64 storm_reads, storm_misses, storm_moves;

/* A frame that its page has left is full of poison: nobody may read that, and the mover sees a write. */
static void storm_read(struct gpc *g, u32 cpu)
{
	srcu_token_t token = guest_read_lock();
	u64 *p = gpc_get(g, 64);

	if (p) {
		assert_true(READ_ONCE(p[cpu]) != FRAME_POISON);
		WRITE_ONCE(p[cpu], READ_ONCE(p[cpu]) + 1);
		for (u32 i = 0; i < 20; i++)
			barrier();
		assert_true(READ_ONCE(p[cpu]) != FRAME_POISON);
		gpc_put(g);
	}
	guest_read_unlock(token);
	atomic_fetch_add_relaxed(p ? &storm_reads : &storm_misses, 1);
	if (!p)
		gpc_refresh(g);
}

static void storm_cpu(u32 cpu, void *arg)
{
	u64 end = arch_counter() + STORM_NS, seed = cpu;

	while (arch_counter() < end) {
		u64 dice = host_random(&seed);
		struct gpc *g = &storm[dice % STORM_GPC];
		gpaddr_t gpa = GPA + (dice >> 8) % 4 * PAGE_SIZE;

		if (cpu == 1) {
			storm_moves += !vm_move_page(vm, gpa);
		} else if (cpu == 2 && (dice >> 16) % 8 == 0) {
			gpc_deactivate(g);
		} else if (cpu == 2) {
			gpc_activate(g, gpa, 64);
		} else {
			storm_read(g, cpu);
		}
	}
}

static void storms_end_well(void **state)
{
	storm_reads = storm_misses = storm_moves = 0;
	for (u32 i = 0; i < STORM_GPC; i++)
		gpc_init(&storm[i], vm, 0, NULL);
	host_on_cpus(5, storm_cpu, NULL);
	for (u32 i = 0; i < STORM_GPC; i++) {
		assert_on_list(&storm[i], storm[i].active);
		gpc_destroy(&storm[i]);
		assert_on_list(&storm[i], 0);
	}
	assert_true(storm_reads > 0 && storm_misses > 0 && storm_moves > 0);
}

/* --- All of them -------------------------------------------------------------------------------- */

#define WITH(fn, k, begin, end) { #fn ", " #k, fn, begin, end, (void *)(uintptr_t)GPC_##k }
#define EACH_WITH(fn, begin, end)                                              \
	WITH(fn, RWLOCK, begin, end), WITH(fn, TRYLOCK, begin, end),           \
		WITH(fn, EXPEDITED, begin, end), WITH(fn, ATOMIC, begin, end), \
		WITH(fn, ATOMIC_FAST, begin, end), WITH(fn, TARGETED, begin, end)
#define EACH(fn)     EACH_WITH(fn, make_vm, drop_vm)
#define PINNED(fn)   EACH_WITH(fn, make_pinned, drop_pinned)
#define TARGETED(fn) WITH(fn, TARGETED, make_vm, drop_vm)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(inactive_gives_nothing),
		EACH(active_gives_the_page),
		EACH(invalid_until_refreshed),
		EACH(deactivated_is_forgotten),
		EACH(moves_to_another_key),
		EACH(bad_keys_are_refused),
		EACH(of_another_generation),
		EACH(memory_that_goes_and_comes),
		EACH(writes_are_logged_or_not),
		EACH(invalidate_waits),
		EACH(deactivate_waits),
		EACH(another_key_waits),
		EACH(another_address_waits),
		EACH(second_invalidation_waits_too),
		EACH(nothing_to_wait_for),
		EACH(moved_while_looked_up),
		EACH(moved_before_valid),
		EACH(taken_as_soon_as_valid),
		EACH(valid_comes_last),
		EACH(endless_invalidations),
		TARGETED(bit_before_valid),
		TARGETED(bits_are_set_once),
		TARGETED(bits_go_before_the_wait),
		PINNED(pinned_is_looked_at_again),
		PINNED(without_its_page_it_stays_out),
		PINNED(guest_mode_is_left_first),
		EACH(interrupts_read_too),
		EACH(storms_end_well),
	};

	return cmocka_run_group_tests(tests, host_group_setup, NULL);
}
