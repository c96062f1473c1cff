/* SPDX-License-Identifier: GPL-2.0-only */
/* The ELF reader: both classes, where a guest starts, and every field of a header gone wrong. */
#include "host.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include <cupel/errno.h>

#include "../../core/guest_image.h"

static u8 file[8192];
static size_t size;
static struct elf_image img;
static const char *why;

/* From a heap copy of exactly that size, so that the sanitizer sees a read past its end. */
static int parse(size_t n)
{
	u8 *copy = malloc(n ? n : 1);
	int err;

	memcpy(copy, file, n);
	why = NULL;
	err = elf_parse(copy, n, &img, &why);
	for (u32 i = 0; !err && i < img.nr_segments; i++) {
		const struct elf_segment *s = &img.segment[i];

		assert_true((const u8 *)s->data >= copy);
		assert_true((const u8 *)s->data + s->filesz <= copy + n);
		assert_true(s->filesz <= s->memsz && s->addr + s->memsz <= img.end);
	}
	free(copy);
	assert_true(err == 0 || (err == -ENOEXEC && why));
	return err;
}

static Elf64_Ehdr *eh64(void)
{
	return (Elf64_Ehdr *)file;
}

static Elf64_Phdr *ph64(int i)
{
	return (Elf64_Phdr *)(file + sizeof(Elf64_Ehdr)) + i;
}

/* Code at 0x1000, loaded at 0x41000; data with bss at 0x2000, loaded at 0x42000. */
static void build64(void)
{
	memset(file, 0, sizeof(file));
	memcpy(file, ELFMAG "\2\1\1", 7);
	eh64()->e_type = ET_EXEC;
	eh64()->e_version = 1;
	eh64()->e_entry = 0x1010;
	eh64()->e_phoff = sizeof(Elf64_Ehdr);
	eh64()->e_phentsize = sizeof(Elf64_Phdr);
	eh64()->e_phnum = 2;
	*ph64(0) = (Elf64_Phdr){ .p_type = PT_LOAD,
				 .p_offset = 0x200,
				 .p_vaddr = 0x1000,
				 .p_paddr = 0x41000,
				 .p_filesz = 0x100,
				 .p_memsz = 0x100 };
	*ph64(1) = (Elf64_Phdr){ .p_type = PT_LOAD,
				 .p_offset = 0x300,
				 .p_vaddr = 0x2000,
				 .p_paddr = 0x42000,
				 .p_filesz = 0x10,
				 .p_memsz = 0x1000 };
	size = 0x400;
}

static void good64(void **state)
{
	build64();
	assert_int_equal(parse(size), 0);
	assert_int_equal(img.nr_segments, 2);
	assert_int_equal(img.entry, 0x41010);
	assert_int_equal(img.end, 0x43000);
	assert_int_equal(img.segment[1].filesz, 0x10);
}

static void build32(void)
{
	Elf32_Ehdr *eh = (Elf32_Ehdr *)file;
	Elf32_Phdr *ph = (Elf32_Phdr *)(file + sizeof(*eh));

	memset(file, 0, sizeof(file));
	memcpy(file, ELFMAG "\1\1\1", 7);
	eh->e_type = ET_EXEC;
	eh->e_entry = 0x100000;
	eh->e_phoff = sizeof(*eh);
	eh->e_phentsize = sizeof(*ph);
	eh->e_phnum = 2;
	ph[0] = (Elf32_Phdr){ .p_type = PT_LOAD,
			      .p_offset = 0x100,
			      .p_vaddr = 0x100000,
			      .p_paddr = 0x100000,
			      .p_filesz = 0x80,
			      .p_memsz = 0x80 };
	ph[1] = (Elf32_Phdr){ .p_type = PT_NOTE, .p_offset = 0x180, .p_filesz = 20, .p_memsz = 20 };
	memcpy(file + 0x180, "\4\0\0\0\4\0\0\0\x12\0\0\0Xen\0\x20\0\x10\0", 20);
	size = 0x200;
}

static void pvh_note_gives_the_entry(void **state)
{
	build32();
	assert_int_equal(parse(size), 0);
	assert_int_equal(img.entry, 0x100020);
	/* Another note type: the header's entry counts. */
	file[0x188] = 0x11;
	assert_int_equal(parse(size), 0);
	assert_int_equal(img.entry, 0x100000);
	/* An entry outside of what is loaded. */
	build32();
	file[0x192] = 0x20;
	assert_int_equal(parse(size), -ENOEXEC);
	assert_string_equal(why, "PVH entry point lies in no segment");
}

