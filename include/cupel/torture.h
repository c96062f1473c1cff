/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tortures: a subject is hammered from all CPUs at once for a while, in thread and in interrupt context,
 * while CPUs are parked and unparked underneath. A torture says what must never happen and what must
 * have happened; one that never raced what it is there to race has failed.
 *
 *	torture=NAME[,NAME…] seconds=N [seed=N] [stall=SECONDS]
 *
 * A run takes longer, up to five times as long, where something that must happen has not yet.
 */
#ifndef CUPEL_TORTURE_H
#define CUPEL_TORTURE_H

#include <cupel/clock.h>
#include <cupel/types.h>

enum torture_sort {
	TORTURE_INFO, /* printed */
	TORTURE_MUST, /* zero at the end: it never happened, and the torture has failed */
	TORTURE_MUST_SMP, /* likewise, on a machine with more than one CPU */
	TORTURE_NEVER /* not zero: failed */
};

struct torture_count {
	const char *name; /* NULL ends the table */
	enum torture_sort sort;
	const char *help;
};
#define TORTURE_MAX_COUNTS 40

/* A CPU's part in it. Only its own CPU touches it, but for what the framework keeps. */
struct torture_worker {
	u32 cpu;
	u64 random; /* for torture_random(): thread context */
	u64 irq_random; /* likewise, for tick() */
	void *own; /* the torture's; survives parking */
	/* Of the framework. */
	struct soft_timer timer;
	u64 next_watch;
	u64 last_step; /* counter; read by those who watch */
	u32 state;
};

struct torture {
	const char *name;
	const char *help; /* one line */
	const struct torture_count *counts;
	/* Boot CPU, no worker runs. 0, or -errno after one line that says why. */
	int (*setup)(void);
	/*
	 * Called over and over on each CPU that is not parked, thread context, interrupts on. Returns
	 * within milliseconds, holding nothing.
	 */
	void (*step)(struct torture_worker *w);
	/* Interrupt context, on each such CPU, at random moments; NULL: none. */
	void (*tick)(struct torture_worker *w);
	/* Boot CPU, now and then between its steps; NULL: none. May itself take long. */
	void (*control)(struct torture_worker *w);
	/* Boot CPU, no worker runs any more: last looks, then everything is given back. */
	void (*finish)(void);
	u64 late; /* counts, as bits, that only finish() makes: a run is not made longer for them */
	bool parks; /* CPUs are parked underneath; not those that have vCPUs on their queue */
	bool turns; /* workers take scheduler turns, so that vCPUs run on their CPUs */
};

#define TORTURE(sym) \
	static const struct torture *const torture_##sym __used __section("tortures") = &sym

/* --- For tortures, any context ------------------------------------------------------------------ */

/* Something in counts[which] has happened; n times. */
void torture_count(u32 which);
void torture_add(u32 which, unsigned long n);
/* What must never happen has: counted, and the first few are printed with the text. */
void torture_fail(u32 which, const char *fmt, ...) __printf(2, 3);
/* Sum over CPUs so far. */
unsigned long torture_sum(u32 which);
/* The worker of a CPU: for setup(), to give it something of its own. */
struct torture_worker *torture_worker(u32 cpu);
/* True once workers are to come to an end: for a step that would go on for long. */
bool torture_over(void);

/* xorshift; state is never zero. */
static inline u64 torture_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline bool torture_one_in(u64 *state, u32 n)
{
	return torture_random(state) % n == 0;
}

/* Spin up to `ns`, chosen at random. */
void torture_delay(u64 *state, u64 ns);

/* Which of `n` subjects: most go where the others are, as few CPUs rarely meet in one of many. */
u32 torture_choose(u64 *state, u32 n);

/* --- For main ----------------------------------------------------------------------------------- */

/*
 * What the command line asks for, one after another, on all CPUs; counts and KTAP lines on the console.
 * 0, or -errno when something failed; -EINVAL for a wrong word, or a name that there is none of, after
 * listing them.
 */
int torture_main(const char *names);

#endif
