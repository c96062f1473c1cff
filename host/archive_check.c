/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * archive-check FILE [ARCH [VM,VM+VM]]: what the image would say of an archive, by the very code it reads
 * it with, before the archive is carried to a machine of that architecture and told to run those VMs.
 * One line and status 1 for the first thing that is wrong. It must not know better than core/ does, but
 * for what core/ can't see: a file that was no guest to begin with, or one of the other architecture.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* gABI "ELF Header" and its list of machines. */
#define E_MACHINE  18
#define EM_386	   3
#define EM_X86_64  62
#define EM_AARCH64 183

static const char *arch_of(const struct archive_file *image)
{
	const u8 *at = (const u8 *)image->data + E_MACHINE;

	switch (at[0] | at[1] << 8) {
	case EM_386:
	case EM_X86_64: return "x86";
	case EM_AARCH64: return "arm64";
	default: return "";
	}
}

static bool is_text(const struct archive_file *image)
{
	const u8 *c = image->data;

	for (size_t i = 0; i < image->size; i++) {
		if (c[i] < ' ' && !(c[i] >= '\t' && c[i] <= '\r'))
			return false;
	}
	return true;
}

/* NULL, or what is wrong with a guest. */
static const char *wrong_with(const struct archive_file *image, const char *arch)
{
	struct elf_image elf;
	const char *why;

	if (!image->size)
		return "it is empty";
	if (!elf_is_elf(image->data, image->size))
		return is_text(image) ? "a text, no guest" : NULL;
	if (elf_parse(image->data, image->size, &elf, &why))
		return why;
	return arch && strcmp(arch, arch_of(image)) ? "a guest for another architecture" : NULL;
}

/* 0, or 1 with a line that says why the VM would not start. */
static int check_kernel(const struct archive *a, const struct vm_config *vm, const char *arch)
{
	struct archive_file image;
	const char *why;

	if (archive_find(a, vm->kernel, &image)) {
		printf("%s: vm %s: no file %s in the archive\n", CONFIGFILE, vm->name, vm->kernel);
		return 1;
	}
	why = wrong_with(&image, arch);
	if (why)
		printf("%s: %s\n", vm->kernel, why);
	return !!why;
}

static int check_names(char *names, u32 count)
{
	for (char *name = strtok(names, ",+"); name; name = strtok(NULL, ",+")) {
		u32 i = 0;

		while (i < count && strcmp(vms[i].name, name))
			i++;
		if (i == count) {
			printf("%s: no vm %s\n", CONFIGFILE, name);
			return 1;
		}
	}
	return 0;
}

static int check(const struct archive *a, const char *arch, char *names)
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
	if (!count) {
		printf("%s: no VM in it\n", CONFIGFILE);
		return 1;
	}
	for (u32 i = 0; i < count; i++) {
		if (check_kernel(a, &vms[i], arch))
			return 1;
	}
	if (names && check_names(names, count))
		return 1;
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

	if (argc >= 2 && argc <= 4 && data &&
	    !archive_open(&a, data, read_file(argv[1], data), &why, &where)) {
		failed = check(&a, argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
	} else {
		printf("archive: %s at byte %zu\n", why, where);
	}
	free(data);
	return failed;
}
