/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine of the host build. It does what <cupel/arch.h> asks of an architecture with POSIX threads,
 * and must be strict where a machine is: an idle CPU wakes for a kick or its timer and nothing else.
 */
#include "machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <cupel/atomic.h>
#include <cupel/clock.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <cupel/platform.h>
#include <cupel/smp.h>

#include "../core/lock_debug.h"

struct host_cpu {
	struct host_irqs irqs;
	u32 kicks;
	bool sleeping; /* in arch_cpu_idle() */
	pthread_mutex_t lock; /* guards the step from sleeping to waiting for `wake` */
	pthread_cond_t wake;
} __cacheline_aligned;

static struct host_cpu cpus[NR_CPUS];

__thread bool host_irqs_on;
__thread unsigned long host_percpu_offset;
__thread struct host_irqs *host_irqs = &cpus[0].irqs;

bool host_pinned, host_crowded = true;
static u64 stopped_at;

/* --- Time and interrupts ------------------------------------------------------------------------ */

u64 host_counter(void)
{
	struct timespec t;
	u64 fixed = READ_ONCE(stopped_at);

	if (fixed)
		return fixed;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + (u64)t.tv_nsec;
}

void host_set_time(u64 now)
{
	WRITE_ONCE(stopped_at, now);
}

u64 arch_counter_hz(void)
{
	return NSEC_PER_SEC;
}

const char *arch_counter_source(void)
{
	return "CLOCK_MONOTONIC";
}

u64 arch_boot_counter(void)
{
	return 0;
}

void host_take_irqs(void)
{
	struct host_irqs *irqs = host_irqs;

	/* Pairs with the exchange in arch_cpu_kick(): what the kicker stored before is visible now. */
	atomic_xchg_acquire(&irqs->kicked, 0);
	if (!irqs->deadline || irqs->deadline > host_counter())
		return;
	irqs->deadline = 0;
	host_irqs_on = false;
	lock_debug_irq_enter();
	soft_timer_tick();
	lock_debug_irq_exit();
	host_irqs_on = true;
}

void host_yield(void)
{
	sched_yield();
}

void arch_tick_arm(u64 deadline)
{
	host_irqs->deadline = deadline == ~0UL ? 0 : deadline;
}

void arch_cpu_kick(u32 cpu)
{
	struct host_cpu *c = &cpus[cpu];

	atomic_fetch_add_relaxed(&c->kicks, 1);
	/* Full: pairs with the barrier in arch_cpu_idle(): it sees the kick, or it is seen asleep. */
	if (atomic_xchg_full(&c->irqs.kicked, 1) || !READ_ONCE(c->sleeping))
		return;
	pthread_mutex_lock(&c->lock);
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

bool host_kick_pending(void)
{
	return READ_ONCE(host_irqs->kicked);
}

bool host_irq_pending(void)
{
	u64 deadline = host_irqs->deadline;

	return host_kick_pending() || (deadline && deadline <= host_counter());
}

u32 host_kicks(u32 cpu)
{
	return READ_ONCE(cpus[cpu].kicks);
}

static struct timespec to_timespec(u64 ns)
{
	return (struct timespec){ (time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC) };
}

/* A kick or the deadline; c->lock is held. */
static void sleep_locked(struct host_cpu *c)
{
	u64 deadline = c->irqs.deadline;
	struct timespec until = to_timespec(deadline);

	while (!READ_ONCE(c->irqs.kicked)) {
		if (!deadline)
			pthread_cond_wait(&c->wake, &c->lock);
		else if (deadline <= host_counter())
			break;
		else
			pthread_cond_timedwait(&c->wake, &c->lock, &until);
	}
}

void arch_cpu_idle(void)
{
	struct host_cpu *c = container_of(host_irqs, struct host_cpu, irqs);

	pthread_mutex_lock(&c->lock);
	WRITE_ONCE(c->sleeping, true);
	smp_mb(); /* pairs with the exchange in arch_cpu_kick() */
	sleep_locked(c);
	WRITE_ONCE(c->sleeping, false);
	pthread_mutex_unlock(&c->lock);
}

/* --- CPUs --------------------------------------------------------------------------------------- */

u32 host_nr_cpus(void)
{
	cpu_set_t allowed;

	return sched_getaffinity(0, sizeof(allowed), &allowed) ? 1 : (u32)CPU_COUNT(&allowed);
}

/* Before any thread has been pinned. */
static cpu_set_t allowed_cpus;

static void pin(u32 cpu)
{
	u32 nth = cpu % (u32)CPU_COUNT(&allowed_cpus);
	cpu_set_t one;

	CPU_ZERO(&one);
	for (u32 i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &allowed_cpus) && !nth--)
			CPU_SET(i, &one);
	}
	sched_setaffinity(0, sizeof(one), &one);
}

static void become(u32 cpu)
{
	host_irqs = &cpus[cpu].irqs;
	host_irqs_on = false;
	set_this_cpu_offset(percpu_offset[cpu]);
	if (host_pinned)
		pin(cpu);
}

static void *cpu_thread(void *arg)
{
	u32 cpu = (u32)(uintptr_t)arg;

	become(cpu);
	cpu_main(cpu);
}

u32 host_broken_cpu = NR_CPUS;

int arch_cpu_start(u32 cpu)
{
	pthread_t t;

	if (cpu == host_broken_cpu || pthread_create(&t, NULL, cpu_thread, (void *)(uintptr_t)cpu))
		return -1;
	pthread_detach(t);
	while (!cpu_online(cpu))
		sched_yield();
	return 0;
}

struct worker {
	pthread_t thread;
	u32 cpu;
	void (*fn)(u32 cpu, void *arg);
	void *arg;
};

static void *worker_thread(void *p)
{
	struct worker *w = p;

	become(w->cpu);
	arch_irq_enable();
	w->fn(w->cpu, w->arg);
	return NULL;
}

void host_on_cpus(u32 n, void (*fn)(u32 cpu, void *arg), void *arg)
{
	struct worker w[64];

	for (u32 i = 0; i < n; i++) {
		w[i] = (struct worker){ .cpu = i + 1, .fn = fn, .arg = arg };
		if (pthread_create(&w[i].thread, NULL, worker_thread, &w[i]))
			abort();
	}
	for (u32 i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
}

void arch_stop_others(void)
{
}

unsigned int arch_backtrace(unsigned long *pc, unsigned int max)
{
	pc[0] = (unsigned long)__builtin_return_address(0);
	return 1;
}

/* --- Setup -------------------------------------------------------------------------------------- */

static void setup_cpus(u32 count)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	for (u32 i = 0; i < count; i++) {
		pthread_mutex_init(&cpus[i].lock, NULL);
		pthread_cond_init(&cpus[i].wake, &monotonic);
		platform.cpus[i].hwid = i;
		platform.cpus[i].enabled = true;
	}
	platform.nr_cpus = count;
}

void host_machine(u32 count, u64 memory)
{
	void *ram = mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ram == MAP_FAILED || sched_getaffinity(0, sizeof(allowed_cpus), &allowed_cpus))
		abort();
	platform.machine = "host";
	platform.firmware = "none";
	platform_add_mem(&platform, va_to_pa(ram), memory);
	setup_cpus(count);
	page_alloc_init(&platform);
	if (percpu_init(count))
		abort();
	become(0);
}
