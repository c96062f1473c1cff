/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Linux's struct boot_params on x86 (Documentation/arch/x86/boot.rst and zero-page.rst) into struct
 * platform. The loader isn't trusted: every read goes through the access function and is bounded.
 */
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <string.h>

#include "firmware.h"

#define PARAMS_SIZE   4096
#define OFF_RSDP      0x070 /* protocol 2.14; 0 from older loaders */
#define OFF_NR_E820   0x1e8 /* a byte */
#define OFF_RAMDISK   0x218
#define OFF_RAMDISK_N 0x21c
#define OFF_CMDLINE   0x228
#define OFF_E820      0x2d0
#define E820_SIZE     20 /* base, size, type */
#define E820_MAX      128
#define E820_RAM      1

static void read_memmap(const u8 *params, struct platform *p)
{
	u32 n = min((u32)params[OFF_NR_E820], (u32)E820_MAX);

	for (u32 i = 0; i < n; i++) {
		const u8 *e = params + OFF_E820 + i * E820_SIZE;

		if (fw_get32(e, 16) == E820_RAM)
			platform_add_mem(p, fw_get64(e, 0), fw_get64(e, 8));
	}
}

int linux_read_platform(const struct acpi_access *a, paddr_t pa, struct platform *p, const char **why)
{
	const u8 *params = a->phys(a->ctx, pa, PARAMS_SIZE);
	u32 size;
	int err;

	*why = "boot_params out of reach";
	if (!params)
		return -EINVAL;
	p->firmware = "linux";
	p->rsdp = fw_get64(params, OFF_RSDP);
	if (fw_get32(params, OFF_CMDLINE)) {
		err = fw_copy_cmdline(a, p, fw_get32(params, OFF_CMDLINE), why);
		if (err)
			return err;
		if (!strncmp(p->cmdline, "BOOT_IMAGE=", 11))
			fw_drop_word(p);
	}
	read_memmap(params, p);
	*why = "boot_params without memory";
	if (!p->nr_mem)
		return -EINVAL;
	size = fw_get32(params, OFF_RAMDISK_N);
	*why = "initrd out of reach";
	return size ? fw_add_module(a, p, fw_get32(params, OFF_RAMDISK), size) : 0;
}
