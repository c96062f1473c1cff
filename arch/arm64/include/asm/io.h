/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device registers. One access each, in program order among device accesses; no ordering against
 * normal memory is implied: a caller that needs it says so with a dsb. A plain base register is used
 * so that a hypervisor below gets a valid syndrome (Arm ARM, ISS encoding of a Data Abort, ISV).
 */
#ifndef ASM_IO_H
#define ASM_IO_H

#include <cupel/types.h>

#define MMIO_ACCESSORS(bits, insn_suffix, width)                           \
	static inline u##bits mmio_read##bits(const volatile void *reg)    \
	{                                                                  \
		u##bits v;                                                 \
		__asm__ volatile("ldr" insn_suffix " %" width "0, [%1]"    \
				 : "=r"(v)                                 \
				 : "r"(reg)                                \
				 : "memory");                              \
		return v;                                                  \
	}                                                                  \
	static inline void mmio_write##bits(volatile void *reg, u##bits v) \
	{                                                                  \
		__asm__ volatile("str" insn_suffix " %" width "0, [%1]"    \
				 :                                         \
				 : "rZ"(v), "r"(reg)                       \
				 : "memory");                              \
	}

MMIO_ACCESSORS(8, "b", "w")
MMIO_ACCESSORS(16, "h", "w")
MMIO_ACCESSORS(32, "", "w")
MMIO_ACCESSORS(64, "", "x")
#undef MMIO_ACCESSORS

#endif
