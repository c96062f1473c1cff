/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vCPUs that stay in guest mode: each hands over one sample, its number, and then spins with
 * interrupts off, for whoever measures what others do to it meanwhile. It acknowledges nothing.
 */
#include <guest.h>

static void spin(u32 cpu)
{
	u64 me = cpu;

	irq_disable();
	samples(0, &me, 1);
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
