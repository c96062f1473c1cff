/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the first C instruction to guest_main(), and the way out. Must not allocate or sleep.
 */
#include <guest.h>
#include <runtime.h>

u8 stacks[MAX_VCPUS][STACK_SIZE] __aligned(4096);
bool bare;
u32 nr_vcpus;
u64 ram_base, ram_size;

static u32 failures;

u64 hc(u64 id, u64 a, u64 b, u64 c)
{
	return bare ? ~0UL : hypercall(id, a, b, c);
}

void relax(void)
{
	if (bare)
		cpu_pause();
	else
		hypercall(HC_YIELD, 0, 0, 0);
}

void count_failure(void)
{
	atomic_fetch_add_relaxed(&failures, 1);
}

void guest_exit(int code)
{
	irq_disable();
	hc(HC_EXIT, code, 0, 0);
	arch_exit(code);
}

static u32 count_vcpus(u32 from_firmware)
{
	u32 n = cmdline_u64("vcpus", 0);
	u64 told;

	if (n)
		return n;
	if (from_firmware)
		return from_firmware;
	told = stat(HC_STAT_VCPUS);
	return told == ~0UL ? 1 : told;
}

void runtime_main(void *boot)
{
	int code;

	arch_read_firmware(boot);
	arch_cpu_init(0);
	bare = cmdline_get("bare") || !arch_hypervisor_present();
	nr_vcpus = min(count_vcpus(nr_vcpus), (u32)MAX_VCPUS);
	code = guest_main();
	report_end();
	guest_exit(code ? code : failures != 0);
}
