/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tortures share: a worker on every CPU, its timer, the parking of CPUs underneath, counts, and the
 * verdict. Knows nothing of what is tortured, and must itself never hang: whoever stays in one step for
 * too long is named, by any CPU that still takes interrupts, and the machine ends there.
 */
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/ktap.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/sched.h>
#include <cupel/smp.h>
#include <cupel/torture.h>
#include <string.h>

#include "core.h"

extern const struct torture *const __start_tortures[], *const __stop_tortures[];

#define TURN_NS		20000000UL /* how long all CPUs turn to the same subject */
#define DEFAULT_SECONDS 10
#define DEFAULT_STALL	30
#define MAX_SECONDS	1000000
#define SHOWN_FAILURES	8
/* A machine that is busy with other things may take longer to race what must be raced. */
#define EXTRA_TIMES   4
#define EXTRA_SECONDS 60
#define SHORTEST_TICK (50 * 1000UL) /* ns */
#define LONGEST_TICK  (2 * 1000 * 1000UL)
#define LONGEST_PARK  (20 * 1000 * 1000UL)

enum { IDLE, RUNNING, LEAVING, PARKED };

struct torture_cpu {
	struct torture_worker worker;
	unsigned long count[TORTURE_MAX_COUNTS];
} __cacheline_aligned;

/* The torture that runs; written on the boot CPU while no worker does. */
static struct {
	const struct torture *torture;
	struct torture_cpu *cpu;
	bool smp;
	u64 stall; /* ticks */
	u64 seed;
	u32 over, failures, ended; /* written by anyone */
	u64 parks, refused;
} run;

/* --- Counts ------------------------------------------------------------------------------------- */

void torture_add(u32 which, unsigned long n)
{
	unsigned long *p = &run.cpu[cpu_id()].count[which], flags = arch_irq_save();

	WRITE_ONCE(*p, *p + n);
	arch_irq_restore(flags);
}

void torture_count(u32 which)
{
	torture_add(which, 1);
}

unsigned long torture_sum(u32 which)
{
	unsigned long sum = 0;

	for (u32 i = 0; i < platform.nr_cpus; i++)
		sum += READ_ONCE(run.cpu[i].count[which]);
	return sum;
}

void torture_fail(u32 which, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	torture_count(which);
	if (atomic_fetch_add_relaxed(&run.failures, 1U) >= SHOWN_FAILURES)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printk("# %s: %s: CPU %u: %s\n", run.torture->name, run.torture->counts[which].name,
	       cpu_id(), text);
}

static void print_counts(void)
{
	for (u32 i = 0; run.torture->counts[i].name; i++) {
		const struct torture_count *c = &run.torture->counts[i];

		printk("  %-16s %12lu  %s\n", c->name, torture_sum(i), c->help);
	}
	if (run.torture->parks)
		printk("  %-16s %12lu  CPUs parked (%lu refused: busy)\n", "parks", run.parks,
		       run.refused);
}

static bool must(const struct torture_count *c)
{
	return c->sort == TORTURE_MUST || (c->sort == TORTURE_MUST_SMP && run.smp);
}

static bool something_is_missing(void)
{
	for (u32 i = 0; run.torture->counts[i].name; i++) {
		if (must(&run.torture->counts[i]) && !(run.torture->late & BIT(i)) && !torture_sum(i))
			return true;
	}
	return run.torture->parks && run.smp && !run.parks;
}

static void verdict(const char *what, const char *ending, bool ok)
{
	char name[64];

	snprintf(name, sizeof(name), "%s: %s %s", run.torture->name, what, ending);
	ktap_result(ok, name, NULL);
}

static void judge(void)
{
	for (u32 i = 0; run.torture->counts[i].name; i++) {
		const struct torture_count *c = &run.torture->counts[i];
		bool some = torture_sum(i);

		if (c->sort == TORTURE_NEVER)
			verdict(c->name, "never", !some);
		else if (must(c))
			verdict(c->name, "happened", some);
	}
	if (run.torture->parks && run.smp)
		verdict("parks", "happened", run.parks);
}

/* --- Workers ------------------------------------------------------------------------------------ */

struct torture_worker *torture_worker(u32 cpu)
{
	return &run.cpu[cpu].worker;
}

bool torture_over(void)
{
	return READ_ONCE(run.over);
}

void torture_delay(u64 *state, u64 ns)
{
	u64 start = arch_counter(), ticks = ns_to_ticks(torture_random(state) % ns);

	while (arch_counter() - start < ticks)
		cpu_relax();
}

