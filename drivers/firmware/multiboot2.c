/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Multiboot 2 information (specification 2.0, 3.6) into struct platform. The loader isn't trusted: every
 * read goes through the access function and is bounded by the tag it is in.
 */
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <string.h>

#include "firmware.h"

#define INFO_HEADER_SIZE 8 /* total size, reserved */
#define INFO_MAX_SIZE	 MIB(1)
#define TAG_HEADER_SIZE	 8 /* type, size: the size includes both */
#define TAG_ALIGN	 8
#define TAG_END		 0
#define TAG_CMDLINE	 1
#define TAG_MODULE	 3 /* start, end, string */
#define TAG_MEMORY	 4 /* KiB below 1 MiB, KiB from 1 MiB on */
#define TAG_MEMMAP	 6 /* size of an entry, version, entries: base, length, type */
#define TAG_EFI64	 12 /* system table */
#define TAG_RSDP_OLD	 14 /* a copy of the ACPI 1.0 root pointer */
#define TAG_RSDP	 15 /* of that of ACPI 2.0 and later */
#define TAG_EFI_MEMMAP	 17 /* size of an entry, version, entries as in UEFI 2.10, 7.2.3 */
#define TAG_EFI_RUNNING	 18 /* boot services have not ended: memory may be firmware's still */
#define MEMMAP_RAM	 1

struct tag {
	paddr_t pa; /* of the data behind type and size */
	const u8 *data; /* NULL: there is no such tag */
	u32 size;
};

struct reader {
	const struct acpi_access *a;
	struct platform *p;
	const char *why;
	u64 upper_memory; /* KiB from 1 MiB on; used when there is no map */
	struct tag memmap, efi_memmap;
	bool efi_running;
};

static int bad(struct reader *r, const char *why)
{
	r->why = why;
	return -EINVAL;
}

static int read_cmdline(struct reader *r, const struct tag *t)
{
	if (!memchr(t->data, 0, t->size))
		return bad(r, "Multiboot 2 command line without an end");
	return fw_copy_cmdline(r->a, r->p, t->pa, &r->why);
}

static int read_module(struct reader *r, const struct tag *t)
{
	u32 start = fw_get32(t->data, 0), end = fw_get32(t->data, 4);

	if (fw_add_module(r->a, r->p, start, end > start ? end - start : 0))
		return bad(r, "Multiboot 2 module out of reach or empty");
	return 0;
}

static int read_memory(struct reader *r, const struct tag *t)
{
	r->upper_memory = fw_get32(t->data, 4);
	return 0;
}

static int read_memmap(struct reader *r, const struct tag *t)
{
	r->memmap = *t;
	return 0;
}

static int read_efi_memmap(struct reader *r, const struct tag *t)
{
	r->efi_memmap = *t;
	return 0;
}

static int read_efi_running(struct reader *r, const struct tag *t)
{
	r->efi_running = true;
	return 0;
}

static int read_efi64(struct reader *r, const struct tag *t)
{
	r->p->efi_system_table = fw_get64(t->data, 0);
	return 0;
}

/* The copy is as good as the original: it points to the same tables. */
static int read_rsdp(struct reader *r, const struct tag *t)
{
	r->p->rsdp = t->pa;
	return 0;
}

static int read_rsdp_old(struct reader *r, const struct tag *t)
{
	return r->p->rsdp ? 0 : read_rsdp(r, t);
}

static const struct {
	u32 type, min_size;
	int (*read)(struct reader *r, const struct tag *t);
} known[] = {
	{ TAG_CMDLINE, 1, read_cmdline },
	{ TAG_MODULE, 8, read_module },
	{ TAG_MEMORY, 8, read_memory },
	{ TAG_MEMMAP, 8, read_memmap },
	{ TAG_EFI64, 8, read_efi64 },
	{ TAG_RSDP_OLD, 20, read_rsdp_old },
	{ TAG_RSDP, 36, read_rsdp },
	{ TAG_EFI_MEMMAP, 8, read_efi_memmap },
	{ TAG_EFI_RUNNING, 0, read_efi_running },
};

static int read_tag(struct reader *r, u32 type, const struct tag *t)
{
	for (u32 i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].type != type)
			continue;
		if (t->size < known[i].min_size)
			return bad(r, "Multiboot 2 tag too short");
		return known[i].read(r, t);
	}
	return 0;
}

static int read_tags(struct reader *r, paddr_t pa, const u8 *info, u32 total)
{
	u32 at = INFO_HEADER_SIZE;

	while (at <= total - TAG_HEADER_SIZE) {
		u32 type = fw_get32(info, at), size = fw_get32(info, at + 4);
		struct tag t = { .pa = pa + at + TAG_HEADER_SIZE,
				 .data = info + at + TAG_HEADER_SIZE };
		int err;

		if (size < TAG_HEADER_SIZE || size > total - at)
			return bad(r, "Multiboot 2 tag of a wrong size");
		if (type == TAG_END)
			return 0;
		t.size = size - TAG_HEADER_SIZE;
		err = read_tag(r, type, &t);
		if (err)
			return err;
		at += ALIGN_UP(size, TAG_ALIGN);
	}
	return bad(r, "Multiboot 2 information without an end");
}

static int add_memmap(struct reader *r, const struct tag *t)
{
	u32 step = fw_get32(t->data, 0);

	if (step < 20)
		return bad(r, "Multiboot 2 memory map entry of a wrong size");
	for (u32 at = 8; step <= t->size - at; at += step) {
		const u8 *e = t->data + at;

		if (fw_get32(e, 16) == MEMMAP_RAM)
			platform_add_mem(r->p, fw_get64(e, 0), fw_get64(e, 8));
	}
	return 0;
}

/* Firmware's own map says more than what a loader makes of it: what is slow, or set aside. */
static int add_memory(struct reader *r)
{
	const struct tag *efi = &r->efi_memmap;
	int err = 0;

	if (efi->data && !r->efi_running)
		return fw_add_efi_map(r->p, efi->data + 8, efi->size - 8, fw_get32(efi->data, 0),
				      &r->why);
	if (r->memmap.data)
		err = add_memmap(r, &r->memmap);
	else
		platform_add_mem(r->p, MIB(1), KIB(r->upper_memory));
	if (!err && !r->p->nr_mem)
		return bad(r, "Multiboot 2 information without memory");
	return err;
}

int multiboot2_read_platform(const struct acpi_access *a, paddr_t pa, struct platform *p,
			     const char **why)
{
	struct reader r = { .a = a, .p = p };
	const u8 *info = a->phys(a->ctx, pa, INFO_HEADER_SIZE);
	u32 total = info ? fw_get32(info, 0) : 0;
	int err;

	*why = "Multiboot 2 information out of reach";
	if (total < INFO_HEADER_SIZE + TAG_HEADER_SIZE || total > INFO_MAX_SIZE)
		return -EINVAL;
	info = a->phys(a->ctx, pa, total);
	if (!info)
		return -EINVAL;
	p->firmware = "multiboot2";
	err = read_tags(&r, pa, info, total);
	if (!err)
		err = add_memory(&r);
	*why = r.why;
	return err;
}
