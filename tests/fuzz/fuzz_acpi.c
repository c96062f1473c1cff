/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACPI tables, read as a PC's and as those of an arm64 machine. The input is the machine's memory from
 * MEMORY_BASE, where the RSDP is. Most mutations get their checksums mended, or nothing would ever get
 * past them.
 */
#include "fuzz.h"
#include "memory.h"

#include <string.h>

#define MEMORY_BASE 0xe0000 /* where a BIOS keeps an RSDP; address 0 means there is none */

/* ACPI 6.5, 5.2.6: signature, length at 4, checksum at 9; the bytes of a table sum up to 0. */
static void mend_sum(u8 *table, size_t length, size_t at)
{
	u8 sum = 0;

	table[at] = 0;
	for (size_t i = 0; i < length; i++)
		sum += table[i];
	table[at] = -sum;
}

static bool looks_like_table(const u8 *p)
{
	for (u32 i = 0; i < 4; i++)
		if (p[i] < 'A' || p[i] > 'Z')
			return false;
	return true;
}

static void mend_tables(u8 *data, size_t size)
{
	/* RSDP: its first 20 bytes, then all 36 (5.2.5.3). */
	if (size >= 20)
		mend_sum(data, 20, 8);
	if (size >= 36)
		mend_sum(data, 36, 32);
	for (size_t at = 64; at + 36 <= size; at += 16) {
		u32 length;

		memcpy(&length, data + at + 4, sizeof(length));
		if (looks_like_table(data + at) && length >= 36 && length <= size - at)
			mend_sum(data + at, length, 9);
	}
}

size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max_size, unsigned int seed);

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max_size, unsigned int seed)
{
	size = LLVMFuzzerMutate(data, size, max_size);
	if (seed % 8)
		mend_tables(data, size);
	return size;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_memory m = { .base = MEMORY_BASE, .data = data, .size = size };

	fuzz_read_platform(acpi_read_x86, &m, MEMORY_BASE);
	fuzz_read_platform(acpi_read_arm, &m, MEMORY_BASE);
	return 0;
}
