/* SPDX-License-Identifier: GPL-2.0-only */
/* The 16550 UART as a console. Registers: National Semiconductor PC16550D data sheet, 8.0. */
#ifndef DRIVERS_NS16550_H
#define DRIVERS_NS16550_H

#include <cupel/platform.h>
#include <cupel/types.h>

#define NS16550_RBR 0 /* read: received byte */
#define NS16550_THR 0 /* write: byte to send */
#define NS16550_DLL 0 /* with LCR.DLAB: divisor */
#define NS16550_IER 1
#define NS16550_DLM 1
#define NS16550_IIR 2
#define NS16550_FCR 2
#define NS16550_LCR 3
#define NS16550_MCR 4
#define NS16550_LSR 5
#define NS16550_MSR 6
#define NS16550_SCR 7

#define NS16550_IER_THRI     0x02
#define NS16550_FCR_ENABLE   0x01
#define NS16550_FCR_CLEAR_RX 0x02
#define NS16550_FCR_CLEAR_TX 0x04
#define NS16550_LCR_8N1	     0x03
#define NS16550_LCR_DLAB     0x80
#define NS16550_MCR_DTR	     0x01
#define NS16550_MCR_RTS	     0x02
#define NS16550_MCR_OUT2     0x08 /* gates the interrupt line on a PC */
#define NS16550_LSR_DR	     0x01
#define NS16550_LSR_OE	     0x02 /* bytes were lost */
#define NS16550_LSR_BROKEN   0x1c /* parity, framing, break: of the byte that is read next */
#define NS16550_LSR_THRE     0x20
#define NS16550_LSR_TEMT     0x40

#define NS16550_BAUD 115200

/* The mini-UART: BCM2835 ARM Peripherals, 2.1 and 2.2.2. What switches it on lies below its base. */
#define NS16550_BCM_ENABLES	0x3c
#define NS16550_BCM_ENABLE_UART 0x01
#define NS16550_BCM_CNTL	0x20
#define NS16550_BCM_CNTL_BOTH	0x03

/* How a register is reached; `reg` is 0..7. Port access comes from the architecture that has ports. */
struct ns16550_bus {
	u8 (*read)(const struct uart_info *u, u32 reg);
	void (*write)(const struct uart_info *u, u32 reg, u8 value);
};

/* Registers in memory, `reg_shift` apart, `reg_width` bytes wide; u->base is mapped. */
extern const struct ns16550_bus ns16550_mmio;

/*
 * Make the UART console number `which` below PLATFORM_MAX_CONSOLES; a second call of that number moves it to
 * another UART. Polled, no interrupts. clock_hz = 0 keeps the speed that firmware set.
 */
void ns16550_console(u32 which, const struct uart_info *u, const struct ns16550_bus *bus);
/* The same for Raspberry Pi's mini-UART, whose whole page is mapped: a 16550 once it has been switched on. */
void ns16550_bcm_mini(u32 which, const struct uart_info *u);

#endif
