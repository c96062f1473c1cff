/* SPDX-License-Identifier: GPL-2.0-only */
/* VMs: made and taken down without a page lost, windows of registers, memory slots, hypercalls. */
#include "host.h"

#include <string.h>

#include <cupel/abi.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>
#include <cupel/sched.h>
#include <cupel/smp.h>
#include <cupel/vm.h>

static struct vm *vm;
static const char *why;
static int err;

static struct vm *create(u32 vcpus, u64 memory)
{
	struct vm_config c = { .name = "unit", .memory = memory, .vcpus = vcpus };

	return vm_create(&c, NULL, 0, &err, &why);
}

static int make_vm(void **state)
{
	vm = create(2, MIB(1));
	return vm ? 0 : -1;
}

static int drop_vm(void **state)
{
	vm_destroy(vm);
	return 0;
}

/* --- Life --------------------------------------------------------------------------------------- */

static void no_page_is_lost(void **state)
{
	u64 free = mm_stats().free_pages;

	for (u32 i = 0; i < 10; i++) {
		vm = create(1 + i, MIB(1));
		assert_non_null(vm);
		assert_int_equal(vm->nr_vcpus, 1 + i);
		assert_int_equal(vm->state, VM_NEW);
		assert_int_equal(vm->arch.mapped, MIB(1));
		vm_destroy(vm);
	}
	assert_int_equal(mm_stats().free_pages, free);
}

static void failures_leave_nothing(void **state)
{
	u64 free = mm_stats().free_pages;

	host_vcpu_init_result = -EIO;
	assert_null(create(3, MIB(1)));
	assert_int_equal(err, -EIO);
	host_vcpu_init_result = 0;
	host_vm_init_result = -ENODEV;
	assert_null(create(3, MIB(1)));
	assert_int_equal(err, -ENODEV);
	assert_string_equal(why, "asked to fail");
	host_vm_init_result = 0;
	assert_null(create(1, GIB(4)));
	assert_int_equal(err, -ENOMEM);
	assert_null(create(0, MIB(1)));
	assert_int_equal(err, -EINVAL);
	assert_null(create(1, 4095));
	assert_int_equal(err, -EINVAL);
	assert_int_equal(mm_stats().free_pages, free);
}

static void no_memory_at_any_step(void **state)
{
	void *hog = NULL, **p;
	u64 left;

	/* Take all, then give back a page at a time: creation fails at one step after another. */
	while ((p = page_alloc())) {
		*p = hog;
		hog = p;
	}
	for (left = 0; hog && left < 400; left++) {
		assert_int_equal(mm_stats().free_pages, left);
		vm = create(3, PAGE_SIZE * 4);
		if (vm)
			vm_destroy(vm);
		else
			assert_int_equal(err, -ENOMEM);
		p = hog;
		hog = *p;
		page_free(p);
	}
	assert_non_null(vm);
	while (hog) {
		p = hog;
		hog = *p;
		page_free(p);
	}
}

static void pins_must_be_online(void **state)
{
	struct vm_config c = {
		.name = "pin", .memory = MIB(1), .vcpus = 1, .pin = { 0, 77 }, .nr_pin = 2
	};

	assert_null(vm_create(&c, NULL, 0, &err, &why));
	assert_int_equal(err, -ENODEV);
	assert_non_null(strstr(why, "not online"));
}

static u32 stops;

static void count_stop(struct vm *v)
{
	stops++;
	assert_false(vm_running(v));
}

static void first_reason_stays(void **state)
{
	vm->on_stop = count_stop;
	stops = 0;
	vm->state = VM_RUNNING;
	vm_stop(vm, -1, "first %d", 1);
	vm_stop(vm, 0, "second");
	assert_int_equal(stops, 1);
	assert_string_equal(vm->stop_reason, "first 1");
	assert_int_equal(vm->state, VM_CRASHED);
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		assert_int_equal(vm->vcpu[i]->requests, VCPU_REQ_STOP);
}

