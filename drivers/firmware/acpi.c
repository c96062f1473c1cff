/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The static ACPI tables (ACPI 6.5): RSDP, XSDT or RSDT, MADT, FADT, HPET, SPCR, and the one constant
 * of the DSDT that soft-off needs. Tables are untrusted: memory is touched only through the access
 * function, and no offset is believed before it is checked. Names no architecture; interprets no AML.
 *
 * The root tables and the MADT must be right; any other table that is wrong counts as absent.
 */
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <string.h>

#include "acpi.h"
#include "firmware.h"

static bool checksum_ok(const u8 *p, size_t len)
{
	u8 sum = 0;

	while (len--)
		sum = (u8)(sum + *p++);
	return !sum;
}

/* A whole table with a right checksum and at least `min_size` bytes, or NULL. */
static const u8 *map_table(const struct acpi_access *a, paddr_t pa, const char *sig, u32 min_size)
{
	const u8 *t = pa ? a->phys(a->ctx, pa, ACPI_HEADER_SIZE) : NULL;
	u32 len;

	if (!t || memcmp(t, sig, 4))
		return NULL;
	len = fw_get32(t, ACPI_HEADER_LENGTH);
	if (len < min_size || len < ACPI_HEADER_SIZE || len > ACPI_TABLE_MAX)
		return NULL;
	t = a->phys(a->ctx, pa, len);
	return t && checksum_ok(t, len) ? t : NULL;
}

static bool rsdp_ok(const struct acpi_access *a, paddr_t pa)
{
	const u8 *r = a->phys(a->ctx, pa, ACPI_RSDP_SIZE_V1);

	return r && !memcmp(r, "RSD PTR ", 8) && checksum_ok(r, ACPI_RSDP_SIZE_V1);
}

static paddr_t scan_rsdp(const struct acpi_access *a, paddr_t from, paddr_t to)
{
	for (paddr_t pa = from; pa + ACPI_RSDP_SIZE_V1 <= to; pa += ACPI_RSDP_ALIGN) {
		if (rsdp_ok(a, pa))
			return pa;
	}
	return 0;
}

/* ACPI 6.5, 5.2.5.1: the first KiB of the EBDA, then the BIOS read-only area. */
paddr_t acpi_find_rsdp(const struct acpi_access *a)
{
	const u8 *seg = a->phys(a->ctx, BIOS_EBDA_SEGMENT, 2);
	paddr_t ebda = seg ? (paddr_t)fw_get16(seg, 0) << 4 : 0;
	paddr_t found = 0;

	if (ebda >= BIOS_EBDA_LOWEST && ebda < BIOS_EBDA_END)
		found = scan_rsdp(a, ebda, ebda + KIB(1));
	return found ? found : scan_rsdp(a, BIOS_ROM, BIOS_ROM_END);
}

/* The list of tables: `width` bytes an address. */
struct root {
	const u8 *table;
	const u8 *entries;
	u32 count;
	u32 width;
};

static bool root_from(const struct acpi_access *a, paddr_t pa, const char *sig, u32 width,
		      struct root *root)
{
	const u8 *t = map_table(a, pa, sig, ACPI_HEADER_SIZE);

	if (!t)
		return false;
	root->table = t;
	root->entries = t + ACPI_HEADER_SIZE;
	root->count = (fw_get32(t, ACPI_HEADER_LENGTH) - ACPI_HEADER_SIZE) / width;
	root->width = width;
	return true;
}

static bool find_root(const struct acpi_access *a, paddr_t rsdp, struct root *root)
{
	const u8 *r = a->phys(a->ctx, rsdp, ACPI_RSDP_SIZE_V1);
	u32 rsdt = fw_get32(r, ACPI_RSDP_RSDT);

	if (r[ACPI_RSDP_REVISION] >= 2) {
		r = a->phys(a->ctx, rsdp, ACPI_RSDP_SIZE_V2);
		if (r && checksum_ok(r, ACPI_RSDP_SIZE_V2) &&
		    root_from(a, fw_get64(r, ACPI_RSDP_XSDT), "XSDT", 8, root))
			return true;
	}
	return root_from(a, rsdt, "RSDT", 4, root);
}

/* Up to `len` printable characters, without the blanks that fill a field up. */
static char *append_field(char *out, const u8 *field, u32 len)
{
	while (len && (field[len - 1] == ' ' || !field[len - 1]))
		len--;
	for (u32 i = 0; i < len; i++)
		*out++ = field[i] > ' ' && field[i] < 0x7f ? (char)field[i] : '_';
	return out;
}

