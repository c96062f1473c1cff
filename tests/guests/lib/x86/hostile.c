/* SPDX-License-Identifier: GPL-2.0-only */
/* The x86 half of hostile.c. */
#include <hostile.h>
#include <xen.h>

/* Refused: an undefined instruction says so. Anything else: INT, which user mode may not use. */
static void call_and_tell(void)
{
	__asm__ volatile("vmmcall\n\t"
			 "cmp %0, %%rax\n\t"
			 "jne 1f\n\t"
			 "ud2\n"
			 "1:\tint $0x80"
			 :
			 : "i"(-XEN_EPERM), "a"(XEN_version), "D"(0UL), "S"(0UL)
			 : "memory");
}

static void go(void *arg)
{
	user_enter(call_and_tell);
}

bool hostile_user_call(void)
{
	struct fault f;

	return try_call(go, NULL, &f) && fault_is_undefined(&f);
}
