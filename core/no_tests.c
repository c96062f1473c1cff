/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In the image that is measured, in place of self-tests and tortures: it has no room for them, and says
 * where they are.
 */
#include <cupel/errno.h>
#include <cupel/ktap.h>
#include <cupel/printk.h>
#include <cupel/torture.h>

static int not_here(const char *what, const char *name)
{
	printk("%s=%s: in the test image only, cupel-test\n", what, name ? name : "");
	return -EINVAL;
}

int selftest_run(const char *match)
{
	return not_here("selftest", match);
}

int torture_main(const char *names)
{
	return not_here("torture", names);
}
