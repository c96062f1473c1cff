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
 * Make the UART console number `which` below PLATFORM_MAX_CONSOLES, beside others. u->base is mapped; what
 * aborts before this returns has changed nothing, and the number can be used for another one.
 */
void polled_console(u32 which, const struct uart_info *u);

#endif
