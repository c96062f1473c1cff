/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that changes under a guest's feet: pages with data, code, stacks and page tables move to other
 * frames while every vCPU works on them, a slot goes elsewhere and comes back, is read-only for a time,
 * and keeps a log of the pages that were written. Every value is checked on every round, so that one
 * read of an old frame, or one write that went to it, is seen.
 *
 * rounds=N (5), storm=N (40) moves a storm, mode=readonly|gone ends with what must stop the VM.
 */
#include <cupel/errno.h>
#include <guest.h>
#include <xen.h>

#define PAGE	 4096
#define WORDS	 (PAGE / 8)
#define PAGES	 2 /* a vCPU works on */
#define WORKERS	 8
#define OTHER_AT 0x1000000 /* from the start of memory: where the second of its two slots begins */
#define OTHER	 0x800000 /* how large that is */
#define FAR	 0x4000000 /* where it goes, from where it is */

struct area {
	u64 word[PAGES][WORDS];
} __aligned(PAGE);

static struct area near[WORKERS];
static struct area *areas; /* of every vCPU */
static struct worker {
	u64 rounds, bad, bad_value;
} __cacheline_aligned workers[WORKERS];
static u32 stop;
static u32 rounds, storms;
static u8 *other; /* the second slot */

static s64 memory(u64 what, const volatile void *p, u64 arg)
{
	return (s64)hc(HC_MEMORY, what, (u64)p, arg);
}

/* --- Work ----------------------------------------------------------------------------------------- */

static void begin(struct area *where)
{
	areas = where;
	memset(where, 0, nr_vcpus * sizeof(*where));
	memset(workers, 0, sizeof(workers));
	WRITE_ONCE(stop, 0);
}

/* Once over the vCPU's own pages: all that it finds it has left there the last time. */
static __attribute__((noinline, aligned(PAGE))) void work_once(u32 cpu)
{
	struct worker *w = &workers[cpu];

	for (u32 p = 0; p < PAGES; p++) {
		for (u32 i = cpu; i < WORDS; i += 7) {
			volatile u64 *word = &areas[cpu].word[p][i];

			if (*word != w->rounds && !w->bad++)
				w->bad_value = *word;
			*word = w->rounds + 1;
		}
	}
	WRITE_ONCE(w->rounds, w->rounds + 1);
}

static void work(u32 cpu)
{
	while (!READ_ONCE(stop))
		work_once(cpu);
}

static u64 sum_up(const char *what)
{
	u64 done = 0, bad = 0;

	for (u32 cpu = 0; cpu < nr_vcpus; cpu++) {
		done += workers[cpu].rounds;
		bad += workers[cpu].bad;
		if (workers[cpu].bad)
			print("vCPU %u found %lx\n", cpu, workers[cpu].bad_value);
	}
	report(!bad, "%s: %lu rounds of work, %lu wrong values", what, done, bad);
	return done;
}

/* --- Pages ---------------------------------------------------------------------------------------- */

static u64 moves, refused;

static void move(const volatile void *p)
{
	if (memory(HC_MEMORY_MOVE_PAGE, p, 0))
		refused++;
	else
		moves++;
}

/* The code that runs, where it keeps what it does, and what leads there. */
static void move_all(void)
{
	for (u32 cpu = 0; cpu < nr_vcpus; cpu++) {
		for (u32 p = 0; p < PAGES; p++)
			move(areas[cpu].word[p]);
		move(stacks[cpu] + STACK_SIZE - PAGE);
		move(&workers[cpu]);
	}
	move((const void *)work_once);
	move((const void *)work);
	move((const void *)move_all);
	move((const void *)hc);
	move((const void *)page_table_root());
}

static void mover(u32 cpu)
{
	if (cpu) {
		work(cpu);
		return;
	}
	for (u32 r = 0; r < rounds; r++) {
		move_all();
		work_once(cpu);
	}
	WRITE_ONCE(stop, 1);
}

static void pages(void)
{
	moves = refused = 0;
	begin((struct area *)other);
	smp_run(mover);
	sum_up("pages");
	report(moves && !refused, "%lu page moves (%lu refused)", moves, refused);
}

/* --- Storms --------------------------------------------------------------------------------------- */

static void storm(const volatile void *p)
{
	s64 err;

	while ((err = memory(HC_MEMORY_STORM, p, storms)) == -EBUSY)
		relax();
	if (err)
		refused++;
	else
		moves += storms;
	while (memory(HC_MEMORY_STORM, p, 0) > 0)
		work_once(0);
}

