/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs: bringing them up, parking them, and running a function on one. A call runs in the target's
 * scheduler loop, never in interrupt context, so it may do whatever a thread may. A parked CPU stays in
 * that loop: it serves what was posted before it left, and the call that brings it back.
 */
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/sched.h>
#include <cupel/smp.h>

#include "core.h"

u32 nr_cpus_online;

/*
 * One call at a time waits in a CPU's mailbox. state: EMPTY -> CLAIMED by a poster's exchange ->
 * POSTED with release -> EMPTY again once the owner has copied fn and arg.
 */
enum { BOX_EMPTY, BOX_CLAIMED, BOX_POSTED };

struct mailbox {
	u32 state;
	u32 posted; /* calls ever posted: written under a claim */
	smp_fn_t fn;
	void *arg;
	u32 ended __cacheline_aligned; /* calls that have ended; this and the rest: written by the owner */
	bool running; /* a call takes turns of its own: the next one waits for its end */
	bool missed; /* and has come */
	bool parked;
} __cacheline_aligned;

static DEFINE_PER_CPU(struct mailbox, mailbox);

bool cpu_online(u32 cpu)
{
	/* Pairs with the release in set_online(). */
	return cpu < NR_CPUS && load_acquire(&platform.cpus[cpu].online);
}

int cpu_next_online(int prev)
{
	for (u32 cpu = (u32)(prev + 1); cpu < platform.nr_cpus; cpu++) {
		if (cpu_online(cpu))
			return (int)cpu;
	}
	return -1;
}

/* After this other CPUs may post calls and vCPUs to this one. */
static void set_online(u32 cpu)
{
	atomic_fetch_add_relaxed(&nr_cpus_online, 1);
	/* Pairs with the acquire in cpu_online(). */
	store_release(&platform.cpus[cpu].online, true);
}

static void set_offline(u32 cpu)
{
	WRITE_ONCE(platform.cpus[cpu].online, false);
	atomic_fetch_add_relaxed(&nr_cpus_online, ~0U);
}

/* nr_cpus=N on the command line; what can't be understood means all. */
static u32 cpu_limit(void)
{
	const char *s = cmdline_get("nr_cpus");
	u64 n;

	if (!s)
		return platform.nr_cpus;
	if (parse_u64(s, &n) || !n) {
		printk("nr_cpus=%s: not a number of CPUs; using all\n", s);
		return platform.nr_cpus;
	}
	return (u32)min(n, (u64)platform.nr_cpus);
}

static const char *start_error(int err)
{
	switch (err) {
	case -ETIMEDOUT: return "it does not answer";
	case -EIO: return "it has stopped on its way";
	case -ENOMEM: return "no memory for it";
	case -EFAULT: return "it can't wait where firmware says";
	case -ERANGE: return "the interrupt controller can't address it";
	case -ENXIO: return "the interrupt controller does not know it";
	case -EOPNOTSUPP: return "firmware has no way to start it";
	default: return "firmware refuses";
	}
}

void smp_start_all(void)
{
	u32 limit = cpu_limit();

	set_online(cpu_id());
	for (u32 cpu = 0; cpu < limit; cpu++) {
		const struct cpu_info *c = &platform.cpus[cpu];
		int err;

		if (cpu == cpu_id() || !c->enabled)
			continue;
		err = arch_cpu_start(cpu);
		if (err)
			printk("CPU %u (hardware id 0x%lx) did not start: %s (error %d)\n", cpu,
			       (unsigned long)c->hwid, start_error(err), -err);
	}
}

static bool never(void *arg)
{
	return false;
}

void cpu_main(u32 cpu)
{
	set_online(cpu);
	arch_irq_enable();
	sched_loop_until(never, NULL);
	panic("CPU %u left its loop", cpu);
}

