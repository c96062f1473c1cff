/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vCPU 1 spins without ever leaving its guest, and vCPU 0 sends it IPIs: each must reach it soon, and
 * can do so only if the host makes it look. n=N of them.
 */
#include <guest.h>

static u32 got, stop, late;

static void on_ipi(u32 irq)
{
	WRITE_ONCE(got, got + 1);
}

static void send_all(void)
{
	for (u32 i = 0; i < cmdline_u64("n", 20); i++) {
		u32 want = READ_ONCE(got) + 1;
		u64 start = timer_now(TIMER_VIRT);

		ipi_send(1, 0);
		while (READ_ONCE(got) != want && timer_now(TIMER_VIRT) - start < 2 * timer_hz())
			barrier();
		if (READ_ONCE(got) != want) {
			late++;
			break;
		}
	}
	WRITE_ONCE(stop, 1);
}

static void run(u32 cpu)
{
	if (!cpu)
		send_all();
	while (!READ_ONCE(stop))
		barrier();
}

int guest_main(void)
{
	ipi_request(0, on_ipi);
	smp_start();
	smp_run(run);
	report(!late, "IPIs to a vCPU that never exits: %u came, %u did not", got, late);
	return 0;
}