static void stormer(u32 cpu)
{
	if (cpu) {
		work(cpu);
		return;
	}
	storm((const void *)work_once);
	storm(areas[nr_vcpus - 1].word[0]);
	storm(&cpu); /* the stack this runs on */
	storm(stacks[nr_vcpus - 1] + STACK_SIZE - PAGE);
	storm((const void *)page_table_root());
	WRITE_ONCE(stop, 1);
}

static void storms_of_moves(void)
{
	moves = refused = 0;
	begin((struct area *)other);
	smp_run(stormer);
	sum_up("storms");
	report(moves && !refused, "%lu moves in storms (%lu refused)", moves, refused);
}

/* --- A slot --------------------------------------------------------------------------------------- */

static u32 bad_pages(const u8 *slot)
{
	u32 bad = 0;

	for (u64 at = 0; at < OTHER; at += PAGE)
		bad += *(const volatile u64 *)(slot + at) != at + 1;
	return bad;
}

static u64 bad_slots;

static void slot_mover(u32 cpu)
{
	if (cpu) {
		work(cpu);
		return;
	}
	for (u32 r = 0; r < rounds; r++) {
		refused += memory(HC_MEMORY_MOVE_SLOT, other, (u64)other + FAR) != 0;
		bad_slots += bad_pages(other + FAR);
		move(other + FAR + r * PAGE);
		refused += memory(HC_MEMORY_MOVE_SLOT, other + FAR, (u64)other) != 0;
		bad_slots += bad_pages(other);
		work_once(cpu);
	}
	WRITE_ONCE(stop, 1);
}

static void fill_other(void)
{
	for (u64 at = 0; at < OTHER; at += PAGE)
		*(volatile u64 *)(other + at) = at + 1;
}

static void slots(void)
{
	refused = bad_slots = 0;
	fill_other();
	begin(near);
	smp_run(slot_mover);
	sum_up("slot moves");
	report(!refused && !bad_slots, "a slot goes and comes back %u times (%lu wrong pages)",
	       rounds, bad_slots);
}

static void read_only(void)
{
	u32 bad;

	fill_other();
	refused = memory(HC_MEMORY_FLAGS, other, 1) != 0;
	bad = bad_pages(other);
	move(other);
	bad += bad_pages(other);
	refused += memory(HC_MEMORY_FLAGS, other, 0) != 0;
	fill_other();
	bad += bad_pages(other);
	report(!refused && !bad, "read-only for a time (%u wrong pages)", bad);
}

/* --- The log -------------------------------------------------------------------------------------- */

#define LOGGED 512 /* pages that are written */

static s64 logged(void)
{
	return memory(HC_MEMORY_DIRTY, other, 0);
}

static void touch(u64 page, u64 value)
{
	*(volatile u64 *)(other + page * PAGE + 8 * (page % WORDS)) = value;
}

/* By the hypervisor, in the guest's stead. */
static void log_hypervisor(void)
{
	char *text = (char *)other + 100 * PAGE;
	s64 n;

	if (!xen_find()) {
		skip("no hypercall that writes");
		return;
	}
	xen_call(XEN_version, XENVER_extraversion, (u64)text, 0, 0);
	n = logged();
	report(n == 1, "what the hypervisor writes is logged too (%ld pages)", n);
}

static void log_alone(void)
{
	s64 none, some, again, after;

	none = logged();
	for (u32 i = 0; i < 40; i++)
		touch(i * 3, i);
	for (u32 i = 0; i < 40; i++)
		touch(i * 3, i + 1);
	some = logged();
	touch(9, 1);
	move(other + 9 * PAGE);
	again = logged();
	bad_pages(other);
	after = logged();
	report(none == 0 && some == 40 && again == 1 && after == 0,
	       "the log has what was written (%ld %ld %ld %ld)", none, some, again, after);
}

static u32 writers;
static s64 found;

/* Each page is written once: it is in a log, or in two when one was fetched between a fault and its write. */
static void writer(u32 cpu)
{
	if (cpu) {
		for (u64 i = cpu - 1; i < LOGGED; i += nr_vcpus - 1)
			touch(i, i);
		atomic_fetch_add_release(&writers, 1); /* pairs with the acquire below */
		return;
	}
	while (load_acquire(&writers) != nr_vcpus - 1) {
		found += logged();
		relax();
	}
	found += logged();
}

static void log_together(void)
{
	if (nr_vcpus == 1)
		return;
	smp_run(writer);
	report(found >= LOGGED, "no write of other vCPUs is lost between logs (%ld of %u)", found,
	       LOGGED);
}

