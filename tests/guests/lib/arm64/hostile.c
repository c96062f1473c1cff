/* SPDX-License-Identifier: GPL-2.0-only */
/* The arm64 half of hostile.c. */
#include <hostile.h>
#include <xen.h>

/* HVC is undefined at EL0 (Arm ARM C6.2.135). SVC: it came back. */
static void call_and_come_back(void)
{
	__asm__ volatile("mov x16, %0\n\tmov x0, xzr\n\thvc %1\n\tsvc #0"
			 :
			 : "i"(XEN_version), "i"(XEN_HVC)
			 : "x0", "x16", "memory");
}

static void go(void *arg)
{
	user_enter(call_and_come_back);
}

bool hostile_user_call(void)
{
	struct fault f;

	return try_call(go, NULL, &f) && fault_is_undefined(&f);
}
