/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every loader's information comes down to: modules, a command line. Pure; nothing here may
 * believe an address that the access function does not.
 */
#include <cupel/errno.h>

#include "firmware.h"

int fw_add_module(const struct acpi_access *a, struct platform *p, u64 base, u64 size)
{
	/* One at 0 has no pointer, but all behind its first byte has. */
	if (!size || !a->phys(a->ctx, base + !base, size - !base))
		return -EINVAL;
	if (p->nr_modules == PLATFORM_MAX_MODULES)
		return 0;
	p->modules[p->nr_modules++] = (struct module){ .base = base, .size = size };
	return 0;
}

int fw_copy_cmdline(const struct acpi_access *a, struct platform *p, paddr_t pa, const char **why)
{
	for (u32 i = 0; i < CMDLINE_MAX; i++) {
		const char *c = a->phys(a->ctx, pa + i, 1);

		*why = "command line out of reach";
		if (!c)
			return -EINVAL;
		p->cmdline[i] = *c;
		if (!*c)
			return 0;
	}
	p->cmdline[CMDLINE_MAX - 1] = 0;
	*why = "command line too long";
	return -E2BIG;
}
