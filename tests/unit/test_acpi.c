/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ACPI reader against tables made here: what good ones give, what each kind of damage gives, and
 * that no cut-off point makes it read what isn't there. Must never need a machine.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <cupel/errno.h>
#include <cupel/platform.h>

#include "acpi_rig.h"

#define FADT (BASE + 0x8000)
#define HPET (BASE + 0x8200)
#define SPCR (BASE + 0x8300)
#define DSDT (BASE + 0x8400)

static u8 ebda[0x400];

static void add_lapic(u8 uid, u8 id, u8 flags)
{
	add_entry(0, (u8[]){ uid, id, flags, 0, 0, 0 }, 6);
}

static void add_x2apic(u32 id, u8 flags)
{
	add_entry(9,
		  (u8[]){ 0, 0, (u8)id, (u8)(id >> 8), (u8)(id >> 16), (u8)(id >> 24), flags, 0, 0,
			  0, 7, 0, 0, 0 },
		  14);
}

static void make_fadt(void)
{
	begin_table(FADT, "FACP", 244);
	put(FADT + 40, DSDT, 4);
	put(FADT + 64, 0x604, 4);
	put(FADT + 76, 0x608, 4);
	at(FADT)[91] = 4;
	put(FADT + 112, 1 << 8 | 1 << 10, 4);
	at(FADT)[116] = 1; /* port */
	put(FADT + 120, 0xcf9, 8);
	at(FADT)[128] = 0xf;
	mend_table(FADT);
	begin_table(DSDT, "DSDT", 80);
	memcpy(at(DSDT) + 50, "\x08_S5_\x12\x06\x04\x0a\x05\x01\x00", 12);
	mend_table(DSDT);
}

static void make_uart(void)
{
	begin_table(SPCR, "SPCR", 80);
	at(SPCR)[36] = 0;
	memcpy(at(SPCR) + 40, "\x00\x20\x00\x03", 4);
	put(SPCR + 44, 0xfe030000, 8);
	mend_table(SPCR);
	begin_table(HPET, "HPET", 56);
	put(HPET + 44, 0xfed00000, 8);
	mend_table(HPET);
}

static void make_tables(void)
{
	static const u32 tables[] = { FADT, MADT, HPET, SPCR };

	memset(ebda, 0, sizeof(ebda));
	make_roots(tables, ARRAY_SIZE(tables));
	make_fadt();
	make_uart();
	begin_table(MADT, "APIC", 44);
	put(MADT + 36, 0xfee00000, 4);
	add_lapic(1, 3, 1);
	add_lapic(2, 5, 1);
	add_entry(1, (u8[]){ 2, 0, 0, 0, 0xc0, 0xfe, 24, 0, 0, 0 }, 10);
}

static const void *phys(void *ctx, paddr_t pa, size_t len)
{
	if (pa >= 0x9fc00 && pa + len <= 0x9fc00 + sizeof(ebda))
		return ebda + (pa - 0x9fc00);
	if (pa == 0x40e && len == 2)
		return "\xc0\x9f";
	return rig_phys(ctx, pa, len);
}

static const struct acpi_access access = { phys, NULL };

static int read_tables(void)
{
	why = "";
	return acpi_read_x86(&access, RSDP, &p, &why);
}

static void good_tables_are_read(void **state)
{
	make_tables();
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.nr_cpus, 2);
	assert_int_equal(p.cpus[0].hwid, 3);
	assert_int_equal(p.cpus[1].hwid, 5);
	assert_int_equal(p.cpus[1].acpi_uid, 2);
	assert_true(p.cpus[1].enabled);
	assert_int_equal(p.x86.nr_ioapics, 1);
	assert_int_equal(p.x86.ioapic[0].base, 0xfec00000);
	assert_int_equal(p.x86.ioapic[0].gsi_base, 24);
	assert_int_equal(p.x86.lapic_base, 0xfee00000);
	assert_int_equal(p.x86.hpet_base, 0xfed00000);
	assert_int_equal(p.x86.pm_timer_port, 0x608);
	assert_true(p.x86.pm_timer_32bit);
	assert_string_equal(p.machine, "MAKER BOARD");
}

