/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ways to end the machine: QEMU's isa-debug-exit when the command line says it is there, ACPI soft-off
 * and reset through the fixed registers, and, when all that fails, a halt. Usable from a panic: takes
 * no lock.
 */
#include <asm/cpu.h>
#include <asm/io.h>
#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

#include "boot.h"

#define DEBUG_EXIT_PORT 0xf4
/* TSC ticks; the machine ends a moment after the write, and nothing more should be printed till then. */
#define EXIT_WAIT BIT(31)

/* PM1 control: ACPI 6.5, 4.8.3.2.1 */
#define PM1_SLP_TYP_SHIFT 10
#define PM1_SLP_EN	  BIT32(13)
#define PM1_KEEP	  0x0003 /* SCI_EN, BM_RLD */

#define RESET_CONTROL	   0xcf9 /* of PCs since the PIIX3 */
#define RESET_CONTROL_FULL 0x06
#define KEYBOARD_COMMAND   0x64
#define KEYBOARD_RESET	   0xfe

static __noreturn void halt(void)
{
	for (;;)
		__asm__ volatile("cli; hlt");
}

static void wait_for_the_end(void)
{
	u64 start = arch_counter();

	while (arch_counter() - start < EXIT_WAIT)
		cpu_relax();
}

static void debug_exit(int code)
{
	outl((u32)code, DEBUG_EXIT_PORT);
	wait_for_the_end();
}

static void sleep_port(u32 port, u8 type)
{
	if (port)
		outw((u16)((inw((u16)port) & PM1_KEEP) | (u32)type << PM1_SLP_TYP_SHIFT | PM1_SLP_EN),
		     (u16)port);
}

void arch_machine_exit(int code)
{
	const struct x86_info *x = &platform.x86;

	arch_irq_disable();
	if (cmdline_get("debug-exit"))
		debug_exit(code);
	if (x->has_s5) {
		sleep_port(x->pm1a_port, x->s5_typ_a);
		sleep_port(x->pm1b_port, x->s5_typ_b);
		wait_for_the_end();
	}
	printk("cupel: ended with code %d, halted\n", code);
	halt();
}

static void acpi_reset(void)
{
	const struct x86_info *x = &platform.x86;

	if (x->has_reset && x->reset_is_port)
		outb(x->reset_value, (u16)x->reset_addr);
	else if (x->has_reset && arch_map_device(x->reset_addr, 1))
		mmio_write8(pa_to_va(x->reset_addr), x->reset_value);
}

void arch_machine_reboot(void)
{
	static const struct x86_desc_ptr empty;

	arch_irq_disable();
	acpi_reset();
	outb(RESET_CONTROL_FULL, RESET_CONTROL);
	outb(KEYBOARD_RESET, KEYBOARD_COMMAND);
	/* No IDT: the next exception is a triple fault, which resets the machine. */
	__asm__ volatile("lidt %0; int3" ::"m"(empty));
	halt();
}

/* The interrupt shadow of STI covers HLT: nothing can slip in between (APM vol. 3, STI). */
void arch_cpu_idle(void)
{
	__asm__ volatile("sti; hlt; cli" ::: "memory");
}