static void dirty_log(void)
{
	s64 err = memory(HC_MEMORY_FLAGS, other, 2);

	report(!err, "a slot can be logged (%ld)", err);
	log_alone();
	log_hypervisor();
	log_together();
	memory(HC_MEMORY_FLAGS, other, 0);
}

/* --- A log of everything -------------------------------------------------------------------------- */

static s64 all_logged;
static u32 marked, unmarked;
static u32 markers; /* vCPUs that mark their tables by themselves */

static void begin_to_mark(u32 cpu)
{
	atomic_fetch_add_relaxed(&markers, access_by_hardware());
}

/* The CPU's own writes to its tables are caught as others are. */
static void mark_tables(void)
{
	u64 flag;
	const volatile u64 *entry;

	if (markers != nr_vcpus)
		return;
	entry = forget_access(near, &flag);
	work_once(0);
	if (*entry & flag)
		marked++;
	else
		unmarked++;
}

static void logger(u32 cpu)
{
	if (cpu) {
		work(cpu);
		return;
	}
	for (u32 r = 0; r < rounds; r++) {
		all_logged += memory(HC_MEMORY_DIRTY, (void *)ram_base, 0);
		work_once(cpu);
		mark_tables();
		move((const void *)page_table_root());
		mark_tables();
	}
	WRITE_ONCE(stop, 1);
}

/* Code, stacks and tables of vCPUs that run. */
static void log_of_everything(void)
{
	s64 err = memory(HC_MEMORY_FLAGS, (void *)ram_base, 2);

	refused = 0;
	begin(near);
	smp_run(begin_to_mark);
	smp_run(logger);
	err |= memory(HC_MEMORY_FLAGS, (void *)ram_base, 0);
	sum_up("a log of everything");
	report(!err && !refused && all_logged > 0, "code, stacks and tables are logged (%ld pages)",
	       all_logged);
	if (marked + unmarked)
		report(!unmarked, "the CPU marks tables that are logged (%u, not %u)", marked,
		       unmarked);
	else
		skip("this CPU does not mark its tables");
}

/* --- What is refused ------------------------------------------------------------------------------- */

static void refusals(void)
{
	u8 *first = (u8 *)ram_base;
	const struct {
		s64 got, want;
	} c[] = {
		{ memory(HC_MEMORY_MOVE_PAGE, other + OTHER, 0), -ENOENT },
		{ memory(HC_MEMORY_MOVE_SLOT, other + PAGE, FAR), -ENOENT },
		{ memory(HC_MEMORY_MOVE_SLOT, other, (u64)first), -EEXIST },
		{ memory(HC_MEMORY_MOVE_SLOT, other, (u64)other + 1), -EINVAL },
		{ memory(HC_MEMORY_MOVE_SLOT, other, -(u64)PAGE), -EINVAL },
		{ memory(HC_MEMORY_FLAGS, other + 1, 1), -ENOENT },
		{ memory(HC_MEMORY_FLAGS, other, 4), -EINVAL },
		{ memory(HC_MEMORY_FLAGS, other, 1UL << 32), -EINVAL },
		{ memory(HC_MEMORY_DIRTY, other, 0), -EINVAL },
		{ memory(HC_MEMORY_DIRTY, other + OTHER, 0), -ENOENT },
		{ memory(HC_MEMORY_STORM, other, 1UL << 40), -EINVAL },
		{ memory(HC_MEMORY_STORM, other + OTHER, 1), -ENOENT },
		{ memory(99, other, 0), -EINVAL },
	};

	for (u32 i = 0; i < ARRAY_SIZE(c); i++)
		report(c[i].got == c[i].want, "refusal %u: %ld", i, c[i].got);
	fill_other();
	report(!bad_pages(other), "and nothing has changed");
}

static void must_stop(void)
{
	if (cmdline_is("mode", "readonly"))
		memory(HC_MEMORY_FLAGS, other, 1);
	else
		memory(HC_MEMORY_MOVE_SLOT, other, (u64)other + FAR);
	print("must stop: %s\n", cmdline_get("mode"));
	touch(5, 5);
	report(false, "stopped, not let through");
}

int guest_main(void)
{
	rounds = (u32)cmdline_u64("rounds", 5);
	storms = (u32)cmdline_u64("storm", 40);
	other = (u8 *)(ram_base + OTHER_AT);
	if (bare || nr_vcpus > WORKERS) {
		skip("needs a hypervisor that moves memory");
		return 0;
	}
	if (cmdline_get("mode")) {
		must_stop();
		return 0;
	}
	refusals();
	smp_start();
	pages();
	storms_of_moves();
	slots();
	read_only();
	dirty_log();
	log_of_everything();
	return 0;
}