static void setters_by_config(void **state)
{
	struct vm_config c = { .name = "x", .memory = MIB(1), .vcpus = 1, .irqstate = IRQSTATE_LOCKED };
	struct vm *v = vm_create(&c, NULL, 0, &err, &why);

	assert_ptr_equal(v->set_active, irq_set_state);
	vm_destroy(v);
	c.irqstate = IRQSTATE_PERCPU;
	v = vm_create(&c, NULL, 0, &err, &why);
	assert_ptr_equal(v->set_active, irq_set_percpu_state);
	vm_destroy(v);
}

/* --- Registers ---------------------------------------------------------------------------------- */

static struct mmio_access last;
static void *last_dev;
static bool refuse;

static bool device(struct vcpu *v, void *dev, struct mmio_access *a)
{
	last = *a;
	last_dev = dev;
	if (!a->write)
		a->value = 0x1122334455667788;
	return !refuse;
}

static void windows_are_checked(void **state)
{
	struct mmio_window w = { "dev", 0x1000, 0x1000, device, NULL };

	assert_int_equal(vm_add_mmio(vm, &w), 0);
	assert_int_equal(vm_add_mmio(vm, &w), -EEXIST);
	w.base = 0x1ff8;
	assert_int_equal(vm_add_mmio(vm, &w), -EEXIST);
	w.base = 0xff8;
	w.size = 16;
	assert_int_equal(vm_add_mmio(vm, &w), -EEXIST);
	w.size = 4;
	assert_int_equal(vm_add_mmio(vm, &w), -EINVAL);
	w.size = 8;
	assert_int_equal(vm_add_mmio(vm, &w), 0);
	w.base = 0xff4;
	assert_int_equal(vm_add_mmio(vm, &w), -EINVAL);
	w.size = 0;
	assert_int_equal(vm_add_mmio(vm, &w), -EINVAL);
	w = (struct mmio_window){ "wrap", UINT64_MAX - 7, 16, device, NULL };
	assert_int_equal(vm_add_mmio(vm, &w), -EINVAL);
	w = (struct mmio_window){ "none", 0x10000, 8, NULL, NULL };
	assert_int_equal(vm_add_mmio(vm, &w), -EINVAL);
	assert_int_equal(vm->nr_mmio, 2);
	for (u32 i = 2; i < MAX_WINDOWS; i++) {
		w = (struct mmio_window){ "many", 0x100000 * i, 0x1000, device, NULL };
		assert_int_equal(vm_add_mmio(vm, &w), 0);
	}
	w.base = 0x100000 * MAX_WINDOWS;
	assert_int_equal(vm_add_mmio(vm, &w), -ENOSPC);
}

static void accesses_find_their_window(void **state)
{
	struct vcpu *v = vm->vcpu[0];
	u64 value = 5;

	for (u64 i = 9; i > 0; i--) {
		struct mmio_window w = { "dev", i << 16, 0x100, device, (void *)i };

		assert_int_equal(vm_add_mmio(vm, &w), 0);
	}
	for (u64 i = 1; i <= 9; i++) {
		assert_true(vm_mmio(v, (i << 16) + 0x10, 4, true, &value));
		assert_ptr_equal(last_dev, (void *)i);
		assert_int_equal(last.offset, 0x10);
		assert_int_equal(last.value, value);
		assert_true(vm_mmio(v, (i << 16) + 0xf8, 8, false, &value));
		assert_int_equal(value, 0x1122334455667788);
		value = i;
		assert_false(vm_mmio(v, (i << 16) + 0x100, 1, false, &value));
		assert_false(vm_mmio(v, (i << 16) - 1, 1, false, &value));
		assert_int_equal(value, i);
	}
	assert_false(vm_mmio(v, 0, 4, false, &value));
	assert_false(vm_mmio(v, UINT64_MAX & ~7UL, 8, false, &value));
}

