/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts an image into a guest's memory. What does not fit there is refused before a byte is written. */
#include <cupel/errno.h>
#include <cupel/vm.h>
#include <string.h>

#include "guest_image.h"

static int load_flat(struct vm *vm, const void *image, u64 size, gpaddr_t base, gpaddr_t *entry,
		     gpaddr_t *end, const char **why)
{
	if (!size || vm_copy_to(vm, base, image, size)) {
		*why = size ? "image does not fit into the guest's memory" : "image is empty";
		return -ENOEXEC;
	}
	*entry = base;
	*end = base + size;
	return 0;
}

static int load_elf(struct vm *vm, const struct elf_image *img, const char **why)
{
	for (u32 i = 0; i < img->nr_segments; i++) {
		const struct elf_segment *s = &img->segment[i];

		if (!vm_is_memory(vm, s->addr, s->memsz, true)) {
			*why = "ELF segment lies outside the guest's memory";
			return -ENOEXEC;
		}
	}
	for (u32 i = 0; i < img->nr_segments; i++) {
		const struct elf_segment *s = &img->segment[i];

		if (vm_copy_to(vm, s->addr, s->data, s->filesz) ||
		    vm_copy_to(vm, s->addr + s->filesz, NULL, s->memsz - s->filesz))
			return -ENOEXEC;
	}
	return 0;
}

int guest_load_image(struct vm *vm, const void *image, u64 size, gpaddr_t flat_base,
		     gpaddr_t *entry, gpaddr_t *end, const char **why)
{
	struct elf_image img;
	int err;

	if (!elf_is_elf(image, size))
		return load_flat(vm, image, size, flat_base, entry, end, why);
	err = elf_parse(image, size, &img, why);
	if (!err)
		err = load_elf(vm, &img, why);
	if (err)
		return err;
	*entry = img.entry;
	*end = img.end;
	return 0;
}
