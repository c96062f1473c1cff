/* SPDX-License-Identifier: GPL-2.0-only */
/* The serial port that a guest sees at 3F8h. */
#ifndef ASM_V16550_H
#define ASM_V16550_H

struct vm;

#define V16550_PORT 0x3f8

int v16550_create(struct vm *vm);
void v16550_destroy(struct vm *vm);

#endif
