/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The static ACPI tables (ACPI 6.5), as far as every machine has them: RSDP, XSDT or RSDT, the walk
 * through the MADT, SPCR. Tables are untrusted: memory is touched only through the access function, and
 * no offset is believed before it is checked. Names no architecture; interprets no AML.
 *
 * The root tables and the MADT must be right; any other table that is wrong counts as absent, unless
 * its reader (acpi_x86.c, acpi_arm.c) can't do without.
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

const u8 *acpi_map(const struct acpi_access *a, paddr_t pa, const char *sig, u32 min_size)
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

static bool root_from(const struct acpi_access *a, paddr_t pa, const char *sig, u32 width,
		      struct acpi_root *root)
{
	const u8 *t = acpi_map(a, pa, sig, ACPI_HEADER_SIZE);

	if (!t)
		return false;
	root->access = a;
	root->table = t;
	root->entries = t + ACPI_HEADER_SIZE;
	root->count = (fw_get32(t, ACPI_HEADER_LENGTH) - ACPI_HEADER_SIZE) / width;
	root->width = width;
	return true;
}

static bool find_root(const struct acpi_access *a, paddr_t rsdp, struct acpi_root *root)
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
static void name_machine(const struct acpi_root *root, struct platform *p)
{
	static char name[ACPI_OEM_ID_SIZE + 1 + ACPI_OEM_TABLE_ID_SIZE + 1];
	char *end = append_field(name, root->table + ACPI_OEM_ID, ACPI_OEM_ID_SIZE);

	*end++ = ' ';
	end = append_field(end, root->table + ACPI_OEM_TABLE_ID, ACPI_OEM_TABLE_ID_SIZE);
	*end = 0;
	p->machine = name;
}

const u8 *acpi_find(const struct acpi_root *root, const char *sig, u32 min_size)
{
	for (u32 i = 0; i < root->count; i++) {
		const u8 *e = root->entries + (size_t)i * root->width;
		paddr_t pa = root->width == 8 ? fw_get64(e, 0) : fw_get32(e, 0);
		const u8 *t = acpi_map(root->access, pa, sig, min_size);

		if (t)
			return t;
	}
	return NULL;
}

/* --- MADT: ACPI 6.5, 5.2.12 --- */

void acpi_add_cpu(struct platform *p, const struct cpu_info *cpu)
{
	for (u32 i = 0; i < p->nr_cpus; i++) {
		if (p->cpus[i].hwid == cpu->hwid)
			return;
	}
	if (p->nr_cpus < NR_CPUS)
		p->cpus[p->nr_cpus++] = *cpu;
}

int acpi_read_madt(const u8 *madt, acpi_entry_fn entry, struct platform *p, const char **why)
{
	u32 size = fw_get32(madt, ACPI_HEADER_LENGTH), pos = MADT_ENTRIES;

	while (pos < size) {
		const u8 *e = madt + pos;
		u32 len = size - pos >= 2 ? e[1] : 0;

		if (len < 2 || len > size - pos) {
			*why = "MADT entry runs past its table";
			return -EINVAL;
		}
		entry(p, e, len);
		pos += len;
	}
	*why = "MADT lists no CPU";
	return p->nr_cpus ? 0 : -EINVAL;
}

/* --- SPCR --- */

static enum uart_kind mmio_kind(u8 type)
{
	switch (type) {
	case SPCR_16550:
	case SPCR_16450:
	case SPCR_16550_GAS: return UART_16550;
	case SPCR_PL011: return UART_PL011;
	case SPCR_SBSA_32:
	case SPCR_SBSA: return UART_SBSA;
	case SPCR_IMX: return UART_IMX;
	case SPCR_BCM2835: return UART_BCM_MINI;
	}
	return UART_NONE;
}

/* Log2 of the bytes of an access: as they are coded, or a whole register (ACPI 6.5, table 5.1). */
static u32 access_shift(const u8 *gas, u32 reg_shift)
{
	u32 code = gas[GAS_ACCESS];

	return code >= GAS_ACCESS_BYTE && code <= GAS_ACCESS_DWORD ? code - GAS_ACCESS_BYTE :
								     reg_shift;
}

static void read_spcr(const u8 *spcr, struct uart_info *u)
{
	const u8 *gas = spcr + SPCR_BASE;
	u32 bits = gas[GAS_WIDTH];
	u32 shift = bits == 32 ? 2 : bits == 16 ? 1 : 0;
	u32 width = access_shift(gas, shift);

	u->base = fw_get64(gas, GAS_ADDRESS);
	u->reg_width = 1U << width;
	u->reg_shift = max(shift, width); /* some say how wide the data are instead of the register */
	if (!u->base)
		return;
	u->kind = mmio_kind(spcr[SPCR_TYPE]);
	if (gas[GAS_SPACE] == GAS_IO && u->kind == UART_16550 && u->base <= 0xfff8)
		u->kind = UART_16550_PIO;
	else if (gas[GAS_SPACE] != GAS_MEMORY)
		u->kind = UART_NONE;
}

int acpi_open(const struct acpi_access *a, paddr_t rsdp, struct acpi_root *root, struct platform *p,
	      const char **why)
{
	const u8 *spcr;

	*why = "no RSDP";
	if (!rsdp || !rsdp_ok(a, rsdp))
		return -EINVAL;
	*why = "neither a good XSDT nor a good RSDT";
	if (!find_root(a, rsdp, root))
		return -EINVAL;
	p->rsdp = rsdp;
	name_machine(root, p);
	spcr = acpi_find(root, "SPCR", SPCR_MIN_SIZE);
	if (spcr)
		read_spcr(spcr, &p->uart);
	return 0;
}
