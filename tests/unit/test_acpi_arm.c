/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ACPI reader of arm64 machines against tables laid out as QEMU's virt machine gives them: GICv3 and
 * GICv2, every kind of damage, other machines' habits. Must never need a machine.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <cupel/errno.h>
#include <cupel/platform.h>

#include "acpi_rig.h"

#define FADT (BASE + 0x8000)
#define GTDT (BASE + 0x8200)
#define SPCR (BASE + 0x8300)

#define GICC_AT(i) (MADT + 44 + 80 * (i))
#define GICD_AT	   GICC_AT(2)
#define GICR_AT	   (GICD_AT + 24)

static void add_gicc(u32 uid, u64 mpidr, u32 flags)
{
	u32 e = MADT + length_of(MADT);

	add_entry(0xb, (u8[78]){ 0 }, 78);
	put(e + 4, uid, 4);
	put(e + 8, uid, 4);
	put(e + 12, flags, 4);
	put(e + 20, 23, 4);
	put(e + 56, 25, 4);
	put(e + 68, mpidr, 8);
	mend_table(MADT);
}

static void add_gicd(u8 version)
{
	u32 e = MADT + length_of(MADT);

	add_entry(0xc, (u8[22]){ 0 }, 22);
	put(e + 8, 0x8000000, 8);
	put(e + 20, version, 1);
	mend_table(MADT);
}

static void add_gicr(u64 base, u32 size)
{
	u32 e = MADT + length_of(MADT);

	add_entry(0xe, (u8[14]){ 0 }, 14);
	put(e + 4, base, 8);
	put(e + 12, size, 4);
	mend_table(MADT);
}

static void make_fadt(u16 boot_flags)
{
	begin_table(FADT, "FACP", 276);
	put(FADT + 8, 6, 1);
	put(FADT + 112, 1 << 20, 4);
	put(FADT + 129, boot_flags, 2);
	mend_table(FADT);
}

static void make_others(void)
{
	static const u32 gsivs[] = { 29, 30, 27, 26 };

	begin_table(GTDT, "GTDT", 104);
	put(GTDT + 8, 3, 1);
	for (u32 i = 0; i < ARRAY_SIZE(gsivs); i++)
		put(GTDT + 48 + 8 * i, gsivs[i], 4);
	put(GTDT + 96, 28, 4);
	mend_table(GTDT);
	begin_table(SPCR, "SPCR", 80);
	at(SPCR)[36] = 3;
	memcpy(at(SPCR) + 40, "\x00\x20\x00\x03", 4);
	put(SPCR + 44, 0x9000000, 8);
	mend_table(SPCR);
}

/* All but what the MADT lists. */
static void make_frame(u16 boot_flags)
{
	static const u32 tables[] = { FADT, MADT, GTDT, SPCR };

	make_roots(tables, ARRAY_SIZE(tables));
	make_fadt(boot_flags);
	make_others();
	begin_table(MADT, "APIC", 44);
	put(MADT + 8, 4, 1);
}

static void make_v3(void)
{
	make_frame(1);
	add_gicc(0, 0, 1);
	add_gicc(1, 1, 1);
	add_gicd(3);
	add_gicr(0x80a0000, 0xf60000);
}

static void gicv2_addresses(u32 i)
{
	put(GICC_AT(i) + 32, 0x8010000, 8);
	put(GICC_AT(i) + 40, 0x8040000, 8);
	put(GICC_AT(i) + 48, 0x8030000, 8);
}

static void make_v2(u8 version)
{
	make_frame(1);
	add_gicc(0, 0, 1);
	add_gicc(1, 1, 1);
	gicv2_addresses(0);
	gicv2_addresses(1);
	add_gicd(version);
}

static const struct acpi_access access = { rig_phys, NULL };

static int read_tables(void)
{
	why = "";
	return acpi_read_arm(&access, RSDP, &p, &why);
}

static void good_v3(void **state)
{
	make_v3();
	assert_int_equal(read_tables(), 0);
	assert_string_equal(p.machine, "MAKER BOARD");
	assert_int_equal(p.nr_cpus, 2);
	assert_int_equal(p.cpus[1].hwid, 1);
	assert_int_equal(p.cpus[1].acpi_uid, 1);
	assert_int_equal(p.cpus[1].method, CPU_METHOD_PSCI);
	assert_true(p.cpus[1].enabled);
	assert_int_equal(p.psci, PSCI_SMC);
	assert_int_equal(p.gic.kind, GIC_V3);
	assert_int_equal(p.gic.dist.base, 0x8000000);
	assert_int_equal(p.gic.dist.size, 0x10000);
	assert_int_equal(p.gic.nr_redist, 1);
	assert_int_equal(p.gic.redist[0].base, 0x80a0000);
	assert_int_equal(p.gic.redist[0].size, 0xf60000);
	assert_int_equal(p.gic.maint_intid, 25);
}

