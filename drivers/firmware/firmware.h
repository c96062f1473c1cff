/* SPDX-License-Identifier: GPL-2.0-only */
/* What the readers of firmware share: bytes out of tables, and the filling of struct platform. */
#ifndef DRIVERS_FIRMWARE_H
#define DRIVERS_FIRMWARE_H

#include <cupel/platform.h>
#include <cupel/types.h>

/* Little endian, any alignment, bounds checked by the caller. */
static inline u16 fw_get16(const u8 *p, size_t off)
{
	return (u16)(p[off] | p[off + 1] << 8);
}

static inline u32 fw_get32(const u8 *p, size_t off)
{
	return fw_get16(p, off) | (u32)fw_get16(p, off + 2) << 16;
}

static inline u64 fw_get64(const u8 *p, size_t off)
{
	return fw_get32(p, off) | (u64)fw_get32(p, off + 4) << 32;
}

int fw_add_module(const struct acpi_access *a, struct platform *p, u64 base, u64 size);
/* -E2BIG when it is longer than CMDLINE_MAX, -EINVAL when out of reach. */
int fw_copy_cmdline(const struct acpi_access *a, struct platform *p, paddr_t pa, const char **why);

/* efi.c. Adds what is RAM of an EFI memory map; -EINVAL when its entries can't be or there is none. */
int fw_add_efi_map(struct platform *p, const u8 *map, u64 size, u64 desc_size, const char **why);

/* multiboot.c. Takes the first word off the command line: loaders put the image's name there. */
void fw_drop_word(struct platform *p);

#endif
