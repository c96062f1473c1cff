/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the machine does once it is up: say who it is, start the other CPUs, do what the command line
 * asks for, and end with a code that the harness can read.
 */
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/smp.h>

#include "core.h"

struct platform platform;

static void print_banner(void)
{
	printk("Cupel %s %s on %s, %u CPUs, firmware %s\n", build_id(), ARCH_NAME,
	       platform.machine && *platform.machine ? platform.machine : "unknown machine",
	       platform.nr_cpus, platform.firmware ? platform.firmware : "unknown");
}

void cupel_main(void)
{
	print_banner();
	smp_start_all();
	printk("%u of %u CPUs online\n", READ_ONCE(nr_cpus_online), platform.nr_cpus);
	arch_machine_exit(EXIT_CODE_OK);
}
