/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The EFI application, up to and including ExitBootServices: what both architectures share. Its body,
 * efi_stub.c, is position independent, keeps nothing in .bss or .data, calls nothing but firmware and
 * core/string.c, and runs on firmware's stack with firmware's translation (addresses are physical).
 *
 * An application does, in this order:
 *
 *	struct efi_stub s = { .image = handle, .table = system_table, .highest = …, .counter = … };
 *	status = efi_stub_collect(&s);		    // command line, tables, archive: s.info
 *	status = efi_stub_exit(&s);		    // s.info->memmap; no firmware after this
 *
 * and gives a status that is not 0 back to firmware, after efi_stub_release(): what it means was said on
 * firmware's console, unless boot services had begun to end, when there is none.
 */
#ifndef DRIVERS_EFI_H
#define DRIVERS_EFI_H

#include <cupel/platform.h>
#include <cupel/types.h>

struct efi_stub {
	void *image, *table; /* as firmware gave them to the application */
	u64 highest; /* no allocation of ours goes beyond this address */
	u64 counter; /* arch_counter() at the first instruction */
	struct efi_info *info; /* made by efi_stub_collect(), as is what follows */
	void *map; /* room for the memory map */
	u64 map_room;
};

/*
 * Fills s->info, all but the memory map. 0, or the EFI status of what could not be had although it was asked
 * for, said on the console. An archive that nobody named and that is not there is none.
 */
u64 efi_stub_collect(struct efi_stub *s);
/* Gives firmware back all that the two others took; after a failure, be it of the last. */
void efi_stub_release(struct efi_stub *s);
/* Takes the memory map and leaves boot services; 0, or an EFI status. After 0 firmware is gone. */
u64 efi_stub_exit(struct efi_stub *s);

/* EfiLoaderData, page aligned; NULL when there is no such memory. Only before efi_stub_exit(). */
void *efi_stub_alloc(const struct efi_stub *s, u64 size);
/* Whether every page of [base, base+size) is memory that is nobody's after efi_stub_exit(). Between the two. */
bool efi_stub_is_free(struct efi_stub *s, paddr_t base, u64 size);
/* "Cupel: <text><detail>", a line on firmware's console. Returns status, so that a failure is one line. */
u64 efi_stub_fail(const struct efi_stub *s, u64 status, const char *text, const char *detail);

/* Statuses for efi_stub_fail() (UEFI 2.10, appendix D). */
#define EFI_STUB_UNSUPPORTED	  (1UL << 63 | 3)
#define EFI_STUB_OUT_OF_RESOURCES (1UL << 63 | 9)

#endif
