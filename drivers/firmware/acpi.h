/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout of the static ACPI tables. ACPI 6.5: RSDP 5.2.5.3, header 5.2.6, FADT 5.2.9, MADT 5.2.12,
 * generic address 5.2.3.2, AML 20.2. HPET: IA-PC HPET 1.0a, 3.2.4. SPCR: Microsoft's Serial Port
 * Console Redirection table, revision 2; its types are those of the Debug Port Table 2. GTDT 5.2.25.
 */
#ifndef DRIVERS_ACPI_H
#define DRIVERS_ACPI_H

#include <cupel/platform.h>

#define BIOS_EBDA_SEGMENT 0x40e
#define BIOS_EBDA_LOWEST  0x80000
#define BIOS_EBDA_END	  0x9fc01
#define BIOS_ROM	  0xe0000
#define BIOS_ROM_END	  0x100000

#define ACPI_RSDP_ALIGN	   16
#define ACPI_RSDP_SIZE_V1  20
#define ACPI_RSDP_SIZE_V2  36
#define ACPI_RSDP_REVISION 15
#define ACPI_RSDP_RSDT	   16
#define ACPI_RSDP_XSDT	   24

#define ACPI_HEADER_SIZE       36
#define ACPI_HEADER_LENGTH     4
#define ACPI_OEM_ID	       10
#define ACPI_OEM_ID_SIZE       6
#define ACPI_OEM_TABLE_ID      16
#define ACPI_OEM_TABLE_ID_SIZE 8
#define ACPI_TABLE_MAX	       MIB(4) /* a DSDT of a big machine has some hundred KiB */

/* Generic address structure */
#define GAS_SIZE	 12
#define GAS_SPACE	 0
#define GAS_WIDTH	 1
#define GAS_ACCESS	 3
#define GAS_ADDRESS	 4
#define GAS_MEMORY	 0
#define GAS_IO		 1
#define GAS_ACCESS_BYTE	 1
#define GAS_ACCESS_DWORD 3

#define MADT_LAPIC_BASE		36
#define MADT_ENTRIES		44
#define MADT_LAPIC		0
#define MADT_IOAPIC		1
#define MADT_LAPIC_ADDRESS	5
#define MADT_X2APIC		9
#define MADT_CPU_ENABLED	BIT32(0)
#define MADT_CPU_ONLINE_CAPABLE BIT32(1)

#define MADT_GICC	    0xb
#define GICC_SIZE	    76 /* ACPI 5.1: what came later is not used */
#define GICC_UID	    8
#define GICC_FLAGS	    12
#define GICC_ENABLED	    BIT32(0)
#define GICC_ONLINE_CAPABLE BIT32(3)
#define GICC_PARKING	    16 /* version of the parking protocol */
#define GICC_PARKED_ADDRESS 24
#define GICC_BASE	    32
#define GICC_GICV	    40
#define GICC_GICH	    48
#define GICC_MAINTENANCE    56
#define GICC_GICR	    60
#define GICC_MPIDR	    68
#define MADT_GICD	    0xc
#define GICD_SIZE	    24
#define GICD_BASE	    8
#define GICD_VERSION	    20
#define MADT_GICR	    0xe
#define GICR_SIZE	    16
#define GICR_BASE	    4
#define GICR_LENGTH	    12

#define GTDT_MIN_SIZE 96
#define GTDT_NS_EL1   56
#define GTDT_VIRT_EL1 64
#define GTDT_EL2      72
#define GTDT_VIRT_EL2 96

#define FADT_MIN_SIZE	     116 /* revision 1 */
#define FADT_DSDT	     40
#define FADT_PM1A_CNT	     64
#define FADT_PM1B_CNT	     68
#define FADT_PM_TMR	     76
#define FADT_PM_TMR_LEN	     91
#define FADT_FLAGS	     112
#define FADT_FLAG_TMR_32BIT  BIT32(8)
#define FADT_FLAG_RESET	     BIT32(10)
#define FADT_FLAG_HW_REDUCED BIT32(20)
#define FADT_RESET_REG	     116
#define FADT_RESET_VALUE     128
#define FADT_ARM_BOOT	     129
#define FADT_ARM_PSCI	     BIT32(0)
#define FADT_ARM_PSCI_HVC    BIT32(1)
#define FADT_X_DSDT	     140
#define FADT_X_PM1A_CNT	     172
#define FADT_X_PM_TMR	     208

#define HPET_MIN_SIZE 56
#define HPET_BASE     40 /* generic address */

#define SPCR_MIN_SIZE  80
#define SPCR_TYPE      36
#define SPCR_BASE      40 /* generic address */
#define SPCR_16550     0
#define SPCR_16450     1
#define SPCR_PL011     3
#define SPCR_IMX       0xc
#define SPCR_SBSA_32   0xd
#define SPCR_SBSA      0xe
#define SPCR_BCM2835   0x10
#define SPCR_16550_GAS 0x12

#define AML_PACKAGE	0x12
#define AML_BYTE_PREFIX 0x0a

/* The list of tables: `width` bytes an address. */
struct acpi_root {
	const struct acpi_access *access;
	const u8 *table;
	const u8 *entries;
	u32 count;
	u32 width;
};

/*
 * What every machine's reader begins with: the list of tables, the name of the machine, the console.
 * As all of these: -errno, and *why says what is wrong.
 */
int acpi_open(const struct acpi_access *a, paddr_t rsdp, struct acpi_root *root, struct platform *p,
	      const char **why);
/* A whole table with that signature, a right checksum and at least min_size bytes, or NULL. */
const u8 *acpi_map(const struct acpi_access *a, paddr_t pa, const char *sig, u32 min_size);
/* The first such table of the list. */
const u8 *acpi_find(const struct acpi_root *root, const char *sig, u32 min_size);

/* One entry of the MADT: all `len` bytes (at least 2) are there, the type is e[0]. */
typedef void (*acpi_entry_fn)(struct platform *p, const u8 *e, u32 len);
/* Every entry, in order; -EINVAL also when none of them was a CPU. */
int acpi_read_madt(const u8 *madt, acpi_entry_fn entry, struct platform *p, const char **why);
/* Unless it is there already, or there is no room for one more. */
void acpi_add_cpu(struct platform *p, const struct cpu_info *cpu);

#endif
