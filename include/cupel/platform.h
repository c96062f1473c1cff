/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct platform: all that firmware says about the machine, read once at boot by
 * drivers/firmware/. Nothing later looks at firmware again.
 */
#ifndef CUPEL_PLATFORM_H
#define CUPEL_PLATFORM_H

#include <cupel/percpu.h>
#include <cupel/types.h>

#define PLATFORM_MAX_MEM      128
#define PLATFORM_MAX_MODULES  8
#define PLATFORM_MAX_REDISTS  NR_CPUS /* ACPI may name one a CPU */
#define PLATFORM_MAX_IOAPICS  16
#define PLATFORM_MAX_CONSOLES 3
#define CMDLINE_MAX	      2048

struct mem_range {
	paddr_t base;
	u64 size;
};

struct module { /* an archive or other file the loader put in memory */
	paddr_t base;
	u64 size;
};

enum uart_kind {
	UART_NONE,
	UART_PL011,
	UART_16550,
	UART_16550_PIO,
	UART_BCM_MINI, /* Raspberry Pi's auxiliary UART: a 16550 of sorts */
	UART_CADENCE,
	UART_IMX,
	UART_SBSA, /* of the PL011 the registers that matter while it runs */
};

struct uart_info {
	enum uart_kind kind;
	paddr_t base; /* or I/O port for UART_16550_PIO */
	u32 reg_shift;
	u32 reg_width; /* bytes per access */
	u32 clock_hz; /* 0 = leave the divisor alone */
};

enum gic_kind {
	GIC_NONE,
	GIC_V2,
	GIC_V3,
	GIC_BCM2836, /* none, but a local interrupt controller per CPU: Raspberry Pi 3 */
};

struct gic_info {
	enum gic_kind kind;
	struct mem_range dist;
	struct mem_range redist[PLATFORM_MAX_REDISTS]; /* GICv3 */
	u32 nr_redist;
	u64 redist_stride; /* 0 = architectural */
	struct mem_range cpu_if, hyp_if, vcpu_if; /* GICv2: GICC, GICH, GICV */
	struct mem_range local; /* BCM2836: its local peripherals */
	u32 maint_intid; /* 0 = none */
};

struct arm_timer_info { /* INTIDs (PPI number + 16), 0 = absent */
	u32 phys_ns, virt, hyp_phys, hyp_virt;
	u32 clock_hz; /* for a CNTFRQ_EL0 that firmware left zero; 0 = not said */
};

enum psci_conduit { PSCI_NONE, PSCI_SMC, PSCI_HVC };

struct ioapic_info {
	paddr_t base;
	u32 gsi_base;
	u32 id;
};

struct x86_info {
	paddr_t lapic_base;
	struct ioapic_info ioapic[PLATFORM_MAX_IOAPICS];
	u32 nr_ioapics;
	paddr_t hpet_base; /* 0 = none */
	u32 pm_timer_port; /* 0 = none */
	bool pm_timer_32bit;
	bool has_s5; /* soft off: SLP_TYP for each of the two PM1 control ports */
	u32 pm1a_port, pm1b_port; /* 0 = none */
	u8 s5_typ_a, s5_typ_b;
	bool has_reset; /* reset register: write reset_value to it */
	bool reset_is_port;
	u64 reset_addr;
	u8 reset_value;
};

/* How a secondary CPU is started on arm64. */
enum cpu_method {
	CPU_METHOD_NONE,
	CPU_METHOD_PSCI,
	CPU_METHOD_SPIN_TABLE,
	CPU_METHOD_PARKING, /* ACPI's parking protocol: known, but not spoken */
};

struct cpu_info {
	u64 hwid; /* MPIDR affinity, or APIC id */
	enum cpu_method method; /* arm64 */
	paddr_t release_addr; /* CPU_METHOD_SPIN_TABLE: the word it spins on */
	bool enabled; /* firmware says it may be started */
	bool online; /* it runs our code */
	u32 acpi_uid;
};

