/* SPDX-License-Identifier: GPL-2.0-only */
/* What poke.c needs of the architecture, and offers it. */
#ifndef POKE_H
#define POKE_H

#include <cupel/types.h>

struct poke_window {
	u64 base, size;
	u32 max_shift; /* log2 of the widest access */
	bool writable;
};
/* One of those that this machine has, by a random number. */
const struct poke_window *poke_window(u64 r);

u64 poke_random(void);
u64 poke_value(void);

/* One random access to something that only this architecture has. May fault. */
void poke_arch(void);

/* By instructions that a hypervisor can be expected to know. */
void poke_write(u64 addr, u32 width, u64 value);
void poke_read(u64 addr, u32 width);

#endif
