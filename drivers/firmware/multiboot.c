/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Multiboot 1 information (specification 0.6.96, 3.3) into struct platform. The loader isn't trusted:
 * every read goes through the access function and is bounded.
 */
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <string.h>

#include "firmware.h"

#define INFO_SIZE      96
#define FLAG_MEMORY    BIT32(0)
#define FLAG_CMDLINE   BIT32(2)
#define FLAG_MODULES   BIT32(3)
#define FLAG_MEMMAP    BIT32(6)
#define FLAG_NAME      BIT32(9)
#define OFF_FLAGS      0
#define OFF_MEM_UPPER  8
#define OFF_CMDLINE    16
#define OFF_MODS_COUNT 20
#define OFF_MODS_ADDR  24
#define OFF_MMAP_LEN   44
#define OFF_MMAP_ADDR  48
#define OFF_NAME       64
#define MODULE_SIZE    16
#define MMAP_MIN_SIZE  20 /* what the entry's own size field has to cover */
#define MMAP_MAX_LEN   KIB(64)
#define MMAP_RAM       1

void fw_drop_word(struct platform *p)
{
	char *s = p->cmdline;

	while (*s && *s != ' ')
		s++;
	while (*s == ' ')
		s++;
	memmove(p->cmdline, s, strlen(s) + 1);
}

/*
 * QEMU puts the image's path before the words, GRUB 0.9x likewise (it begins with '/' or '(');
 * GRUB 2 leaves it out.
 */
static void drop_image_name(const struct acpi_access *a, const u8 *info, struct platform *p)
{
	const char *s = p->cmdline;
	const u8 *name = NULL;

	if (fw_get32(info, OFF_FLAGS) & FLAG_NAME)
		name = a->phys(a->ctx, fw_get32(info, OFF_NAME), 4);
	if (*s == '/' || *s == '(' || (name && !memcmp(name, "qemu", 4)))
		fw_drop_word(p);
}

static int read_memmap(const struct acpi_access *a, const u8 *info, struct platform *p,
		       const char **why)
{
	u32 len = fw_get32(info, OFF_MMAP_LEN), pos = 0;
	const u8 *map = len > MMAP_MAX_LEN ? NULL :
					     a->phys(a->ctx, fw_get32(info, OFF_MMAP_ADDR), len);

	if (!map) {
		*why = "Multiboot memory map out of reach";
		return -EINVAL;
	}
	while (pos + 4 + MMAP_MIN_SIZE <= len) {
		const u8 *e = map + pos;
		u32 size = fw_get32(e, 0);

		if (size < MMAP_MIN_SIZE || size > len - pos - 4) {
			*why = "Multiboot memory map entry of a wrong size";
			return -EINVAL;
		}
		if (fw_get32(e, 20) == MMAP_RAM)
			platform_add_mem(p, fw_get64(e, 4), fw_get64(e, 12));
		pos += size + 4;
	}
	return 0;
}

static int read_modules(const struct acpi_access *a, const u8 *info, struct platform *p,
			const char **why)
{
	u32 n = fw_get32(info, OFF_MODS_COUNT);
	const u8 *mods;

	if (n > PLATFORM_MAX_MODULES)
		n = PLATFORM_MAX_MODULES;
	mods = n ? a->phys(a->ctx, fw_get32(info, OFF_MODS_ADDR), n * MODULE_SIZE) : NULL;
	if (n && !mods) {
		*why = "Multiboot module list out of reach";
		return -EINVAL;
	}
	for (u32 i = 0; i < n; i++) {
		u32 start = fw_get32(mods + i * MODULE_SIZE, 0);
		u32 end = fw_get32(mods + i * MODULE_SIZE, 4);

		if (fw_add_module(a, p, start, end > start ? end - start : 0)) {
			*why = "Multiboot module out of reach or empty";
			return -EINVAL;
		}
	}
	return 0;
}

int multiboot_read_platform(const struct acpi_access *a, paddr_t pa, struct platform *p,
			    const char **why)
{
	const u8 *info = a->phys(a->ctx, pa, INFO_SIZE);
	u32 flags;
	int err;

	*why = "Multiboot information out of reach";
	if (!info)
		return -EINVAL;
	p->firmware = "multiboot";
	flags = fw_get32(info, OFF_FLAGS);
	if (flags & FLAG_CMDLINE) {
		err = fw_copy_cmdline(a, p, fw_get32(info, OFF_CMDLINE), why);
		if (err)
			return err;
		drop_image_name(a, info, p);
	}
	if (flags & FLAG_MEMMAP) {
		err = read_memmap(a, info, p, why);
		if (err)
			return err;
	} else if (flags & FLAG_MEMORY) {
		platform_add_mem(p, MIB(1), KIB((u64)fw_get32(info, OFF_MEM_UPPER)));
	}
	*why = "Multiboot information without memory";
	if (!p->nr_mem)
		return -EINVAL;
	return flags & FLAG_MODULES ? read_modules(a, info, p, why) : 0;
}