static void bad_accesses_never_reach_the_device(void **state)
{
	struct mmio_window w = { "dev", 0x1008, 0x8, device, NULL };
	struct vcpu *v = vm->vcpu[0];
	u64 value = 5;

	assert_int_equal(vm_add_mmio(vm, &w), 0);
	w.base = 0x1004; /* of ports: anywhere */
	assert_int_equal(vm_add_pio(vm, &w), 0);
	memset(&last, 0, sizeof(last));
	assert_false(vm_mmio(v, 0x1009, 2, false, &value));
	assert_false(vm_mmio(v, 0x100c, 8, false, &value));
	assert_false(vm_pio(v, 0x1005, 2, false, &value));
	assert_false(vm_pio(v, 0x1008, 8, false, &value)); /* aligned, but past the end */
	assert_false(vm_pio(v, 0x1002, 4, false, &value)); /* from before the beginning */
	assert_int_equal(last.size, 0);
	assert_true(vm_mmio(v, 0x1008, 8, false, &value));
	assert_true(vm_pio(v, 0x100a, 2, true, &value));
	assert_int_equal(last.size, 2);
	refuse = true;
	value = 7;
	assert_false(vm_mmio(v, 0x1008, 4, false, &value));
	assert_int_equal(value, 7);
	refuse = false;
}

/* --- Memory ------------------------------------------------------------------------------------- */

static void slots_are_generations(void **state)
{
	const struct mem_slots *first = vm->slots;
	u64 generation = first->generation;
	struct mem_slot s = { .gpa = MIB(2), .size = MIB(1), .pa = 0x100000, .flags = SLOT_READONLY };

	assert_int_equal(first->count, 1);
	assert_int_equal(vm_add_slot(vm, &s), 0);
	assert_int_equal(vm->slots->generation, generation + 1);
	assert_int_equal(vm->generation, generation + 1);
	assert_int_equal(vm->slots->count, 2);
	assert_ptr_not_equal(vm->slots, first);
	assert_int_equal(vm->arch.mapped, MIB(2));
}

static void bad_slots(void **state)
{
	static const struct {
		struct mem_slot s;
		int err;
	} cases[] = {
		{ { MIB(2), 0, 0x1000, 0 }, -EINVAL },
		{ { MIB(2) + 1, 0x1000, 0x1000, 0 }, -EINVAL },
		{ { MIB(2), 0x1001, 0x1000, 0 }, -EINVAL },
		{ { MIB(2), 0x1000, 0x1001, 0 }, -EINVAL },
		{ { ~0xfffUL, 0x2000, 0x1000, 0 }, -EINVAL },
		{ { 0, 0x1000, 0x1000, 0 }, -EEXIST },
		{ { MIB(1) - 0x1000, 0x2000, 0x1000, 0 }, -EEXIST },
	};
	u64 generation = vm->slots->generation, free = mm_stats().free_pages;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(vm_add_slot(vm, &cases[i].s), cases[i].err);
	assert_int_equal(vm->slots->generation, generation);
	assert_int_equal(mm_stats().free_pages, free);
	for (u32 i = 1; i < MAX_SLOTS; i++) {
		struct mem_slot s = { .gpa = MIB(1) * (2 * MAX_SLOTS - i),
				      .size = 0x1000,
				      .pa = 0x1000 };

		assert_int_equal(vm_add_slot(vm, &s), 0);
	}
	for (u32 i = 1; i < MAX_SLOTS; i++)
		assert_true(vm->slots->slot[i - 1].gpa < vm->slots->slot[i].gpa);
	assert_int_equal(vm_add_slot(vm, &(struct mem_slot){ GIB(1), 0x1000, 0x1000, 0 }), -ENOSPC);
}