static void timers_and_console(void **state)
{
	make_v3();
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.timer.phys_ns, 30);
	assert_int_equal(p.timer.virt, 27);
	assert_int_equal(p.timer.hyp_phys, 26);
	assert_int_equal(p.timer.hyp_virt, 28);
	assert_int_equal(p.uart.kind, UART_PL011);
	assert_int_equal(p.uart.base, 0x9000000);
	/* Revision 2 ends before the virtual EL2 timer; a GSIV that no device can have is none. */
	make_v3();
	put(GTDT + 4, 96, 4);
	put(GTDT + 64, 7, 4);
	put(GTDT + 56, 1020, 4);
	mend_table(GTDT);
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.timer.hyp_virt, 0);
	assert_int_equal(p.timer.virt, 0);
	assert_int_equal(p.timer.phys_ns, 0);
}

static void good_v2(void **state)
{
	for (u8 version = 0; version <= 2; version += 2) {
		make_v2(version);
		assert_int_equal(read_tables(), 0);
		assert_int_equal(p.gic.kind, GIC_V2);
		assert_int_equal(p.gic.dist.size, 0x1000);
		assert_int_equal(p.gic.cpu_if.base, 0x8010000);
		assert_int_equal(p.gic.cpu_if.size, 0x2000);
		assert_int_equal(p.gic.vcpu_if.base, 0x8040000);
		assert_int_equal(p.gic.hyp_if.base, 0x8030000);
		assert_int_equal(p.gic.nr_redist, 0);
	}
}

/* A redistributor in each GICC, and a distributor that says nothing of its version. */
static void redistributor_of_each_cpu(void **state)
{
	make_frame(3);
	add_gicc(0, 0x100, 1);
	add_gicc(1, 0x8000000001, 1); /* Aff3, and bit 31, which is no affinity, below */
	put(GICC_AT(0) + 60, 0x9000000, 8);
	put(GICC_AT(1) + 60, 0xa000000, 8);
	put(GICC_AT(1) + 71, 0x80, 1);
	add_gicd(0);
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.gic.kind, GIC_V3);
	assert_int_equal(p.gic.nr_redist, 2);
	assert_int_equal(p.gic.redist[1].base, 0xa000000);
	assert_int_equal(p.gic.redist[1].size, 0x20000);
	assert_int_equal(p.cpus[1].hwid, 0x8000000001);
	assert_int_equal(p.psci, PSCI_HVC);
}

static void cpus_of_all_sorts(void **state)
{
	make_v3();
	add_gicc(2, 2, 0); /* can't be used */
	add_gicc(3, 3, 8); /* online capable: may come later */
	add_gicc(4, 1, 1); /* twice */
	add_entry(0xb, (u8[70]){ 0 }, 70); /* too short to be one */
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.nr_cpus, 3);
	assert_int_equal(p.cpus[2].hwid, 3);
	assert_false(p.cpus[2].enabled);
	make_v3();
	for (u32 i = 0; i < NR_CPUS / 2; i++)
		add_gicr(0x80a0000 + i, 0x20000);
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.gic.nr_redist, NR_CPUS / 2 + 1);
}

/* Neither PSCI nor anything else; or the parking protocol, which leaves a CPU where it is. */
static void without_psci(void **state)
{
	make_v3();
	make_fadt(0);
	put(GICC_AT(1) + 16, 1, 4);
	put(GICC_AT(1) + 24, 0x50000000, 8);
	mend_table(MADT);
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.psci, PSCI_NONE);
	assert_int_equal(p.cpus[0].method, CPU_METHOD_NONE);
	assert_true(p.cpus[0].enabled);
	assert_int_equal(p.cpus[1].method, CPU_METHOD_PARKING);
	assert_false(p.cpus[1].enabled);
}

