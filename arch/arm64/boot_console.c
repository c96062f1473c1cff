/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which UARTs are consoles: what firmware says (or, if it names none, a PL011 that is found), and those that
 * the command line names. A word that makes no sense says so and changes nothing.
 */
#include "../../drivers/uart/ns16550.h"
#include "../../drivers/uart/polled.h"

#include <asm/boot.h>
#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <string.h>

struct uart_info boot_uarts[BOOT_MAX_UARTS];
u32 boot_nr_uarts;

static bool start_uart(const struct uart_info *u)
{
	switch (u->kind) {
	case UART_PL011:
	case UART_SBSA:
	case UART_CADENCE:
	case UART_IMX: return polled_console(u);
	case UART_16550: ns16550_console(u, &ns16550_mmio); return true;
	case UART_BCM_MINI: ns16550_bcm_mini(u); return true;
	case UART_16550_PIO:
	case UART_NONE: break;
	}
	return false;
}

/* It is a console from now on, beside those that are there. False when it can't be. */
static bool use_uart(const struct uart_info *u)
{
	if (u->kind == UART_NONE || boot_nr_uarts == BOOT_MAX_UARTS ||
	    !arch_map_device(u->base, BOOT_UART_SIZE) || !start_uart(u))
		return false;
	boot_uarts[boot_nr_uarts++] = *u;
	return true;
}

/* No harm is done when there is no UART at all: the command line may still name one. */
void boot_console_firmware(void)
{
	struct uart_info guess = { .kind = UART_PL011 };

	if (use_uart(&platform.uart))
		return;
	boot_early_map_uarts();
	guess.base = boot_early_uart(0);
	if (guess.base)
		(void)use_uart(&guess);
	if (platform.uart_note)
		printk("%s: going on with what is found\n", platform.uart_note);
}

/* "KIND:ADDRESS"; the 16550's registers are one or four bytes apart. */
static bool parse_console(const char *s, struct uart_info *u)
{
	static const struct {
		char prefix[9];
		u8 kind, reg_width, reg_shift;
	} kinds[] = {
		{ "pl011:", UART_PL011 },	 { "mmio:", UART_16550, 1 },
		{ "mmio32:", UART_16550, 4, 2 }, { "mini:", UART_BCM_MINI, 4, 2 },
		{ "cadence:", UART_CADENCE },	 { "imx:", UART_IMX },
		{ "sbsa:", UART_SBSA },
	};

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t n = strlen(kinds[i].prefix);

		if (strncmp(s, kinds[i].prefix, n))
			continue;
		u->kind = kinds[i].kind;
		u->reg_width = kinds[i].reg_width;
		u->reg_shift = kinds[i].reg_shift;
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

static bool add_console(const char *key, const char *word, void *arg)
{
	struct uart_info u = { .kind = UART_NONE };

	if (strcmp(key, "console"))
		return true;
	if (!parse_console(word, &u))
		printk("console=%s is not known: pl011:N, sbsa:N, mmio:N, mmio32:N, mini:N, cadence:N, imx:N\n",
		       word);
	else if (in_ram(u.base) || !use_uart(&u))
		printk("console=%s: no device can be there\n", word);
	return true;
}

void boot_console_cmdline(void)
{
	cmdline_walk(add_console, NULL);
}
