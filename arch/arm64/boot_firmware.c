/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of the descriptions that firmware left is used, and how it is reached: a device tree in x0, or a
 * struct efi_info with the memory map and one or both of device tree and ACPI tables. Runs once, on the boot
 * tables, which it extends by what is to be read and by nothing else. Whatever can't be used ends here.
 */
#include <asm/boot.h>
#include <asm/host.h>
#include <asm/mm.h>
#include <asm/sysreg.h>
#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <libfdt.h>
#include <string.h>

/* The memory map of firmware that was left; NULL without EFI. */
static const struct efi_info *efi;

/* UEFI 2.10, 7.2.3: descriptors are desc_size apart, whatever this version of the structure has. */
struct efi_descriptor {
	u32 type;
	u64 base, virt, pages, attributes;
};
#define EFI_MEMORY_WB BIT(3)

/* Behind the piece of ordinary memory that `pa` is in; `pa` when it is in none. */
static paddr_t memory_end(paddr_t pa)
{
	for (u64 i = 0; i + sizeof(struct efi_descriptor) <= efi->memmap_size; i += efi->desc_size) {
		const struct efi_descriptor *d = (const void *)(efi->memmap + i);

		if ((d->attributes & EFI_MEMORY_WB) && pa - d->base < d->pages << PAGE_SHIFT)
			return d->base + (d->pages << PAGE_SHIFT);
	}
	return pa;
}

/* A table that is said to be where firmware knows of no memory is not looked at. */
static bool may_be_read(paddr_t from, paddr_t to)
{
	while (efi && efi->memmap && from < to) {
		paddr_t end = memory_end(from);

		if (end == from)
			return false;
		from = end;
	}
	return true;
}

bool boot_is_memory(paddr_t base, u64 size)
{
	paddr_t last = base + size - 1;

	return platform_has_ram(&platform, base, size) ||
	       (efi && (memory_end(base) != base || memory_end(last) != last));
}

static const void *boot_phys(void *ctx, paddr_t pa, size_t len)
{
	paddr_t from = ALIGN_DOWN(pa, MIB(2)), end;

	if (!pa || __builtin_add_overflow(pa, len, &end) || end >> (VA_BITS - 1) ||
	    !may_be_read(pa, end))
		return NULL;
	end = ALIGN_UP(end, MIB(2));
	return pgtable_map(&host_pgtable, from, from, end - from, MAP_BOOT_RWX) ? NULL :
										  (const void *)pa;
}

static const struct acpi_access access = { .phys = boot_phys };

static bool overlaps_image(paddr_t base, u64 size)
{
	return base < (paddr_t)__image_end && base + size > (paddr_t)__image_start;
}

static int read_tree(paddr_t fdt, const char **why)
{
	const struct fdt_header *header = NULL;
	size_t size;

	*why = "not an address of one";
	if (IS_ALIGNED(fdt, 8UL))
		header = boot_phys(NULL, fdt, sizeof(*header));
	if (!header)
		return -EINVAL;
	size = min(fdt_totalsize(header), (u32)FDT_MAX_SIZE);
	*why = "it overlaps the image";
	if (overlaps_image(fdt, fdt_magic(header) == FDT_MAGIC ? size : sizeof(*header)))
		return -EINVAL;
	*why = "it ends where no memory is";
	if (!boot_phys(NULL, fdt, size))
		return -EINVAL;
	return fdt_read_platform(header, size, &platform, why);
}

static bool acpi_word(const char *word)
{
	const char *said = cmdline_get("acpi");

	return said && !strcmp(said, word);
}

/* A device tree wins unless acpi=force is said. */
static bool use_acpi(paddr_t fdt)
{
	return platform.rsdp && (acpi_word("force") || (!fdt && !acpi_word("off")));
}

/* Other CPUs are found by their place in cpus[]; ours must be the first. */
static int put_boot_cpu_first(const char **why)
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
		return 0;
	}
	*why = "it does not list the boot CPU";
	return -ENODEV;
}

/* What is ours already, and page 0, are no free memory. */
static int keep_memory(const char **why)
{
	/* RAM is mapped one to one: what the CPU can reach, and not over the stacks. */
	paddr_t limit = min(BIT(arm64_pa_bits()), (u64)STACK_WINDOW);

	for (u32 i = 0; i < platform.nr_modules; i++) {
		const struct module *m = &platform.modules[i];

		*why = "the archive overlaps the image";
		if (overlaps_image(m->base, m->size))
			return -EINVAL;
		*why = "the archive is out of reach";
		if (m->base + m->size > limit)
			return -EINVAL;
	}
	platform_reserve_mem(&platform, 0, PAGE_SIZE);
	platform_reserve_mem(&platform, (paddr_t)__image_start, (u64)(__image_end - __image_start));
	platform_limit_mem(&platform, limit);
	*why = "all RAM is reserved";
	return platform.nr_mem ? 0 : -ENOSPC;
}

static int read_devices(paddr_t fdt, bool acpi, const char **why)
{
	if (acpi) {
		platform.firmware = "efi+acpi";
		return acpi_read_arm(&access, platform.rsdp, &platform, why);
	}
	*why = platform.rsdp ? "there is none, and acpi=off" : "there is none";
	return fdt ? read_tree(fdt, why) : -ENOENT;
}

/* Memory, archive, command line; *fdt is what EFI knows of a device tree. */
static int read_efi(paddr_t *fdt, const char **why)
{
	const struct efi_info *info = (const struct efi_info *)*fdt;
	int err = efi_read_platform(&access, *fdt, &platform, why);

	if (err)
		return err;
	efi = info;
	*fdt = info->fdt;
	platform_reserve_mem(&platform, platform.modules[0].base, platform.modules[0].size);
	return 0;
}

static int read_all(paddr_t fdt, u32 how, const char **what, const char **why)
{
	const char *note;
	bool acpi, words;
	int err = 0;

	*what = "EFI";
	if (how == BOOT_EFI)
		err = read_efi(&fdt, why);
	words = platform.cmdline[0];
	if (words) /* cupel_main() says what is wrong with them */
		cmdline_parse(platform.cmdline, &note);
	if (err)
		return err;
	acpi = use_acpi(fdt);
	*what = acpi ? "ACPI" : "device tree";
	err = read_devices(fdt, acpi, why);
	if (!words)
		cmdline_parse(platform.cmdline, &note);
	if (!err)
		err = put_boot_cpu_first(why);
	return err ? err : keep_memory(why);
}

static void warn_of_parked(void)
{
	u32 parked = 0;

	for (u32 i = 0; i < platform.nr_cpus; i++)
		parked += platform.cpus[i].method == CPU_METHOD_PARKING;
	if (parked)
		printk("ACPI: the parking protocol is not spoken: other CPUs stay off\n");
}

void boot_firmware(paddr_t info, u32 how)
{
	const char *what, *why;
	int err = read_all(info, how, &what, &why);

	boot_console_firmware(); /* a tree that is refused may still have named it */
	boot_console_cmdline();
	if (err)
		cannot_start("%s: %s", what, why);
	warn_of_parked();
	if (acpi_word("force") && !platform.rsdp)
		printk("acpi=force: there is none; using the device tree\n");
}
