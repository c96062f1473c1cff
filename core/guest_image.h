/* SPDX-License-Identifier: GPL-2.0-only */
/* What the loader wants to know of an ELF file. Layouts: System V gABI, chapters 4 and 5. */
#ifndef CORE_GUEST_IMAGE_H
#define CORE_GUEST_IMAGE_H

#include <cupel/types.h>

#define ELF_MAX_SEGMENTS 16

struct elf_segment {
	const void *data; /* filesz bytes, inside the file */
	u64 filesz;
	u64 memsz; /* >= filesz */
	u64 addr; /* physical address to load it at; addr + memsz does not wrap */
};

struct elf_image {
	u64 entry; /* physical: the PVH note's if there is one */
	u64 end; /* of the highest segment */
	u32 nr_segments;
	struct elf_segment segment[ELF_MAX_SEGMENTS]; /* none overlaps another */
};

bool elf_is_elf(const void *file, u64 size);
/* 0, or -ENOEXEC with *why. A pure function over the file. */
int elf_parse(const void *file, u64 size, struct elf_image *out, const char **why);

#endif
