/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct efi_info, good and damaged, into struct platform. Must never need a machine.
 */
#include "host.h"

#include <string.h>

#include <cupel/errno.h>
#include <cupel/platform.h>

#define SIZE	0x10000
#define INFO	0x1000
#define CMDLINE 0x2000
#define MAP	0x3000
#define ARCHIVE 0x5000
#define WB	8UL
#define SPECIAL (1UL << 18)

static u8 memory[SIZE];
static struct platform p;
static struct efi_info *info;
static const char *why;

static const void *phys(void *ctx, paddr_t pa, size_t len)
{
	return pa && pa <= SIZE && len <= SIZE - pa ? memory + pa : NULL;
}

static const struct acpi_access access = { phys, NULL };

/* Firmware's descriptors are longer than those we know. */
static void describe(u32 type, u64 start, u64 pages, u64 attributes)
{
	u64 d[6] = { type, start, 0, pages, attributes, ~0UL };

	memcpy(memory + MAP + info->memmap_size, d, sizeof(d));
	info->memmap_size += sizeof(d);
}

static void clean(void)
{
	memset(memory, 0, sizeof(memory));
	memset(&p, 0, sizeof(p));
	info = (struct efi_info *)(memory + INFO);
	*info = (struct efi_info){
		.magic = EFI_INFO_MAGIC,
		.memmap = MAP,
		.desc_size = 48,
		.rsdp = 0x1234,
		.cmdline = CMDLINE,
		.system_table = 0x5678,
	};
	strcpy((char *)memory + CMDLINE, "vm=a selftest");
}

static int read_it(void)
{
	why = NULL;
	return efi_read_platform(&access, INFO, &p, &why);
}

static void is_read(void **state)
{
	clean();
	describe(7, 0x40000000, 0x100, WB);
	info->archive = ARCHIVE;
	info->archive_size = 100;
	assert_int_equal(read_it(), 0);
	assert_string_equal(p.cmdline, "vm=a selftest");
	assert_string_equal(p.firmware, "efi");
	assert_int_equal(p.rsdp, 0x1234);
	assert_int_equal(p.efi_system_table, 0x5678);
	assert_int_equal(p.nr_modules, 1);
	assert_int_equal(p.modules[0].base, ARCHIVE);
	assert_int_equal(p.modules[0].size, 100);
}

/* Table 7.10 of UEFI 2.10: what is whose after ExitBootServices. */
static void types(void **state)
{
	static const bool ours[] = { false, true,  true,  true,	 true,	false, false, true,
				     false, false, false, false, false, false, false, false };

	for (u32 type = 0; type < ARRAY_SIZE(ours); type++) {
		clean();
		describe(7, 0x1000, 1, WB);
		describe(type, 0x40000000, 0x100, WB);
		assert_int_equal(read_it(), 0);
		assert_int_equal(p.nr_mem, ours[type] ? 2 : 1);
	}
}

static void attributes(void **state)
{
	clean();
	describe(7, 0x1000, 1, WB);
	describe(7, 0x40000000, 1, 0);
	describe(7, 0x50000000, 1, WB | SPECIAL);
	describe(7, 0x60000000, 1, 0xf | 1UL << 63);
	assert_int_equal(read_it(), 0);
	assert_int_equal(p.nr_mem, 2);
	assert_int_equal(p.mem[1].base, 0x60000000);
}

/* Firmware cuts its map into many pieces of several types: they are one range for us. */
static void pieces_merge(void **state)
{
	clean();
	for (u32 i = 0; i < 150; i++)
		describe(i % 2 ? 7 : 4, 0x40000000 + i * 0x2000, 2, WB);
	assert_int_equal(read_it(), 0);
	assert_int_equal(p.nr_mem, 1);
	assert_int_equal(p.mem[0].size, 150 * 0x2000);
}

static void huge_ranges_are_left_out(void **state)
{
	clean();
	describe(7, 0x1000, 1, WB);
	describe(7, 0x40000000, ~0UL, WB);
	describe(7, ~0UL - 0xfff, 2, WB);
	describe(7, 0x50000000, 1UL << 52, WB);
	assert_int_equal(read_it(), 0);
	assert_int_equal(p.nr_mem, 1);
}

static void refuse(const char *part)
{
	assert_true(read_it() < 0);
	assert_non_null(why);
	assert_non_null(strstr(why, part));
}

static void damage(void **state)
{
	clean();
	info->magic++;
	refuse("efi_info");
	clean();
	refuse("no memory");
	clean();
	describe(7, 0x1000, 1, WB);
	info->desc_size = 39;
	refuse("map");
	info->desc_size = ~0UL - 10;
	refuse("map");
	info->desc_size = 48;
	info->memmap_size = SIZE;
	refuse("map");
	info->memmap_size = ~0UL;
	refuse("map");
	clean();
	describe(7, 0x1000, 1, WB);
	info->cmdline = SIZE - 4;
	memset(memory + SIZE - 4, 'a', 4);
	refuse("command line");
	info->cmdline = CMDLINE;
	memset(memory + CMDLINE, 'a', CMDLINE_MAX);
	refuse("too long");
	clean();
	describe(7, 0x1000, 1, WB);
	info->archive = ARCHIVE;
	info->archive_size = SIZE;
	refuse("archive");
}

/* A last descriptor that the size cuts off is not looked at. */
static void half_a_descriptor(void **state)
{
	clean();
	describe(7, 0x1000, 1, WB);
	describe(7, 0x40000000, 1, WB);
	info->memmap_size -= 9;
	assert_int_equal(read_it(), 0);
	assert_int_equal(p.nr_mem, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_read),
		cmocka_unit_test(types),
		cmocka_unit_test(attributes),
		cmocka_unit_test(pieces_merge),
		cmocka_unit_test(huge_ranges_are_left_out),
		cmocka_unit_test(damage),
		cmocka_unit_test(half_a_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