static void uart_widths(void **state)
{
	static const struct {
		u8 type, bits, access;
		enum uart_kind kind;
		u32 shift, width;
	} cases[] = {
		{ 0, 32, 1, UART_16550, 2, 1 },	   { 0, 32, 3, UART_16550, 2, 4 },
		{ 0, 32, 0, UART_16550, 2, 4 },	   { 0, 8, 1, UART_16550, 0, 1 },
		{ 0, 8, 0, UART_16550, 0, 1 },	   { 0x12, 8, 3, UART_16550, 2, 4 },
		{ 0x12, 16, 2, UART_16550, 1, 2 }, { 0x12, 8, 4, UART_16550, 0, 1 },
		{ 0xd, 32, 3, UART_SBSA, 2, 4 },   { 0xe, 32, 2, UART_SBSA, 2, 2 },
		{ 3, 32, 3, UART_PL011, 2, 4 },	   { 0x10, 32, 3, UART_BCM_MINI, 2, 4 },
		{ 0xc, 32, 3, UART_IMX, 2, 4 },	   { 0x15, 32, 3, UART_NONE, 2, 4 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		make_v3();
		at(SPCR)[36] = cases[i].type;
		at(SPCR)[41] = cases[i].bits;
		at(SPCR)[43] = cases[i].access;
		mend_table(SPCR);
		assert_int_equal(read_tables(), 0);
		assert_int_equal(p.uart.kind, cases[i].kind);
		assert_int_equal(p.uart.reg_shift, cases[i].shift);
		assert_int_equal(p.uart.reg_width, cases[i].width);
	}
}

static const struct damage damages[] = {
	{ "RSDP sum", RSDP + 9, 0xaa, 0, -EINVAL, "no RSDP" },
	{ "FADT sum", FADT + 12, 0xaa, 0, -EINVAL, "no good FADT of ACPI 5.1 or later" },
	{ "FADT of ACPI 5.0", FADT + 5, 0, FADT, -EINVAL, "no good FADT of ACPI 5.1 or later" },
	{ "FADT of a PC", FADT + 114, 0, FADT, -EINVAL,
	  "FADT does not describe a hardware-reduced machine" },
	{ "GTDT signature", GTDT, 'X', GTDT, -EINVAL, "no good GTDT" },
	{ "GTDT too short", GTDT + 4, 95, GTDT, -EINVAL, "no good GTDT" },
	{ "MADT sum", MADT + 12, 0xaa, 0, -EINVAL, "no good MADT" },
	{ "GICC of no length", GICC_AT(0) + 1, 0, MADT, -EINVAL, "MADT entry runs past its table" },
	{ "GICR too long", GICR_AT + 1, 17, MADT, -EINVAL, "MADT entry runs past its table" },
	{ "no GICD", GICD_AT, 0x70, MADT, -EINVAL, "MADT names no GIC distributor" },
	{ "GICD without an address", GICD_AT + 11, 0, MADT, -EINVAL, "MADT names no GIC distributor" },
	{ "no GICR", GICR_AT, 0x70, MADT, -EINVAL, "MADT names no GIC redistributor" },
	{ "GICR without a length", GICR_AT + 14, 0, MADT, -EINVAL, "MADT names no GIC redistributor" },
	{ "SPCR sum", SPCR + 12, 0xaa, 0, 0, "" },
};

static void damage_is_reported(void **state)
{
	for (u32 i = 0; i < ARRAY_SIZE(damages); i++) {
		make_v3();
		do_damage(&damages[i]);
		assert_int_equal(read_tables(), damages[i].err);
		if (damages[i].err)
			assert_string_equal(why, damages[i].why);
		else
			assert_int_equal(p.nr_cpus, 2);
	}
}

static void other_controllers(void **state)
{
	make_v2(1); /* GICv1: no virtualization; who uses it says so */
	assert_int_equal(read_tables(), 0);
	assert_int_equal(p.gic.kind, GIC_NONE);
	make_frame(1);
	add_gicc(0, 0, 1);
	add_gicd(2);
	assert_int_equal(read_tables(), -EINVAL);
	assert_string_equal(why, "MADT names no GIC CPU interface");
	make_frame(1);
	add_gicd(3);
	assert_int_equal(read_tables(), -EINVAL);
	assert_string_equal(why, "MADT lists no CPU");
}

/* Memory that ends anywhere: an answer, and no access that phys() would have to refuse twice. */
static void cut_off_anywhere(void **state)
{
	for (u64 end = BASE; end < BASE + SIZE; end += end < BASE + 0x600 ? 1 : 37) {
		make_v3();
		memory_end = end;
		if (!read_tables())
			assert_int_equal(p.nr_cpus, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_v3),	     cmocka_unit_test(timers_and_console),
		cmocka_unit_test(good_v2),	     cmocka_unit_test(redistributor_of_each_cpu),
		cmocka_unit_test(cpus_of_all_sorts), cmocka_unit_test(without_psci),
		cmocka_unit_test(uart_widths),	     cmocka_unit_test(damage_is_reported),
		cmocka_unit_test(other_controllers), cmocka_unit_test(cut_off_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
