/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The EFI application of x86: takes what it needs from firmware, leaves boot services, and moves the image
 * to where it was linked. Built position independent, as efi_stub.c is, and under its rules.
 */
#include <cupel/arch.h>
#include <cupel/mm.h>
#include <efi.h>
#include <string.h>

#include "../../drivers/firmware/efi.h"
#include "boot.h"

_Static_assert(offsetof(struct efi_info, boot_counter) == EFI_INFO_COUNTER, "read by boot.S");
_Static_assert(offsetof(struct efi_info, cmdline) == EFI_INFO_CMDLINE, "read by boot.S");

/* Pages below 4 GiB that code may run in; 0 when there are none. */
static u64 alloc(const EFI_SYSTEM_TABLE *t, EFI_ALLOCATE_TYPE how, u64 at, u64 size)
{
	if (t->BootServices->AllocatePages(how, EfiLoaderCode, DIV_ROUND_UP(size, PAGE_SIZE), &at))
		return 0;
	return at;
}

u64 x86_efi_main(void *image, void *table, u64 counter)
{
	struct efi_stub s = { image, table, .highest = GIB(4) - 1, .counter = counter };
	u64 image_size = (u64)(__image_end - __image_start);
	u64 file_size = (u64)(__file_end - __image_start);
	/* Taken first, so that nothing of ours comes to lie there. */
	bool taken = alloc(table, AllocateAddress, ARCH_LINK_ADDRESS, image_size);
	u64 status = efi_stub_collect(&s);
	u64 copy = 0;

	if (!status)
		copy = alloc(table, AllocateMaxAddress, s.highest, file_size);
	if (!status && !copy)
		status = efi_stub_fail(&s, EFI_OUT_OF_RESOURCES, "no memory below 4 GiB", "");
	if (!status && !taken && !efi_stub_is_free(&s, ARCH_LINK_ADDRESS, image_size))
		status = efi_stub_fail(&s, EFI_OUT_OF_RESOURCES,
				       "the memory at 1 MiB, where it has to be, is in use", "");
	if (status)
		return status;
	memcpy((void *)copy, __image_start, file_size);
	status = efi_stub_exit(&s);
	if (status)
		return status;
	((typeof(&x86_efi_relay))(copy + ((u64)x86_efi_relay - (u64)__image_start)))(s.info,
										     (void *)copy);
}
