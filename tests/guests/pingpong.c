/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pairs of vCPUs pass messages=N messages each way; who waits, sleeps. Blocking and waking dominate:
 * the load of a machine whose CPUs are shared by more vCPUs than there are. Ends when all are done.
 */
#include <guest.h>

static struct box {
	u64 seq; /* written by the peer with release, read with acquire */
} __cacheline_aligned box[MAX_VCPUS];
static u64 messages;

static void wake(u32 irq)
{
	/* Its arrival is all: the sleeper looks into its box. */
}

static void post(u32 peer, u64 seq)
{
	store_release(&box[peer].seq, seq); /* pairs with the acquire in await() */
	ipi_send(peer, 0);
}

static void await(u32 cpu, u64 seq)
{
	sleep_until(load_acquire(&box[cpu].seq) == seq); /* pairs with the release in post() */
}

static void play(u32 cpu)
{
	u32 peer = cpu ^ 1;

	if (peer >= nr_vcpus)
		return;
	for (u64 i = 1; i <= messages; i++) {
		if (cpu & 1)
			await(cpu, i);
		post(peer, i);
		if (!(cpu & 1))
			await(cpu, i);
	}
}

int guest_main(void)
{
	messages = cmdline_u64("messages", 1000);
	ipi_request(0, wake);
	smp_start();
	smp_run(play);
	report(true, "%lu messages each way between %u pairs", messages, nr_vcpus / 2);
	return 0;
}
