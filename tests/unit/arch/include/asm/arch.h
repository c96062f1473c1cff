/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inline half of <cupel/arch.h> for the host build, where a thread stands in for a CPU. Interrupts
 * are a flag of the thread: what is pending is taken when they are switched on, and in cpu_relax().
 */
#ifndef ASM_HOST_ARCH_H
#define ASM_HOST_ARCH_H

#include <cupel/types.h>

#define ARCH_NAME	  "host"
#define ARCH_LINK_ADDRESS 0UL

extern __thread bool host_irqs_on;

/* Take the interrupts that are pending for the calling thread's CPU. Interrupts are on. */
void host_take_irqs(void);
void host_relax(void);
u64 host_counter(void);

static inline void arch_irq_enable(void)
{
	host_irqs_on = true;
	host_take_irqs();
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

static inline void cpu_relax(void)
{
	host_relax();
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
