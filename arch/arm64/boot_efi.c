/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two ends of the EFI path: the application that runs inside firmware, with its translation and on its
 * stack, and what reads the result once ours are in force. Between them lies boot_enter(); the first must
 * not use what is in .bss, for that is cleared there.
 */
#include "../../drivers/firmware/efi.h"

#include <asm/boot.h>
#include <asm/mm.h>
#include <asm/sysreg.h>
#include <cupel/mm.h>
#include <cupel/platform.h>

_Static_assert(offsetof(struct efi_info, boot_counter) == EFI_INFO_COUNTER, "EFI_INFO_COUNTER");

u64 boot_efi(void *image, void *table, u64 counter)
{
	/* No address is too high: RAM begins where a board likes. */
	struct efi_stub s = {
		.image = image, .table = table, .highest = BIT(VA_BITS - 1) - 1, .counter = counter
	};
	u64 status;

	if (read_sysreg(CurrentEL) != CURRENTEL_EL2)
		return efi_stub_fail(&s, EFI_STUB_UNSUPPORTED,
				     "entered at EL1, but it needs EL2: enable virtualization", "");
	status = efi_stub_collect(&s);
	if (!status)
		status = efi_stub_exit(&s);
	if (status)
		return status;
	boot_enter(s.info);
}

/* In the boot tables, by whole blocks: EFI keeps its tables in RAM. */
static const void *boot_phys(void *ctx, paddr_t pa, size_t len)
{
	paddr_t from = ALIGN_DOWN(pa, MIB(2)), to = ALIGN_UP(pa + len, MIB(2));

	if (!pa || to <= from || to >> (VA_BITS - 1) ||
	    pgtable_map(&host_pgtable, from, from, to - from, MAP_BOOT_RWX))
		return NULL;
	return (const void *)pa;
}

const struct acpi_access boot_access = { .phys = boot_phys };

int boot_read_efi(paddr_t info, const char **why)
{
	int err = efi_read_platform(&boot_access, info, &platform, why);
	const struct module *archive = platform.modules;

	if (err || !platform.nr_modules)
		return err;
	*why = "more holes in RAM than can be kept";
	return platform_reserve_mem(&platform, archive->base, archive->size);
}
