/* SPDX-License-Identifier: GPL-2.0-only */
/* What debug builds catch about locks, each in a child that is expected to panic. */
#include "host.h"

#include <string.h>

#include <cupel/irq.h>
#include <cupel/lock.h>

static spinlock_t a = SPINLOCK_INIT("class_a"), b = SPINLOCK_INIT("class_b"),
		  c = SPINLOCK_INIT("class_c");
static spinlock_t a2 = SPINLOCK_INIT("class_a"), unnamed, unnamed2;
static rwlock_t rw = RWLOCK_INIT("class_rw");

static void nest(spinlock_t *outer, spinlock_t *inner)
{
	spin_lock(outer);
	spin_lock(inner);
	spin_unlock(inner);
	spin_unlock(outer);
}

static void expect_panic(void (*fn)(void *), const char *const *words)
{
	assert_int_equal(host_dies(fn, NULL), 3);
	for (; *words; words++) {
		if (!strstr(host_last_words(), *words))
			fail_msg("no '%s' in: %s", *words, host_last_words());
	}
}

static void opposite(void *arg)
{
	nest(&a, &b);
	nest(&b, &a);
}

static void circle(void *arg)
{
	nest(&a, &b);
	nest(&b, &c);
	nest(&c, &a);
}

static void same_class(void *arg)
{
	nest(&a, &a2);
}

static void through_rwlock(void *arg)
{
	read_lock(&rw);
	spin_lock(&a);
	spin_unlock(&a);
	read_unlock(&rw);
	spin_lock(&a);
	write_lock(&rw);
}

static void order_is_checked(void **state)
{
	static const char *const two[] = { "class_a",		"class_b",
					   "both orders",	"opposite has been seen",
					   "test_lock_debug.c", NULL };
	static const char *const three[] = { "class_c (", "class_a (", "class_b (", "both orders",
					     NULL };
	static const char *const same[] = { "class_a and class_a", NULL };
	static const char *const mixed[] = { "class_rw", "class_a", "both orders", NULL };

	expect_panic(opposite, two);
	expect_panic(circle, three);
	expect_panic(same_class, same);
	expect_panic(through_rwlock, mixed);
}

static void take_twice(void *arg)
{
	spin_lock(&a);
	spin_lock(&a);
}

static void read_twice(void *arg)
{
	read_lock(&rw);
	read_lock(&rw);
}

static void double_locks(void **state)
{
	static const char *const words[] = { "lock &a taken twice by CPU 0", "test_lock_debug.c",
					     NULL };
	static const char *const reads[] = { "lock &rw taken twice", NULL };

	expect_panic(take_twice, words);
	expect_panic(read_twice, reads);
}

static void never_taken(void *arg)
{
	spin_unlock(&a);
}

static void leave_held(u32 cpu, void *arg)
{
	spin_lock(&a);
}

static void wrong_cpu(void *arg)
{
	host_on_cpus(1, leave_held, NULL);
	spin_unlock(&a);
}

static void wrong_rw(void *arg)
{
	read_lock(&rw);
	read_unlock(&rw);
	write_unlock(&rw);
}

static void wrong_unlocks(void **state)
{
	static const char *const words[] = { "class_a let go by CPU 0, which does not hold it", NULL };
	static const char *const writes[] = { "class_rw let go by CPU 0", NULL };

	expect_panic(never_taken, words);
	expect_panic(wrong_cpu, words);
	expect_panic(wrong_rw, writes);
}

static void in_handler(struct irq_desc *d, void *arg)
{
	spin_lock(&a);
	spin_unlock(&a);
}

static void try_in_handler(struct irq_desc *d, void *arg)
{
	if (spin_trylock(&a))
		spin_unlock(&a);
}

static void interrupt(irq_handler_t handler)
{
	static const struct irq_chip chip = { .name = "test" };
	unsigned long flags = arch_irq_save();

	irq_set_chip(5, &chip, 0);
	irq_request(5, handler, NULL);
	irq_dispatch(5);
	irq_free(5);
	arch_irq_restore(flags);
}

static void hold(bool irqs_on)
{
	unsigned long flags = arch_irq_save();

	if (irqs_on)
		arch_irq_enable();
	spin_lock(&a);
	spin_unlock(&a);
	arch_irq_restore(flags);
}

static void on_then_handler(void *arg)
{
	hold(true);
	interrupt(in_handler);
}

static void handler_then_on(void *arg)
{
	interrupt(in_handler);
	hold(true);
}

static void harmless(void *arg)
{
	hold(false);
	interrupt(in_handler);
	hold(false);
}

static void harmless_try(void *arg)
{
	hold(true);
	interrupt(try_in_handler);
}

static void handlers_and_interrupts(void **state)
{
	static const char *const words[] = { "lock class_a", "waited for in an interrupt handler",
					     NULL };

	expect_panic(on_then_handler, words);
	expect_panic(handler_then_on, words);
	assert_int_equal(host_dies(harmless, NULL), -1);
	assert_int_equal(host_dies(harmless_try, NULL), -1);
}

/* All of this is allowed. */
static void good_orders(void **state)
{
	nest(&a, &b);
	nest(&a, &b);
	nest(&b, &c);
	nest(&a, &c);
	nest(&unnamed, &unnamed2);
	nest(&unnamed2, &unnamed);
	/* Let go out of order. */
	spin_lock(&a);
	spin_lock(&b);
	spin_unlock(&a);
	spin_unlock(&b);
	/* A try waits for nobody, so it has no order. */
	spin_lock(&c);
	assert_true(spin_trylock(&a));
	spin_unlock(&a);
	spin_unlock(&c);
	nest(&a, &c);
}

static void nest_many(u32 cpu, void *arg)
{
	for (int i = 0; i < 2000; i++) {
		nest(&a, &b);
		nest(&b, &c);
	}
}

static void checks_run_in_parallel(void **state)
{
	host_on_cpus(4, nest_many, NULL);
	assert_null(strstr(host_console(), "lock order"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_checked), cmocka_unit_test(double_locks),
		cmocka_unit_test(wrong_unlocks),    cmocka_unit_test(handlers_and_interrupts),
		cmocka_unit_test(good_orders),	    cmocka_unit_test(checks_run_in_parallel),
	};

	return cmocka_run_group_tests_name("lock_debug", tests, host_group_setup, NULL);
}
