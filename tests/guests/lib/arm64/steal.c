/* SPDX-License-Identifier: GPL-2.0-only */
/* Stolen time by Arm DEN 0057, found as its 3.1 says. */
#include <guest.h>
#include <steal.h>

#define SMCCC_ARCH_FEATURES 0x80000001
#define PV_TIME_FEATURES    0xc5000020
#define PV_TIME_ST	    0xc5000021

struct stolen_time {
	u32 revision, attributes;
	u64 ns;
};
static const volatile struct stolen_time *record[MAX_VCPUS];

bool steal_begin(void)
{
	u64 at;

	if ((s64)hypercall(SMCCC_ARCH_FEATURES, PV_TIME_FEATURES, 0, 0) ||
	    hypercall(PV_TIME_FEATURES, PV_TIME_FEATURES, 0, 0) ||
	    hypercall(PV_TIME_FEATURES, PV_TIME_ST, 0, 0))
		return false;
	at = hypercall(PV_TIME_ST, 0, 0, 0);
	if (at == ~0UL || at % 64)
		return false;
	record[cpu_id()] = (const volatile struct stolen_time *)at;
	return !record[cpu_id()]->revision && !record[cpu_id()]->attributes;
}

u64 steal_told(void)
{
	return record[cpu_id()]->ns;
}

u64 steal_record(void)
{
	return (u64)record[cpu_id()];
}