static void guest_addresses(void **state)
{
	struct mem_slot rom = { .gpa = MIB(1), .size = 0x1000, .pa = 0x7000, .flags = SLOT_READONLY };
	u8 *ram = pa_to_va(vm->slots->slot[0].pa);

	assert_int_equal(vm_add_slot(vm, &rom), 0);
	assert_ptr_equal(vm_gpa_to_va(vm, 0, MIB(1), true), ram);
	assert_ptr_equal(vm_gpa_to_va(vm, 5, 10, true), ram + 5);
	assert_ptr_equal(vm_gpa_to_va(vm, MIB(1) - 1, 1, true), ram + MIB(1) - 1);
	assert_null(vm_gpa_to_va(vm, MIB(1) - 1, 2, false)); /* into the next slot */
	assert_null(vm_gpa_to_va(vm, 0, MIB(1) + 1, false));
	assert_null(vm_gpa_to_va(vm, 5, UINT64_MAX, false));
	assert_null(vm_gpa_to_va(vm, UINT64_MAX, 1, false));
	assert_null(vm_gpa_to_va(vm, MIB(1) + 0x1000, 0, false));
	assert_non_null(vm_gpa_to_va(vm, MIB(1), 0x1000, false));
	assert_null(vm_gpa_to_va(vm, MIB(1), 1, true));
	assert_null(vm_find_slot(vm, MIB(5)));
	assert_int_equal(vm_find_slot(vm, MIB(1) + 0xfff)->pa, 0x7000);
}

/* Memory that goes on in another slot is memory all the same. */
static void copies_cross_slots(void **state)
{
	u8 *ram = pa_to_va(vm->slots->slot[0].pa), *more = page_alloc(), text[32];
	struct mem_slot next = { .gpa = MIB(1), .size = 0x1000, .pa = va_to_pa(more) };

	assert_int_equal(vm_copy_to(vm, MIB(1) - 4, "abcdefgh", 8), -EFAULT);
	assert_int_equal(vm_add_slot(vm, &next), 0);
	assert_true(vm_is_memory(vm, MIB(1) - 4, 8, true));
	assert_int_equal(vm_copy_to(vm, MIB(1) - 4, "abcdefgh", 8), 0);
	assert_memory_equal(ram + MIB(1) - 4, "abcd", 4);
	assert_memory_equal(more, "efgh", 4);
	assert_int_equal(vm_copy_from(vm, text, MIB(1) - 4, 8), 0);
	assert_memory_equal(text, "abcdefgh", 8);
	assert_int_equal(vm_copy_to(vm, MIB(1) - 2, NULL, 3), 0);
	assert_memory_equal(ram + MIB(1) - 4, "ab\0\0", 4);
	assert_memory_equal(more, "\0fgh", 4);
	assert_false(vm_is_memory(vm, MIB(1) - 4, 0x1005, false));
	assert_int_equal(vm_copy_from(vm, text, UINT64_MAX - 3, 8), -EFAULT);
	assert_false(vm_is_memory(vm, 5, UINT64_MAX, false));
}

static void images_are_loaded(void **state)
{
	static const u8 flat[] = "not an ELF file";
	gpaddr_t entry, last_byte;
	u8 *ram = pa_to_va(vm->slots->slot[0].pa);

	assert_int_equal(guest_load_image(vm, flat, sizeof(flat), 0x8000, &entry, &last_byte, &why),
			 0);
	assert_int_equal(entry, 0x8000);
	assert_int_equal(last_byte, 0x8000 + sizeof(flat));
	assert_memory_equal(ram + 0x8000, flat, sizeof(flat));
	assert_int_equal(guest_load_image(vm, flat, 0, 0, &entry, &last_byte, &why), -ENOEXEC);
	assert_int_equal(guest_load_image(vm, flat, sizeof(flat), MIB(1) - 4, &entry, &last_byte,
					  &why),
			 -ENOEXEC);
	assert_non_null(strstr(why, "does not fit"));
	assert_int_equal(guest_load_image(vm, "\177ELF", 4, 0, &entry, &last_byte, &why), -ENOEXEC);
	assert_non_null(strstr(why, "cut short"));
}

/* --- Hypercalls --------------------------------------------------------------------------------- */

static enum vcpu_exit e;

static s64 call(u32 nr, u64 a, u64 b, u64 c)
{
	e = VCPU_EXIT_RESUME;
	return hypercall(vm->vcpu[1], nr, a, b, c, &e);
}

