/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is counted as read-modify-writes on shared words is what is executed: every atomic one that locks,
 * sections and page caches make on the read side goes through a counter of this test's own, and both agree.
 */
#include "host.h"

#include <cupel/atomic.h>

static u64 made; /* by the test's only thread */

#define COUNTED(operation) (made++, (operation))
#undef atomic_fetch_add_relaxed
#undef atomic_fetch_add_acquire
#undef atomic_fetch_add_release
#undef atomic_fetch_add_full
#undef atomic_fetch_or_full
#undef atomic_fetch_and_full
#undef atomic_xchg_full
#undef atomic_cmpxchg_acquire
#undef atomic_cmpxchg_full
#define atomic_fetch_add_relaxed(p, v) COUNTED(__atomic_fetch_add((p), (v), __ATOMIC_RELAXED))
#define atomic_fetch_add_acquire(p, v) COUNTED(__atomic_fetch_add((p), (v), __ATOMIC_ACQUIRE))
#define atomic_fetch_add_release(p, v) COUNTED(__atomic_fetch_add((p), (v), __ATOMIC_RELEASE))
#define atomic_fetch_add_full(p, v)    COUNTED(__atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST))
#define atomic_fetch_or_full(p, v)     COUNTED(__atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST))
#define atomic_fetch_and_full(p, v)    COUNTED(__atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST))
#define atomic_xchg_full(p, v)	       COUNTED(__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST))
#define atomic_cmpxchg_acquire(p, e, v)                                             \
	COUNTED(__atomic_compare_exchange_n((p), (e), (v), false, __ATOMIC_ACQUIRE, \
					    __ATOMIC_RELAXED))
#define atomic_cmpxchg_full(p, e, v)                                                \
	COUNTED(__atomic_compare_exchange_n((p), (e), (v), false, __ATOMIC_SEQ_CST, \
					    __ATOMIC_RELAXED))
#include "../../core/lock.c"
#include "../../core/gpc.c"

#define LOOKUPS 100

/* Per 100 lookups of a page that nobody takes away. */
static const u64 expected[NR_GPC_KINDS] = { [GPC_RWLOCK] = 2 * LOOKUPS, [GPC_TRYLOCK] = 2 * LOOKUPS };

static void look_up_often(struct gpc *g)
{
	for (u32 i = 0; i < LOOKUPS; i++) {
		srcu_token_t token = guest_read_lock();

		assert_non_null(gpc_get(g, 8));
		gpc_put(g);
		guest_read_unlock(token);
	}
}

static void check_kind(enum gpc_kind kind)
{
	struct vm_config c = { .name = "unit", .memory = MIB(1), .vcpus = 1, .gpc = kind };
	static struct gpc g;
	const char *why;
	int err;
	struct vm *vm = vm_create(&c, NULL, 0, &err, &why);

	assert_non_null(vm);
	assert_int_equal(gpc_init(&g, vm, 0, NULL), 0);
	assert_int_equal(gpc_activate(&g, 0, 8), 0);
	look_up_often(&g); /* targeted: after this its bit is set */
	lock_stats_reset();
	made = 0;
	look_up_often(&g);
	assert_int_equal(made, expected[kind]);
	assert_int_equal(shared_rmw_sum(), expected[kind]);
	gpc_destroy(&g);
	vm_destroy(vm);
}

static void counted_is_made(void **state)
{
	lock_stats_enabled = true;
	for (u32 kind = 0; kind < NR_GPC_KINDS; kind++)
		check_kind((enum gpc_kind)kind);
	lock_stats_enabled = false;
}

static void first_lookup_marks_its_cpu(void **state)
{
	struct vm_config c = { .name = "unit", .memory = MIB(1), .vcpus = 1, .gpc = GPC_TARGETED };
	static struct gpc g;
	const char *why;
	int err;
	struct vm *vm = vm_create(&c, NULL, 0, &err, &why);

	gpc_init(&g, vm, 0, NULL);
	gpc_activate(&g, 0, 8);
	lock_stats_enabled = true;
	lock_stats_reset();
	made = 0;
	look_up_often(&g);
	assert_int_equal(made, 1);
	assert_int_equal(shared_rmw_sum(), 1);
	lock_stats_enabled = false;
	gpc_destroy(&g);
	vm_destroy(vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counted_is_made),
		cmocka_unit_test(first_lookup_marks_its_cpu),
	};

	return cmocka_run_group_tests(tests, host_group_setup, NULL);
}
