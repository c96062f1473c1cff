/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the machine does once it is up: say who it is, start the other CPUs, do what the command line
 * asks for, and end with a code that the harness can read.
 */
#include <cupel/arch.h>
#include <cupel/archive.h>
#include <cupel/atomic.h>
#include <cupel/bench.h>
#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/ktap.h>
#include <cupel/lock.h>
#include <cupel/monitor.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/smp.h>
#include <cupel/torture.h>
#include <string.h>

#include "core.h"

extern const struct experiment *const __start_experiments[], *const __stop_experiments[];

void print_banner(void)
{
	printk("Cupel %s %s, %s, firmware %s\n", build_id(), ARCH_NAME,
	       platform.machine && *platform.machine ? platform.machine : "unknown machine",
	       platform.firmware ? platform.firmware : "unknown");
}

/* After this no function of an older frame may return: main() never does. */
static void stir_stack_guard(void)
{
	u64 x = arch_counter() * 0x9e3779b97f4a7c15UL;

	/* The low byte stays zero: a string can't run over it unnoticed. */
	__stack_chk_guard ^= x << 8;
}

static void open_archive(void)
{
	const struct module *m = &platform.modules[0];
	const char *why;
	size_t where;

	if (!platform.nr_modules)
		return;
	if (archive_open(&boot_archive, pa_to_va(m->base), m->size, &why, &where))
		printk("archive: %s at byte %zu; going on without it\n", why, where);
}

static bool warn_unknown(const char *key, const char *value, void *arg)
{
	if (!cmdline_is_general(key))
		printk("unknown word on the command line: %s%s\n", key,
		       cmdline_get("vm") ? "; a VM's own are in cupel.conf" : "");
	return true;
}

/* --- What is asked for -------------------------------------------------------------------------- */

const struct experiment *find_experiment(const char *name)
{
	for (const struct experiment *const *e = __start_experiments; e < __stop_experiments; e++) {
		if (!strcmp((*e)->name, name))
			return *e;
	}
	return NULL;
}

void list_experiments(void)
{
	for (const struct experiment *const *p = __start_experiments; p < __stop_experiments; p++)
		printk("  %s - %s\n", (*p)->name, (*p)->help);
}

static int run_bench(const char *name)
{
	const struct experiment *e = find_experiment(name);

	if (e)
		return e->run();
	printk("bench=%s: no experiment of that name; there are:\n", name);
	list_experiments();
	return -EINVAL;
}

static bool print_site(const struct lock_site *site, const struct lock_count *c, void *arg)
{
	printk("%s at %s:%u: acquired %lu, contended %lu, spins %lu\n", site->lock, site->file,
	       site->line, c->acquired, c->contended, c->spins);
	return true;
}

void print_lock_stats(void)
{
	printk("locks, by where they are taken:\n");
	lock_stats_walk(print_site, NULL);
}

static void start_lock_stats(void)
{
	if (lock_stats_init())
		printk("lockstat: no memory for the counters\n");
	else
		WRITE_ONCE(lock_stats_enabled, true);
}

static int code_of(int err)
{
	if (!err)
		return EXIT_CODE_OK;
	return err == -EINVAL ? EXIT_CODE_USAGE : EXIT_CODE_FAILED;
}

/* What the words ask for, in a fixed order; the exit code that says how it went. */
static int do_what_is_asked(void)
{
	const char *selftest = cmdline_get("selftest"), *bench = cmdline_get("bench");
	const char *vm = cmdline_get("vm"), *torture = cmdline_get("torture");
	int code = EXIT_CODE_OK;

	if (selftest)
		code = code_of(selftest_run(selftest));
	if (bench)
		code = max(code, code_of(run_bench(bench)));
	if (torture)
		code = max(code, code_of(torture_main(torture)));
	if (vm)
		code = max(code, code_of(vmrun(vm)));
	return code;
}

bool something_is_asked(void)
{
	return cmdline_get("selftest") || cmdline_get("bench") || cmdline_get("torture") ||
	       cmdline_get("vm");
}

int run_what_is_asked(void)
{
	bool lockstat = cmdline_get("lockstat");
	int code;

	if (lockstat)
		start_lock_stats();
	code = do_what_is_asked();
	if (lockstat) {
		WRITE_ONCE(lock_stats_enabled, false);
		print_lock_stats();
	}
	return code;
}

void warn_of_unknown_words(void)
{
	/* An experiment checks the words of its line itself: it knows its own keys. */
	if (!cmdline_get("bench"))
		cmdline_walk(warn_unknown, NULL);
}

void cupel_main(void)
{
	stir_stack_guard();
	print_banner();
	if (cmdline_error()) {
		printk("command line: %s: nothing is run\n", cmdline_error());
		arch_machine_exit(EXIT_CODE_USAGE);
	}
	warn_of_unknown_words();
	open_archive();
	if (gpc_setup())
		cannot_start("no memory for the counters of read sections");
	smp_start_all();
	printk("%u of %u CPUs online\n", READ_ONCE(nr_cpus_online), platform.nr_cpus);
	if (!something_is_asked())
		monitor();
	arch_machine_exit(run_what_is_asked());
}
