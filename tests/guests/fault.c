/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One kind of misbehaviour each run, mode=NAME. Either the guest gets the architecture's answer and
 * reports it, or the VM is stopped: then "must stop" is the last line, and coming back fails.
 */
#include <fault.h>
#include <guest.h>

static struct fault fault;

static void read_at(void *p)
{
	mmio_read((u64)p);
}

static void jump_to(void *p)
{
	((void (*)(void))p)();
}

/* The guest's own fault handling must not get in the way of what the hypervisor does. */
void must_stop(void (*fn)(void *arg), u64 arg)
{
	print("must stop: %s\n", cmdline_get("mode"));
	if (try_call(fn, (void *)arg, &fault))
		report(false, "stopped, not handed to the guest (cause %lx)", fault.cause);
	else
		report(false, "stopped, not let through");
}

static void write_at(void *p)
{
	mmio_write((u64)p, 0);
}

static void wild_read(void)
{
	must_stop(read_at, FAULT_WILD);
}

static void wild_write(void)
{
	must_stop(write_at, FAULT_WILD);
}

static void wild_jump(void)
{
	must_stop(jump_to, FAULT_WILD);
}

static void hole_read(void)
{
	must_stop(read_at, FAULT_HOLE);
}

static void hole_write(void)
{
	must_stop(write_at, FAULT_HOLE);
}

static void device_jump(void)
{
	must_stop(jump_to, FAULT_DEVICE_CODE);
}

static void rom_read(void)
{
	u64 v = *(volatile u64 *)FAULT_ROM;

	report(v == GUEST_ROM_MAGIC, "read-only memory reads as it should (%lx)", v);
}

static void rom_write(void)
{
	must_stop(write_at, FAULT_ROM);
}

static void rom_write_check(void)
{
	rom_read();
	rom_write();
}

/* Four undefined words, one after another. */
static void garbage(void)
{
	for (u32 i = 0; i < fault_nr_garbage; i++) {
		bool faulted = try_call(jump_to, (void *)fault_garbage[i], &fault);

		report(faulted && fault_is_undefined(&fault), "garbage %u is undefined (cause %lx)",
		       i, fault.cause);
	}
}

static void garbage_loose(void)
{
	drop_vectors();
	must_stop(jump_to, (u64)fault_garbage[0]);
}

static void triple(void)
{
	drop_vectors();
	must_stop(read_at, FAULT_UNMAPPED);
}

/* Interrupts masked, for ms=N or for ever: only the host's own tick gets the CPU back. */
static void spin(void)
{
	u64 ms = cmdline_u64("ms", 0), loads = stat(HC_STAT_LOADS);

	irq_disable();
	print("spinning\n");
	spin_ticks(ms ? ms_to_ticks(ms) : ~0UL);
	report(true, "spun %lu ms with interrupts masked, loaded %lu times", ms,
	       stat(HC_STAT_LOADS) - loads);
}

static void user_call(void *arg)
{
	user_enter(fault_user_code);
}

static void hypercall_from_user(void)
{
	bool faulted = try_call(user_call, NULL, &fault);

	report(faulted, "user mode comes back (cause %lx)", fault.cause);
	report(bare || hc(HC_NULL, 0, 0, 0) == 0, "the VM still runs");
}

static void unknown_hypercalls(void)
{
	static const u64 ids[] = { HC_LIMIT, HC_BASE + 0xffff, 0, 0xffffffff, 0x84ffffff, 0xbf00ff01 };

	for (u32 i = 0; i < ARRAY_SIZE(ids); i++)
		report((s32)hc(ids[i], ~0UL, ~0UL, ~0UL) == -1, "unknown hypercall %lx", ids[i]);
	report((s64)hc(HC_STAT, 999, 0, 0) < 0, "unknown statistic");
}

static void bad_pointers(void)
{
	static u64 v[8];
	u64 end = ALIGN_UP(ram_base + ram_size, MIB(1)); /* firmware may keep the last pages */
	const struct {
		const char *what;
		u64 id, a, b, c;
	} bad[] = {
		{ "report outside memory", HC_REPORT, 1, FAULT_WILD, 8 },
		{ "report at the top", HC_REPORT, 1, ~0UL - 3, 8 },
		{ "report across the end of RAM", HC_REPORT, 1, end - 4, 8 },
		{ "report from a device", HC_REPORT, 1, FAULT_DEVICE, 8 },
		{ "report of 201 bytes", HC_REPORT, 1, (u64)v, 201 },
		{ "report of huge length", HC_REPORT, 1, (u64)v, ~0UL },
		{ "samples outside memory", HC_SAMPLE, 0, FAULT_WILD, 1 },
		{ "samples across the end of RAM", HC_SAMPLE, 0, end - 8, 2 },
		{ "4097 samples", HC_SAMPLE, 0, (u64)v, 4097 },
		{ "samples whose size wraps", HC_SAMPLE, 0, (u64)v, 1UL << 61 },
		{ "samples of series 32", HC_SAMPLE, 32, (u64)v, 1 },
		{ "samples of a huge series", HC_SAMPLE, ~0UL, (u64)v, 1 },
		{ "series name outside memory", HC_SERIES, 0, FAULT_WILD, 4 },
		{ "series name of 32 bytes", HC_SERIES, 0, (u64)v, 32 },
		{ "series 32", HC_SERIES, 32, (u64)v, 4 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++)
		report((s64)hc(bad[i].id, bad[i].a, bad[i].b, bad[i].c) < 0, "%s is refused",
		       bad[i].what);
	hc(HC_MIGRATE, ~0UL, 0, 0);
	report(bare || hc(HC_NULL, 0, 0, 0) == 0, "the VM still runs");
}

static const struct fault_mode common[] = {
	{ "wild-read", wild_read },
	{ "wild-write", wild_write },
	{ "wild-jump", wild_jump },
	{ "hole-read", hole_read },
	{ "hole-write", hole_write },
	{ "device-jump", device_jump },
	{ "rom-read", rom_read },
	{ "rom-write", rom_write_check },
	{ "garbage", garbage },
	{ "garbage-loose", garbage_loose },
	{ "triple", triple },
	{ "spin", spin },
	{ "user-call", hypercall_from_user },
	{ "unknown-calls", unknown_hypercalls },
	{ "bad-pointers", bad_pointers },
};

static bool run_mode(const struct fault_mode *m, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (cmdline_is("mode", m[i].name)) {
			m[i].run();
			return true;
		}
	return false;
}

int guest_main(void)
{
	if (!run_mode(common, ARRAY_SIZE(common)) && !run_mode(fault_modes, fault_nr_modes))
		guest_die("unknown mode=");
	return 0;
}
