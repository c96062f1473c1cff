/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which UART is the console: COM1 from the first instruction on; then what the command line says, or
 * else the ACPI SPCR table. A word that makes no sense leaves COM1 in place and says so.
 */
#include <asm/io.h>
#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/printk.h>
#include <string.h>

#include "../../drivers/uart/ns16550.h"
#include "boot.h"

#define COM1	   0x3f8
#define UART_CLOCK 1843200 /* of every PC's COM ports */

static u8 port_read(const struct uart_info *u, u32 reg)
{
	return inb((u16)(u->base + reg));
}

static void port_write(const struct uart_info *u, u32 reg, u8 value)
{
	outb(value, (u16)(u->base + reg));
}

static const struct ns16550_bus port_bus = { port_read, port_write };

static const struct uart_info com1 = {
	.kind = UART_16550_PIO,
	.base = COM1,
	.reg_width = 1,
	.clock_hz = UART_CLOCK,
};

static const struct {
	const char *name;
	u16 port;
} com_ports[] = { { "com1", 0x3f8 }, { "com2", 0x2f8 }, { "com3", 0x3e8 }, { "com4", 0x2e8 } };

void x86_console_early(void)
{
	ns16550_console(0, &com1, &port_bus);
}

/* "com1".."com4", "port:0x2f8", "mmio:0xfe030000", "mmio32:0xfe030000" */
static bool parse_console(const char *s, struct uart_info *u)
{
	*u = com1;
	for (u32 i = 0; i < ARRAY_SIZE(com_ports); i++) {
		if (!strcmp(s, com_ports[i].name)) {
			u->base = com_ports[i].port;
			return true;
		}
	}
	if (!strncmp(s, "port:", 5))
		return !parse_u64(s + 5, &u->base) && u->base <= 0xfff8;
	u->kind = UART_16550;
	u->clock_hz = 0;
	if (!strncmp(s, "mmio:", 5))
		return !parse_u64(s + 5, &u->base) && u->base;
	u->reg_shift = 2;
	u->reg_width = 4;
	return !strncmp(s, "mmio32:", 7) && !parse_u64(s + 7, &u->base) && u->base;
}

static bool is_com1(const struct uart_info *u)
{
	return u->kind == com1.kind && u->base == com1.base;
}

/* Registers in the loader's page map, and not where RAM is; nobody knows where that is if firmware does not say. */
static bool is_device(paddr_t base, u64 size)
{
	u64 limit = x86_boot_map_size();

	for (u32 i = 0; i < platform.nr_mem; i++) {
		const struct mem_range *m = &platform.mem[i];

		if (base < m->base + m->size && base + size > m->base)
			return false;
	}
	return platform.nr_mem && base < limit && size <= limit - base;
}

static u64 uart_size(const struct uart_info *u)
{
	return 8UL << u->reg_shift;
}

static void stay_on_com1(void)
{
	printk("console: 0x%llx is not a device address, staying on COM1\n",
	       (unsigned long long)platform.uart.base);
	platform.uart = com1;
}

void x86_console_choose(void)
{
	const char *word = cmdline_get("console");
	struct uart_info u = platform.uart;

	if (word && !parse_console(word, &u)) {
		printk("console=%s is not known: com1..com4, port:N, mmio:N or mmio32:N\n", word);
		u = com1;
	} else if (!word && u.kind == UART_PL011) {
		printk("SPCR names a PL011, staying on COM1\n");
		u.kind = UART_NONE;
	}
	if (u.kind == UART_NONE)
		u = com1;
	platform.uart = u;
	if (u.kind == UART_16550 && !is_device(u.base, uart_size(&u)))
		stay_on_com1();
	if (is_com1(&platform.uart))
		return;
	printk("console: goes on at %s 0x%llx\n", u.kind == com1.kind ? "port" : "address",
	       (unsigned long long)u.base);
	ns16550_console(0, &u, u.kind == UART_16550 ? &ns16550_mmio : &port_bus);
}

void x86_console_map(void)
{
	const struct uart_info *u = &platform.uart;

	if (u->kind == UART_16550 && !arch_map_device(u->base, uart_size(u))) {
		x86_console_early();
		stay_on_com1();
	}
}

/* COM1, when the console has gone on from there. */
bool arch_console_next(void)
{
	if (is_com1(&platform.uart) || platform.uart.kind == UART_NONE)
		return false;
	x86_console_early();
	platform.uart = com1;
	return true;
}
