/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a record comes from: machine, build and clock, as every row of a run carries them; and the
 * one place that prints a record.
 */
#include "harness.h"

#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/smp.h>

#define RECORD_SIZE 32768

/* The linker's note section (ELF gABI, "Note Section"): three words, the name "GNU", the SHA-1. */
extern const u8 __build_id_start[], __build_id_end[];
#define BUILD_ID_OFFSET 16
#define BUILD_ID_BYTES	20

static char record_text[RECORD_SIZE];
static char build_id[2 * BUILD_ID_BYTES + 1];

static const char *build_id_text(void)
{
	const u8 *id = __build_id_start + BUILD_ID_OFFSET;

	for (u32 i = 0; i < BUILD_ID_BYTES && id + i < __build_id_end; i++)
		snprintf(build_id + 2 * i, 3, "%02x", id[i]);
	return build_id;
}

/* The host tools say board=… where they know more than firmware does, such as the emulator. */
static const char *board(void)
{
	const char *told = cmdline_get("board");

	return told && *told ? told : platform.machine;
}

void record_emit(const struct record *r)
{
	struct record_origin o = {
		.arch = ARCH_NAME,
		.machine = board(),
		.cpu = arch_cpu_model(),
		.firmware = platform.firmware,
		.cpus = nr_cpus_online,
		.build = build_id_text(),
		.compiler = BUILD_COMPILER,
		.flags = BUILD_FLAGS,
		.clock = "arch_counter",
		.clock_source = arch_counter_source(),
		.clock_hz = arch_counter_hz(),
	};
	size_t len = record_format(r, &o, record_text + 2, RECORD_SIZE - 5);

	if (len >= RECORD_SIZE - 5) {
		printk("bench %s: a record of %zu bytes does not fit\n", r->bench, len);
		return;
	}
	record_text[0] = record_text[1] = '@';
	record_text[len + 2] = record_text[len + 3] = '@';
	record_text[len + 4] = '\n';
	console_write(record_text, len + 5);
}
