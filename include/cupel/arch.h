/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What core/ asks of an architecture. asm/arch.h has the inline half; the functions below live in
 * arch/<name>/ (and in tests/unit/ for the host build). core/ names no architecture: all it knows
 * is here.
 */
#ifndef CUPEL_ARCH_H
#define CUPEL_ARCH_H

#include <asm/arch.h>
#include <cupel/types.h>

/*
 * asm/arch.h provides, all callable from any context:
 *   unsigned long arch_irq_save(void)           mask interrupts, return the former state
 *   void arch_irq_restore(unsigned long)
 *   void arch_irq_enable(void) / arch_irq_disable(void)
 *   bool arch_irqs_enabled(void)
 *   void cpu_relax(void)                        spin-wait hint
 *   u64 arch_counter(void)                      free-running counter, ordered against earlier loads
 *   void *pa_to_va(paddr_t) / paddr_t va_to_pa(const void *)   direct map only (identity), not stacks
 *   bool arch_console_next(void)                make printk() go to a console that is known and did not
 *                                               have the last line; false: there is none. Start of the
 *                                               machine only
 *   ARCH_NAME                                   "arm64", "x86", "host"
 *   ARCH_LINK_ADDRESS                           what __image_start is before relocation
 *   struct arch_vm, struct arch_vcpu            (through asm/vcpu.h)
 */

/* Frequency of arch_counter() in Hz, and the name of the source it was learned from. */
u64 arch_counter_hz(void);
const char *arch_counter_source(void);
/*
 * What keeps the host's interrupt for a guest's timer away while the guest has it: its "active" state, or
 * that it is "masked".
 */
const char *arch_timer_state(void);
/* arch_counter() as read by the image's first instructions, before anything was set up. */
u64 arch_boot_counter(void);
/* What the boot CPU calls itself: brand string, or name and revision from its id register. */
const char *arch_cpu_model(void);

/*
 * Wait for an interrupt. Called with interrupts masked; a pending interrupt ends the wait even
 * though it stays masked until the caller unmasks. Must not lose a wake-up that is already pending.
 */
void arch_cpu_idle(void);

/*
 * Send the reschedule IPI to a CPU: it leaves guest or idle and looks at its work. Any context. What
 * the caller stored before is visible to that CPU by the time the interrupt arrives.
 */
void arch_cpu_kick(u32 cpu);

/* Arm this CPU's own one-shot host timer for an absolute arch_counter() value; ~0 = off. IRQs off. */
void arch_tick_arm(u64 deadline);

/* End the machine: code reaches the harness where the machine allows it. */
__noreturn void arch_machine_exit(int code);
/* Returns, after one line, where nothing can reset the machine. */
void arch_machine_reboot(void);

/* Stop every other CPU (best effort, for panic). Any context. */
void arch_stop_others(void);

/* Backtrace of the caller: return addresses into pc[], newest first; returns how many. */
unsigned int arch_backtrace(unsigned long *pc, unsigned int max);

/* Start CPU `cpu` of platform.cpus[]; returns once it runs C and is online, or -errno. Boot CPU only. */
int arch_cpu_start(u32 cpu);

/* Map a device register window; returns its address. Boot CPU or under mm lock; never from an IRQ. */
volatile void *arch_map_device(paddr_t pa, u64 size);

#endif
