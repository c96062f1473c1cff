/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inline half of cupel/arch.h for arm64 at EL2. IRQ and FIQ are masked and unmasked together;
 * SError stays unmasked once the vectors are in place, debug exceptions stay masked.
 */
#ifndef ASM_ARCH_H
#define ASM_ARCH_H

#include <asm/sysreg.h>
#include <cupel/types.h>

#define ARCH_NAME	  "arm64"
#define ARCH_LINK_ADDRESS 0UL /* as in linker/arm64.lds */

static inline void arch_irq_disable(void)
{
	__asm__ volatile("msr daifset, #3" : : : "memory");
}

static inline void arch_irq_enable(void)
{
	__asm__ volatile("msr daifclr, #3" : : : "memory");
}

static inline unsigned long arch_irq_save(void)
{
	unsigned long daif;

	__asm__ volatile("mrs %0, daif\n\tmsr daifset, #3" : "=r"(daif) : : "memory");
	return daif;
}

static inline void arch_irq_restore(unsigned long daif)
{
	__asm__ volatile("msr daif, %0" : : "r"(daif) : "memory");
}

static inline bool arch_irqs_enabled(void)
{
	return !(read_sysreg(daif) & PSR_I);
}

static inline bool arch_console_next(void)
{
	return false;
}

static inline void cpu_relax(void)
{
	__asm__ volatile("yield" : : : "memory");
}

/*
 * The physical counter: no guest's CNTVOFF_EL2 moves it. The ISB keeps the read from being done ahead
 * of earlier loads (Arm ARM D11.1.2).
 */
static inline u64 arch_counter(void)
{
	u64 ticks;

	__asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(ticks) : : "memory");
	return ticks;
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
