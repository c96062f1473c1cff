/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The UARTs of polled.h. Firmware has set line and speed; they are left alone, and only what switches the
 * chip on is written. It must never wait for ever: a chip that does not drain loses characters, and
 * from the second on without being waited for.
 *
 * Arm DDI 0183 (PL011); Arm DEN 0029 (BSA), generic UART; AMD UG1085, UG1087 "UART Module" (Cadence);
 * NXP IMX8MPRM, 17.2 "UART"
 */
#include "polled.h"

#include <asm/io.h>
#include <cupel/arch.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

#include "pl011.h"

#define TX_SPINS    1000000 /* far above what a FIFO of 64 needs at 9600 baud */
#define MAX_ENABLES 3

#define CADENCE_CR	0x00
#define CADENCE_IDR	0x0c
#define CADENCE_SR	0x2c
#define CADENCE_FIFO	0x30
#define CADENCE_CR_RX	0x04
#define CADENCE_CR_RX_X 0x08 /* disable: it has priority */
#define CADENCE_CR_TX	0x10
#define CADENCE_CR_TX_X 0x20
#define CADENCE_SR_RXE	0x02
#define CADENCE_SR_TXF	0x10

#define IMX_URXD	0x00
#define IMX_UTXD	0x40
#define IMX_UCR1	0x80
#define IMX_UCR2	0x84
#define IMX_UTS		0xb4
#define IMX_URXD_ERR	0x4000
#define IMX_UCR1_EN	0x0001
#define IMX_UCR1_IRQS	0x2240 /* TRDYEN, RRDYEN, TXMPTYEN */
#define IMX_UCR2_SRST	0x0001 /* 0 resets */
#define IMX_UCR2_RXEN	0x0002
#define IMX_UCR2_TXEN	0x0004
#define IMX_UCR2_WS	0x0020 /* 8 bits */
#define IMX_UCR2_IRTS	0x4000 /* nobody has to ask for what we send */
#define IMX_UTS_TXFULL	0x0010
#define IMX_UTS_RXEMPTY 0x0020

/* What switches a chip on: one register each, first `clear`, then `set`. All zero: no more. */
struct enable {
	u16 reg, clear, set;
};

static const struct polled_kind {
	u8 status, full,
		empty; /* status: where; which bits say that no more fits in, or nothing is there */
	u8 tx, rx;
	u16 damaged; /* which bits beside a byte say that it is broken, or others are lost */
	struct enable enable[MAX_ENABLES];
} kinds[] = {
	[UART_PL011] = { PL011_FR,
			 PL011_FR_TXFF,
			 PL011_FR_RXFE,
			 PL011_DR,
			 PL011_DR,
			 PL011_DR_ERRORS,
			 { { PL011_IMSC, 0xffff, 0 },
			   { PL011_LCRH, 0, PL011_LCRH_WLEN_8 | PL011_LCRH_FEN },
			   { PL011_CR, 0, PL011_CR_UARTEN | PL011_CR_TXE | PL011_CR_RXE } } },
	/* Whoever made it always has it on, and it has no register for that. */
	[UART_SBSA] = { PL011_FR,
			PL011_FR_TXFF,
			PL011_FR_RXFE,
			PL011_DR,
			PL011_DR,
			PL011_DR_ERRORS,
			{ { PL011_IMSC, 0xffff, 0 } } },
	[UART_CADENCE] = { CADENCE_SR,
			   CADENCE_SR_TXF,
			   CADENCE_SR_RXE,
			   CADENCE_FIFO,
			   CADENCE_FIFO,
			   0,
			   { { CADENCE_IDR, 0, 0x1fff },
			     { CADENCE_CR, CADENCE_CR_RX_X | CADENCE_CR_TX_X,
			       CADENCE_CR_RX | CADENCE_CR_TX } } },
	[UART_IMX] = { IMX_UTS,
		       IMX_UTS_TXFULL,
		       IMX_UTS_RXEMPTY,
		       IMX_UTXD,
		       IMX_URXD,
		       IMX_URXD_ERR,
		       { { IMX_UCR1, IMX_UCR1_IRQS, IMX_UCR1_EN },
			 { IMX_UCR2, 0,
			   IMX_UCR2_SRST | IMX_UCR2_RXEN | IMX_UCR2_TXEN | IMX_UCR2_WS |
				   IMX_UCR2_IRTS } } },
};

struct polled {
	struct console console;
	volatile char *base;
	const struct polled_kind *kind;
	u32 patience; /* under the console's lock */
	int early; /* typed before it was switched on, which may empty its FIFO; -1: nothing */
};

static void polled_putc(struct console *c, char ch)
{
	struct polled *p = c->priv;
	u32 left = p->patience;

	while ((mmio_read32(p->base + p->kind->status) & p->kind->full) && left)
		left--;
	p->patience = left ? TX_SPINS : 1;
	mmio_write32(p->base + p->kind->tx, (u8)ch);
}

static int receive(const struct polled *p)
{
	u32 got;

	if (mmio_read32(p->base + p->kind->status) & p->kind->empty)
		return -1;
	got = mmio_read32(p->base + p->kind->rx);
	return got & p->kind->damaged ? CONSOLE_DAMAGED : got & 0xff;
}

static int polled_getc(struct console *c)
{
	struct polled *p = c->priv;
	int ch = p->early;

	if (ch < 0)
		return receive(p);
	p->early = -1;
	return ch;
}

static void switch_on(struct polled *p)
{
	const struct enable *e = p->kind->enable;

	for (u32 i = 0; i < MAX_ENABLES && (e[i].clear | e[i].set); i++) {
		volatile char *reg = p->base + e[i].reg;
		u32 now = mmio_read32(reg), want = (now & ~(u32)e[i].clear) | e[i].set;

		/* What firmware did is not done again: a running PL011's line control must not be written. */
		if (now == want)
			continue;
		if (p->early < 0)
			p->early = receive(p);
		mmio_write32(reg, want);
	}
}

void polled_console(u32 which, const struct uart_info *u)
{
	static struct polled consoles[PLATFORM_MAX_CONSOLES];
	struct polled *p = &consoles[which];

	p->base = (volatile char *)u->base;
	p->kind = &kinds[u->kind];
	p->patience = TX_SPINS;
	p->console = (struct console){
		.name = "uart", .putc = polled_putc, .getc = polled_getc, .priv = p
	};
	p->early = -1;
	switch_on(p);
	(void)mmio_read32(p->base + p->kind->status);
	console_register(&p->console);
}