static void ends_of_the_machine_are_found(void **state)
{
	make_tables();
	assert_int_equal(read_tables(), 0);
	assert_true(p.x86.has_s5);
	assert_int_equal(p.x86.pm1a_port, 0x604);
	assert_int_equal(p.x86.s5_typ_a, 5);
	assert_int_equal(p.x86.s5_typ_b, 1);
	assert_true(p.x86.has_reset && p.x86.reset_is_port);
	assert_int_equal(p.x86.reset_addr, 0xcf9);
	assert_int_equal(p.x86.reset_value, 0xf);
}

static void uart_kinds(void **state)
{
	static const struct {
		u8 type, space;
		u64 base;
		enum uart_kind kind;
	} cases[] = {
		{ 0, 0, 0xfe030000, UART_16550 }, { 1, 1, 0x2f8, UART_16550_PIO },
		{ 0x12, 0, 0x90000, UART_16550 }, { 3, 0, 0x9000000, UART_PL011 },
		{ 0, 1, 0x12345678, UART_NONE },  { 99, 0, 0x1000, UART_NONE },
		{ 0, 7, 0x1000, UART_NONE },	  { 0, 0, 0, UART_NONE },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		make_tables();
		at(SPCR)[36] = cases[i].type;
		at(SPCR)[40] = cases[i].space;
		put(SPCR + 44, cases[i].base, 8);
		mend_table(SPCR);
		assert_int_equal(read_tables(), 0);
		assert_int_equal(p.uart.kind, cases[i].kind);
		assert_int_equal(p.uart.reg_shift, 2);
	}
}

static void cpu_entries(void **state)
{
	make_tables();
	add_lapic(3, 9, 0); /* can be plugged in later */
	add_lapic(4, 0xff, 1); /* the broadcast address */
	add_lapic(5, 5, 1); /* twice */
	add_lapic(6, 11, 2); /* online capable */
	add_x2apic(0x1234, 1);
	add_x2apic(0xffffffff, 1);
	add_entry(99, (u8[]){ 1, 2, 3 }, 3);
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.nr_cpus, 4);
	assert_int_equal(p.cpus[2].hwid, 11);
	assert_false(p.cpus[2].enabled);
	assert_int_equal(p.cpus[3].hwid, 0x1234);
	assert_int_equal(p.cpus[3].acpi_uid, 7);
}

static void more_than_there_is_room_for(void **state)
{
	make_tables();
	for (u32 i = 0; i < NR_CPUS + 10; i++)
		add_x2apic(0x10000 + i, 1);
	for (u32 i = 0; i < PLATFORM_MAX_IOAPICS + 3; i++)
		add_entry(1, (u8[]){ (u8)i, 0, 0, 0, 0xc0, 0xfe, 0, 0, 0, 0 }, 10);
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.nr_cpus, NR_CPUS);
	assert_int_equal(p.x86.nr_ioapics, PLATFORM_MAX_IOAPICS);
}

static void lapic_address_override(void **state)
{
	make_tables();
	add_entry(5, (u8[]){ 0, 0, 0, 0, 0xe0, 0xfe, 1, 0, 0, 0 }, 10);
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.x86.lapic_base, 0x1fee00000);
}

static const struct damage damages[] = {
	{ "RSDP signature", RSDP, 'X', 0, -EINVAL, "no RSDP" },
	{ "RSDP sum", RSDP + 9, 0xaa, 0, -EINVAL, "no RSDP" },
	{ "XSDT sum: the RSDT serves", XSDT + 10, 0xaa, 0, 0, "" },
	{ "XSDT signature: the RSDT serves", XSDT, 'Y', XSDT, 0, "" },
	{ "MADT sum", MADT + 10, 0xaa, 0, -EINVAL, "no good MADT" },
	{ "MADT signature", MADT, 'B', MADT, -EINVAL, "no good MADT" },
	{ "MADT too short", MADT + 4, 43, MADT, -EINVAL, "no good MADT" },
	{ "MADT beyond memory", MADT + 6, 0x30, 0, -EINVAL, "no good MADT" },
	{ "MADT of 4 GiB", MADT + 7, 0xff, 0, -EINVAL, "no good MADT" },
	{ "MADT entry of no length", MADT + 45, 0, MADT, -EINVAL, "MADT entry runs past its table" },
	{ "MADT entry of one byte", MADT + 45, 1, MADT, -EINVAL, "MADT entry runs past its table" },
	{ "MADT entry too long", MADT + 45, 200, MADT, -EINVAL, "MADT entry runs past its table" },
	{ "MADT without entries", MADT + 4, 44, MADT, -EINVAL, "MADT lists no CPU" },
	{ "MADT ends inside an entry", MADT + 4, 59, MADT, -EINVAL, "MADT entry runs past its table" },
	{ "MADT ends after a type", MADT + 4, 61, MADT, -EINVAL, "MADT entry runs past its table" },
	{ "MADT entry too short for its type", MADT + 45, 4, MADT, -EINVAL,
	  "MADT entry runs past its table" },
	{ "FADT sum", FADT + 10, 0xaa, 0, 0, "" },
	{ "FADT too short", FADT + 4, 100, FADT, 0, "" },
	{ "DSDT address", FADT + 42, 0xff, FADT, 0, "" },
	{ "HPET sum", HPET + 10, 0xaa, 0, 0, "" },
	{ "SPCR sum", SPCR + 10, 0xaa, 0, 0, "" },
};

