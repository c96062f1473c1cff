/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupt descriptors, and the two setters: which lock is taken for which chip, counted, and that the
 * lockless one really leaves all locks alone.
 */
#include "host.h"

#include <string.h>

#include <cupel/irq.h>

/* A chip that records what is asked of it. */
static struct {
	u32 sets, gets, masks, unmasks, bus_locks, bus_unlocks;
	bool bus_locked, locked_at_set, state;
	u64 deferred; /* sets that came while the bus was locked */
} seen;

static int chip_set(struct irq_desc *d, enum irq_state which, bool on)
{
	atomic_fetch_add_relaxed(&seen.sets, 1);
	WRITE_ONCE(seen.locked_at_set, READ_ONCE(d->lock.next) != READ_ONCE(d->lock.owner));
	if (READ_ONCE(seen.bus_locked))
		seen.deferred++;
	if (which == IRQ_STATE_MASKED)
		return -EINVAL;
	WRITE_ONCE(seen.state, on);
	return 0;
}

static int chip_get(struct irq_desc *d, enum irq_state which, bool *on)
{
	seen.gets++;
	*on = seen.state;
	return 0;
}

static void chip_mask(struct irq_desc *d)
{
	seen.masks++;
}

static void chip_unmask(struct irq_desc *d)
{
	seen.unmasks++;
}

static void bus_lock(struct irq_desc *d)
{
	assert_false(arch_irqs_enabled());
	seen.bus_locked = true;
	seen.bus_locks++;
}

static void bus_sync_unlock(struct irq_desc *d)
{
	seen.bus_locked = false;
	seen.bus_unlocks++;
}

#define OPS .mask = chip_mask, .unmask = chip_unmask, .set_state = chip_set, .get_state = chip_get

static const struct irq_chip lockless = { .name = "v3", .flags = IRQ_CHIP_PERCPU_STATE_LOCKLESS, OPS };
static const struct irq_chip plain = { .name = "v2", OPS };
static const struct irq_chip slow_bus = {
	.name = "bus",
	.flags = IRQ_CHIP_PERCPU_STATE_LOCKLESS, /* carries the flag, and still may not go without */
	OPS,
	.bus_lock = bus_lock,
	.bus_sync_unlock = bus_sync_unlock,
};
static const struct irq_chip stateless = { .name = "none", .flags = IRQ_CHIP_PERCPU_STATE_LOCKLESS };

static struct irq_desc *set_up(const struct irq_chip *chip, u32 flags)
{
	memset(&seen, 0, sizeof(seen));
	irq_set_chip(27, chip, flags);
	lock_stats_reset();
	return irq_to_desc(27);
}

static u64 locks_taken(void)
{
	return lock_stats_sum("d->lock").acquired;
}

static void locked_setter_counts_one(void **state)
{
	struct irq_desc *d = set_up(&lockless, IRQ_PERCPU);

	for (int i = 0; i < 100; i++)
		assert_int_equal(irq_set_state(d, IRQ_STATE_ACTIVE, i & 1), 0);
	assert_int_equal(locks_taken(), 100);
	assert_int_equal(seen.sets, 100);
	assert_true(seen.locked_at_set);
}

static void percpu_setter_counts_none(void **state)
{
	struct irq_desc *d = set_up(&lockless, IRQ_PERCPU);

	for (int i = 0; i < 100; i++)
		assert_int_equal(irq_set_percpu_state(d, IRQ_STATE_ACTIVE, i & 1), 0);
	assert_int_equal(locks_taken(), 0);
	assert_int_equal(lock_stats_sum(NULL).acquired, 0);
	assert_int_equal(seen.sets, 100);
	assert_false(seen.locked_at_set);
	assert_int_equal(d->lock.next, d->lock.owner);
}

static void falls_back_without_the_flag(void **state)
{
	struct irq_desc *d = set_up(&plain, IRQ_PERCPU);

	for (int i = 0; i < 100; i++)
		assert_int_equal(irq_set_percpu_state(d, IRQ_STATE_ACTIVE, true), 0);
	assert_int_equal(locks_taken(), 100);
	assert_true(seen.locked_at_set);
}

static void falls_back_with_a_bus_lock(void **state)
{
	struct irq_desc *d = set_up(&slow_bus, IRQ_PERCPU);

	for (int i = 0; i < 100; i++)
		assert_int_equal(irq_set_percpu_state(d, IRQ_STATE_ACTIVE, true), 0);
	assert_int_equal(locks_taken(), 100);
	assert_int_equal(seen.bus_locks, 100);
	assert_int_equal(seen.bus_unlocks, 100);
	assert_int_equal(seen.deferred, 100);
	assert_true(arch_irqs_enabled());
}

