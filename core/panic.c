/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of the line: say what happened, where, and how control got there, then end the machine.
 * Takes no lock and trusts nothing that may be the cause; a panic inside a panic says one line.
 */
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>

#include "core.h"

#define BACKTRACE_MAX 24

/* Where the image begins (linker script). */
extern const char __image_start[];

/* CPU that panicked, plus 1; the first one to write it tells its story. */
static u32 panic_owner;

void print_backtrace(void)
{
	unsigned long pc[BACKTRACE_MAX];
	unsigned int n = arch_backtrace(pc, BACKTRACE_MAX);

	printk("backtrace, build %s, image at 0x%lx:\n", build_id(),
	       (unsigned long)__image_start - ARCH_LINK_ADDRESS);
	for (unsigned int i = 0; i < n; i++)
		printk("  #%u 0x%lx\n", i, pc[i]);
}

static __noreturn void halt(void)
{
	for (;;)
		cpu_relax();
}

/* True for the first CPU; any later one stops here, or ends the machine if it is the same one. */
static void claim_panic(const char *fmt, va_list ap)
{
	u32 none = 0;

	if (atomic_cmpxchg_full(&panic_owner, &none, cpu_id() + 1))
		return;
	if (none != cpu_id() + 1)
		halt();
	printk("\npanic inside a panic: ");
	vprintk(fmt, ap);
	printk("\n");
	arch_machine_exit(EXIT_CODE_PANIC);
}

void panic(const char *fmt, ...)
{
	va_list ap;

	arch_irq_disable();
	va_start(ap, fmt);
	claim_panic(fmt, ap);
	arch_stop_others();
	console_force_unlock();
	printk("\npanic: CPU %u: ", cpu_id());
	vprintk(fmt, ap);
	printk("\n");
	va_end(ap);
	print_backtrace();
	arch_machine_exit(EXIT_CODE_PANIC);
}

void cannot_start(const char *fmt, ...)
{
	va_list ap;

	do {
		printk("cupel: cannot start: ");
		va_start(ap, fmt);
		vprintk(fmt, ap);
		va_end(ap);
		printk("\n");
	} while (arch_console_next());
	arch_machine_exit(EXIT_CODE_FAILED);
}

/* A fixed value until main() has stirred in the counter: never zero, and with a zero byte. */
unsigned long __stack_chk_guard = 0x00f1c37a5e0d9b24UL;

void __stack_chk_fail(void)
{
	panic("stack smashed in the caller of 0x%lx", (unsigned long)__builtin_return_address(0));
}
