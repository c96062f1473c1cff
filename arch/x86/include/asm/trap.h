/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exceptions taken by the hypervisor itself. One that nobody expected ends in panic(); a caller that
 * expects one runs the access under x86_try().
 */
#ifndef ASM_X86_TRAP_H
#define ASM_X86_TRAP_H

#include <cupel/types.h>

/* Exception vectors: APM vol. 2, 8.2. */
#define X86_EXC_DE  0
#define X86_EXC_DB  1
#define X86_EXC_NMI 2
#define X86_EXC_BP  3
#define X86_EXC_OF  4
#define X86_EXC_BR  5
#define X86_EXC_UD  6
#define X86_EXC_NM  7
#define X86_EXC_DF  8
#define X86_EXC_TS  10
#define X86_EXC_NP  11
#define X86_EXC_SS  12
#define X86_EXC_GP  13
#define X86_EXC_PF  14
#define X86_EXC_MF  16
#define X86_EXC_AC  17
#define X86_EXC_MC  18
#define X86_EXC_XF  19

/* #PF error code: APM vol. 2, 8.4.2. */
#define X86_PF_PRESENT BIT(0)
#define X86_PF_WRITE   BIT(1)
#define X86_PF_USER    BIT(2)
#define X86_PF_RESV    BIT(3)
#define X86_PF_FETCH   BIT(4)

/* As entry.S pushes it, lowest address first. */
struct x86_trap_frame {
	u64 r15, r14, r13, r12, r11, r10, r9, r8;
	u64 rbp, rdi, rsi, rdx, rcx, rbx, rax;
	u64 vector, error;
	u64 rip, cs, rflags, rsp, ss;
};

struct x86_trap_info {
	u32 vector;
	u64 error;
	u64 cr2;
	u64 rip;
};

/*
 * Run fn(arg); true when it came to its end, false when an exception ended it (*info says which).
 * Thread context, not nested. fn must not hold a lock across the access.
 */
bool x86_try(void (*fn)(void *arg), void *arg, struct x86_trap_info *info);

#endif
