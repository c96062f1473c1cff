/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page caches of every kind: the state machine, by itself; what must not happen when it races, with threads
 * held at known points; and storms over pages that are poisoned as soon as nobody may have them.
 */
#include "host.h"

#include <string.h>

#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>

#define GPA 0x5000UL /* of the page that is cached */

static struct vm *vm;
static struct gpc cache, second;
static enum gpc_kind kind;

static int make_vm(void **state)
{
	struct vm_config c = { .name = "unit", .memory = MIB(1), .vcpus = 2 };
	const char *why;
	int err;

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

/* --- All of them -------------------------------------------------------------------------------- */

#define ONE(fn, k) { #fn ", " #k, fn, make_vm, drop_vm, (void *)(uintptr_t)GPC_##k }
#define EACH(fn)                                                                \
	ONE(fn, RWLOCK), ONE(fn, TRYLOCK), ONE(fn, EXPEDITED), ONE(fn, ATOMIC), \
		ONE(fn, ATOMIC_FAST), ONE(fn, TARGETED)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(inactive_gives_nothing),  EACH(active_gives_the_page),
		EACH(invalid_until_refreshed), EACH(deactivated_is_forgotten),
		EACH(moves_to_another_key),    EACH(bad_keys_are_refused),
	};

	return cmocka_run_group_tests(tests, host_group_setup, NULL);
}
