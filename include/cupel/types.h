/* SPDX-License-Identifier: GPL-2.0-only */
/* Basic types and the handful of macros every room uses. Nothing here may need an arch. */
#ifndef CUPEL_TYPES_H
#define CUPEL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

typedef u64 paddr_t; /* machine-physical address */
typedef u64 gpaddr_t; /* guest-physical address (IPA on arm64) */

#define PAGE_SHIFT 12
#define PAGE_SIZE  (1UL << PAGE_SHIFT)
#define PAGE_MASK  (~(PAGE_SIZE - 1))

#define CACHE_LINE 64

#define KIB(n) ((u64)(n) << 10)
#define MIB(n) ((u64)(n) << 20)
#define GIB(n) ((u64)(n) << 30)

#define BIT(n)		(1UL << (n))
#define BIT32(n)	(1U << (n))
#define GENMASK(hi, lo) (((~0UL) << (lo)) & (~0UL >> (63 - (hi))))

#define ARRAY_SIZE(a)	   (sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(x, a)	   (((x) + ((a) - 1)) & ~((typeof(x))(a) - 1))
#define ALIGN_DOWN(x, a)   ((x) & ~((typeof(x))(a) - 1))
#define IS_ALIGNED(x, a)   (((x) & ((typeof(x))(a) - 1)) == 0)
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))

#define min(a, b)                   \
	({                          \
		typeof(a) a_ = (a); \
		typeof(b) b_ = (b); \
		a_ < b_ ? a_ : b_;  \
	})
#define max(a, b)                   \
	({                          \
		typeof(a) a_ = (a); \
		typeof(b) b_ = (b); \
		a_ > b_ ? a_ : b_;  \
	})

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define __packed	    __attribute__((packed))
#define __aligned(n)	    __attribute__((aligned(n)))
#define __cacheline_aligned __aligned(CACHE_LINE)
#define __section(s)	    __attribute__((section(s)))
#define __used		    __attribute__((used))
#define __noreturn	    __attribute__((noreturn))
#define __noinline	    __attribute__((noinline))
/* Without the stack protector: for a measured function that keeps nothing but words on its stack. */
#define __hot_no_guard __attribute__((no_stack_protector))
#undef __always_inline /* the C library of the host build has its own */
#define __always_inline inline __attribute__((always_inline))
#define __printf(f, a)	__attribute__((format(printf, f, a)))
#define __must_check	__attribute__((warn_unused_result))
#define __cold		__attribute__((cold))

#endif
