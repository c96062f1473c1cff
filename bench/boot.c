/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What it takes to get to a guest: ticks from the image's first instruction to the first entry of a
 * guest, the size of the image, and the memory held. One value each: a boot happens once. Under
 * icount a tick is an instruction.
 */
#include "harness.h"

#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/smp.h>

#define BENCH "boot"

struct boot_figures {
	u64 to_main, to_guest; /* ticks since the first instruction */
	u64 image_bytes, image_memory, held_bytes;
};

/* All but free pages: what firmware or the loader keeps was never the allocator's. */
static u64 held_bytes(void)
{
	struct mm_stats s = mm_stats();

	return (s.total_pages - s.free_pages) * PAGE_SIZE;
}

/* Everything up to the scheduler's turn that enters the guest for the first time. */
static int enter_once(struct boot_figures *f)
{
	struct vm_config c;
	struct vm *vm;
	int err;

	bench_vm_config(&c, "leave", 1, "");
	vm = bench_vm(BENCH, &c);
	if (!vm)
		return -ENOENT;
	f->to_guest = arch_counter() - arch_boot_counter();
	err = bench_vm_start_up(BENCH, vm);
	bench_vm_destroy(vm);
	return err;
}

static void report(const struct boot_figures *f)
{
	static const char *const heads[] = { "what", "value", NULL };
	static struct record r;
	static struct table t;
	static struct hist h;

	hist_init(&h);
	hist_add(&h, f->to_guest);
	record_begin(&r, BENCH, bench_tick_unit());
	record_num(&r.sweep, "cpus", nr_cpus_online);
	hist_summary(&h, &r.summary);
	r.hist = &h;
	record_num(&r.counters, "to_main", f->to_main);
	record_num(&r.counters, "image_bytes", f->image_bytes);
	record_num(&r.counters, "image_memory", f->image_memory);
	record_num(&r.counters, "held_bytes", f->held_bytes);
	record_emit(&r);
	table_begin(&t, "Boot: from the image's first instruction", heads);
	table_cell(&t, "to this experiment, %s", r.unit);
	table_cell(&t, "%lu", f->to_main);
	table_cell(&t, "to the first guest entry, %s", r.unit);
	table_cell(&t, "%lu", f->to_guest);
	table_cell(&t, "image without its zeroes, bytes");
	table_cell(&t, "%lu", f->image_bytes);
	table_cell(&t, "image in memory, bytes");
	table_cell(&t, "%lu", f->image_memory);
	table_cell(&t, "memory held with no guest, %u CPUs, bytes", nr_cpus_online);
	table_cell(&t, "%lu", f->held_bytes);
	table_print(&t);
}

static const char *const keys[] = { NULL };

static int boot_run(void);
static const struct experiment boot_experiment = {
	.name = "boot",
	.help = "from first instruction to first guest entry, image size, memory held",
	.keys = keys,
	.run = boot_run,
};
EXPERIMENT(boot_experiment);

static int boot_run(void)
{
	struct boot_figures f = {
		.to_main = arch_counter() - arch_boot_counter(),
		.image_bytes = __bss_start - __image_start,
		.image_memory = __image_end - __image_start,
	};
	int err = bench_check_words(&boot_experiment);

	f.held_bytes = held_bytes() + f.image_memory;
	if (!err)
		err = enter_once(&f);
	if (!err)
		report(&f);
	return err;
}
