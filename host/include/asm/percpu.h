/* SPDX-License-Identifier: GPL-2.0-only */
/* The per-CPU offset of the host build: a thread-local variable. */
#ifndef ASM_HOST_PERCPU_H
#define ASM_HOST_PERCPU_H

extern __thread unsigned long host_percpu_offset;

static inline unsigned long this_cpu_offset(void)
{
	return host_percpu_offset;
}

static inline void set_this_cpu_offset(unsigned long off)
{
	host_percpu_offset = off;
}

#endif
