/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which UART is the console: what the device tree's stdout-path says, unless the command line says
 * otherwise. A word that makes no sense leaves the former in place and says so.
 */
#include "../../drivers/uart/ns16550.h"
#include "../../drivers/uart/pl011.h"

#include <asm/boot.h>
#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <string.h>

static const struct uart_info early_guess = { .kind = UART_PL011, .base = CONFIG_EARLY_PL011 };

static bool use_uart(const struct uart_info *u)
{
	switch (u->kind) {
	case UART_PL011: return pl011_console(u);
	case UART_16550:
		if (!arch_map_device(u->base, 8UL << u->reg_shift))
			return false;
		ns16550_console(u, &ns16550_mmio);
		return true;
	case UART_BCM_MINI:
	case UART_CADENCE:
	case UART_IMX:
	case UART_16550_PIO:
	case UART_NONE: break;
	}
	return false;
}

void boot_console_firmware(void)
{
	if (!use_uart(&platform.uart) && !use_uart(&early_guess))
		boot_early_puts("Cupel: no console that firmware names can be used\r\n");
}

/* "pl011:0x09000000", "mmio:…" and "mmio32:…" (a 16550 with registers 1 and 4 bytes apart) */
static bool parse_console(const char *s, struct uart_info *u)
{
	static const struct {
		const char *prefix;
		struct uart_info uart;
	} kinds[] = {
		{ "pl011:", { .kind = UART_PL011, .reg_width = 4 } },
		{ "mmio:", { .kind = UART_16550, .reg_width = 1 } },
		{ "mmio32:", { .kind = UART_16550, .reg_width = 4, .reg_shift = 2 } },
	};

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t n = strlen(kinds[i].prefix);

		if (strncmp(s, kinds[i].prefix, n))
			continue;
		*u = kinds[i].uart;
		return !parse_u64(s + n, &u->base);
	}
	return false;
}

static bool in_ram(paddr_t pa)
{
	for (u32 i = 0; i < platform.nr_mem; i++) {
		if (pa - platform.mem[i].base < platform.mem[i].size)
			return true;
	}
	return false;
}

void boot_console_cmdline(void)
{
	const char *word = cmdline_get("console");
	struct uart_info u = { .kind = UART_NONE };

	if (!word)
		return;
	if (!parse_console(word, &u)) {
		printk("console=%s is not known: pl011:N, mmio:N or mmio32:N\n", word);
	} else if (in_ram(u.base) || !use_uart(&u)) {
		printk("console=%s: no device can be there\n", word);
	} else {
		platform.uart = u;
	}
}
