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
#include "svm/check.h"

_Static_assert(offsetof(struct efi_info, boot_counter) == EFI_INFO_COUNTER, "read by boot.S");
_Static_assert(offsetof(struct efi_info, cmdline) == EFI_INFO_CMDLINE, "read by boot.S");

/* Pages that code may run in; 0 when there are none. */
static u64 alloc(const EFI_SYSTEM_TABLE *t, EFI_ALLOCATE_TYPE how, u64 at, u64 size)
{
	if (t->BootServices->AllocatePages(how, EfiLoaderCode, DIV_ROUND_UP(size, PAGE_SIZE), &at))
		return 0;
	return at;
}

/* Somebody who tries again from a shell finds the memory as it was. */
static void give_back(const EFI_SYSTEM_TABLE *t, u64 at, u64 size)
{
	if (at)
		t->BootServices->FreePages(at, DIV_ROUND_UP(size, PAGE_SIZE));
}

/* Said while there is a screen: a machine with UEFI often has no serial port. */
static const char *cpu_lacks(void)
{
	const char *why = svm_lacks();

	return why ? why : svm_locked(rdmsr(MSR_VM_CR));
}

static u64 leave(struct efi_stub *s, bool target_taken, u64 copy, u64 copy_size)
{
	const char *why = cpu_lacks();
	u64 status;

	if (why)
		return efi_stub_fail(s, EFI_UNSUPPORTED, "cannot start: ", why);
	status = efi_stub_collect(s);
	if (status)
		return status;
	if (!copy)
		return efi_stub_fail(s, EFI_OUT_OF_RESOURCES, "no memory below 4 GiB", "");
	if (!target_taken && !efi_stub_is_free(s, ARCH_LINK_ADDRESS, __image_end - __image_start))
		return efi_stub_fail(s, EFI_OUT_OF_RESOURCES,
				     "the memory at 1 MiB, where it has to be, is in use", "");
	memcpy((void *)copy, __image_start, copy_size);
	return efi_stub_exit(s);
}

u64 x86_efi_main(void *image, void *table, u64 counter)
{
	struct efi_stub s = { image, table, .highest = GIB(4) - 1, .counter = counter };
	u64 size = (u64)(__image_end - __image_start), in_file = (u64)(__file_end - __image_start);
	/* Taken first, so that nothing of ours comes to lie there. */
	u64 target = alloc(table, AllocateAddress, ARCH_LINK_ADDRESS, size);
	u64 copy = alloc(table, AllocateMaxAddress, s.highest, in_file);
	u64 status = leave(&s, target, copy, in_file);
	typeof(x86_efi_relay) *relay = (void *)(copy + ((u64)x86_efi_relay - (u64)__image_start));

	if (!status)
		relay(s.info, (void *)copy);
	efi_stub_release(&s);
	give_back(table, copy, in_file);
	give_back(table, target, size);
	return status;
}