/* Who made the tables, and for what: the nearest that they come to a name of the machine. */
static void name_machine(const struct root *root, struct platform *p)
{
	static char name[ACPI_OEM_ID_SIZE + 1 + ACPI_OEM_TABLE_ID_SIZE + 1];
	char *end = append_field(name, root->table + ACPI_OEM_ID, ACPI_OEM_ID_SIZE);

	*end++ = ' ';
	end = append_field(end, root->table + ACPI_OEM_TABLE_ID, ACPI_OEM_TABLE_ID_SIZE);
	*end = 0;
	p->machine = name;
}

/* The first good table of that name, or NULL. */
static const u8 *find_table(const struct acpi_access *a, const struct root *root, const char *sig,
			    u32 min_size)
{
	for (u32 i = 0; i < root->count; i++) {
		const u8 *e = root->entries + (size_t)i * root->width;
		const u8 *t = map_table(a, root->width == 8 ? fw_get64(e, 0) : fw_get32(e, 0), sig,
					min_size);

		if (t)
			return t;
	}
	return NULL;
}

/* --- MADT: ACPI 6.5, 5.2.12 --- */

static void add_cpu(struct platform *p, u32 apic_id, u32 uid, u32 flags)
{
	/* QEMU lists CPUs that may be plugged in later as neither enabled nor online capable. */
	if (!(flags & (MADT_CPU_ENABLED | MADT_CPU_ONLINE_CAPABLE)))
		return;
	for (u32 i = 0; i < p->nr_cpus; i++) {
		if (p->cpus[i].hwid == apic_id)
			return;
	}
	if (p->nr_cpus == NR_CPUS)
		return;
	p->cpus[p->nr_cpus++] = (struct cpu_info){
		.hwid = apic_id,
		.enabled = flags & MADT_CPU_ENABLED,
		.acpi_uid = uid,
	};
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

static int read_madt(const u8 *madt, struct platform *p, const char **why)
{
	u32 size = fw_get32(madt, ACPI_HEADER_LENGTH), pos = MADT_ENTRIES;

	p->x86.lapic_base = fw_get32(madt, MADT_LAPIC_BASE);
	while (pos < size) {
		const u8 *e = madt + pos;
		u32 len = size - pos >= 2 ? e[1] : 0;

		if (len < 2 || len > size - pos) {
			*why = "MADT entry runs past its table";
			return -EINVAL;
		}
		madt_entry(p, e, len);
		pos += len;
	}
	*why = "MADT lists no CPU";
	return p->nr_cpus ? 0 : -EINVAL;
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
	dsdt = map_table(a, dsdt_pa, "DSDT", ACPI_HEADER_SIZE);
	if (dsdt && x->pm1a_port)
		find_s5(dsdt, x);
}

/* --- SPCR --- */

static void read_spcr(const u8 *spcr, struct uart_info *u)
{
	const u8 *gas = spcr + SPCR_BASE;
	u32 bits = gas[GAS_WIDTH];
	u8 type = spcr[SPCR_TYPE];

	u->base = fw_get64(gas, GAS_ADDRESS);
	u->reg_width = bits == 32 || gas[GAS_ACCESS] == GAS_ACCESS_DWORD ? 4 : 1;
	u->reg_shift = bits == 32 ? 2 : bits == 16 ? 1 : 0;
	if (!u->base)
		return;
	if (type == SPCR_PL011)
		u->kind = UART_PL011;
	else if (type != SPCR_16550 && type != SPCR_16450 && type != SPCR_16550_GAS)
		u->kind = UART_NONE;
	else if (gas[GAS_SPACE] == GAS_MEMORY)
		u->kind = UART_16550;
	else if (gas[GAS_SPACE] == GAS_IO && u->base <= 0xfff8)
		u->kind = UART_16550_PIO;
}

static void read_optional(const struct acpi_access *a, const struct root *root, struct platform *p)
{
	const u8 *t = find_table(a, root, "FACP", FADT_MIN_SIZE);

	if (t)
		read_fadt(a, t, &p->x86);
	t = find_table(a, root, "HPET", HPET_MIN_SIZE);
	if (t && t[HPET_BASE + GAS_SPACE] == GAS_MEMORY)
		p->x86.hpet_base = fw_get64(t, HPET_BASE + GAS_ADDRESS);
	t = find_table(a, root, "SPCR", SPCR_MIN_SIZE);
	if (t)
		read_spcr(t, &p->uart);
}

int acpi_read_platform(const struct acpi_access *a, paddr_t rsdp, struct platform *p, const char **why)
{
	struct root root;
	const u8 *madt;

	*why = "no RSDP";
	if (!rsdp || !rsdp_ok(a, rsdp))
		return -EINVAL;
	*why = "neither a good XSDT nor a good RSDT";
	if (!find_root(a, rsdp, &root))
		return -EINVAL;
	p->rsdp = rsdp;
	name_machine(&root, p);
	read_optional(a, &root, p);
	*why = "no good MADT";
	madt = find_table(a, &root, "APIC", MADT_ENTRIES);
	return madt ? read_madt(madt, p, why) : -EINVAL;
}