static void plain_calls(void **state)
{
	assert_int_equal(call(HC_NULL, 1, 2, 3), 0);
	assert_int_equal(e, VCPU_EXIT_RESUME);
	assert_int_equal(call(HC_LIMIT, 0, 0, 0), -1);
	assert_int_equal(call(0, 0, 0, 0), -1);
	assert_int_equal(call(UINT32_MAX, 0, 0, 0), -1);
	assert_int_equal(e, VCPU_EXIT_RESUME);
	assert_int_equal(call(HC_LEAVE, 0, 0, 0), 0);
	assert_int_equal(e, VCPU_EXIT_LEAVE);
	assert_int_equal(call(HC_YIELD, 0, 0, 0), 0);
	assert_int_equal(e, VCPU_EXIT_YIELD);
	assert_int_equal(call(HC_MIGRATE, 1, 0, 0), -EINVAL); /* on no queue */
	assert_int_equal(e, VCPU_EXIT_RESUME);
}

static void exit_call(void **state)
{
	vm->state = VM_RUNNING;
	assert_int_equal(call(HC_EXIT, UINT64_MAX, 0, 0), 0);
	assert_int_equal(e, VCPU_EXIT_STOP);
	/* A guest can't make it look like a fault of its own. */
	assert_int_equal(vm->state, VM_STOPPED);
	assert_int_equal(vm->exit_code, INT32_MAX);
}

static void stat_call(void **state)
{
	vm->vcpu[1]->loads = 11;
	vm->vcpu[1]->guest_ticks = 14;
	assert_int_equal(call(HC_STAT, HC_STAT_LOADS, 0, 0), 11);
	assert_int_equal(call(HC_STAT, HC_STAT_TICKS, 0, 0), 14);
	assert_int_equal(call(HC_STAT, HC_STAT_CPU, 0, 0), 0);
	assert_int_equal(call(HC_STAT, HC_STAT_VCPUS, 0, 0), 2);
	assert_int_equal(call(HC_STAT, 6, 0, 0), -EINVAL);
	assert_int_equal(call(HC_STAT, UINT64_MAX, 0, 0), -EINVAL);
}

static char reported[256];
static u64 samples, sample_sum;

static void on_report(struct vm *v, u32 vcpu, bool ok, const char *text)
{
	snprintf(reported, sizeof(reported), "%u %d %s", vcpu, ok, text);
}

static void on_sample(struct vm *v, u32 vcpu, u32 series, u64 value)
{
	samples++;
	sample_sum += value + series;
}

static void on_series(struct vm *v, u32 series, const char *name)
{
	snprintf(reported, sizeof(reported), "%u=%s", series, name);
}

static void report_call(void **state)
{
	u8 *ram = pa_to_va(vm->slots->slot[0].pa);

	memcpy(ram + 0x100, "all\nis \x1b[1mwell\xff", 17);
	vm->on_report = on_report;
	assert_int_equal(call(HC_REPORT, 1, 0x100, 16), 0);
	assert_string_equal(reported, "1 1 all?is ?[1mwell?");
	assert_int_equal(call(HC_REPORT, 0, 0x100, 0), 0);
	assert_string_equal(reported, "1 0 ");
	memset(ram + 0x200, 'x', 300);
	assert_int_equal(call(HC_REPORT, 1, 0x200, 200), 0);
	assert_int_equal(strlen(reported), 4 + 200);
	assert_int_equal(call(HC_REPORT, 1, 0x200, 201), -EINVAL);
	assert_int_equal(call(HC_REPORT, 1, 0x200, UINT64_MAX), -EINVAL);
	assert_int_equal(call(HC_REPORT, 1, MIB(1) - 10, 11), -EFAULT);
	assert_int_equal(call(HC_REPORT, 1, UINT64_MAX, 4), -EFAULT);
	vm->on_report = NULL;
	host_console_clear();
	assert_int_equal(call(HC_REPORT, 0, 0x200, 3), 0);
	assert_string_equal(host_console(), "[unit] not ok: xxx\n");
}

