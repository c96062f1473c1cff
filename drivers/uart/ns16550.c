/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The 16550 as a polled console, usable before memory management and from a panic. Must never wait
 * for ever: a UART that isn't there, or is stuck, costs a bounded spin a character.
 */
#include <asm/io.h>
#include <cupel/printk.h>

#include "ns16550.h"

/* Far beyond the 87 us a character takes at 115200 baud. */
#define SPIN_LIMIT 200000

static struct ns16550 {
	struct console console;
	struct uart_info uart;
	const struct ns16550_bus *bus;
	u32 patience; /* under the console's lock; none for a UART that hung */
	u8 input_errors; /* since it was last told; reading clears them, whatever it was read for */
	int early; /* typed before the FIFO was switched on, which empties it; -1: nothing */
} consoles[PLATFORM_MAX_CONSOLES];

static volatile void *mmio_reg(const struct uart_info *u, u32 reg)
{
	return (volatile void *)(u->base + ((u64)reg << u->reg_shift));
}

static u8 mmio_bus_read(const struct uart_info *u, u32 reg)
{
	if (u->reg_width == 4)
		return (u8)mmio_read32(mmio_reg(u, reg));
	if (u->reg_width == 2)
		return (u8)mmio_read16(mmio_reg(u, reg));
	return mmio_read8(mmio_reg(u, reg));
}

static void mmio_bus_write(const struct uart_info *u, u32 reg, u8 value)
{
	if (u->reg_width == 4)
		mmio_write32(mmio_reg(u, reg), value);
	else if (u->reg_width == 2)
		mmio_write16(mmio_reg(u, reg), value);
	else
		mmio_write8(mmio_reg(u, reg), value);
}

const struct ns16550_bus ns16550_mmio = { mmio_bus_read, mmio_bus_write };

static u8 line_status(struct ns16550 *n)
{
	u8 lsr = n->bus->read(&n->uart, NS16550_LSR);

	if (lsr == 0xff) /* nothing there */
		return NS16550_LSR_THRE;
	n->input_errors |= lsr & (NS16550_LSR_OE | NS16550_LSR_BROKEN);
	return lsr;
}

static void console_putc(struct console *c, char ch)
{
	struct ns16550 *n = c->priv;
	u32 left = n->patience;

	while (!(line_status(n) & NS16550_LSR_THRE) && left)
		left--;
	n->patience = left ? SPIN_LIMIT : 0;
	n->bus->write(&n->uart, NS16550_THR, (u8)ch);
}

static int receive(struct ns16550 *n)
{
	u8 errors;

	if (!(line_status(n) & NS16550_LSR_DR))
		return -1;
	errors = n->input_errors;
	n->input_errors = 0;
	if (!errors)
		return n->bus->read(&n->uart, NS16550_RBR);
	if (errors & NS16550_LSR_BROKEN)
		n->bus->read(&n->uart, NS16550_RBR);
	return CONSOLE_DAMAGED;
}

static int console_getc_16550(struct console *c)
{
	struct ns16550 *n = c->priv;
	int ch = n->early;

	if (ch < 0)
		return receive(n);
	n->early = -1;
	return ch;
}

static void set_speed(const struct uart_info *u, const struct ns16550_bus *bus)
{
	u32 divisor = (u->clock_hz + 8 * NS16550_BAUD) / (16 * NS16550_BAUD);

	if (!divisor)
		return;
	bus->write(u, NS16550_LCR, NS16550_LCR_8N1 | NS16550_LCR_DLAB);
	bus->write(u, NS16550_DLL, (u8)divisor);
	bus->write(u, NS16550_DLM, (u8)(divisor >> 8));
}

void ns16550_console(u32 which, const struct uart_info *u, const struct ns16550_bus *bus)
{
	struct ns16550 *n = &consoles[which];
	bool first = !n->console.priv;

	bus->write(u, NS16550_IER, 0);
	set_speed(u, bus);
	/* Some models really cut bytes to the word length that reset left: always 8N1. */
	bus->write(u, NS16550_LCR, NS16550_LCR_8N1);
	n->uart = *u;
	n->bus = bus;
	if (first || n->early < 0)
		n->early = receive(n);
	bus->write(u, NS16550_FCR, NS16550_FCR_ENABLE);
	bus->write(u, NS16550_MCR, NS16550_MCR_DTR | NS16550_MCR_RTS);
	if (!first)
		return;
	n->patience = SPIN_LIMIT;
	n->console = (struct console){
		.name = "ns16550", .putc = console_putc, .getc = console_getc_16550, .priv = n
	};
	console_register(&n->console);
}

void ns16550_bcm_mini(u32 which, const struct uart_info *u)
{
	volatile char *base = (volatile char *)u->base;
	volatile char *enables = base - NS16550_BCM_ENABLES;

	mmio_write32(enables, mmio_read32(enables) | NS16550_BCM_ENABLE_UART);
	mmio_write32(base + NS16550_BCM_CNTL, NS16550_BCM_CNTL_BOTH);
	ns16550_console(which, u, &ns16550_mmio);
}
