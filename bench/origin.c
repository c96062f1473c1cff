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
#include <string.h>

#define RECORD_SIZE 32768

static char record_text[RECORD_SIZE];

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
		.build = build_id(),
		.compiler = BUILD_COMPILER,
		.flags = BUILD_FLAGS,
		.clock = "arch_counter",
		.clock_source = arch_counter_source(),
		.clock_hz = arch_counter_hz(),
	};
	const char *wanted = cmdline_get("records");
	size_t len;

	if (wanted && !strcmp(wanted, "off"))
		return;
	len = record_format(r, &o, record_text + 2, RECORD_SIZE - 5);

	if (len >= RECORD_SIZE - 5) {
		printk("bench %s: a record of %zu bytes does not fit\n", r->bench, len);
		return;
	}
	record_text[0] = record_text[1] = '@';
	record_text[len + 2] = record_text[len + 3] = '@';
	record_text[len + 4] = '\n';
	console_write(record_text, len + 5);
}
