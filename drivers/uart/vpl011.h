/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's PL011. */
#ifndef DRIVERS_UART_VPL011_H
#define DRIVERS_UART_VPL011_H

#include <cupel/vm.h>

#define GUEST_INTID_UART 33

/* Adds the window; the UART belongs to the VM until vpl011_destroy(). */
int vpl011_init(struct vm *vm, const char **why);
/* Prints what the guest left unfinished. */
void vpl011_destroy(struct vm *vm);

#endif
