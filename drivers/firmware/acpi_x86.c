/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a PC says in its ACPI tables (acpi.c): local APICs and I/O APICs, FADT, HPET, and the one
 * constant of the DSDT that soft-off needs. Must not need any of it but the MADT.
 */
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <string.h>

#include "acpi.h"
#include "firmware.h"

static void add_cpu(struct platform *p, u32 apic_id, u32 uid, u32 flags)
{
	struct cpu_info cpu = {
		.hwid = apic_id,
		.enabled = flags & MADT_CPU_ENABLED,
		.acpi_uid = uid,
	};

	/* QEMU lists CPUs that may be plugged in later as neither enabled nor online capable. */
	if (flags & (MADT_CPU_ENABLED | MADT_CPU_ONLINE_CAPABLE))
		acpi_add_cpu(p, &cpu);
}

static void add_ioapic(struct platform *p, const u8 *e)
{
	if (p->x86.nr_ioapics == PLATFORM_MAX_IOAPICS)
		return;
	p->x86.ioapic[p->x86.nr_ioapics++] = (struct ioapic_info){
		.id = e[2],
		.base = fw_get32(e, 4),
		.gsi_base = fw_get32(e, 8),
	};
}

/* One entry of the right length for its type; other types are none of our business. */
static void madt_entry(struct platform *p, const u8 *e, u32 len)
{
	if (e[0] == MADT_LAPIC && len >= 8) {
		if (e[3] != 0xff) /* the broadcast address: no CPU */
			add_cpu(p, e[3], e[2], fw_get32(e, 4));
	} else if (e[0] == MADT_X2APIC && len >= 16) {
		if (fw_get32(e, 4) != 0xffffffff)
			add_cpu(p, fw_get32(e, 4), fw_get32(e, 12), fw_get32(e, 8));
	} else if (e[0] == MADT_IOAPIC && len >= 12) {
		add_ioapic(p, e);
	} else if (e[0] == MADT_LAPIC_ADDRESS && len >= 12) {
		p->x86.lapic_base = fw_get64(e, 4);
	}
}

/* --- Soft-off: the constants of \_S5 --- */

/* One integer of a package: ZeroOp, OneOp or BytePrefix (ACPI 6.5, 20.2.3). 0 = none of these. */
static u32 aml_byte(const u8 *p, u32 left, u8 *value)
{
	if (left >= 1 && p[0] <= 1) {
		*value = p[0];
		return 1;
	}
	if (left >= 2 && p[0] == AML_BYTE_PREFIX) {
		*value = p[1];
		return 2;
	}
	return 0;
}

/* Name(_S5_, Package() { SLP_TYPa, SLP_TYPb, … }) is data, not code: read where it stands. */
static bool read_s5(const u8 *aml, u32 len, struct x86_info *x)
{
	u32 pos = 4, used;

	if (len < 8 || aml[pos++] != AML_PACKAGE)
		return false;
	pos += 1 + (aml[pos] >> 6); /* PkgLength: bits 7:6 count the bytes that follow */
	pos++; /* NumElements */
	if (pos >= len)
		return false;
	used = aml_byte(aml + pos, len - pos, &x->s5_typ_a);
	if (!used)
		return false;
	pos += used;
	return aml_byte(aml + pos, len - pos, &x->s5_typ_b);
}

static void find_s5(const u8 *dsdt, struct x86_info *x)
{
	u32 size = fw_get32(dsdt, ACPI_HEADER_LENGTH);

	for (u32 pos = ACPI_HEADER_SIZE; pos + 4 <= size && !x->has_s5; pos++) {
		if (dsdt[pos] == '_' && !memcmp(dsdt + pos, "_S5_", 4))
			x->has_s5 = read_s5(dsdt + pos, size - pos, x);
	}
}

/* --- FADT: ACPI 6.5, 5.2.9 --- */

static void read_reset(const u8 *fadt, u32 size, struct x86_info *x)
{
	u8 space;

	if (size < FADT_RESET_VALUE + 1 || !(fw_get32(fadt, FADT_FLAGS) & FADT_FLAG_RESET))
		return;
	space = fadt[FADT_RESET_REG + GAS_SPACE];
	x->reset_is_port = space == GAS_IO;
	x->reset_addr = fw_get64(fadt, FADT_RESET_REG + GAS_ADDRESS);
	x->reset_value = fadt[FADT_RESET_VALUE];
	x->has_reset = x->reset_addr && (space == GAS_MEMORY || space == GAS_IO);
}

static u32 io_port(const u8 *gas)
{
	u64 addr = fw_get64(gas, GAS_ADDRESS);

	return gas[GAS_SPACE] == GAS_IO && addr <= 0xffff ? (u32)addr : 0;
}

static void read_fadt(const struct acpi_access *a, const u8 *fadt, struct x86_info *x)
{
	u32 size = fw_get32(fadt, ACPI_HEADER_LENGTH);
	paddr_t dsdt_pa = fw_get32(fadt, FADT_DSDT);
	const u8 *dsdt;

	x->pm1a_port = fw_get32(fadt, FADT_PM1A_CNT) & 0xffff;
	x->pm1b_port = fw_get32(fadt, FADT_PM1B_CNT) & 0xffff;
	if (fadt[FADT_PM_TMR_LEN] == 4)
		x->pm_timer_port = fw_get32(fadt, FADT_PM_TMR) & 0xffff;
	x->pm_timer_32bit = fw_get32(fadt, FADT_FLAGS) & FADT_FLAG_TMR_32BIT;
	read_reset(fadt, size, x);
	if (size >= FADT_X_DSDT + 8 && fw_get64(fadt, FADT_X_DSDT))
		dsdt_pa = fw_get64(fadt, FADT_X_DSDT);
	if (size >= FADT_X_PM1A_CNT + GAS_SIZE && !x->pm1a_port)
		x->pm1a_port = io_port(fadt + FADT_X_PM1A_CNT);
	if (size >= FADT_X_PM_TMR + GAS_SIZE && !x->pm_timer_port)
		x->pm_timer_port = io_port(fadt + FADT_X_PM_TMR);
	dsdt = acpi_map(a, dsdt_pa, "DSDT", ACPI_HEADER_SIZE);
	if (dsdt && x->pm1a_port)
		find_s5(dsdt, x);
}

int acpi_read_x86(const struct acpi_access *a, paddr_t rsdp, struct platform *p, const char **why)
{
	struct acpi_root root;
	const u8 *t;
	int err = acpi_open(a, rsdp, &root, p, why);

	if (err)
		return err;
	t = acpi_find(&root, "FACP", FADT_MIN_SIZE);
	if (t)
		read_fadt(a, t, &p->x86);
	t = acpi_find(&root, "HPET", HPET_MIN_SIZE);
	if (t && t[HPET_BASE + GAS_SPACE] == GAS_MEMORY)
		p->x86.hpet_base = fw_get64(t, HPET_BASE + GAS_ADDRESS);
	*why = "no good MADT";
	t = acpi_find(&root, "APIC", MADT_ENTRIES);
	if (!t)
		return -EINVAL;
	p->x86.lapic_base = fw_get32(t, MADT_LAPIC_BASE);
	return acpi_read_madt(t, madt_entry, p, why);
}
