/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs the self-tests that are linked into the image, one after another on the boot CPU. */
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/ktap.h>
#include <cupel/printk.h>
#include <string.h>

#include "core.h"

extern const struct selftest __start_selftests[], __stop_selftests[];

void selftest_fail(struct selftest_ctx *t, const char *file, u32 line, const char *what)
{
	WRITE_ONCE(t->failed, true);
	printk("# %s: %s:%u: not true: %s\n", t->name, file, line, what);
}

static bool matches(const struct selftest *s, const char *match)
{
	return !match || strstr(s->name, match);
}

static void run_one(const struct selftest *s)
{
	struct selftest_ctx t = { .name = s->name };

	s->fn(&t);
	if (t.skipped && !t.failed)
		ktap_skip(s->name, t.skipped);
	else
		ktap_result(!t.failed, s->name, NULL);
}

int selftest_run(const char *match)
{
	unsigned int count = 0;

	for (const struct selftest *s = __start_selftests; s < __stop_selftests; s++)
		count += matches(s, match);
	if (!count) {
		printk("selftest=%s: no test of that name\n", match ? match : "");
		return -EINVAL;
	}
	ktap_begin(count);
	for (const struct selftest *s = __start_selftests; s < __stop_selftests; s++) {
		if (matches(s, match))
			run_one(s);
	}
	return ktap_end();
}
