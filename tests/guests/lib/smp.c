/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work for the other vCPUs, given and awaited by vCPU 0. Whoever waits sleeps, and is always woken by
 * an IPI: nothing here depends on a timer, or burns a CPU that others share.
 */
#include <guest.h>

static struct work {
	void (*fn)(u32 cpu); /* published with release, taken with acquire; NULL = idle */
	u32 online;
} work[MAX_VCPUS];

static void work_ipi(u32 irq)
{
	/* Its arrival is all: the sleeper looks at its work again. */
}

void runtime_secondary(u32 cpu)
{
	arch_cpu_init(cpu);
	ipi_request(IPI_WORK, work_ipi);
	store_release(&work[cpu].online, 1); /* pairs with the acquire in smp_start() */
	for (;;) {
		void (*fn)(u32);

		sleep_until(load_acquire(&work[cpu].fn)); /* pairs with the release in smp_post() */
		fn = work[cpu].fn;
		fn(cpu);
		store_release(&work[cpu].fn, NULL); /* pairs with the acquire in smp_wait() */
		ipi_send(0, IPI_WORK);
	}
}

void smp_start(void)
{
	ipi_request(IPI_WORK, work_ipi);
	for (u32 cpu = 1; cpu < nr_vcpus; cpu++) {
		u64 start = timer_now(TIMER_VIRT);

		arch_start_cpu(cpu);
		while (!load_acquire(&work[cpu].online)) { /* pairs with runtime_secondary() */
			if (timer_now(TIMER_VIRT) - start > 20 * timer_hz())
				guest_die("vCPU %u did not start", cpu);
			relax();
		}
	}
}

void smp_post(u32 cpu, void (*fn)(u32 cpu))
{
	store_release(&work[cpu].fn, fn); /* pairs with the acquires in runtime_secondary() */
	ipi_send(cpu, IPI_WORK);
}

void smp_wait(u32 cpu)
{
	sleep_until(!load_acquire(&work[cpu].fn)); /* pairs with the release in runtime_secondary() */
}

void smp_run(void (*fn)(u32 cpu))
{
	for (u32 cpu = 1; cpu < nr_vcpus; cpu++)
		smp_post(cpu, fn);
	irq_enable();
	fn(0);
	for (u32 cpu = 1; cpu < nr_vcpus; cpu++)
		smp_wait(cpu);
}

void meet(struct rendezvous *r, u32 n)
{
	u32 round = READ_ONCE(r->round);

	if (__atomic_add_fetch(&r->arrived, 1, __ATOMIC_ACQ_REL) == n) {
		WRITE_ONCE(r->arrived, 0);
		store_release(&r->round, round + 1); /* pairs with the acquire below */
		return;
	}
	while (load_acquire(&r->round) == round)
		relax();
}
