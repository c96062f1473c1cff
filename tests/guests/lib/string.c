/* SPDX-License-Identifier: GPL-2.0-only */
/* The hypervisor's own string functions, built as guest code. */
#include "../../../core/string.c"
