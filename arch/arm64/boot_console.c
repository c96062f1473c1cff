/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which UARTs are consoles: what firmware says (or, if it names none, a PL011 that is found), and those that
 * the command line names. A word that makes no sense says so and changes nothing.
 */
#include "../../drivers/uart/ns16550.h"
#include "../../drivers/uart/pl011.h"
#include "../../drivers/uart/polled.h"

#include <asm/boot.h>
#include <asm/io.h>
#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <string.h>

struct uart_info boot_uarts[PLATFORM_MAX_CONSOLES];
u32 boot_nr_uarts;

static void start_uart(void *arg)
{
	const struct uart_info *u = arg;

	if (u->kind == UART_16550)
		ns16550_console(boot_nr_uarts, u, &ns16550_mmio);
	else if (u->kind == UART_BCM_MINI)
		ns16550_bcm_mini(boot_nr_uarts, u);
	else
		polled_console(boot_nr_uarts, u);
}

static bool map_uart(const struct uart_info *u)
{
	if (u->base % (u->kind == UART_16550 ? u->reg_width : 4))
		return false;
	/* What switches it on lies below it, in the page that they share. */
	if (u->kind == UART_BCM_MINI && u->base % PAGE_SIZE < NS16550_BCM_ENABLES)
		return false;
	return arch_map_device(u->base, BOOT_UART_SIZE);
}

/* It is a console from now on, beside those that are there: NULL. Or why it can't be. */
static const char *use_uart(struct uart_info *u)
{
	for (u32 i = 0; i < boot_nr_uarts; i++) {
		if (boot_uarts[i].base == u->base)
			return NULL;
	}
	if (boot_nr_uarts == PLATFORM_MAX_CONSOLES)
		return "one too many";
	if (!map_uart(u))
		return "no device is there";
	if (!boot_try(start_uart, u))
		return "no device is there";
	boot_uarts[boot_nr_uarts++] = *u;
	return NULL;
}

struct identity {
	paddr_t base;
	u32 id;
};

static void read_identity(void *arg)
{
	struct identity *i = arg;

	for (u32 byte = 0; byte < 4; byte++)
		i->id |= (mmio_read32((volatile char *)i->base + PL011_PCELLID0 + 4 * byte) & 0xff)
			 << 8 * byte;
}

/* Looked at without writing anything. */
static bool is_pl011(paddr_t base)
{
	struct identity i = { .base = base };

	return arch_map_device(base, PAGE_SIZE) && boot_try(read_identity, &i) &&
	       i.id == PL011_PCELLID;
}

/*
 * That there is RAM where it names a UART, too, is only believed of a tree if the UART is not seen; mm_init()
 * says what is wrong then.
 */
static const char *use_named(struct uart_info *u)
{
	if (u->kind == UART_NONE)
		return platform.uart_note;
	if (boot_is_memory(u->base, BOOT_UART_SIZE) && !is_pl011(u->base))
		return "memory is there";
	return use_uart(u);
}

/* No harm is done when there is no UART at all: the command line may still name one. */
void boot_console_firmware(void)
{
	struct uart_info guess = { .kind = UART_PL011 };
	const char *why = use_named(&platform.uart);

	if (boot_nr_uarts)
		return;
	boot_early_map_uarts();
	guess.base = boot_early_uart(0);
	if (guess.base)
		(void)use_uart(&guess);
	if (why)
		printk("firmware's console: %s\n", why);
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

/* A word is not worth a byte of memory; where that is is not known when firmware was refused. */
static const char *use_said(struct uart_info *u)
{
	if (boot_is_memory(u->base, BOOT_UART_SIZE))
		return "memory is there";
	if (!platform.nr_mem && !is_pl011(u->base))
		return "memory is there";
	return use_uart(u);
}

static bool add_console(const char *key, const char *word, void *arg)
{
	struct uart_info u = { .kind = UART_NONE };
	const char *why;

	if (strcmp(key, "console"))
		return true;
	if (!parse_console(word, &u)) {
		printk("console=%s is not known: pl011:N, sbsa:N, mmio:N, mmio32:N, mini:N, cadence:N, imx:N\n",
		       word);
		return true;
	}
	why = use_said(&u);
	if (why)
		printk("console=%s: %s\n", word, why);
	return true;
}

void boot_console_cmdline(void)
{
	cmdline_walk(add_console, NULL);
}
