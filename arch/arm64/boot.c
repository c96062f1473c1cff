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

void boot_main(paddr_t info, u32 how, u64 counter)
{
	void *base;
	u64 stack;

	boot_counter = counter;
	boot_read_ids();
	boot_firmware(info, how);
	choose_mode();
	mm_init();
	page_alloc_init(&platform);
	if (percpu_init(platform.nr_cpus))
		cannot_start("no memory for %u CPUs", platform.nr_cpus);
	set_this_cpu_offset(percpu_offset[0]);
	stack = mm_map_stack(0, &base);
	if (!stack)
		cannot_start("no memory for a stack");
	call_on_stack(boot_on_stack, stack);
}