static void falls_back_for_a_shared_interrupt(void **state)
{
	struct irq_desc *d = set_up(&lockless, 0);

	assert_int_equal(irq_set_percpu_state(d, IRQ_STATE_ACTIVE, true), 0);
	assert_int_equal(locks_taken(), 1);
}

static void errors_come_back(void **state)
{
	struct irq_desc *d = set_up(&lockless, IRQ_PERCPU);
	bool on;

	assert_int_equal(irq_set_state(d, IRQ_STATE_MASKED, true), -EINVAL);
	assert_int_equal(irq_set_percpu_state(d, IRQ_STATE_MASKED, true), -EINVAL);
	d = set_up(&stateless, IRQ_PERCPU);
	assert_int_equal(irq_set_state(d, IRQ_STATE_ACTIVE, true), -EINVAL);
	assert_int_equal(irq_set_percpu_state(d, IRQ_STATE_ACTIVE, true), -EINVAL);
	assert_int_equal(irq_get_state(d, IRQ_STATE_ACTIVE, &on), -EINVAL);
	d = irq_to_desc(28);
	assert_int_equal(irq_set_state(d, IRQ_STATE_ACTIVE, true), -EINVAL);
	assert_int_equal(irq_set_percpu_state(d, IRQ_STATE_ACTIVE, true), -EINVAL);
}

static void get_reads_back(void **state)
{
	struct irq_desc *d = set_up(&slow_bus, IRQ_PERCPU);
	bool on = false;

	irq_set_state(d, IRQ_STATE_ACTIVE, true);
	assert_int_equal(irq_get_state(d, IRQ_STATE_ACTIVE, &on), 0);
	assert_true(on);
	assert_int_equal(seen.bus_locks, 2);
}

static struct irq_desc *handled;
static void *handled_arg;

static void handler(struct irq_desc *d, void *arg)
{
	handled = d;
	handled_arg = arg;
}

static void request_and_dispatch(void **state)
{
	u64 before;
	int x;

	set_up(&plain, IRQ_PERCPU);
	assert_int_equal(irq_request(NR_IRQS, handler, &x), -EINVAL);
	assert_int_equal(irq_request(29, handler, &x), -EINVAL); /* no chip */
	assert_int_equal(irq_request(27, NULL, &x), -EINVAL);
	before = this_cpu(irq_count);
	assert_false(irq_dispatch(27));
	assert_int_equal(irq_request(27, handler, &x), 0);
	assert_int_equal(irq_request(27, handler, &x), -EBUSY);
	assert_true(irq_dispatch(27));
	assert_ptr_equal(handled, irq_to_desc(27));
	assert_ptr_equal(handled_arg, &x);
	assert_false(irq_dispatch(NR_IRQS));
	irq_free(27);
	assert_false(irq_dispatch(27));
	assert_int_equal(this_cpu(irq_count) - before, 4);
	irq_free(NR_IRQS);
	assert_null(irq_to_desc(NR_IRQS));
	assert_null(irq_to_desc(UINT32_MAX));
}

static void masking(void **state)
{
	set_up(&slow_bus, 0);
	irq_enable(27);
	irq_disable(27);
	assert_int_equal(seen.unmasks, 1);
	assert_int_equal(seen.masks, 1);
	assert_int_equal(seen.bus_unlocks, 2);
	irq_enable(28);
	irq_disable(UINT32_MAX);
	assert_int_equal(seen.unmasks, 1);
}

static irq_set_state_t setter;

static void set_many(u32 cpu, void *arg)
{
	for (int i = 0; i < 2000; i++)
		setter(irq_to_desc(27), IRQ_STATE_ACTIVE, true);
}

static void contended(void **state)
{
	set_up(&lockless, IRQ_PERCPU);
	setter = irq_set_state;
	host_on_cpus(4, set_many, NULL);
	assert_int_equal(locks_taken(), 8000);
	assert_int_equal(seen.sets, 8000);
	set_up(&lockless, IRQ_PERCPU);
	setter = irq_set_percpu_state;
	host_on_cpus(4, set_many, NULL);
	assert_int_equal(locks_taken(), 0);
	assert_int_equal(seen.sets, 8000);
}

static int setup(void **state)
{
	host_group_setup(state);
	assert_int_equal(lock_stats_init(), 0);
	lock_stats_enabled = true;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locked_setter_counts_one),
		cmocka_unit_test(percpu_setter_counts_none),
		cmocka_unit_test(falls_back_without_the_flag),
		cmocka_unit_test(falls_back_with_a_bus_lock),
		cmocka_unit_test(falls_back_for_a_shared_interrupt),
		cmocka_unit_test(errors_come_back),
		cmocka_unit_test(get_reads_back),
		cmocka_unit_test(request_and_dispatch),
		cmocka_unit_test(masking),
		cmocka_unit_test(contended),
	};

	return cmocka_run_group_tests_name("irq", tests, setup, NULL);
}
