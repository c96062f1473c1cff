/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What loaders of x86 hand over, good and damaged, into struct platform. Must never need a
 * machine.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <cupel/errno.h>
#include <cupel/platform.h>

#define SIZE	0x8000
#define INFO	0x1000
#define MAP	0x2000
#define MODULES 0x3000
#define CMDLINE 0x4000
#define NAME	0x5000
#define FILE_AT 0x6000

static u8 memory[SIZE];
static u64 memory_end;
static struct platform p;
static const char *why;

static void put(paddr_t pa, u64 value, u32 bytes)
{
	for (u32 i = 0; i < bytes; i++)
		memory[pa + i] = (u8)(value >> (8 * i));
}

static void put_text(paddr_t pa, const char *text)
{
	memcpy(memory + pa, text, strlen(text) + 1);
}

static const void *phys(void *ctx, paddr_t pa, size_t len)
{
	return pa && pa <= memory_end && len <= memory_end - pa ? memory + pa : NULL;
}

static const struct acpi_access access = { phys, NULL };

static void clean(void)
{
	memset(memory, 0, sizeof(memory));
	memset(&p, 0, sizeof(p));
	memory_end = SIZE;
	why = "";
}

static void multiboot_range(u32 n, u64 base, u64 size, u32 type)
{
	put(MAP + n * 24, 20, 4);
	put(MAP + n * 24 + 4, base, 8);
	put(MAP + n * 24 + 12, size, 8);
	put(MAP + n * 24 + 20, type, 4);
	put(INFO + 44, (n + 1) * 24, 4);
}

static void make_multiboot(void)
{
	clean();
	put(INFO, 1 << 0 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 9, 4);
	put(INFO + 8, 31 * 1024, 4);
	put(INFO + 16, CMDLINE, 4);
	put(INFO + 20, 1, 4);
	put(INFO + 24, MODULES, 4);
	put(INFO + 48, MAP, 4);
	put(INFO + 64, NAME, 4);
	put_text(CMDLINE, "cupel.elf vm=a selftest");
	put_text(NAME, "qemu");
	put(MODULES, FILE_AT, 4);
	put(MODULES + 4, FILE_AT + 100, 4);
	multiboot_range(0, 0, 0x9fc00, 1);
	multiboot_range(1, 0x9fc00, 0x400, 2);
	multiboot_range(2, 0x100000, 0x7f00000, 1);
}

static void check_two_ranges_and_a_module(void)
{
	assert_int_equal(p.nr_mem, 2);
	assert_int_equal(p.mem[0].size, 0x9f000);
	assert_int_equal(p.mem[1].base, 0x100000);
	assert_int_equal(p.nr_modules, 1);
	assert_int_equal(p.modules[0].base, FILE_AT);
	assert_int_equal(p.modules[0].size, 100);
}

static int read_multiboot(void)
{
	return multiboot_read_platform(&access, INFO, &p, &why);
}

static void multiboot_is_read(void **state)
{
	make_multiboot();
	assert_int_equal(read_multiboot(), 0);
	assert_string_equal(p.cmdline, "vm=a selftest");
	assert_string_equal(p.firmware, "multiboot");
	check_two_ranges_and_a_module();
}

