/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What firmware left, whichever it was, into struct platform: memory and modules from EFI's map where there
 * is one, devices from the device tree. Runs on the boot tables, before any of that memory is given out.
 */
#include <asm/boot.h>
#include <asm/mm.h>
#include <asm/sysreg.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

static __noreturn void no_firmware(const char *what, paddr_t at, const char *why)
{
	printk("Cupel: no usable %s (0x%lx): %s; halted\n", what, (unsigned long)at, why);
	boot_halt();
}

/* Other CPUs are found by their place in cpus[]; ours must be the first. False when it is not listed. */
static bool put_boot_cpu_first(void)
{
	u64 here = read_sysreg(mpidr_el1) & MPIDR_AFFINITY_MASK;

	for (u32 i = 0; i < platform.nr_cpus; i++) {
		struct cpu_info boot = platform.cpus[i];

		if (boot.hwid != here)
			continue;
		for (; i > 0; i--)
			platform.cpus[i] = platform.cpus[i - 1];
		boot.enabled = true;
		platform.cpus[0] = boot;
		return true;
	}
	return false;
}

static void read_tree(paddr_t fdt, const char *what)
{
	const char *why = "not an address of one";
	int r = -1;

	/* By EFI it is not mapped yet; otherwise it is already, and this changes nothing. */
	if (IS_ALIGNED(fdt, 8UL) && boot_access.phys(NULL, fdt, FDT_MAX_SIZE))
		r = fdt_read_platform((const void *)fdt, FDT_MAX_SIZE, &platform, &why);
	boot_console_firmware(); /* a tree that is refused may still have named it */
	if (r)
		no_firmware(what, fdt, why);
}

static void read_efi(paddr_t info)
{
	const struct efi_info *efi = (const struct efi_info *)info;
	const char *why;
	int r = boot_read_efi(info, &why);

	if (r) {
		boot_console_firmware();
		no_firmware("struct efi_info", info, why);
	}
	read_tree(efi->fdt, "device tree from EFI");
}

void boot_firmware(paddr_t info, u32 how)
{
	if (how == BOOT_EFI)
		read_efi(info);
	else
		read_tree(info, "device tree in x0");
	if (!put_boot_cpu_first())
		no_firmware("list of CPUs", info, "it does not list the boot CPU");
	if (platform_reserve_mem(&platform, (paddr_t)__image_start,
				 (u64)(__image_end - __image_start)) ||
	    platform_reserve_mem(&platform, 0, PAGE_SIZE))
		no_firmware("memory map", info, "more holes in RAM than can be kept");
}
