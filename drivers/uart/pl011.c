/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PL011 as a console, polled. Firmware has set line and baud rate; they are left alone. It must
 * never wait for ever: a chip that does not drain loses characters instead of stopping the machine.
 */
#include "pl011.h"

#include <asm/io.h>
#include <cupel/arch.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

#define TX_SPINS 1000000 /* far above what a FIFO of 32 needs at 9600 baud */

static volatile void *reg(volatile void *base, u32 offset)
{
	return (volatile char *)base + offset;
}

static void pl011_putc(struct console *c, char ch)
{
	for (u32 i = 0; i < TX_SPINS; i++) {
		if (!(mmio_read32(reg(c->priv, PL011_FR)) & PL011_FR_TXFF))
			break;
		cpu_relax();
	}
	mmio_write32(reg(c->priv, PL011_DR), (u8)ch);
}

static int pl011_getc(struct console *c)
{
	if (mmio_read32(reg(c->priv, PL011_FR)) & PL011_FR_RXFE)
		return -1;
	return mmio_read32(reg(c->priv, PL011_DR)) & 0xff;
}

static struct console the_console = {
	.name = "pl011",
	.putc = pl011_putc,
	.getc = pl011_getc,
};

bool pl011_console(const struct uart_info *u)
{
	volatile void *base = arch_map_device(u->base, PAGE_SIZE);
	bool first;

	if (!base)
		return false;
	mmio_write32(reg(base, PL011_IMSC), 0);
	mmio_write32(reg(base, PL011_CR), mmio_read32(reg(base, PL011_CR)) | PL011_CR_UARTEN |
						  PL011_CR_TXE | PL011_CR_RXE);
	first = !the_console.priv;
	the_console.priv = (void *)base;
	if (first)
		console_register(&the_console);
	return true;
}