u32 torture_choose(u64 *state, u32 n)
{
	u64 turn = ticks_to_ns(arch_counter()) / TURN_NS;

	if (torture_one_in(state, 4))
		turn = torture_random(state);
	return (u32)(turn % n);
}

/* Nothing can be waited for any more. */
static __noreturn __cold void end_stuck(const struct torture_worker *w, u64 ticks)
{
	/* One CPU speaks; the others wait for the end. */
	while (atomic_xchg_acquire(&run.ended, 1U))
		cpu_relax();
	printk("# %s: CPU %u has been in one step for %lu ms\n", run.torture->name, w->cpu,
	       ticks_to_ns(ticks) / 1000000);
	print_counts();
	judge();
	verdict("a step without end", "never", false);
	ktap_end();
	arch_machine_exit(EXIT_CODE_FAILED);
}

static void watch(u64 now)
{
	for (u32 i = 0; i < platform.nr_cpus; i++) {
		const struct torture_worker *w = torture_worker(i);
		u64 last = READ_ONCE(w->last_step), state = READ_ONCE(w->state);

		if ((state == RUNNING || state == LEAVING) && now > last && now - last > run.stall)
			end_stuck(w, now - last);
	}
}

static void arm(struct torture_worker *w)
{
	u64 ns = SHORTEST_TICK + torture_random(&w->irq_random) % (LONGEST_TICK - SHORTEST_TICK);

	soft_timer_arm(&w->timer, arch_counter() + ns_to_ticks(ns));
}

static void tick(struct soft_timer *t)
{
	struct torture_worker *w = container_of(t, struct torture_worker, timer);
	u64 now = arch_counter();

	if (now >= w->next_watch) {
		w->next_watch = now + arch_counter_hz();
		watch(now);
	}
	if (run.torture->tick)
		run.torture->tick(w);
	/* A guest comes out, so that its CPU's next step is not put off for good. */
	if (run.torture->turns)
		sched_poke(w->cpu);
	arm(w);
}

static void take_step(struct torture_worker *w)
{
	WRITE_ONCE(w->last_step, arch_counter());
	if (run.torture->turns)
		(void)sched_turn();
	run.torture->step(w);
}

static void begin_work(struct torture_worker *w)
{
	WRITE_ONCE(w->last_step, arch_counter());
	w->timer.fn = tick;
	arm(w);
}

static void work(void *arg)
{
	struct torture_worker *w = arg;

	begin_work(w);
	while (READ_ONCE(w->state) == RUNNING && !torture_over())
		take_step(w);
	soft_timer_cancel(&w->timer);
	/* Pairs with the acquire in stop_worker(). */
	store_release(&w->state, (u32)IDLE);
}

static void start_worker(u32 cpu)
{
	struct torture_worker *w = torture_worker(cpu);
	int err;

	WRITE_ONCE(w->last_step, arch_counter());
	WRITE_ONCE(w->state, RUNNING);
	do
		err = smp_call_async(cpu, work, w);
	while (err == -EBUSY);
	BUG_ON(err);
}

/* The boot CPU's own ticks go on meanwhile, and end it all if that one never comes back. */
static void stop_worker(u32 cpu)
{
	struct torture_worker *w = torture_worker(cpu);
	u32 running = RUNNING;

	atomic_cmpxchg_full(&w->state, &running, LEAVING);
	if (run.torture->turns)
		sched_poke(cpu);
	/* Pairs with the release in work(). */
	while (load_acquire(&w->state) != IDLE)
		cpu_relax();
	smp_call_wait(cpu);
}

/* --- Parking ------------------------------------------------------------------------------------ */

static void unpark(u32 cpu)
{
	while (smp_unpark(cpu) == -EBUSY)
		cpu_relax();
	start_worker(cpu);
}

static void park(u32 cpu)
{
	stop_worker(cpu);
	if (smp_park(cpu)) {
		run.refused++;
		start_worker(cpu);
		return;
	}
	run.parks++;
	WRITE_ONCE(torture_worker(cpu)->state, PARKED);
}

/* One CPU changes sides. */
static void storm(u64 *random)
{
	u32 cpu = 1 + (u32)(torture_random(random) % (platform.nr_cpus - 1));
	u32 state = READ_ONCE(torture_worker(cpu)->state);

	if (state == PARKED)
		unpark(cpu);
	else if (state == RUNNING)
		park(cpu);
}

/* --- A run -------------------------------------------------------------------------------------- */

