/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inline half of what core/ asks of x86-64 (see <cupel/arch.h>). Nothing here may name a device
 * or a virtualisation backend.
 */
#ifndef ASM_X86_ARCH_H
#define ASM_X86_ARCH_H

#include <cupel/types.h>

#define ARCH_NAME	  "x86"
#define ARCH_LINK_ADDRESS 0x100000UL /* as in linker/x86.lds */

#define X86_RFLAGS_IF BIT(9) /* APM vol. 2, 3.1.6 */

static inline void arch_irq_enable(void)
{
	__asm__ volatile("sti" ::: "memory");
}

static inline void arch_irq_disable(void)
{
	__asm__ volatile("cli" ::: "memory");
}

static inline unsigned long x86_read_rflags(void)
{
	unsigned long flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags)::"memory");
	return flags;
}

static inline unsigned long arch_irq_save(void)
{
	unsigned long flags = x86_read_rflags();

	arch_irq_disable();
	return flags;
}

static inline void arch_irq_restore(unsigned long flags)
{
	if (flags & X86_RFLAGS_IF)
		arch_irq_enable();
}

static inline bool arch_irqs_enabled(void)
{
	return x86_read_rflags() & X86_RFLAGS_IF;
}

bool arch_console_next(void);

static inline void cpu_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/*
 * The TSC. LFENCE waits for earlier loads (APM vol. 3, LFENCE: it is dispatch serialising), so that a
 * value read from memory can't be newer than the counter read after it.
 */
static inline u64 arch_counter(void)
{
	u32 lo, hi;

	__asm__ volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi)::"memory");
	return (u64)hi << 32 | lo;
}

static inline void *pa_to_va(paddr_t pa)
{
	return (void *)pa;
}

static inline paddr_t va_to_pa(const void *va)
{
	return (paddr_t)va;
}

/*
 * Take the host interrupts that are pending, through the IDT. Called with GIF set and interrupts off,
 * host GS base, TR and stack in place (after #VMEXIT with VMEXIT_INTR: VMLOAD the host state, STGI,
 * then this). The NOP gives the CPU an instruction boundary outside STI's shadow (APM vol. 3, STI).
 */
static inline void x86_take_host_irq(void)
{
	__asm__ volatile("sti; nop; cli" ::: "memory");
}

#endif
