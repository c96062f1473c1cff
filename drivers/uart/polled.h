/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * UARTs that are nothing but a status word with "full" and "empty" in it and a data register: PL011, SBSA's
 * generic UART, Cadence, i.MX. As consoles, polled.
 */
#ifndef DRIVERS_UART_POLLED_H
#define DRIVERS_UART_POLLED_H

#include <cupel/types.h>

struct uart_info;

/*
 * Make the UART a console beside those that are there already; one that is one already stays as it is.
 * u->base is mapped. False when there are two already.
 */
bool polled_console(const struct uart_info *u);

#endif
