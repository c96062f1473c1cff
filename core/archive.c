/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cpio (newc) archive that comes beside the image. A pure function over memory: every offset is
 * checked once, in read_entry(), before it is used; nothing is written, printed or allocated.
 *
 * Format: cpio(5), "New ASCII Format": magic "070701" and thirteen numbers of eight hex digits, the
 * name with its NUL, padding to 4, the data, padding to 4; the entry "TRAILER!!!" ends the archive.
 */
#include <cupel/archive.h>
#include <cupel/errno.h>
#include <string.h>

#define HEADER_SIZE 110
#define FIELD(n)    (6 + 8 * (n))
#define FIELD_MODE  FIELD(1)
#define FIELD_SIZE  FIELD(6)
#define FIELD_NAMES FIELD(11)
#define TRAILER	    "TRAILER!!!"

/* Longer names are refused: no file of ours has one. */
#define NAME_LIMIT 4096

struct archive boot_archive;

static bool hex_field(const u8 *p, u32 *out)
{
	u32 v = 0;

	for (int i = 0; i < 8; i++) {
		u32 lower = p[i] | 0x20U;

		if (p[i] >= '0' && p[i] <= '9')
			v = v << 4 | (p[i] - (u32)'0');
		else if (lower >= 'a' && lower <= 'f')
			v = v << 4 | (lower - 'a' + 10);
		else
			return false;
	}
	*out = v;
	return true;
}

/* The name between its header and the data; NULL when it is not a proper string. */
static const char *entry_name(const u8 *p, u32 len)
{
	const char *name = (const char *)p;

	if (!len || len > NAME_LIMIT || strnlen(name, len) != len - 1)
		return NULL;
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	return name;
}

/* The entry at `pos`; *next is where the one after it starts. NULL, or what is wrong with it. */
static const char *read_entry(const struct archive *a, size_t pos, struct archive_file *f,
			      size_t *next)
{
	const u8 *p = a->data + pos;
	size_t left, name_room;
	u32 size, names;

	if (pos > a->size || a->size - pos < HEADER_SIZE)
		return "header cut short";
	left = a->size - pos;
	if (memcmp(p, "070701", 6) && memcmp(p, "070702", 6))
		return "no newc header";
	if (!hex_field(p + FIELD_MODE, &f->mode) || !hex_field(p + FIELD_SIZE, &size) ||
	    !hex_field(p + FIELD_NAMES, &names))
		return "not a number in the header";
	name_room = ALIGN_UP((size_t)HEADER_SIZE + names, (size_t)4);
	if ((size_t)HEADER_SIZE + names > left)
		return "name cut short";
	f->name = entry_name(p + HEADER_SIZE, names);
	if (!f->name)
		return "bad name";
	if (size && (name_room > left || size > left - name_room))
		return "data cut short";
	f->data = size ? p + name_room : p;
	f->size = size;
	*next = pos + name_room + ALIGN_UP((size_t)size, (size_t)4);
	return NULL;
}

int archive_open(struct archive *a, const void *data, size_t size, const char **why, size_t *where)
{
	struct archive all = { data, size };
	struct archive_file f;
	size_t pos = 0, next = 0;

	for (;; pos = next) {
		*why = read_entry(&all, pos, &f, &next);
		*where = min(pos, size);
		if (*why)
			return -EINVAL;
		if (!strcmp(f.name, TRAILER))
			break;
	}
	/* Up to and without the trailer: what archive_next() walks ends exactly there. */
	a->data = data;
	a->size = pos;
	return 0;
}

bool archive_next(const struct archive *a, size_t *pos, struct archive_file *f)
{
	size_t next;

	if (*pos >= a->size || read_entry(a, *pos, f, &next))
		return false;
	*pos = next;
	return true;
}

int archive_find(const struct archive *a, const char *name, struct archive_file *f)
{
	size_t pos = 0;

	while (archive_next(a, &pos, f)) {
		if (!strcmp(f->name, name))
			return 0;
	}
	return -ENOENT;
}