static void image_name_is_dropped(void **state)
{
	static const struct {
		const char *loader, *line, *words;
	} cases[] = {
		{ "qemu", "a/b.elf x=1", "x=1" },    { "qemu", "b.elf", "" },
		{ "GRUB 2.06", "x=1 y", "x=1 y" },   { "GRUB 2.06", "/boot/c.elf x=1", "x=1" },
		{ "GRUB 0.97", "(hd0)/c   y", "y" }, { "qemu", "", "" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		make_multiboot();
		put_text(NAME, cases[i].loader);
		put_text(CMDLINE, cases[i].line);
		assert_int_equal(read_multiboot(), 0);
		assert_string_equal(p.cmdline, cases[i].words);
	}
}

static void memory_without_a_map(void **state)
{
	make_multiboot();
	put(INFO, 1, 4);
	assert_int_equal(read_multiboot(), 0);
	assert_int_equal(p.nr_mem, 1);
	assert_int_equal(p.mem[0].base, 0x100000);
	assert_int_equal(p.mem[0].size, 31 << 20);
	assert_string_equal(p.cmdline, "");
	assert_int_equal(p.nr_modules, 0);
}

static void wrapping_range_is_left_out(void **state)
{
	make_multiboot();
	multiboot_range(3, ~0ULL - 0xfff, 0x2000, 1);
	multiboot_range(4, 0x20000800, 0x400, 1); /* no whole page */
	assert_int_equal(read_multiboot(), 0);
	assert_int_equal(p.nr_mem, 2);
}

/* One number each at a place in the information; what the reader has to say. */
struct damage {
	paddr_t at;
	u32 value;
	u32 bytes;
	int err;
	const char *why;
};

static void check_damages(const struct damage *d, size_t n, void (*make)(void), int (*read)(void))
{
	for (; n; n--, d++) {
		make();
		put(d->at, d->value, d->bytes);
		assert_int_equal(read(), d->err);
		assert_string_equal(why, d->why);
	}
}

static const struct damage multiboot_damages[] = {
	{ INFO, 0, 4, -EINVAL, "Multiboot information without memory" },
	{ INFO + 16, 0x9000, 4, -EINVAL, "command line out of reach" },
	{ INFO + 20, 0xffffffff, 4, -EINVAL, "Multiboot module out of reach or empty" },
	{ INFO + 24, SIZE - 4, 4, -EINVAL, "Multiboot module list out of reach" },
	{ INFO + 44, 0xfffffff0, 4, -EINVAL, "Multiboot memory map out of reach" },
	{ INFO + 48, SIZE - 8, 4, -EINVAL, "Multiboot memory map out of reach" },
	{ MAP, 0, 4, -EINVAL, "Multiboot memory map entry of a wrong size" },
	{ MAP, 0xffffffff, 4, -EINVAL, "Multiboot memory map entry of a wrong size" },
	{ MAP, 19, 4, -EINVAL, "Multiboot memory map entry of a wrong size" },
	{ INFO + 44, 10, 4, -EINVAL, "Multiboot information without memory" },
	{ MODULES + 4, FILE_AT, 4, -EINVAL, "Multiboot module out of reach or empty" },
	{ MODULES + 4, 0xf0000000, 4, -EINVAL, "Multiboot module out of reach or empty" },
	{ MODULES, 0xf0000000, 4, -EINVAL, "Multiboot module out of reach or empty" },
};

static void damaged_multiboot(void **state)
{
	check_damages(multiboot_damages, ARRAY_SIZE(multiboot_damages), make_multiboot,
		      read_multiboot);
}

static paddr_t tags_end;

static void multiboot2_tag(u32 type, u32 size)
{
	put(tags_end, type, 4);
	put(tags_end + 4, size + 8, 4);
	tags_end += ALIGN_UP(size + 8, 8);
	put(tags_end, 0, 4);
	put(tags_end + 4, 8, 4);
	put(INFO, tags_end + 8 - INFO, 4);
}

static void multiboot2_range(paddr_t at, u64 base, u64 size, u32 type)
{
	put(at, base, 8);
	put(at + 8, size, 8);
	put(at + 16, type, 4);
}

#define CMDLINE_TAG (INFO + 8)
#define MEMORY_TAG  (CMDLINE_TAG + 24)
#define MODULE_TAG  (MEMORY_TAG + 16)
#define UNKNOWN_TAG (MODULE_TAG + 24)
#define MEMMAP_TAG  (UNKNOWN_TAG + 16)
#define RSDP_TAG    (MEMMAP_TAG + 88)
#define OLD_TAG	    (RSDP_TAG + 48)
#define END_TAG	    (OLD_TAG + 32)

static void make_multiboot2(void)
{
	clean();
	tags_end = INFO + 8;
	put_text(CMDLINE_TAG + 8, "bench=exits x");
	multiboot2_tag(1, 14);
	put(MEMORY_TAG + 12, 31 * 1024, 4);
	multiboot2_tag(4, 8);
	put(MODULE_TAG + 8, FILE_AT, 4);
	put(MODULE_TAG + 12, FILE_AT + 100, 4);
	multiboot2_tag(3, 9);
	multiboot2_tag(99, 5);
	put(MEMMAP_TAG + 8, 24, 4);
	multiboot2_range(MEMMAP_TAG + 16, 0, 0x9fc00, 1);
	multiboot2_range(MEMMAP_TAG + 40, 0x9fc00, 0x400, 2);
	multiboot2_range(MEMMAP_TAG + 64, 0x100000, 0x7f00000, 1);
	multiboot2_tag(6, 80);
	multiboot2_tag(15, 36);
	multiboot2_tag(14, 20);
	assert_int_equal(tags_end, END_TAG);
}

static int read_multiboot2(void)
{
	return multiboot2_read_platform(&access, INFO, &p, &why);
}

static void multiboot2_is_read(void **state)
{
	make_multiboot2();
	assert_int_equal(read_multiboot2(), 0);
	assert_string_equal(p.firmware, "multiboot2");
	assert_string_equal(p.cmdline, "bench=exits x");
	check_two_ranges_and_a_module();
	assert_int_equal(p.rsdp, RSDP_TAG + 8);
}

static void multiboot2_makes_do(void **state)
{
	make_multiboot2();
	put(MEMMAP_TAG, 99, 4);
	put(RSDP_TAG, 99, 4);
	assert_int_equal(read_multiboot2(), 0);
	assert_int_equal(p.nr_mem, 1);
	assert_int_equal(p.mem[0].base, 0x100000);
	assert_int_equal(p.mem[0].size, 31 << 20);
	assert_int_equal(p.rsdp, OLD_TAG + 8);
}

/* GRUB 2.12 on UEFI puts it there if there is memory. */
static void multiboot2_module_at_zero(void **state)
{
	make_multiboot2();
	put(MODULE_TAG + 8, 0, 4);
	assert_int_equal(read_multiboot2(), 0);
	assert_int_equal(p.modules[0].base, 0);
	assert_int_equal(p.modules[0].size, FILE_AT + 100);
}

/* UEFI 2.10, 7.2.3: type, start, pages, attributes (8: can be cached). */
static void efi_range(u32 n, u32 type, u64 start, u64 pages)
{
	paddr_t at = tags_end + 16 + n * 48;

	put(at, type, 4);
	put(at + 8, start, 8);
	put(at + 24, pages, 8);
	put(at + 32, 8, 8);
}

/* The EFI map tells more, and only then. */
static void multiboot2_prefers_efi(void **state)
{
	make_multiboot2();
	put(tags_end + 8, 48, 4);
	efi_range(0, 7, 0x100000, 0x10); /* free */
	efi_range(1, 4, 0x200000, 0x10); /* was boot services' */
	efi_range(2, 6, 0x300000, 0x10); /* is runtime services' */
	multiboot2_tag(17, 8 + 3 * 48);
	assert_int_equal(read_multiboot2(), 0);
	assert_int_equal(p.nr_mem, 2);
	assert_int_equal(p.mem[0].base, 0x100000);
	assert_int_equal(p.mem[0].size, 0x10000);
	assert_int_equal(p.mem[1].base, 0x200000);
	memset(&p, 0, sizeof(p));
	multiboot2_tag(18, 0);
	assert_int_equal(read_multiboot2(), 0);
	assert_int_equal(p.nr_mem, 2);
	assert_int_equal(p.mem[1].size, 0x7f00000);
}

static void multiboot2_broken_efi(void **state)
{
	make_multiboot2();
	put(tags_end + 8, 39, 4);
	multiboot2_tag(17, 8 + 48);
	assert_int_equal(read_multiboot2(), -EINVAL);
	assert_string_equal(why, "EFI memory map entries of a wrong size");
}

static const struct damage multiboot2_damages[] = {
	{ INFO, 15, 4, -EINVAL, "Multiboot 2 information out of reach" },
	{ INFO, SIZE, 4, -EINVAL, "Multiboot 2 information out of reach" },
	{ INFO, 16, 4, -EINVAL, "Multiboot 2 tag of a wrong size" },
	{ INFO, END_TAG - INFO, 4, -EINVAL, "Multiboot 2 information without an end" },
	{ CMDLINE_TAG + 4, 7, 4, -EINVAL, "Multiboot 2 tag of a wrong size" },
	{ CMDLINE_TAG + 4, 8, 4, -EINVAL, "Multiboot 2 tag too short" },
	{ CMDLINE_TAG + 4, 20, 4, -EINVAL, "Multiboot 2 command line without an end" },
	{ CMDLINE_TAG + 4, 0xffffffff, 4, -EINVAL, "Multiboot 2 tag of a wrong size" },
	{ MODULE_TAG + 8, 0xf0000000, 4, -EINVAL, "Multiboot 2 module out of reach or empty" },
	{ MODULE_TAG + 12, FILE_AT, 4, -EINVAL, "Multiboot 2 module out of reach or empty" },
	{ MEMMAP_TAG + 4, 12, 4, -EINVAL, "Multiboot 2 tag too short" },
	{ MEMMAP_TAG + 8, 16, 4, -EINVAL, "Multiboot 2 memory map entry of a wrong size" },
	{ RSDP_TAG + 4, 40, 4, -EINVAL, "Multiboot 2 tag too short" },
	{ END_TAG + 4, 0, 4, -EINVAL, "Multiboot 2 tag of a wrong size" },
};

static void damaged_multiboot2(void **state)
{
	check_damages(multiboot2_damages, ARRAY_SIZE(multiboot2_damages), make_multiboot2,
		      read_multiboot2);
	make_multiboot2();
	put(MEMORY_TAG, 99, 4);
	put(MEMMAP_TAG + 8, 128, 4); /* no whole entry */
	assert_int_equal(read_multiboot2(), -EINVAL);
	assert_string_equal(why, "Multiboot 2 information without memory");
}

static void make_pvh(void)
{
	clean();
	put(INFO, 0x336ec578, 4);
	put(INFO + 4, 1, 4);
	put(INFO + 12, 1, 4);
	put(INFO + 16, MODULES, 8);
	put(INFO + 24, CMDLINE, 8);
	put(INFO + 32, 0xf5000, 8);
	put(INFO + 40, MAP, 8);
	put(INFO + 48, 2, 4);
	put(MAP, 0x100000, 8);
	put(MAP + 8, 0x7f00000, 8);
	put(MAP + 16, 1, 4);
	put(MAP + 24, 0xf0000000, 8);
	put(MAP + 32, 0x1000, 8);
	put(MAP + 40, 2, 4);
	put(MODULES, FILE_AT, 8);
	put(MODULES + 8, 64, 8);
	put_text(CMDLINE, "bench=exits");
}

static int read_pvh(void)
{
	return pvh_read_platform(&access, INFO, &p, &why);
}

static void pvh_is_read(void **state)
{
	make_pvh();
	assert_int_equal(read_pvh(), 0);
	assert_string_equal(p.firmware, "pvh");
	assert_string_equal(p.cmdline, "bench=exits");
	assert_int_equal(p.rsdp, 0xf5000);
	assert_int_equal(p.nr_mem, 1);
	assert_int_equal(p.mem[0].size, 0x7f00000);
	assert_int_equal(p.modules[0].size, 64);
}

static const struct damage pvh_damages[] = {
	{ INFO, 0x12345678, 4, -EINVAL, "no hvm_start_info" },
	{ INFO + 4, 0, 4, -EINVAL, "hvm_start_info version 0 has no memory map" },
	{ INFO + 16, SIZE - 4, 8, -EINVAL, "PVH module list out of reach" },
	{ INFO + 24, 0x9000, 8, -EINVAL, "command line out of reach" },
	{ INFO + 28, 0xffffffff, 4, -EINVAL, "command line out of reach" },
	{ INFO + 40, SIZE - 4, 8, -EINVAL, "PVH memory map out of reach" },
	{ INFO + 48, 0xffffffff, 4, -EINVAL, "PVH memory map out of reach" },
	{ INFO + 48, 0, 4, -EINVAL, "hvm_start_info without memory" },
	{ MODULES + 8, 0, 8, -EINVAL, "PVH module out of reach or empty" },
	{ MODULES + 12, 0xffffffff, 4, -EINVAL, "PVH module out of reach or empty" },
};

static void damaged_pvh(void **state)
{
	check_damages(pvh_damages, ARRAY_SIZE(pvh_damages), make_pvh, read_pvh);
}

static void linux_range(u32 n, u64 base, u64 size, u32 type)
{
	put(INFO + 0x2d0 + n * 20, base, 8);
	put(INFO + 0x2d8 + n * 20, size, 8);
	put(INFO + 0x2e0 + n * 20, type, 4);
	put(INFO + 0x1e8, n + 1, 1);
}

static void make_linux(void)
{
	clean();
	put(INFO + 0x70, 0xf5000, 8);
	put(INFO + 0x218, FILE_AT, 4);
	put(INFO + 0x21c, 64, 4);
	put(INFO + 0x228, CMDLINE, 4);
	put_text(CMDLINE, "BOOT_IMAGE=/boot/cupel.efi bench=exits");
	linux_range(0, 0, 0x9fc00, 1);
	linux_range(1, 0xf0000000, 0x1000, 2);
	linux_range(2, 0x100000, 0x7f00000, 1);
}

static int read_linux(void)
{
	return linux_read_platform(&access, INFO, &p, &why);
}

static void linux_is_read(void **state)
{
	make_linux();
	assert_int_equal(read_linux(), 0);
	assert_string_equal(p.firmware, "linux");
	assert_string_equal(p.cmdline, "bench=exits");
	assert_int_equal(p.rsdp, 0xf5000);
	assert_int_equal(p.nr_mem, 2);
	assert_int_equal(p.mem[1].size, 0x7f00000);
	assert_int_equal(p.modules[0].size, 64);
	make_linux();
	put(INFO + 0x228, 0, 4);
	put(INFO + 0x21c, 0, 4);
	assert_int_equal(read_linux(), 0);
	assert_string_equal(p.cmdline, "");
	assert_int_equal(p.nr_modules, 0);
}

static const struct damage linux_damages[] = {
	{ INFO + 0x1e8, 0, 1, -EINVAL, "boot_params without memory" },
	{ INFO + 0x218, 0xf0000000, 4, -EINVAL, "initrd out of reach" },
	{ INFO + 0x228, 0x9000, 4, -EINVAL, "command line out of reach" },
};

static void damaged_linux(void **state)
{
	check_damages(linux_damages, ARRAY_SIZE(linux_damages), make_linux, read_linux);
	make_linux();
	put(INFO + 0x1e8, 0xff, 1); /* more than there is room for: those are not entries */
	put(INFO + 0x2d0 + 128 * 20, 0x40000000, 8);
	put(INFO + 0x2d8 + 128 * 20, 0x40000000, 8);
	put(INFO + 0x2e0 + 128 * 20, 1, 4);
	assert_int_equal(read_linux(), 0);
	assert_int_equal(p.nr_mem, 2);
}

static void command_line_is_bounded(void **state)
{
	make_pvh();
	memset(memory + CMDLINE, 'x', CMDLINE_MAX);
	assert_int_equal(read_pvh(), -E2BIG);
	assert_string_equal(why, "command line too long");
	assert_int_equal(strlen(p.cmdline), CMDLINE_MAX - 1);
	make_pvh();
	memset(memory + CMDLINE, 'x', CMDLINE_MAX - 1);
	assert_int_equal(read_pvh(), 0);
}

static void more_modules_than_room(void **state)
{
	make_pvh();
	put(INFO + 12, PLATFORM_MAX_MODULES + 2, 4);
	for (u32 i = 0; i < PLATFORM_MAX_MODULES + 2; i++) {
		put(MODULES + i * 32, FILE_AT, 8);
		put(MODULES + i * 32 + 8, 1, 8);
	}
	assert_int_equal(read_pvh(), 0);
	assert_int_equal(p.nr_modules, PLATFORM_MAX_MODULES);
}

/* Memory that ends anywhere: an answer, whichever. */
static void cut_off_anywhere(void **state)
{
	for (u64 end = 1; end < SIZE; end += 7) {
		make_pvh();
		memory_end = end;
		assert_true(read_pvh() == 0 || *why);
		make_multiboot();
		memory_end = end;
		assert_true(read_multiboot() == 0 || *why);
		make_multiboot2();
		memory_end = end;
		assert_true(read_multiboot2() == 0 || *why);
		make_linux();
		memory_end = end;
		assert_true(read_linux() == 0 || *why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(multiboot_is_read),
		cmocka_unit_test(image_name_is_dropped),
		cmocka_unit_test(memory_without_a_map),
		cmocka_unit_test(wrapping_range_is_left_out),
		cmocka_unit_test(damaged_multiboot),
		cmocka_unit_test(multiboot2_is_read),
		cmocka_unit_test(multiboot2_makes_do),
		cmocka_unit_test(multiboot2_module_at_zero),
		cmocka_unit_test(multiboot2_prefers_efi),
		cmocka_unit_test(multiboot2_broken_efi),
		cmocka_unit_test(damaged_multiboot2),
		cmocka_unit_test(pvh_is_read),
		cmocka_unit_test(damaged_pvh),
		cmocka_unit_test(linux_is_read),
		cmocka_unit_test(damaged_linux),
		cmocka_unit_test(command_line_is_bounded),
		cmocka_unit_test(more_modules_than_room),
		cmocka_unit_test(cut_off_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
