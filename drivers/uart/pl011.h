/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of the Arm PrimeCell UART PL011 (Arm DDI 0183, chapter 3), for the chip and for its
 * virtual twin alike. Also read by assembly.
 */
#ifndef DRIVERS_UART_PL011_H
#define DRIVERS_UART_PL011_H

#define PL011_DR	0x000
#define PL011_RSR	0x004
#define PL011_FR	0x018
#define PL011_IBRD	0x024
#define PL011_FBRD	0x028
#define PL011_LCRH	0x02c
#define PL011_CR	0x030
#define PL011_IFLS	0x034
#define PL011_IMSC	0x038
#define PL011_RIS	0x03c
#define PL011_MIS	0x040
#define PL011_ICR	0x044
#define PL011_DMACR	0x048
#define PL011_PERIPHID0 0xfe0 /* four bytes, one a word: 0x00341011 for revision r1p5 */
#define PL011_PCELLID0	0xff0 /* four bytes, one a word (Arm DDI 0183, 3.3.16) */

#define PL011_PCELLID 0xb105f00d

#define PL011_DR_ERRORS 0xf00 /* framing, parity, break, overrun: of the byte in bits 0 to 7 */

#define PL011_FR_BUSY 0x08
#define PL011_FR_RXFE 0x10
#define PL011_FR_TXFF 0x20
#define PL011_FR_RXFF 0x40
#define PL011_FR_TXFE 0x80

#define PL011_LCRH_FEN	  0x10
#define PL011_LCRH_WLEN_8 0x60

#define PL011_CR_UARTEN 0x001
#define PL011_CR_TXE	0x100
#define PL011_CR_RXE	0x200

#define PL011_INT_RX 0x010
#define PL011_INT_TX 0x020
#define PL011_INT_RT 0x040

#endif
