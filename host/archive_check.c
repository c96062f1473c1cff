/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * archive-check FILE: what the image would say of an archive, by the very code it reads it with, before
 * the archive is carried to a machine. One line and status 1 for the first thing that is wrong. It must
 * not know better than core/ does.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cupel/archive.h>
#include <cupel/config.h>

#include "../core/guest_image.h"

#define MAX_VMS	   1024
#define MAX_SIZE   (1UL << 30)
#define CONFIGFILE "cupel.conf"

static struct vm_config vms[MAX_VMS];

static size_t read_file(const char *path, u8 *to)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(to, 1, MAX_SIZE, f) : 0;

	if (f)
		fclose(f);
	return n;
}

/* 0, or 1 with a line that says why the VM would not start. */
static int check_kernel(const struct archive *a, const struct vm_config *vm)
{
	struct archive_file image;
	struct elf_image elf;
	const char *why = "it is empty";

	if (archive_find(a, vm->kernel, &image)) {
		printf("%s: vm %s: no file %s in the archive\n", CONFIGFILE, vm->name, vm->kernel);
		return 1;
	}
	if (image.size &&
	    (!elf_is_elf(image.data, image.size) || !elf_parse(image.data, image.size, &elf, &why)))
		return 0;
	printf("%s: %s\n", vm->kernel, why);
	return 1;
}

static int check(const struct archive *a)
{
	struct archive_file conf;
	u32 count = 0, line = 0;
	const char *why = "";

	if (archive_find(a, CONFIGFILE, &conf)) {
		printf("no %s in the archive\n", CONFIGFILE);
		return 1;
	}
	if (config_parse_vms(conf.data, conf.size, vms, MAX_VMS, &count, &why, &line)) {
		printf("%s: line %u: %s\n", CONFIGFILE, line, why);
		return 1;
	}
	for (u32 i = 0; i < count; i++) {
		if (check_kernel(a, &vms[i]))
			return 1;
	}
	printf("%u VMs\n", count);
	return 0;
}

int main(int argc, char **argv)
{
	u8 *data = malloc(MAX_SIZE);
	struct archive a = { 0 };
	const char *why = "";
	size_t where = 0;
	int failed = 2;

	if (argc == 2 && data && !archive_open(&a, data, read_file(argv[1], data), &why, &where)) {
		failed = check(&a);
	} else {
		printf("archive: %s at byte %zu\n", why, where);
	}
	free(data);
	return failed;
}
