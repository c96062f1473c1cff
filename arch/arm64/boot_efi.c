/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The EFI application: it runs inside firmware, with its translation and on its stack, up to boot_enter(). It
 * must not use what is in .bss, for that is cleared there.
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
	if (status) {
		efi_stub_release(&s);
		return status;
	}
	boot_enter(s.info);
}
