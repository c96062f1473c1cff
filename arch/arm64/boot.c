/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The boot CPU's way from the first C with the MMU on to cupel_main(): firmware, console, command line,
 * memory, per-CPU area, interrupts, in that order. Nothing here runs twice.
 */
#include "../../drivers/gic/gic.h"
#include "../../drivers/timer/arm_timer.h"

#include <asm/boot.h>
#include <asm/host.h>
#include <asm/mm.h>
#include <asm/sysreg.h>
#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/smp.h>

bool arm64_vhe;
static u64 boot_counter;

u64 arch_boot_counter(void)
{
	return boot_counter;
}

static __noreturn void no_firmware(paddr_t fdt, const char *why)
{
	printk("Cupel: no usable device tree in x0 (0x%lx): %s; halted\n", (unsigned long)fdt, why);
	boot_halt();
}

/* Other CPUs are found by their place in cpus[]; ours must be the first. */
static void put_boot_cpu_first(paddr_t fdt)
{
	u64 here = read_sysreg(mpidr_el1) & MPIDR_AFFINITY_MASK;

	for (u32 i = 0; i < platform.nr_cpus; i++) {
		struct cpu_info boot = platform.cpus[i];

		if (boot.hwid != here)
			continue;
		for (; i > 0; i--)
			platform.cpus[i] = platform.cpus[i - 1];
		boot.enabled = true;
		platform.cpus[0] = boot;
		return;
	}
	no_firmware(fdt, "it does not list the boot CPU");
}

static void read_firmware(paddr_t fdt)
{
	const char *why = "not an address of one";
	int r = -1;

	if (fdt && IS_ALIGNED(fdt, 8UL) && fdt >> (VA_BITS - 1) == 0)
		r = fdt_read_platform((const void *)fdt, FDT_MAX_SIZE, &platform, &why);
	boot_console_firmware(); /* a tree that is refused may still have named it */
	if (r)
		no_firmware(fdt, why);
	put_boot_cpu_first(fdt);
	if (platform_reserve_mem(&platform, (paddr_t)__image_start,
				 (u64)(__image_end - __image_start)) ||
	    platform_reserve_mem(&platform, 0, PAGE_SIZE))
		no_firmware(fdt, "more holes in RAM than can be kept");
}

static void choose_mode(void)
{
	const char *mode = cmdline_get("arm64.mode");
	bool can = arm64_id_field(arm64_ids.mmfr1, MMFR1_VH);
	bool must = read_sysreg(hcr_el2) & HCR_E2H; /* FEAT_E2H0 absent: it can't be cleared */
	static const char *const names[] = { "vhe", "nvhe", NULL };
	int want = mode ? parse_word(mode, names) : 0;

	if (want < 0)
		printk("arm64.mode=%s: vhe or nvhe; using what the CPU has\n", mode);
	if (mode && want == 0 && !can)
		printk("arm64.mode=vhe: this CPU has no VHE; using nVHE\n");
	if (want == 1 && must)
		printk("arm64.mode=nvhe: this CPU has only VHE; using it\n");
	arm64_vhe = must || (can && want != 1);
}

static __noreturn void boot_on_stack(void)
{
	trap_cpu_init();
	gic_init();
	gic_cpu_init();
	arm_timer_init();
	arm_timer_cpu_init();
	arm64_guest_cpu_init();
	arch_irq_enable();
	cupel_main();
}

void boot_main(paddr_t fdt, u64 counter)
{
	const char *why;
	void *base;
	u64 stack;

	boot_counter = counter;
	boot_read_ids();
	read_firmware(fdt);
	cmdline_parse(platform.cmdline, &why); /* cupel_main() says what is wrong with it */
	boot_console_cmdline();
	choose_mode();
	mm_init();
	page_alloc_init(&platform);
	if (percpu_init(platform.nr_cpus))
		panic("no memory for %u per-CPU areas", platform.nr_cpus);
	set_this_cpu_offset(percpu_offset[0]);
	stack = mm_map_stack(0, &base);
	if (!stack)
		panic("no memory for the boot CPU's stack");
	call_on_stack(boot_on_stack, stack);
}