struct platform {
	const char *machine; /* model or OEM string, "" if unknown */
	const char *firmware; /* "fdt", "acpi", "efi+fdt", "efi+acpi", "multiboot", "multiboot2", "pvh", "linux" */
	struct cpu_info cpus[NR_CPUS]; /* [0] is the boot CPU */
	u32 nr_cpus; /* entries that firmware lists and that we have room for */
	struct mem_range mem[PLATFORM_MAX_MEM]; /* RAM, sorted, page aligned, reserved ranges cut out */
	u32 nr_mem;
	struct mem_range ram[PLATFORM_MAX_MEM]; /* as mem was before anything was reserved; none until then */
	u32 nr_ram;
	u64 mem_left_out; /* bytes of RAM in pieces that mem[] has no room for */
	paddr_t mem_limit; /* RAM from here on can't be reached, */
	u64 mem_beyond; /* and this much is */
	struct module modules[PLATFORM_MAX_MODULES];
	u32 nr_modules;
	struct uart_info uart;
	const char *uart_note; /* why what firmware says of a console is of no use; NULL: nothing is wrong */
	char cmdline[CMDLINE_MAX];
	struct gic_info gic;
	struct arm_timer_info timer;
	enum psci_conduit psci;
	struct x86_info x86;
	paddr_t rsdp; /* ACPI's root pointer; 0 = none known */
	paddr_t efi_system_table; /* 0 = not started by EFI */
};

/*
 * What the EFI application (drivers/firmware/efi_stub.c) found before it left boot services. It, and all
 * it points to, lies in EfiLoaderData below 4 GiB, so that it is there until platform was filled.
 */
#define EFI_INFO_MAGIC 0x4946454c45505543 /* "CUPELEFI" */
struct efi_info {
	u64 magic;
	u64 boot_counter; /* arch_counter() at the application's first instruction */
	paddr_t memmap; /* the map that ExitBootServices was called with */
	u64 memmap_size, desc_size; /* bytes */
	paddr_t rsdp, fdt; /* of the configuration tables; 0 = not there */
	paddr_t archive;
	u64 archive_size; /* 0 = none found */
	paddr_t cmdline; /* load options in ASCII, NUL-terminated, at most CMDLINE_MAX with the NUL */
	paddr_t system_table;
};

extern struct platform platform;

/*
 * Add or carve RAM; keeps mem[] sorted, merged and page aligned. When it is full its smallest piece is left
 * out. RAM that wraps is none; what is reserved ends at the last address at the latest.
 */
void platform_add_mem(struct platform *p, paddr_t base, u64 size);
void platform_reserve_mem(struct platform *p, paddr_t base, u64 size);
/* No RAM at `limit` (not 0) or above. Once. */
void platform_limit_mem(struct platform *p, paddr_t limit);
/* Whether any of it is RAM, reserved or not. */
bool platform_has_ram(const struct platform *p, paddr_t base, u64 size);

/* Parsers. Bad input: -errno, and *why says what is wrong in a few words. No console needed. */
int fdt_read_platform(const void *fdt, size_t max_size, struct platform *p, const char **why);

/*
 * phys() returns a readable pointer to [pa, pa+len) or NULL when that range can't be a table; it is
 * the only way the ACPI parser touches memory, so that a fuzzer can stand in for the machine.
 */
struct acpi_access {
	const void *(*phys)(void *ctx, paddr_t pa, size_t len);
	void *ctx;
};
int acpi_read_x86(const struct acpi_access *a, paddr_t rsdp, struct platform *p, const char **why);
int acpi_read_arm(const struct acpi_access *a, paddr_t rsdp, struct platform *p, const char **why);
/* Where a BIOS machine keeps its RSDP; 0 when it has none. */
paddr_t acpi_find_rsdp(const struct acpi_access *a);

/*
 * What the loader says: memory, modules, command line (and the RSDP, by PVH). `pa` is where the
 * Multiboot 1 information or the hvm_start_info is.
 */
int multiboot_read_platform(const struct acpi_access *a, paddr_t pa, struct platform *p,
			    const char **why);
int pvh_read_platform(const struct acpi_access *a, paddr_t pa, struct platform *p, const char **why);
int multiboot2_read_platform(const struct acpi_access *a, paddr_t pa, struct platform *p,
			     const char **why);
/* Linux's struct boot_params on x86. */
int linux_read_platform(const struct acpi_access *a, paddr_t pa, struct platform *p,
			const char **why);
/*
 * Memory, archive and command line from a struct efi_info at `pa`; RSDP into p->rsdp. Devices come from
 * ACPI or a device tree afterwards: a tree's memory nodes are not used then.
 */
int efi_read_platform(const struct acpi_access *a, paddr_t pa, struct platform *p, const char **why);

#endif
