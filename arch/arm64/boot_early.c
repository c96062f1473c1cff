/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * C that runs before anything is known of the machine, most of it with the MMU off: no atomics, no
 * locks, no printk(), no unaligned access. It says why it can't go on wherever boot_puts.S finds a UART,
 * or maps just enough for the device tree to be read.
 */
#include <asm/boot.h>
#include <asm/mm.h>
#include <asm/sysreg.h>
#include <cupel/config.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

/*
 * Root; image 5, device tree 3, three consoles or where one may be 9, arena of mm_init() 3, and the rest for
 * EFI's tables in odd places.
 */
#define EARLY_TABLES 32

static u64 early_tables[EARLY_TABLES][PT_ENTRIES] __aligned(PAGE_SIZE);
static u32 early_tables_used;
static struct mmu_regs early_regs;

static u64 *early_alloc_table(void)
{
	if (early_tables_used == EARLY_TABLES)
		return NULL;
	return early_tables[early_tables_used++]; /* .bss: zero */
}

static void early_put_hex(u64 value)
{
	char text[19] = "0x";

	for (int i = 0; i < 16; i++)
		text[2 + i] = "0123456789abcdef"[(value >> (60 - 4 * i)) & 0xf];
	text[18] = '\0';
	boot_early_puts(text);
}

void boot_wrong_el(paddr_t fdt, const char *text)
{
	const char *why;

	console_force_unlock(); /* with the MMU off there are no atomics */
	if (fdt && IS_ALIGNED(fdt, 8UL))
		(void)fdt_read_platform((const void *)fdt, FDT_MAX_SIZE, &platform, &why);
	cmdline_parse(platform.cmdline, &why);
	boot_console_firmware();
	boot_console_cmdline();
	printk("%s", text);
	boot_halt();
}

u64 *boot_try_regs; /* where try_resume() comes back to; NULL: there is nothing to come back to */

bool boot_try(void (*fn)(void *arg), void *arg)
{
	static u64 regs[TRY_REGS];
	bool ok;

	boot_try_regs = regs;
	ok = try_call(fn, arg, regs);
	boot_try_regs = NULL;
	return ok;
}

void boot_early_map_uarts(void)
{
	if (!host_pgtable.root)
		return; /* the MMU is off: everything can be reached */
	for (const u32 *uart = boot_early_uarts; *uart; uart++) {
		if (!platform_has_ram(&platform, *uart,
				      PAGE_SIZE)) /* whole blocks: that takes fewest tables */
			(void)pgtable_map(&host_pgtable, ALIGN_DOWN(*uart, MIB(2)),
					  ALIGN_DOWN(*uart, MIB(2)), MIB(2), MAP_DEVICE);
	}
}

void boot_early_trap(u64 esr, u64 elr, u64 far)
{
	static bool before;

	if (before) /* it is telling of the first one that failed */
		boot_halt();
	before = true;
	if (boot_nr_uarts) {
		console_force_unlock();
		printk("Cupel: exception during boot: esr 0x%lx pc 0x%lx (image +0x%lx) address 0x%lx; halted\n",
		       esr, elr, elr - (u64)__image_start, far);
		boot_halt();
	}
	if (read_sysreg(sctlr_el2) & SCTLR_M)
		boot_early_map_uarts();
	boot_early_puts("\r\nCupel: exception before the console was up: esr ");
	early_put_hex(esr);
	boot_early_puts(" pc ");
	early_put_hex(elr);
	boot_early_puts(" (image +");
	early_put_hex(elr - (u64)__image_start);
	boot_early_puts(") address ");
	early_put_hex(far);
	boot_early_puts("; halted\r\n");
	boot_halt();
}

static void early_map(paddr_t from, paddr_t to)
{
	if (pgtable_map(&host_pgtable, from, from, to - from, MAP_BOOT_RWX) == 0)
		return;
	boot_early_puts("Cupel: no room in the boot page tables; halted\r\n");
	boot_halt();
}

/*
 * Tables for the image and the blocks the device tree may lie in. They are thrown
 * away by mm_init(), so rights are not split yet. A pointer that can't be a device tree is not mapped;
 * boot_main() says so.
 */
const struct mmu_regs *boot_early_mmu(paddr_t info, u32 how)
{
	paddr_t fdt = how == BOOT_FDT ? info : 0;
	paddr_t fdt_block = ALIGN_DOWN(fdt, MIB(2));

	/* A CPU without nVHE (FEAT_E2H0 absent) keeps E2H set whatever was written at entry. */
	host_pgtable.e2h = read_sysreg(hcr_el2) & HCR_E2H;
	host_pgtable.alloc_table = early_alloc_table;
	host_pgtable.root = early_alloc_table();
	early_map((paddr_t)__image_start, (paddr_t)__image_end);
	if (fdt && fdt_block >> (VA_BITS - 1) == 0)
		early_map(fdt_block, fdt_block + MIB(2));
	pgtable_regs(&host_pgtable, &early_regs);
	return &early_regs;
}