static void boot_cpu_works(u64 seconds)
{
	struct torture_worker *w = torture_worker(0);
	u64 end = arch_counter() + seconds * arch_counter_hz(), storm_at = 0, random = w->random;
	u64 extra = min(seconds * EXTRA_TIMES, (u64)EXTRA_SECONDS) * arch_counter_hz();

	begin_work(w);
	WRITE_ONCE(w->state, RUNNING);
	while (arch_counter() < end || (something_is_missing() && arch_counter() < end + extra)) {
		take_step(w);
		if (run.torture->control)
			run.torture->control(w);
		if (run.torture->parks && run.smp && arch_counter() >= storm_at) {
			storm(&random);
			storm_at = arch_counter() +
				   ns_to_ticks(torture_random(&random) % LONGEST_PARK);
		}
	}
	WRITE_ONCE(run.over, 1);
	WRITE_ONCE(w->last_step, arch_counter());
}

static void everybody_works(u64 seconds)
{
	for_each_online_cpu(c) {
		if (c)
			start_worker((u32)c);
	}
	boot_cpu_works(seconds);
	for (u32 i = 1; i < platform.nr_cpus; i++) {
		struct torture_worker *w = torture_worker(i);

		if (READ_ONCE(w->state) == PARKED) {
			WRITE_ONCE(w->state, IDLE);
			while (smp_unpark(i) == -EBUSY)
				cpu_relax();
		} else if (cpu_online(i)) {
			stop_worker(i);
		}
	}
	soft_timer_cancel(&torture_worker(0)->timer);
	WRITE_ONCE(torture_worker(0)->state, IDLE);
}

static void make_workers(void)
{
	u64 seed = run.seed | 1;

	for (u32 i = 0; i < platform.nr_cpus; i++) {
		struct torture_worker *w = torture_worker(i);

		w->cpu = i;
		w->random = torture_random(&seed);
		w->irq_random = torture_random(&seed);
	}
}

static int run_one(const struct torture *t, u64 seconds)
{
	unsigned int order = size_to_order(platform.nr_cpus * sizeof(struct torture_cpu));
	int err;

	run.torture = t;
	run.cpu = pages_alloc(order);
	if (!run.cpu)
		return -ENOMEM;
	run.smp = nr_cpus_online > 1;
	run.over = run.failures = 0;
	run.parks = run.refused = 0;
	make_workers();
	printk("torture %s: %lu s on %u CPUs, seed=0x%lx: %s\n", t->name, seconds, nr_cpus_online,
	       run.seed, t->help);
	err = t->setup();
	if (!err) {
		everybody_works(seconds);
		t->finish();
		print_counts();
		judge();
	}
	pages_free(run.cpu, order);
	return err;
}

/* --- What is asked for -------------------------------------------------------------------------- */

/* The torture whose name is the first `len` characters. */
static const struct torture *find(const char *name, size_t len)
{
	for (const struct torture *const *t = __start_tortures; t < __stop_tortures; t++) {
		if (strlen((*t)->name) == len && !strncmp((*t)->name, name, len))
			return *t;
	}
	return NULL;
}

static int list_them(const char *names)
{
	printk("torture=%s: no torture of that name; there are:\n", names);
	for (const struct torture *const *t = __start_tortures; t < __stop_tortures; t++)
		printk("  %s - %s\n", (*t)->name, (*t)->help);
	return -EINVAL;
}

static int number(const char *key, u64 high, u64 fallback, u64 *out)
{
	const char *s = cmdline_get(key);

	*out = fallback;
	if (!s)
		return 0;
	if (!parse_u64(s, out) && *out && *out <= high)
		return 0;
	printk("%s=%s: not a number from 1 to %lu\n", key, s, high);
	return -EINVAL;
}

/* Length of the first name of the list. */
static size_t first_name(const char *names)
{
	const char *comma = strchr(names, ',');

	return comma ? (size_t)(comma - names) : strlen(names);
}

int torture_main(const char *names)
{
	u64 seconds, stall;
	const char *at;
	int err = 0;

	if (number("seconds", MAX_SECONDS, DEFAULT_SECONDS, &seconds) ||
	    number("stall", MAX_SECONDS, DEFAULT_STALL, &stall) ||
	    number("seed", ~0UL, arch_counter() | 1, &run.seed))
		return -EINVAL;
	run.stall = stall * arch_counter_hz();
	for (at = names; *at; at += first_name(at) + (at[first_name(at)] == ',')) {
		if (!find(at, first_name(at)))
			return list_them(names);
	}
	if (at == names)
		return list_them(names);
	ktap_begin(0);
	for (at = names; *at && !err; at += first_name(at) + (at[first_name(at)] == ','))
		err = run_one(find(at, first_name(at)), seconds);
	if (ktap_end() && !err)
		err = -EIO;
	return err;
}
