/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout of the static ACPI tables. ACPI 6.5: RSDP 5.2.5.3, header 5.2.6, FADT 5.2.9, MADT 5.2.12,
 * generic address 5.2.3.2, AML 20.2. HPET: IA-PC HPET 1.0a, 3.2.4. SPCR: Microsoft's Serial Port
 * Console Redirection table, revision 2.
 */
#ifndef DRIVERS_ACPI_H
#define DRIVERS_ACPI_H

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
#define GAS_ACCESS_DWORD 3

#define MADT_LAPIC_BASE		36
#define MADT_ENTRIES		44
#define MADT_LAPIC		0
#define MADT_IOAPIC		1
#define MADT_LAPIC_ADDRESS	5
#define MADT_X2APIC		9
#define MADT_CPU_ENABLED	BIT32(0)
#define MADT_CPU_ONLINE_CAPABLE BIT32(1)

#define FADT_MIN_SIZE	    116 /* revision 1 */
#define FADT_DSDT	    40
#define FADT_PM1A_CNT	    64
#define FADT_PM1B_CNT	    68
#define FADT_PM_TMR	    76
#define FADT_PM_TMR_LEN	    91
#define FADT_FLAGS	    112
#define FADT_FLAG_TMR_32BIT BIT32(8)
#define FADT_FLAG_RESET	    BIT32(10)
#define FADT_RESET_REG	    116
#define FADT_RESET_VALUE    128
#define FADT_X_DSDT	    140
#define FADT_X_PM1A_CNT	    172
#define FADT_X_PM_TMR	    208

#define HPET_MIN_SIZE 56
#define HPET_BASE     40 /* generic address */

#define SPCR_MIN_SIZE  80
#define SPCR_TYPE      36
#define SPCR_BASE      40 /* generic address */
#define SPCR_16550     0
#define SPCR_16450     1
#define SPCR_PL011     3
#define SPCR_16550_GAS 0x12

#define AML_PACKAGE	0x12
#define AML_BYTE_PREFIX 0x0a

#endif
