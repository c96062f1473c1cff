/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vCPUs that stay in guest mode: each hands over one sample, its number, and then spins with
 * interrupts off, for whoever measures what others do to it meanwhile. It acknowledges nothing. vCPU 0
 * is the last to say that it is there, and leaves once after that: it may be on the CPU that waits.
 */
#include <guest.h>

static u32 there; /* vCPUs but the first that spin */

static void spin(u32 cpu)
{
	u64 me = cpu;

	irq_disable();
	while (!cpu && READ_ONCE(there) < nr_vcpus - 1)
		relax();
	samples(0, &me, 1);
	if (cpu)
		atomic_fetch_add_relaxed(&there, 1);
	else
		hc(HC_LEAVE, 0, 0, 0);
	for (;;)
		barrier();
}

int guest_main(void)
{
	if (bare)
		return 0; /* nothing to stay away from */
	smp_start();
	smp_run(spin);
	return 1;
}
