/* SPDX-License-Identifier: GPL-2.0-only */
/* Xen's guest ABI for the host build: that of x86-64, whose shared_info has room for 32 vCPUs. */
#include "../../../arch/x86/include/asm/xen.h"
