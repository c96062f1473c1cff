/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct efi_info, as efi_stub.c left it, into struct platform: memory map, archive, command line. The map
 * is firmware's and not trusted: every read goes through the access function and is bounded. UEFI 2.10, 7.2.3.
 */
#include <cupel/errno.h>
#include <cupel/platform.h>

#include "firmware.h"

#define DESC_SIZE \
	40 /* type, padding, start, virtual start, pages, attributes; firmware's may be longer */
#define DESC_MAX   4096
#define DESC_START 8
#define DESC_PAGES 24
#define DESC_ATTR  32
#define MAP_MAX	   MIB(1)

#define MEMORY_WB BIT(3) /* can be cached */
#define MEMORY_SP BIT(18) /* set aside for a special purpose */

/* Ours after ExitBootServices: loader and boot services code and data (1 to 4), and what was free (7). */
#define USABLE_TYPES (0xfU << 1 | 1U << 7)

static bool usable(const u8 *d)
{
	u32 type = fw_get32(d, 0);
	u64 attr = fw_get64(d, DESC_ATTR);

	return type < 32 && (USABLE_TYPES >> type & 1) &&
	       (attr & (MEMORY_WB | MEMORY_SP)) == MEMORY_WB;
}

int fw_add_efi_map(struct platform *p, const u8 *map, u64 size, u64 desc_size, const char **why)
{
	*why = "EFI memory map entries of a wrong size";
	if (desc_size < DESC_SIZE || desc_size > DESC_MAX)
		return -EINVAL;
	for (u64 at = 0; at + DESC_SIZE <= size; at += desc_size) {
		const u8 *d = map + at;
		u64 start = fw_get64(d, DESC_START), pages = fw_get64(d, DESC_PAGES);

		if (usable(d) && pages <= ~0UL / PAGE_SIZE)
			platform_add_mem(p, start, pages * PAGE_SIZE);
	}
	*why = "the EFI memory map has no memory";
	return p->nr_mem ? 0 : -EINVAL;
}

static int read_map(const struct acpi_access *a, const struct efi_info *info, struct platform *p,
		    const char **why)
{
	const u8 *map = info->memmap_size > MAP_MAX ?
				NULL :
				a->phys(a->ctx, info->memmap, info->memmap_size);

	*why = "the EFI memory map is out of reach";
	return map ? fw_add_efi_map(p, map, info->memmap_size, info->desc_size, why) : -EINVAL;
}

/* The archive lies in what the map calls ours: that it is kept is its owner's part, as with other modules. */
static int read_archive(const struct acpi_access *a, const struct efi_info *info,
			struct platform *p, const char **why)
{
	if (!info->archive_size)
		return 0;
	*why = "the archive is out of reach";
	return fw_add_module(a, p, info->archive, info->archive_size);
}

int efi_read_platform(const struct acpi_access *a, paddr_t pa, struct platform *p, const char **why)
{
	const struct efi_info *info = a->phys(a->ctx, pa, sizeof(*info));
	int err;

	*why = "no struct efi_info";
	if (!info || info->magic != EFI_INFO_MAGIC)
		return -EINVAL;
	p->firmware = "efi";
	p->rsdp = info->rsdp;
	p->efi_system_table = info->system_table;
	err = fw_copy_cmdline(a, p, info->cmdline, why);
	if (!err)
		err = read_map(a, info, p, why);
	return err ? err : read_archive(a, info, p, why);
}
