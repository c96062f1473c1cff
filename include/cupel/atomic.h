/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Atomics and barriers over the compiler's memory model. Ordering is always in the name; every use
 * says in a comment which access or barrier it pairs with. Counters that only their own CPU writes
 * use plain accesses through READ_ONCE()/WRITE_ONCE().
 */
#ifndef CUPEL_ATOMIC_H
#define CUPEL_ATOMIC_H

#include <cupel/types.h>

#define READ_ONCE(x)	 __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)

#define load_acquire(p)	    __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define atomic_fetch_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define atomic_fetch_add_acquire(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQUIRE)
#define atomic_fetch_add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define atomic_fetch_add_full(p, v)    __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define atomic_fetch_or_relaxed(p, v)  __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define atomic_fetch_or_release(p, v)  __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define atomic_fetch_or_full(p, v)     __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define atomic_fetch_and_relaxed(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELAXED)
#define atomic_fetch_and_acquire(p, v) __atomic_fetch_and((p), (v), __ATOMIC_ACQUIRE)
#define atomic_fetch_and_full(p, v)    __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)
#define atomic_xchg_acquire(p, v)      __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define atomic_xchg_full(p, v)	       __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)

/* True when *p was *expected and is now v; otherwise *expected is what was there. */
#define atomic_cmpxchg_relaxed(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define atomic_cmpxchg_acquire(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define atomic_cmpxchg_full(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)

#define barrier() __asm__ volatile("" ::: "memory")
#define smp_mb()  __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)

#endif