static void damage_is_reported(void **state)
{
	for (u32 i = 0; i < ARRAY_SIZE(damages); i++) {
		const struct damage *d = &damages[i];

		make_tables();
		do_damage(d);
		assert_int_equal(read_tables(), d->err);
		if (d->err)
			assert_string_equal(why, d->why);
		else
			assert_int_equal(p.nr_cpus, 2);
	}
}

static void neither_root(void **state)
{
	make_tables();
	at(XSDT)[9]++;
	at(RSDT)[9]++;
	assert_int_equal(read_tables(), -EINVAL);
	assert_string_equal(why, "neither a good XSDT nor a good RSDT");
}

static void first_revision_has_no_xsdt(void **state)
{
	make_tables();
	at(RSDP)[15] = 0;
	mend(RSDP, 20, 8);
	at(XSDT)[9]++;
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.nr_cpus, 2);
}

static void bad_optional_tables_count_as_absent(void **state)
{
	make_tables();
	at(FADT)[9]++;
	at(HPET)[9]++;
	at(SPCR)[9]++;
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.x86.pm_timer_port, 0);
	assert_int_equal(p.x86.hpet_base, 0);
	assert_int_equal(p.uart.kind, UART_NONE);
	assert_false(p.x86.has_s5 || p.x86.has_reset);
}

/* S5 packages that end early, or hold what isn't an integer. */
static void soft_off_packages(void **state)
{
	static const char *const bad[] = { "_S5_\x11", "_S5_\x12\xc6", "_S5_\x12\x06\x04\x0b",
					   "_S5_\x12\x06\x04\x0a" };

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		u32 len = 36 + (u32)strlen(bad[i]);

		make_tables();
		begin_table(DSDT, "DSDT", len);
		memcpy(at(DSDT) + 36, bad[i], strlen(bad[i]));
		mend_table(DSDT);
		assert_int_equal(read_tables(), 0);
		assert_false(p.x86.has_s5);
	}
}

/* Memory that ends anywhere: an answer, and no access that phys() would have to refuse twice. */
static void cut_off_anywhere(void **state)
{
	for (u64 end = BASE; end < BASE + SIZE; end += end < BASE + 0x600 ? 1 : 37) {
		make_tables();
		memory_end = end;
		if (!read_tables())
			assert_int_equal(p.nr_cpus, 2);
	}
}

static void rsdp_is_found(void **state)
{
	make_tables();
	assert_int_equal(acpi_find_rsdp(&access), RSDP);
	memcpy(at(RSDP + 0x7f0), at(RSDP), 36);
	at(RSDP)[0] = 0;
	assert_int_equal(acpi_find_rsdp(&access), RSDP + 0x7f0);
	memcpy(ebda + 0x20, at(RSDP + 0x7f0), 36);
	assert_int_equal(acpi_find_rsdp(&access), 0x9fc20);
	memset(ebda, 0, sizeof(ebda));
	at(RSDP + 0x7f0)[1] = 0;
	assert_int_equal(acpi_find_rsdp(&access), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_tables_are_read),
		cmocka_unit_test(ends_of_the_machine_are_found),
		cmocka_unit_test(uart_kinds),
		cmocka_unit_test(cpu_entries),
		cmocka_unit_test(more_than_there_is_room_for),
		cmocka_unit_test(lapic_address_override),
		cmocka_unit_test(damage_is_reported),
		cmocka_unit_test(neither_root),
		cmocka_unit_test(first_revision_has_no_xsdt),
		cmocka_unit_test(bad_optional_tables_count_as_absent),
		cmocka_unit_test(soft_off_packages),
		cmocka_unit_test(cut_off_anywhere),
		cmocka_unit_test(rsdp_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
