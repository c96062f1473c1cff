/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FP and SIMD registers survive between vCPUs that share a CPU: each fills them with its own pattern,
 * gives the CPU away, or loses it, and compares. The guest is compiled without use of these registers.
 */
#include <guest.h>

static u8 mine[MAX_VCPUS][FP_STATE_MAX] __aligned(64);
static u8 seen[MAX_VCPUS][FP_STATE_MAX] __aligned(64);
static struct rendezvous start;

static bool survives(u32 cpu, u32 seed, void (*away)(void))
{
	fp_fill(mine[cpu], seed);
	fp_load(mine[cpu]);
	away();
	memset(seen[cpu], 0, FP_STATE_MAX);
	fp_store(seen[cpu]);
	return !memcmp(mine[cpu], seen[cpu], fp_state_size());
}

static void yield(void)
{
	for (u32 i = 0; i < 5; i++)
		relax();
}

static void leave(void)
{
	hc(HC_LEAVE, 0, 0, 0);
}

static void lose(void)
{
	spin_ticks(ms_to_ticks(12)); /* more than a time slice */
}

static void try_way(u32 cpu, const char *name, u32 rounds, void (*away)(void))
{
	u32 bad = 0;

	meet(&start, nr_vcpus);
	for (u32 i = 0; i < rounds; i++)
		bad += !survives(cpu, cpu * 1000 + i, away);
	report(!bad, "vCPU %u: FP state survives %s (%u of %u lost)", cpu, name, bad, rounds);
}

static void run(u32 cpu)
{
	try_way(cpu, "a yield", 200, yield);
	try_way(cpu, "a round out of the run loop", 200, leave);
	try_way(cpu, "a time slice", 8, lose);
}

int guest_main(void)
{
	smp_start();
	smp_run(run);
	return 0;
}
