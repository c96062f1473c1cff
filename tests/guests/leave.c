/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The vcpu-load experiment: every vCPU leaves the hypervisor's run loop over and over, for ever or
 * n=N times. page=own (default) runs each vCPU's loop from a page of its own, page=shared all from
 * one; the loop reads a word of its page. Nothing else may be in that loop. Each vCPU hands over one
 * sample, its number, right before it: who counts loads knows then that start-up is over.
 */
#include <guest.h>

static u8 page[MAX_VCPUS][4096] __aligned(4096);
static bool shared;
static u64 rounds;

#define LOOP_WORD 2048 /* offset of the word that is read */

static void leave(u32 cpu)
{
	u8 *mine = page[shared ? 0 : cpu];
	u64 me = cpu;
	void (*loop)(u64 n, void *word) = (void *)mine;

	if (!shared || cpu == 0)
		memcpy(mine, leave_loop, leave_loop_end - leave_loop);
	sync_code(mine, 4096);
	samples(0, &me, 1);
	loop(rounds, mine + LOOP_WORD);
}

int guest_main(void)
{
	shared = cmdline_is("page", "shared");
	rounds = cmdline_u64("n", bare ? 1 : 0); /* 0 wraps: 2^64 rounds */
	if (bare)
		return 0; /* nothing to leave */
	smp_start();
	if (shared) /* the page is complete before another vCPU runs it */
		memcpy(page[0], leave_loop, leave_loop_end - leave_loop);
	smp_run(leave);
	report(true, "%lu rounds on each of %u vCPUs", rounds, nr_vcpus);
	return 0;
}
