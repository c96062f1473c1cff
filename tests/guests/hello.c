/* SPDX-License-Identifier: GPL-2.0-only */
/* The smallest guest: entry, console, command line, one report, exit. */
#include <guest.h>

int guest_main(void)
{
	print("hello from vCPU %u of %u, %lu MiB of RAM at %lx, counter at %lu Hz\n", cpu_id(),
	      nr_vcpus, ram_size >> 20, ram_base, timer_hz());
	report(true, "hello");
	return cmdline_u64("exit", 0);
}