static void sample_call(void **state)
{
	u64 *ram = pa_to_va(vm->slots->slot[0].pa);

	for (u64 i = 0; i < 4096; i++)
		ram[i] = i;
	assert_int_equal(call(HC_SAMPLE, 3, 0, 10), 0); /* nobody listens */
	vm->on_sample = on_sample;
	samples = sample_sum = 0;
	assert_int_equal(call(HC_SAMPLE, 3, 8, 4), 0);
	assert_int_equal(samples, 4);
	assert_int_equal(sample_sum, 1 + 2 + 3 + 4 + 4 * 3);
	assert_int_equal(call(HC_SAMPLE, 31, 0, 4096), 0);
	assert_int_equal(samples, 4100);
	assert_int_equal(call(HC_SAMPLE, 32, 0, 1), -EINVAL);
	assert_int_equal(call(HC_SAMPLE, 0, 0, 4097), -EINVAL);
	assert_int_equal(call(HC_SAMPLE, 0, 4, 1), -EINVAL);
	assert_int_equal(call(HC_SAMPLE, 0, 0, UINT64_MAX / 8 + 1), -EINVAL);
	assert_int_equal(call(HC_SAMPLE, 0, MIB(1) - 8, 2), -EFAULT);
	assert_int_equal(samples, 4100);
}

static void series_call(void **state)
{
	memcpy(pa_to_va(vm->slots->slot[0].pa), "a name of thirty-one characters", 32);
	assert_int_equal(call(HC_SERIES, 1, 0, 6), 0); /* nobody listens */
	vm->on_series = on_series;
	assert_int_equal(call(HC_SERIES, 7, 0, 31), 0);
	assert_string_equal(reported, "7=a name of thirty-one characters");
	assert_int_equal(call(HC_SERIES, 32, 0, 1), -EINVAL);
	assert_int_equal(call(HC_SERIES, 1, 0, 32), -EINVAL);
	assert_int_equal(call(HC_SERIES, 1, MIB(1), 1), -EFAULT);
}

static void noise(void **state)
{
	u64 seed = 17;

	vm->on_report = on_report;
	vm->on_sample = on_sample;
	vm->on_series = on_series;
	for (int i = 0; i < 50000; i++) {
		u64 a = host_random(&seed) >> (host_random(&seed) % 64);
		u64 b = host_random(&seed) >> (host_random(&seed) % 64);
		u64 c = host_random(&seed) >> (host_random(&seed) % 64);

		(void)call(HC_BASE + (u32)(host_random(&seed) % 12), a, b, c);
		assert_in_range(e, VCPU_EXIT_RESUME, VCPU_EXIT_STOP);
	}
}

static int setup(void **state)
{
	host_setup(2, MIB(32));
	smp_start_all();
	return 0;
}

#define WITH_VM(f) cmocka_unit_test_setup_teardown(f, make_vm, drop_vm)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_page_is_lost),
		cmocka_unit_test(failures_leave_nothing),
		cmocka_unit_test(no_memory_at_any_step),
		cmocka_unit_test(pins_must_be_online),
		WITH_VM(first_reason_stays),
		cmocka_unit_test(setters_by_config),
		WITH_VM(windows_are_checked),
		WITH_VM(accesses_find_their_window),
		WITH_VM(bad_accesses_never_reach_the_device),
		WITH_VM(slots_are_generations),
		WITH_VM(bad_slots),
		WITH_VM(guest_addresses),
		WITH_VM(copies_cross_slots),
		WITH_VM(images_are_loaded),
		WITH_VM(plain_calls),
		WITH_VM(exit_call),
		WITH_VM(stat_call),
		WITH_VM(report_call),
		WITH_VM(sample_call),
		WITH_VM(series_call),
		WITH_VM(noise),
	};

	return cmocka_run_group_tests_name("vm", tests, setup, NULL);
}
