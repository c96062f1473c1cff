/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A BIOS area of memory with ACPI tables that a test lays out, damages and mends, and the access function
 * that lets the reader see it and nothing else.
 */
#ifndef TEST_ACPI_RIG_H
#define TEST_ACPI_RIG_H

#include <string.h>

#include <cupel/platform.h>

#define BASE 0xe0000 /* where a BIOS keeps the RSDP */
#define SIZE 0x10000
#define RSDP BASE
#define RSDT (BASE + 0x100)
#define XSDT (BASE + 0x200)
#define MADT (BASE + 0x400)

static u8 memory[SIZE];
static u64 memory_end; /* nothing at or above */
static struct platform p;
static const char *why;

static u8 *at(paddr_t pa)
{
	return memory + (pa - BASE);
}

static void put(paddr_t pa, u64 value, u32 bytes)
{
	for (u32 i = 0; i < bytes; i++)
		at(pa)[i] = (u8)(value >> (8 * i));
}

static u32 length_of(paddr_t pa)
{
	return at(pa)[4] | at(pa)[5] << 8;
}

static void mend(paddr_t pa, u32 len, u32 sum_at)
{
	u8 sum = 0;

	at(pa)[sum_at] = 0;
	for (u32 i = 0; i < len; i++)
		sum = (u8)(sum + at(pa)[i]);
	at(pa)[sum_at] = (u8)-sum;
}

static void mend_table(paddr_t pa)
{
	mend(pa, length_of(pa), 9);
}

static void begin_table(paddr_t pa, const char *sig, u32 len)
{
	memcpy(at(pa), sig, 4);
	put(pa + 4, len, 4);
	memcpy(at(pa) + 10, "MAKER BOARD   ", 14);
}

/* One entry at the end of the MADT. */
static void add_entry(u8 type, const u8 *body, u32 body_len)
{
	u32 len = length_of(MADT);

	at(MADT)[len] = type;
	at(MADT)[len + 1] = (u8)(body_len + 2);
	memcpy(at(MADT) + len + 2, body, body_len);
	put(MADT + 4, len + body_len + 2, 4);
	mend_table(MADT);
}

static void make_list(paddr_t pa, const char *sig, u32 width, const u32 *tables, u32 count)
{
	begin_table(pa, sig, 36 + count * width);
	for (u32 i = 0; i < count; i++)
		put(pa + 36 + i * width, tables[i], width);
	mend_table(pa);
}

/* Nothing but the RSDP and both lists of these tables. */
static void make_roots(const u32 *tables, u32 count)
{
	memset(memory, 0, sizeof(memory));
	memset(&p, 0, sizeof(p));
	memory_end = BASE + SIZE;
	memcpy(at(RSDP), "RSD PTR ", 8);
	at(RSDP)[15] = 2;
	put(RSDP + 16, RSDT, 4);
	put(RSDP + 20, 36, 4);
	put(RSDP + 24, XSDT, 8);
	mend(RSDP, 20, 8);
	mend(RSDP, 36, 32);
	make_list(RSDT, "RSDT", 4, tables, count);
	make_list(XSDT, "XSDT", 8, tables, count);
}

static const void *rig_phys(void *ctx, paddr_t pa, size_t len)
{
	if (pa < BASE || pa > memory_end || len > memory_end - pa)
		return NULL;
	return at(pa);
}

/* One damage: a byte at a place; tables are mended afterwards unless their sum is the damage. */
struct damage {
	const char *what;
	paddr_t at;
	u8 value;
	paddr_t mend;
	int err;
	const char *why;
};

static void do_damage(const struct damage *d)
{
	*at(d->at) = d->value;
	if (d->mend)
		mend_table(d->mend);
	print_message("%s\n", d->what);
}

#endif
