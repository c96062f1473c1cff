/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A weak machine: code of core/ compiled against it runs on simulated CPUs whose loads may be stale and
 * whose stores become visible in any order that the barriers allow. The real machine that runs the tests
 * orders most of that by itself, x86 all but one case of it: a barrier left out would go unnoticed there.
 *
 * Every store of a word is kept, in order. A CPU has a view: of each word, the oldest store that it may
 * still read. Reading or writing a word moves the view forward there. A store carries the view that its
 * CPU had at its last release fence, or has now if it is a release; whoever reads it with acquire, or reads
 * it and then passes an acquire fence, takes that view over. A full fence takes over what every full fence
 * before it has left, and leaves its own. (The operational reading of C11 with fences, without its
 * out-of-thin-air cases.)
 *
 * CPUs are coroutines of one thread. At every access the machine may turn to another CPU, or let an
 * interrupt in. A run is a seed: it repeats.
 *
 * Include this before the code under test, in the program that does so.
 */
#ifndef UNIT_WEAK_H
#define UNIT_WEAK_H

#include <asm/local.h>
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/clock.h>
#include <cupel/lock.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/rmw.h>
#include <cupel/types.h>

enum weak_order { WEAK_RELAXED = 0, WEAK_ACQUIRE = 1, WEAK_RELEASE = 2, WEAK_FULL = 7 };

#define WEAK_CPUS 6

u64 weak_load(const void *p, u32 size, enum weak_order order);
void weak_store(void *p, u32 size, u64 value, enum weak_order order);
/* *p = op(*p, value) on the newest value, in one piece; returns the old one. */
enum weak_op { WEAK_ADD, WEAK_OR, WEAK_AND, WEAK_SET };
u64 weak_rmw(void *p, u32 size, enum weak_op op, u64 value, enum weak_order order);
bool weak_cmpxchg(void *p, u32 size, u64 expected, u64 value);
/* Increment that only this CPU's interrupts can't get between: another CPU can. */
void weak_local_inc(void *p, u32 size);
void weak_fence(enum weak_order order);
void weak_relax(void);
u32 weak_cpu(void);

/* --- For tests ---------------------------------------------------------------------------------- */

/* From now on the words at [p, p + size) are the machine's; all others stay plain memory. */
void weak_watch(const void *p, size_t size);
/* What a word was just before: CPUs may still read it. */
void weak_was(const void *p, u32 size, u64 before);
/* Forget all words and CPUs: a new run. */
void weak_reset(u64 seed);
/* fn(arg) as a CPU's program. */
void weak_cpu_runs(u32 cpu, void (*fn)(void *arg), void *arg);
/* fn as interrupt handler of a CPU: comes at any access, one at a time, at most `times`. */
void weak_interrupts(u32 cpu, void (*fn)(void *arg), void *arg, u32 times);
/* Until all programs have ended. False: `limit` accesses were not enough. */
bool weak_run(u64 limit);
u64 weak_random(u64 n);

#define weak_bits(v) ((u64)(unsigned long)(v))

#undef READ_ONCE
#undef WRITE_ONCE
#undef load_acquire
#undef store_release
#undef atomic_fetch_add_relaxed
#undef atomic_fetch_add_release
#undef atomic_fetch_or_full
#undef atomic_xchg_full
#undef smp_mb
#undef smp_rmb
#undef smp_wmb
#undef spin_trylock
#define READ_ONCE(x)	    ((typeof(x))weak_load(&(x), sizeof(x), WEAK_RELAXED))
#define WRITE_ONCE(x, v)    weak_store(&(x), sizeof(x), weak_bits(v), WEAK_RELAXED)
#define load_acquire(p)	    ((typeof(*(p)))weak_load((p), sizeof(*(p)), WEAK_ACQUIRE))
#define store_release(p, v) weak_store((p), sizeof(*(p)), weak_bits(v), WEAK_RELEASE)
#define smp_mb()	    weak_fence(WEAK_FULL)
#define smp_rmb()	    weak_fence(WEAK_ACQUIRE)
#define smp_wmb()	    weak_fence(WEAK_RELEASE)
#define local_inc(p)	    weak_local_inc((p), sizeof(*(p)))
#define atomic_xchg_full(p, v) \
	((typeof(*(p)))weak_rmw((p), sizeof(*(p)), WEAK_SET, weak_bits(v), WEAK_FULL))
#define atomic_fetch_or_full(p, v) \
	((typeof(*(p)))weak_rmw((p), sizeof(*(p)), WEAK_OR, weak_bits(v), WEAK_FULL))
#define atomic_fetch_add_relaxed(p, v) \
	((typeof(*(p)))weak_rmw((p), sizeof(*(p)), WEAK_ADD, weak_bits(v), WEAK_RELAXED))
#define atomic_fetch_add_release(p, v) \
	((typeof(*(p)))weak_rmw((p), sizeof(*(p)), WEAK_ADD, weak_bits(v), WEAK_RELEASE))
#define local_read(p) ((unsigned long)weak_load((p), sizeof(*(p)), WEAK_RELAXED))
/* A lock of this machine is one word: taken when `owner` is set. */
#define spin_trylock(l)	   weak_cmpxchg(&(l)->owner, sizeof((l)->owner), 0, 1)
#define spin_unlock(l)	   weak_store(&(l)->owner, sizeof((l)->owner), 0, WEAK_RELEASE)
#define cpu_relax()	   weak_relax()
#define cpu_id()	   weak_cpu()
#define count_shared_rmw() ((void)0)

#endif