static void bad_notes(void **state)
{
	static const u8 sizes[] = { 0xff, 0x80, 0x40, 9, 5 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (int byte = 0; byte < 8; byte++) {
			build32();
			file[0x180 + byte] = sizes[i];
			(void)parse(size);
		}
	}
	build32();
	((Elf32_Phdr *)(file + 52))[1].p_filesz = 0xffffffff;
	assert_int_equal(parse(size), -ENOEXEC);
	assert_string_equal(why, "ELF notes lie outside the file");
}

static void every_cut(void **state)
{
	build64();
	/* The last byte used belongs to the second segment. */
	for (size_t n = 0; n < 0x310; n++)
		assert_int_equal(parse(n), -ENOEXEC);
	assert_int_equal(parse(0x310), 0);
	build32();
	for (size_t n = 0; n < 0x194; n++)
		assert_int_equal(parse(n), -ENOEXEC);
}

struct damage {
	size_t offset;
	u32 len;
	u64 value;
	const char *why;
};

#define EH(field) offsetof(Elf64_Ehdr, field), sizeof(((Elf64_Ehdr *)0)->field)
#define PH(i, field)                                                                 \
	sizeof(Elf64_Ehdr) + (i) * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, field), \
		sizeof(((Elf64_Phdr *)0)->field)

static void bad_fields(void **state)
{
	static const struct damage cases[] = {
		{ 0, 1, 'x', "not an ELF file" },
		{ 4, 1, 0, "neither ELF32" },
		{ 4, 1, 3, "neither ELF32" },
		{ 5, 1, 2, "little-endian" },
		{ 6, 1, 0, "version 1" },
		{ EH(e_type), ET_REL, "not an executable" },
		{ EH(e_type), ET_CORE, "not an executable" },
		{ EH(e_phnum), 0, "no program headers" },
		{ EH(e_phnum), 0xffff, "outside the file" },
		{ EH(e_phentsize), 0, "too small" },
		{ EH(e_phentsize), 55, "too small" },
		{ EH(e_phentsize), 0xffff, "outside the file" },
		{ EH(e_phoff), UINT64_MAX, "outside the file" },
		{ EH(e_phoff), 0x400, "outside the file" },
		{ EH(e_entry), 0, "in no segment" },
		{ EH(e_entry), 0x1100, "in no segment" },
		{ EH(e_entry), UINT64_MAX, "in no segment" },
		{ PH(0, p_offset), UINT64_MAX, "outside the file" },
		{ PH(0, p_offset), 0x301, "outside the file" },
		{ PH(0, p_filesz), UINT64_MAX, "outside the file" },
		{ PH(0, p_filesz), 0x101, "larger in the file" },
		{ PH(0, p_memsz), 0, "larger in the file" },
		{ PH(1, p_memsz), UINT64_MAX, "wraps" },
		{ PH(0, p_paddr), UINT64_MAX - 0x7f, "wraps" },
		{ PH(1, p_paddr), 0x410ff, "overlap" },
		{ PH(1, p_paddr), 0x40f00, "overlap" },
		{ PH(1, p_paddr), 0x41000, "overlap" },
		{ PH(0, p_type), PT_NULL, "in no segment" },
		{ PH(1, p_type), PT_NOTE, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		build64();
		memcpy(file + cases[i].offset, &cases[i].value, cases[i].len);
		assert_int_equal(parse(size), cases[i].why ? -ENOEXEC : 0);
		if (cases[i].why && !strstr(why, cases[i].why))
			fail_msg("case %zu says: %s", i, why);
	}
}

static void nothing_to_load(void **state)
{
	build64();
	ph64(0)->p_type = PT_NULL;
	ph64(1)->p_type = PT_NULL;
	assert_int_equal(parse(size), -ENOEXEC);
	assert_string_equal(why, "ELF file has nothing to load");
	build64();
	eh64()->e_phnum = 20;
	for (u32 i = 0; i < 20; i++)
		*ph64((int)i) =
			(Elf64_Phdr){ .p_type = PT_LOAD, .p_paddr = 0x1000 * i, .p_memsz = 1 };
	assert_int_equal(parse(sizeof(file)), -ENOEXEC);
	assert_string_equal(why, "too many ELF segments");
}

static void noise(void **state)
{
	u64 seed = 3;

	for (int round = 0; round < 50000; round++) {
		if (round & 1)
			build64();
		else
			build32();
		for (u64 n = 1 + host_random(&seed) % 4; n; n--)
			file[host_random(&seed) % 0x1a0] = (u8)host_random(&seed);
		(void)parse(size - host_random(&seed) % 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good64),     cmocka_unit_test(pvh_note_gives_the_entry),
		cmocka_unit_test(bad_notes),  cmocka_unit_test(every_cut),
		cmocka_unit_test(bad_fields), cmocka_unit_test(nothing_to_load),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests_name("guest_image", tests, NULL, NULL);
}
