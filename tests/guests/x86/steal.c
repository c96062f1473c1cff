/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KVM's steal time as a Linux guest uses it: the leaves, the MSR and what it refuses, the record's protocol,
 * the preempted flag and the flush it stands for.
 */
#include <guest.h>

#define CPUID_KVM_EBX  0x4b4d564b /* "KVMK" */
#define KVM_STEAL_TIME (1U << 5)
#define KVM_TLB_FLUSH  (1U << 9)
#define MSR_STEAL      0x4b564d03
#define ENABLE	       1UL

#define PREEMPTED 1
#define FLUSH_TLB 2

struct record {
	u64 steal;
	u32 version, flags;
	u8 preempted;
	u8 pad[47];
} __aligned(64);

static struct record records[MAX_VCPUS];
static u8 room[8192] __aligned(4096);
static u32 stage, home;

struct write {
	u64 value;
};

static void write_msr(void *arg)
{
	wrmsr(MSR_STEAL, ((struct write *)arg)->value);
}

static bool refused(u64 value)
{
	struct write w = { value };
	struct fault f;

	return try_call(write_msr, &w, &f) && f.cause == VEC_GP;
}

/* The record as the protocol has it; false: it is being written. */
static bool snapshot(const struct record *r, u64 *steal)
{
	u32 version = load_acquire(&r->version); /* pairs with the hypervisor's write barriers */

	*steal = READ_ONCE(r->steal);
	smp_rmb();
	return !(version & 1) && READ_ONCE(r->version) == version;
}

static void test_discovery(void)
{
	u32 base = cpuid_hv_base(CPUID_KVM_EBX);
	u32 features = base ? cpuid(base + 1, 0).a : 0;

	report(base && (features & KVM_STEAL_TIME) && (features & KVM_TLB_FLUSH),
	       "leaves at %x, features %x", base, features);
	report(base == (cmdline_get("xen") ? 0x40000100u : 0x40000000u), "they come after Xen's");
}

static void test_msr(void)
{
	u64 at = (u64)&records[0];

	report(rdmsr(MSR_STEAL) == 0, "off after reset");
	report(refused(at | 2 | ENABLE) && refused(at | 32), "reserved bits refused");
	report(refused(0xffff000000000000 | ENABLE), "no memory there: refused");
	report(refused(GUEST_X86_ROM | ENABLE), "memory that can't be written: refused");
	report(rdmsr(MSR_STEAL) == 0, "a refused value is not kept");
	records[0].version = 7;
	wrmsr(MSR_STEAL, at | ENABLE);
	report(rdmsr(MSR_STEAL) == (at | ENABLE), "reads back");
	report(records[0].version == 8, "the record is there at once: version %u",
	       records[0].version);
}

static u64 after_leave(const struct record *r)
{
	u64 steal = 0;

	hc(HC_YIELD, 0, 0, 0);
	if (!snapshot(r, &steal))
		guest_die("the record is being written while its vCPU runs");
	return steal;
}

/* A page that moves takes its record along; one that was given up is written to no more. */
static void test_record(void)
{
	struct record *other = (void *)(room + 4096 - 64);
	struct record *r = &records[0];
	u64 first, second;
	u32 version;

	r->preempted = 0xff;
	first = after_leave(r);
	report(r->version >= 2 && !(r->version & 1) && !r->preempted, "written at load: version %u",
	       r->version);
	second = after_leave(r);
	report(second >= first, "steal does not go back");
	report(!hc(HC_MEMORY, HC_MEMORY_MOVE_PAGE, (u64)r & ~4095UL, 0), "its page moves");
	version = r->version;
	report(after_leave(r) >= second && r->version > version, "and is still written");
	wrmsr(MSR_STEAL, (u64)other | ENABLE);
	version = r->version;
	report(after_leave(other) >= second && other->version >= 2, "the account goes on elsewhere");
	report(r->version == version, "and no longer in the first place");
	wrmsr(MSR_STEAL, 0);
	version = other->version;
	hc(HC_YIELD, 0, 0, 0);
	report(other->version == version && rdmsr(MSR_STEAL) == 0, "off: not written");
	wrmsr(MSR_STEAL, (u64)r | ENABLE);
}

/* --- Two on one CPU -------------------------------------------------------------------------------- */

static void victim(u32 cpu)
{
	wrmsr(MSR_STEAL, (u64)&records[cpu] | ENABLE);
	while (stat(HC_STAT_CPU) != READ_ONCE(home))
		hc(HC_MIGRATE, 1, 0, 0);
	store_release(&stage, 1); /* pairs with the acquire in the test */
	while (load_acquire(&stage) == 1) /* pairs with the release there */
		cpu_pause();
}

static bool wait_preempted(const struct record *r, u8 want)
{
	u64 until = timer_now(TIMER_VIRT) + 5 * timer_hz();

	while (READ_ONCE(r->preempted) != want && timer_now(TIMER_VIRT) < until)
		cpu_pause();
	return READ_ONCE(r->preempted) == want;
}

/* The other one sets the flush as Linux does: only for a vCPU that is off its CPU. */
static bool ask_for_flush(struct record *r)
{
	u8 off = PREEMPTED;

	return atomic_cmpxchg_full(&r->preempted, &off, (u8)(PREEMPTED | FLUSH_TLB));
}

static void test_preempted(void)
{
	struct record *r = &records[1];
	u64 before = 0, after = 0;
	u32 moved = 0;

	home = stat(HC_STAT_CPU);
	smp_post(1, victim);
	while (!load_acquire(&stage)) /* pairs with the release in victim() */
		relax();
	report(wait_preempted(r, PREEMPTED), "who waits for our CPU is marked (%u)", r->preempted);
	report(snapshot(r, &before), "its record is whole");
	report(ask_for_flush(r), "asked for a flush");
	for (u32 i = 0; i < 10; i++) {
		spin_ticks(ms_to_ticks(5));
		relax();
		moved += snapshot(r, &after) && after > before;
	}
	report(moved, "it was stolen from: %lu us", (after - before) / 1000);
	store_release(&stage, 2); /* pairs with the acquire in victim() */
	smp_wait(1);
	report(after - before >= 10000000 && after - before < 2000000000, "about half of the time");
	report(!(READ_ONCE(r->preempted) & FLUSH_TLB), "the flush has been taken");
}

int guest_main(void)
{
	if (cmdline_get("absent")) {
		report(!cpuid_hv_base(CPUID_KVM_EBX), "no leaves");
		report(refused((u64)&records[0] | ENABLE), "no MSR");
		return 0;
	}
	test_discovery();
	test_msr();
	test_record();
	smp_start();
	test_preempted();
	return 0;
}
