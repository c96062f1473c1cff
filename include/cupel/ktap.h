/* SPDX-License-Identifier: GPL-2.0-only */
/* Self-tests inside the image, and the KTAP version 1 lines they and guests are reported in. */
#ifndef CUPEL_KTAP_H
#define CUPEL_KTAP_H

#include <cupel/types.h>

struct selftest_ctx;
struct selftest {
	const char *name;
	void (*fn)(struct selftest_ctx *t);
};

struct selftest_ctx {
	const char *name;
	bool failed;
	const char *skipped; /* why */
};

/* Section "selftests". A test file: SELFTEST(page_alloc_zeroes) { CHECK(t, …); } */
#define SELFTEST(n)                                                       \
	static void selftest_##n(struct selftest_ctx *t);                 \
	static const struct selftest selftest_entry_##n __used __section( \
		"selftests") = { #n, selftest_##n };                      \
	static void selftest_##n(struct selftest_ctx *t)

void selftest_fail(struct selftest_ctx *t, const char *file, u32 line, const char *what);
#define CHECK(t, cond)                                                 \
	do {                                                           \
		if (!(cond))                                           \
			selftest_fail((t), __FILE__, __LINE__, #cond); \
	} while (0)

/* Run those whose name contains `match` (NULL or "" = all): how many failed, or -EINVAL for none to run. */
int selftest_run(const char *match);

/* KTAP lines for results that come from elsewhere (guests). */
void ktap_begin(unsigned int plan); /* 0 = plan printed at the end */
void ktap_result(bool ok, const char *name, const char *diag);
int ktap_end(void); /* prints the plan if it wasn't, returns failures */

#endif
