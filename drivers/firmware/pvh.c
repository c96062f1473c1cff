/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hvm_start_info (Xen public headers, arch-x86/hvm/start_info.h, the PVH boot ABI) into struct
 * platform. The loader isn't trusted: every read goes through the access function and is bounded.
 */
#include <cupel/errno.h>
#include <cupel/platform.h>

#include "firmware.h"

#define PVH_MAGIC	0x336ec578
#define INFO_SIZE_V0	40
#define INFO_SIZE_V1	56
#define OFF_MAGIC	0
#define OFF_VERSION	4
#define OFF_NR_MODULES	12
#define OFF_MODULES	16
#define OFF_CMDLINE	24
#define OFF_RSDP	32
#define OFF_MEMMAP	40 /* version 1 */
#define OFF_NR_MEMMAP	48
#define MODULE_SIZE	32 /* paddr, size, cmdline_paddr, reserved */
#define MEMMAP_SIZE	24 /* addr, size, type, reserved */
#define MEMMAP_MAX	4096
#define MEMMAP_TYPE_RAM 1

static int read_memmap(const struct acpi_access *a, const u8 *info, struct platform *p,
		       const char **why)
{
	u32 n = fw_get32(info, OFF_NR_MEMMAP);
	const u8 *map = n > MEMMAP_MAX ?
				NULL :
				a->phys(a->ctx, fw_get64(info, OFF_MEMMAP), n * (size_t)MEMMAP_SIZE);

	if (!map) {
		*why = "PVH memory map out of reach";
		return -EINVAL;
	}
	for (u32 i = 0; i < n; i++) {
		const u8 *e = map + i * MEMMAP_SIZE;

		if (fw_get32(e, 16) == MEMMAP_TYPE_RAM)
			platform_add_mem(p, fw_get64(e, 0), fw_get64(e, 8));
	}
	return 0;
}

static int read_modules(const struct acpi_access *a, const u8 *info, struct platform *p,
			const char **why)
{
	u32 n = fw_get32(info, OFF_NR_MODULES);
	const u8 *mods;

	if (n > PLATFORM_MAX_MODULES)
		n = PLATFORM_MAX_MODULES;
	mods = n ? a->phys(a->ctx, fw_get64(info, OFF_MODULES), n * (size_t)MODULE_SIZE) : NULL;
	*why = "PVH module list out of reach";
	if (n && !mods)
		return -EINVAL;
	*why = "PVH module out of reach or empty";
	for (u32 i = 0; i < n; i++) {
		const u8 *m = mods + i * MODULE_SIZE;

		if (fw_add_module(a, p, fw_get64(m, 0), fw_get64(m, 8)))
			return -EINVAL;
	}
	return 0;
}

int pvh_read_platform(const struct acpi_access *a, paddr_t pa, struct platform *p, const char **why)
{
	const u8 *info = a->phys(a->ctx, pa, INFO_SIZE_V0);
	int err;

	*why = "no hvm_start_info";
	if (!info || fw_get32(info, OFF_MAGIC) != PVH_MAGIC)
		return -EINVAL;
	/* First: what is wrong further on is then heard of on the console that it asks for. */
	if (fw_get64(info, OFF_CMDLINE)) {
		err = fw_copy_cmdline(a, p, fw_get64(info, OFF_CMDLINE), why);
		if (err)
			return err;
	}
	*why = "hvm_start_info version 0 has no memory map";
	if (fw_get32(info, OFF_VERSION) < 1)
		return -EINVAL;
	*why = "hvm_start_info out of reach";
	info = a->phys(a->ctx, pa, INFO_SIZE_V1);
	if (!info)
		return -EINVAL;
	p->firmware = "pvh";
	p->rsdp = fw_get64(info, OFF_RSDP);
	err = read_memmap(a, info, p, why);
	if (err)
		return err;
	*why = "hvm_start_info without memory";
	if (!p->nr_mem)
		return -EINVAL;
	return read_modules(a, info, p, why);
}
