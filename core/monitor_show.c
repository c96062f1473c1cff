/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the monitor shows of the machine, and of the last VM that ran, which is kept for that until the
 * next run. Reads only, but for the switch of the lock counters.
 */
#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/gpc.h>
#include <cupel/irq.h>
#include <cupel/lock.h>
#include <cupel/mm.h>
#include <cupel/monitor.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/smp.h>
#include <cupel/vm.h>

#include "core.h"

/* --- The machine -------------------------------------------------------------------------------- */

static const char *cpu_state(u32 cpu)
{
	if (cpu_online(cpu))
		return "online";
	return platform.cpus[cpu].enabled ? "not online" : "disabled by firmware";
}

/* Neighbours that differ in nothing but their numbers share a line. */
static u32 same_as(u32 first)
{
	u32 i = first + 1;

	while (i < platform.nr_cpus && cpu_state(i) == cpu_state(first) &&
	       platform.cpus[i].hwid == platform.cpus[first].hwid + (i - first))
		i++;
	return i - 1;
}

static void show_cpus(void)
{
	for (u32 first = 0; first < platform.nr_cpus;) {
		u32 last = same_as(first);

		printk("CPU %u-%u: hardware id 0x%lx-0x%lx, %s\n", first, last,
		       platform.cpus[first].hwid, platform.cpus[last].hwid, cpu_state(first));
		first = last + 1;
	}
}

void show_machine(char *rest)
{
	print_banner();
	printk("%s, clock %lu Hz by %s\n", arch_cpu_model(), arch_counter_hz(),
	       arch_counter_source());
	show_cpus();
}

static void show_range(const char *what, u64 base, u64 size)
{
	printk("  0x%010lx-0x%010lx %8lu KiB %s\n", base, base + size - 1, size >> 10, what);
}

void show_memory(char *rest)
{
	struct mm_stats s = mm_stats();

	for (u32 i = 0; i < platform.nr_mem; i++)
		show_range("RAM for Cupel and its VMs", platform.mem[i].base, platform.mem[i].size);
	for (u32 i = 0; i < platform.nr_modules; i++)
		show_range(i ? "module" : "archive", platform.modules[i].base,
			   platform.modules[i].size);
	show_range("image", (u64)__image_start, (u64)(__image_end - __image_start));
	printk("  console at 0x%lx; %lu of %lu pages free\n", platform.uart.base, s.free_pages,
	       s.total_pages);
}

/* --- Counters ----------------------------------------------------------------------------------- */

static void switch_counting(const char *how)
{
	static const char *const names[] = { "off", "on", "clear", NULL };
	int which = parse_word(how, names);

	if (which == 2)
		lock_stats_reset();
	else if (which == 1 && lock_stats_init())
		printk("no memory for the counters\n");
	else if (which >= 0)
		WRITE_ONCE(lock_stats_enabled, which);
	else
		printk("%s: on, off or clear\n", how);
}

/* vCPUs of the last VM that ran: their counters, and registers if wanted. */
static void show_vcpus(const struct vm *vm, u32 first, u32 last, bool regs)
{
	printk("vm %s: %s\n", vm->config.name, vm->stop_reason);
	for (u32 i = first; i <= last; i++) {
		print_vcpu_counts(vm->vcpu[i]);
		if (regs)
			arch_vcpu_dump(vm->vcpu[i]);
	}
}

void show_counters(char *rest)
{
	const struct vm *kept = vm_kept();
	struct srcu_counts c = srcu_counts(&guest_srcu);

	if (*rest) {
		switch_counting(rest);
		return;
	}
	for_each_online_cpu(cpu)
		printk("CPU %d: %lu interrupts\n", cpu, READ_ONCE(*per_cpu_ptr(irq_count, cpu)));
	printk("SRCU: waits %lu, shared %lu, fast %lu, flips %lu, scans %lu, targets %lu\n",
	       c.waits, c.shared, c.fast, c.flips, c.scans, c.targets);
	print_lock_stats();
	if (kept)
		show_vcpus(kept, 0, kept->nr_vcpus - 1, false);
}

void show_regs(char *rest)
{
	const struct vm *kept = vm_kept();
	u64 n;

	if (!kept)
		printk("no VM has run since the last run began\n");
	else if (!*rest)
		show_vcpus(kept, 0, kept->nr_vcpus - 1, true);
	else if (parse_u64(rest, &n) || n >= kept->nr_vcpus)
		printk("%s: this VM's vCPUs are 0 to %u\n", rest, kept->nr_vcpus - 1);
	else
		show_vcpus(kept, (u32)n, (u32)n, true);
}
