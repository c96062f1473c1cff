/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads ELF64 and ELF32 files, little endian, and trusts nothing in them: every field is read through
 * file_range(), which knows the size of the file. It copies nothing and changes nothing.
 */
#include <cupel/errno.h>
#include <string.h>

#include "guest_image.h"

/* gABI "ELF Header": offsets that both classes share. */
#define EI_CLASS    4
#define EI_DATA	    5
#define EI_VERSION  6
#define E_TYPE	    16
#define CLASS_32    1
#define CLASS_64    2
#define DATA_LSB    1
#define ET_EXEC	    2
#define ET_DYN	    3
#define PT_LOAD	    1
#define PT_NOTE	    4
#define NOTE_HEADER 12

/* xen/interface/elfnote.h: the 32-bit entry point of the PVH boot protocol. */
#define NOTE_PHYS32_ENTRY 18

/* Where the two classes differ. */
struct layout {
	u32 header_size, entry, phoff, phentsize, phnum;
	u32 ph_size, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz;
	u32 word; /* bytes of an address */
};

static const struct layout layout32 = { 52, 24, 28, 42, 44, 32, 4, 8, 12, 16, 20, 4 };
static const struct layout layout64 = { 64, 24, 32, 54, 56, 56, 8, 16, 24, 32, 40, 8 };

struct elf_file {
	const u8 *data;
	u64 size;
	const struct layout *l;
	struct elf_image *out;
	bool entry_is_physical;
	u64 virt_entry;
	bool entry_found;
};

/* Little endian, at any alignment. */
static u64 get(const u8 *p, u32 bytes)
{
	u64 v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static bool file_range(const struct elf_file *f, u64 offset, u64 len)
{
	return offset <= f->size && len <= f->size - offset;
}

bool elf_is_elf(const void *file, u64 size)
{
	return size >= 4 && !memcmp(file, "\177ELF", 4);
}

static const char *check_header(struct elf_file *f)
{
	u64 type;

	if (f->size < 20)
		return "ELF header cut short";
	if (f->data[EI_DATA] != DATA_LSB || f->data[EI_VERSION] != 1)
		return "not a little-endian ELF file of version 1";
	if (f->data[EI_CLASS] != CLASS_32 && f->data[EI_CLASS] != CLASS_64)
		return "neither ELF32 nor ELF64";
	f->l = f->data[EI_CLASS] == CLASS_64 ? &layout64 : &layout32;
	if (!file_range(f, 0, f->l->header_size))
		return "ELF header cut short";
	type = get(f->data + E_TYPE, 2);
	if (type != ET_EXEC && type != ET_DYN)
		return "not an executable ELF file";
	f->virt_entry = get(f->data + f->l->entry, f->l->word);
	return NULL;
}

static bool overlaps(const struct elf_image *img, const struct elf_segment *s)
{
	for (u32 i = 0; i < img->nr_segments; i++) {
		const struct elf_segment *o = &img->segment[i];

		if (s->addr < o->addr + o->memsz && o->addr < s->addr + s->memsz)
			return true;
	}
	return false;
}

static const char *add_segment(struct elf_file *f, const u8 *ph)
{
	const struct layout *l = f->l;
	u64 offset = get(ph + l->p_offset, l->word), vaddr = get(ph + l->p_vaddr, l->word);
	struct elf_segment s = {
		.addr = get(ph + l->p_paddr, l->word),
		.filesz = get(ph + l->p_filesz, l->word),
		.memsz = get(ph + l->p_memsz, l->word),
	};

	if (!s.memsz && !s.filesz)
		return NULL;
	if (!file_range(f, offset, s.filesz))
		return "ELF segment lies outside the file";
	if (s.memsz < s.filesz)
		return "ELF segment is larger in the file than in memory";
	if (s.addr + s.memsz < s.addr)
		return "ELF segment wraps around the address space";
	if (overlaps(f->out, &s))
		return "ELF segments overlap";
	if (f->out->nr_segments == ELF_MAX_SEGMENTS)
		return "too many ELF segments";
	s.data = f->data + offset;
	f->out->segment[f->out->nr_segments++] = s;
	f->out->end = max(f->out->end, s.addr + s.memsz);
	if (!f->entry_is_physical && f->virt_entry - vaddr < s.memsz) {
		f->out->entry = s.addr + (f->virt_entry - vaddr);
		f->entry_found = true;
	}
	return NULL;
}

/* gABI "Note Section"; both classes use 4-byte words and padding here. */
static const char *scan_notes(struct elf_file *f, const u8 *ph)
{
	const struct layout *l = f->l;
	u64 pos = get(ph + l->p_offset, l->word), left = get(ph + l->p_filesz, l->word);

	if (!file_range(f, pos, left))
		return "ELF notes lie outside the file";
	while (left >= NOTE_HEADER) {
		const u8 *n = f->data + pos;
		u64 namesz = get(n, 4), descsz = get(n + 4, 4);
		u64 desc = NOTE_HEADER + ALIGN_UP(namesz, (u64)4);
		u64 total = desc + ALIGN_UP(descsz, (u64)4);

		if (desc + descsz > left)
			return "ELF note is cut short";
		if (get(n + 8, 4) == NOTE_PHYS32_ENTRY && namesz == 4 && descsz >= 4 &&
		    !memcmp(n + NOTE_HEADER, "Xen", 4)) {
			f->out->entry = get(n + desc, 4);
			f->entry_is_physical = true;
		}
		total = min(total, left);
		pos += total;
		left -= total;
	}
	return NULL;
}

static const char *walk_headers(struct elf_file *f)
{
	const struct layout *l = f->l;
	u64 phoff = get(f->data + l->phoff, l->word), num = get(f->data + l->phnum, 2);
	u64 stride = get(f->data + l->phentsize, 2);

	if (!num)
		return "ELF file has no program headers";
	if (stride < l->ph_size)
		return "ELF program headers are too small";
	if (!file_range(f, phoff, num * stride))
		return "ELF program headers lie outside the file";
	for (u64 i = 0; i < num; i++) {
		const u8 *ph = f->data + phoff + i * stride;
		u64 type = get(ph, 4);
		const char *why = NULL;

		if (type == PT_LOAD)
			why = add_segment(f, ph);
		else if (type == PT_NOTE)
			why = scan_notes(f, ph);
		if (why)
			return why;
	}
	return NULL;
}

static const char *check_entry(const struct elf_file *f)
{
	const struct elf_image *img = f->out;

	if (!img->nr_segments)
		return "ELF file has nothing to load";
	if (!f->entry_is_physical)
		return f->entry_found ? NULL : "ELF entry point lies in no segment";
	for (u32 i = 0; i < img->nr_segments; i++) {
		if (img->entry - img->segment[i].addr < img->segment[i].memsz)
			return NULL;
	}
	return "PVH entry point lies in no segment";
}

int elf_parse(const void *file, u64 size, struct elf_image *out, const char **why)
{
	struct elf_file f = { .data = file, .size = size, .out = out };

	memset(out, 0, sizeof(*out));
	*why = elf_is_elf(file, size) ? check_header(&f) : "not an ELF file";
	if (!*why)
		*why = walk_headers(&f);
	if (!*why)
		*why = check_entry(&f);
	return *why ? -ENOEXEC : 0;
}
