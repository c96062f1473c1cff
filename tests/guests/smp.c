/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All vCPUs come up, and IPIs from each to each arrive exactly once. messages=N a pair. In a round
 * every vCPU has one sender only, which waits for the arrival, so that nothing may merge.
 */
#include <guest.h>

#define PATIENCE_S 20

static struct counts {
	u32 got;
	u32 lost;
	u32 extra;
} __cacheline_aligned counts[MAX_VCPUS];
static struct rendezvous round_end;
static u32 messages;

static void on_ipi(u32 irq)
{
	struct counts *c = &counts[cpu_id()];

	WRITE_ONCE(c->got, c->got + 1);
}

static bool arrived(u32 dst, u32 want)
{
	u64 start = timer_now(TIMER_VIRT);

	while (READ_ONCE(counts[dst].got) != want) {
		if (timer_now(TIMER_VIRT) - start > PATIENCE_S * timer_hz())
			return false;
		relax();
	}
	return true;
}

static void send_all(u32 cpu, u32 dst, u32 ipi)
{
	u32 want = READ_ONCE(counts[dst].got);

	for (u32 i = 0; i < messages; i++) {
		ipi_send(dst, ipi);
		if (!arrived(dst, ++want))
			counts[cpu].lost++;
	}
}

static void talk(u32 cpu)
{
	for (u32 r = 0; r < nr_vcpus; r++) {
		meet(&round_end, nr_vcpus);
		send_all(cpu, (cpu + r) % nr_vcpus, r % NR_IPIS);
	}
	meet(&round_end, nr_vcpus);
}

int guest_main(void)
{
	u32 lost = 0, wrong = 0, unexpected = 0;

	messages = cmdline_u64("messages", 10);
	for (u32 i = 0; i < NR_IPIS; i++)
		ipi_request(i, on_ipi);
	smp_start();
	report(true, "%u vCPUs are up", nr_vcpus);
	smp_run(talk);
	for (u32 cpu = 0; cpu < nr_vcpus; cpu++) {
		lost += counts[cpu].lost;
		wrong += counts[cpu].got != messages * nr_vcpus;
		unexpected += irq_unexpected[cpu];
	}
	report(!lost, "no IPI is lost (%u lost)", lost);
	report(!wrong, "each vCPU got %u IPIs (%u did not)", messages * nr_vcpus, wrong);
	report(!unexpected, "no unexpected interrupt (%u)", unexpected);
	return 0;
}