static int post(u32 cpu, smp_fn_t fn, void *arg, u32 *ticket)
{
	struct mailbox *box = per_cpu_ptr(mailbox, cpu);
	u32 empty = BOX_EMPTY;

	/* Pairs with the release in smp_run_calls(): fn and arg have been copied. */
	if (!atomic_cmpxchg_acquire(&box->state, &empty, BOX_CLAIMED))
		return -EBUSY;
	box->fn = fn;
	box->arg = arg;
	*ticket = box->posted + 1;
	WRITE_ONCE(box->posted, *ticket);
	/* Pairs with the acquire in smp_run_calls(). */
	store_release(&box->state, BOX_POSTED);
	sched_poke(cpu);
	return 0;
}

int smp_call_async(u32 cpu, smp_fn_t fn, void *arg)
{
	u32 ticket;

	return cpu_online(cpu) ? post(cpu, fn, arg, &ticket) : -ENODEV;
}

static void wait_ended(u32 cpu, u32 ticket)
{
	struct mailbox *box = per_cpu_ptr(mailbox, cpu);

	/* Pairs with the release in smp_run_calls(): what the call wrote is visible after this. */
	while ((s32)(load_acquire(&box->ended) - ticket) < 0)
		cpu_relax();
}

void smp_call_wait(u32 cpu)
{
	/* Of a CPU that never came up none was posted. */
	if (cpu < platform.nr_cpus)
		wait_ended(cpu, READ_ONCE(per_cpu_ptr(mailbox, cpu)->posted));
}

static int post_and_wait(u32 cpu, smp_fn_t fn, void *arg)
{
	u32 ticket;
	int err = post(cpu, fn, arg, &ticket);

	if (!err)
		wait_ended(cpu, ticket);
	return err;
}

int smp_call(u32 cpu, smp_fn_t fn, void *arg)
{
	if (cpu == cpu_id()) {
		fn(arg);
		return 0;
	}
	return cpu_online(cpu) ? post_and_wait(cpu, fn, arg) : -ENODEV;
}

static void run_posted(struct mailbox *box)
{
	smp_fn_t fn = box->fn;
	void *arg = box->arg;

	/* Pairs with the acquire of the next poster's claim. */
	store_release(&box->state, BOX_EMPTY);
	fn(arg);
	/* Pairs with the acquire in wait_ended(). */
	store_release(&box->ended, box->ended + 1);
}

bool smp_run_calls(void)
{
	struct mailbox *box = this_cpu_ptr(mailbox);

	/* Pairs with the release in post(). */
	if (likely(load_acquire(&box->state) != BOX_POSTED))
		return false;
	if (box->running) {
		box->missed = true;
		return false;
	}
	box->running = true;
	do {
		box->missed = false;
		run_posted(box);
		/* Pairs with the release in post(). */
	} while (box->missed && load_acquire(&box->state) == BOX_POSTED);
	box->running = false;
	return true;
}

/* --- Parking ------------------------------------------------------------------------------------ */

static void park_here(void *arg)
{
	int *err = arg;

	*err = sched_park(true);
	if (*err)
		return;
	WRITE_ONCE(this_cpu(mailbox).parked, true);
	set_offline(cpu_id());
}

int smp_park(u32 cpu)
{
	int result, err;

	if (!cpu || cpu == cpu_id())
		return -EINVAL;
	err = smp_call(cpu, park_here, &result);
	return err ? err : result;
}

static void unpark_here(void *arg)
{
	int *err = arg;

	*err = this_cpu(mailbox).parked ? 0 : -EINVAL;
	if (*err)
		return;
	(void)sched_park(false);
	WRITE_ONCE(this_cpu(mailbox).parked, false);
	set_online(cpu_id());
}

int smp_unpark(u32 cpu)
{
	int result, err;

	if (cpu >= platform.nr_cpus || !READ_ONCE(per_cpu_ptr(mailbox, cpu)->parked))
		return -EINVAL;
	err = post_and_wait(cpu, unpark_here, &result);
	return err ? err : result;
}
