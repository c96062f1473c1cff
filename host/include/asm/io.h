/* SPDX-License-Identifier: GPL-2.0-only */
/* Device registers of the host build: whatever test drives a chip is the chip. */
#ifndef HOST_ASM_IO_H
#define HOST_ASM_IO_H

#include <cupel/types.h>

/* bytes: 1, 2 or 4. Bodies in the test. */
u32 host_mmio_read(const volatile void *reg, u32 bytes);
void host_mmio_write(volatile void *reg, u32 value, u32 bytes);

#define MMIO_ACCESSORS(bits)                                               \
	static inline u##bits mmio_read##bits(const volatile void *reg)    \
	{                                                                  \
		return (u##bits)host_mmio_read(reg, (bits) / 8);           \
	}                                                                  \
	static inline void mmio_write##bits(volatile void *reg, u##bits v) \
	{                                                                  \
		host_mmio_write(reg, v, (bits) / 8);                       \
	}

MMIO_ACCESSORS(8)
MMIO_ACCESSORS(16)
MMIO_ACCESSORS(32)
#undef MMIO_ACCESSORS

#endif
