/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inline half of <cupel/arch.h> for the host build, where a thread stands in for a CPU. Interrupts
 * are a flag of the thread: what is pending is taken when they are switched on, and in cpu_relax().
 */
#ifndef ASM_HOST_ARCH_H
#define ASM_HOST_ARCH_H

#include <cupel/atomic.h>
#include <cupel/types.h>

#define ARCH_NAME	  "host"
#define ARCH_LINK_ADDRESS 0UL

/* What would interrupt a CPU. */
struct host_irqs {
	u32 kicked; /* by anyone */
	u64 deadline; /* of its timer, by its own thread; 0 = off */
};

extern __thread bool host_irqs_on;
extern __thread struct host_irqs *host_irqs; /* of the CPU that this thread is */
extern bool host_crowded;

/* Take the interrupts that are pending for the calling thread's CPU. Interrupts are on. */
void host_take_irqs(void);
void host_yield(void);
u64 host_counter(void);

static inline void host_poll_irqs(void)
{
	if (__builtin_expect(READ_ONCE(host_irqs->kicked) || host_irqs->deadline, 0))
		host_take_irqs();
}

static inline void arch_irq_enable(void)
{
	host_irqs_on = true;
	host_poll_irqs();
}

static inline void arch_irq_disable(void)
{
	host_irqs_on = false;
}

static inline bool arch_irqs_enabled(void)
{
	return host_irqs_on;
}

static inline unsigned long arch_irq_save(void)
{
	bool on = host_irqs_on;

	host_irqs_on = false;
	return on;
}

static inline void arch_irq_restore(unsigned long flags)
{
	if (flags)
		arch_irq_enable();
}

#ifdef __x86_64__
static inline void host_pause(void)
{
	__builtin_ia32_pause();
}
#elif defined(__aarch64__)
static inline void host_pause(void)
{
	__asm__ volatile("isb" ::: "memory");
}
#else
static inline void host_pause(void)
{
	barrier();
}
#endif

static inline bool arch_console_next(void)
{
	return false;
}

static inline void cpu_relax(void)
{
	if (host_irqs_on)
		host_poll_irqs();
	if (host_crowded)
		host_yield();
	else
		host_pause();
}

static inline u64 arch_counter(void)
{
	return host_counter();
}

static inline void *pa_to_va(paddr_t pa)
{
	return (void *)pa;
}

static inline paddr_t va_to_pa(const void *va)
{
	return (paddr_t)va;
}

#endif
