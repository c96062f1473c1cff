/* SPDX-License-Identifier: GPL-2.0-only */
/* What fault.c needs of the architecture. */
#ifndef FAULT_H
#define FAULT_H

#include <arch_fault.h>
#include <cupel/types.h>

struct fault_mode {
	const char *name;
	void (*run)(void);
};

/* Do what must end the VM: coming back in any way is a failure. */
void must_stop(void (*fn)(void *arg), u64 arg);

/* Misbehaviour that only this architecture has. */
extern const struct fault_mode fault_modes[];
extern const u32 fault_nr_modes;

/* Undefined instructions, each as code that can be called. */
extern const void *const fault_garbage[];
extern const u32 fault_nr_garbage;

/* Makes a hypercall in user mode, then faults. */
void fault_user_code(void);

/* From here on no exception finds a handler. */
void drop_vectors(void);

#endif
