/* SPDX-License-Identifier: GPL-2.0-only */
/* Experiments whose values a guest takes: run it, keep every value, print a row for each kind. */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include "harness.h"

#define SERIES_SAMPLES 4096 /* values of a kind that are kept, and that a guest may take */

/* Add to a row's variant what the VM was. */
typedef void (*series_describe_t)(struct record *r, const struct vm_config *c);

/*
 * The words ops= and samples= into the command line of guest NAME, and the VM's defaults. -EINVAL after
 * one clear line.
 */
int series_words(const char *bench, const char *guest, u32 vcpus, struct vm_config *c);

/* Run the guest to its end and print table and records. -EINVAL when it measured nothing. */
int series_measure(const char *bench, const char *title, const struct vm_config *c,
		   series_describe_t describe);

#endif
