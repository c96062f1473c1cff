/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device registers: memory-mapped ones through mmio_*(), ports through in*() and out*(). Windows are
 * mapped uncached (arch_map_device()), so that accesses reach the device in program order.
 */
#ifndef ASM_X86_IO_H
#define ASM_X86_IO_H

#include <cupel/types.h>

#define MMIO_ACCESSORS(bits, insn, reg)                                                            \
	static inline u##bits mmio_read##bits(const volatile void *p)                              \
	{                                                                                          \
		u##bits v;                                                                         \
                                                                                                   \
		__asm__ volatile(insn " %1, %0"                                                    \
				 : "=" reg(v)                                                      \
				 : "m"(*(const volatile u##bits *)p)                               \
				 : "memory");                                                      \
		return v;                                                                          \
	}                                                                                          \
	static inline void mmio_write##bits(volatile void *p, u##bits v)                           \
	{                                                                                          \
		__asm__ volatile(insn " %0, %1" ::reg(v), "m"(*(volatile u##bits *)p) : "memory"); \
	}

MMIO_ACCESSORS(8, "movb", "q")
MMIO_ACCESSORS(16, "movw", "r")
MMIO_ACCESSORS(32, "movl", "r")
MMIO_ACCESSORS(64, "movq", "r")
#undef MMIO_ACCESSORS

#define PORT_ACCESSORS(bits, suffix)                                                        \
	static inline u##bits in##suffix(u16 port)                                          \
	{                                                                                   \
		u##bits v;                                                                  \
                                                                                            \
		__asm__ volatile("in" #suffix " %1, %0" : "=a"(v) : "Nd"(port) : "memory"); \
		return v;                                                                   \
	}                                                                                   \
	static inline void out##suffix(u##bits v, u16 port)                                 \
	{                                                                                   \
		__asm__ volatile("out" #suffix " %0, %1" ::"a"(v), "Nd"(port) : "memory");  \
	}

PORT_ACCESSORS(8, b)
PORT_ACCESSORS(16, w)
PORT_ACCESSORS(32, l)
#undef PORT_ACCESSORS

#endif
