/* SPDX-License-Identifier: GPL-2.0-only */
/* The hypervisor's own vsnprintf(), built as guest code. */
#include "../../../core/vsnprintf.c"
