/* SPDX-License-Identifier: GPL-2.0-only */
/* The cpio (newc) archive that comes beside the image. Bad archives are refused, never trusted. */
#ifndef CUPEL_ARCHIVE_H
#define CUPEL_ARCHIVE_H

#include <cupel/types.h>

struct archive {
	const u8 *data;
	size_t size;
};

struct archive_file {
	const char *name; /* NUL terminated, inside the archive; "./" is stripped */
	const void *data;
	size_t size;
	u32 mode;
};

/* Check every header to the trailer. 0, or -EINVAL with *why and *where (byte offset). */
int archive_open(struct archive *a, const void *data, size_t size, const char **why, size_t *where);
/* Iterate: *pos starts at 0; false at the end. */
bool archive_next(const struct archive *a, size_t *pos, struct archive_file *f);
/* 0 or -ENOENT. */
int archive_find(const struct archive *a, const char *name, struct archive_file *f);

/* The boot archive (first module), empty when there is none. */
extern struct archive boot_archive;

#endif
