/* SPDX-License-Identifier: GPL-2.0-only */
/* What hostile.c needs of the architecture. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <cupel/types.h>

/* Make a hypercall of Xen's ABI in user mode; true when it was refused as the architecture has it. */
bool hostile_user_call(void);

#endif
