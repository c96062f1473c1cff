/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whole runs: an archive with cupel.conf, VMs whose guests are functions here, and what comes out on the
 * console, result by result.
 */
#include "host.h"

#include <stdio.h>
#include <string.h>

#include <cupel/abi.h>
#include <cupel/archive.h>
#include <cupel/clock.h>
#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>
#include <cupel/smp.h>
#include <cupel/vm.h>

#include "../../core/core.h"

#define CPUS 3

static u8 image[8192];
static size_t size;

static void add(const char *name, const char *data)
{
	u32 names = (u32)strlen(name) + 1, len = (u32)strlen(data);

	size += (size_t)sprintf((char *)image + size,
				"070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", 1,
				0100644, 0, 0, 1, 0, len, 0, 0, 0, 0, names, 0);
	memcpy(image + size, name, names);
	size = ALIGN_UP(size + names, 4UL);
	memcpy(image + size, data, len);
	size = ALIGN_UP(size + len, 4UL);
}

static void archive_with(const char *conf)
{
	const char *why;
	size_t where;

	memset(image, 0, sizeof(image));
	size = 0;
	if (conf)
		add("cupel.conf", conf);
	add("good", "good");
	add("bad", "bad");
	add("hang", "hang");
	add("code", "code");
	add("empty", "");
	add("TRAILER!!!", "");
	assert_int_equal(archive_open(&boot_archive, image, size, &why, &where), 0);
}

static void report(struct vcpu *v, bool ok, const char *text)
{
	enum vcpu_exit e = VCPU_EXIT_RESUME;

	memcpy(vm_gpa_to_va(v->vm, 0x1000, 100, true), text, strlen(text));
	assert_int_equal(hypercall(v, HC_REPORT, ok, 0x1000, strlen(text), &e), 0);
}

static u32 running, most;

/* What the image says is what the guest does. */
static int guest(struct vcpu *v)
{
	const char *kind = vm_gpa_to_va(v->vm, 0, 4, false);
	enum vcpu_exit e = VCPU_EXIT_RESUME;

	if (!strncmp(kind, "hang", 4))
		return host_kick_pending() ? VCPU_EXIT_RESUME : VCPU_EXIT_YIELD;
	if (v->arch.enters == 1) {
		u32 n = atomic_fetch_add_relaxed(&running, 1U) + 1;

		if (n > READ_ONCE(most))
			WRITE_ONCE(most, n);
		report(v, true, "has begun");
	}
	if (v->arch.enters < 50)
		return VCPU_EXIT_YIELD;
	atomic_fetch_add_relaxed(&running, -1U);
	if (!strncmp(kind, "bad", 3)) {
		vm_stop(v->vm, -1, "it read 0x%x", 0xdead);
		return VCPU_EXIT_STOP;
	}
	report(v, strncmp(kind, "code", 4) != 0, "nearly done");
	hypercall(v, HC_EXIT, strncmp(kind, "code", 4) ? 0 : 7, 0, 0, &e);
	return (int)e;
}

static void expect(const char *want)
{
	if (!strstr(host_console(), want))
		fail_msg("no '%s' in: %s", want, host_console());
}

static const char conf[] =
	"[vm a]\nkernel=good\nmemory=1M\n[vm b]\nkernel=bad\nmemory=1M\n"
	"[vm c]\nkernel=code\nmemory=1M\n[vm d]\nkernel=good\nmemory=1M\ncpus=2\n"
	"[vm h]\nkernel=hang\nmemory=1M\ncpus=1\n[vm n]\nkernel=none\n"
	"[vm p]\nkernel=good\nmemory=1M\ncpus=9\n[vm e]\nkernel=empty\nmemory=1M\n";

static int run(const char *spec, int expected)
{
	u64 free = mm_stats().free_pages;

	archive_with(conf);
	host_console_clear();
	host_guest = guest;
	running = most = 0;
	assert_int_equal(vmrun(spec), expected);
	assert_int_equal(mm_stats().free_pages, free);
	return 0;
}

static void one_after_another(void **state)
{
	run("a,d", 0);
	expect("KTAP version 1\n");
	expect("ok 1 a: has begun\nok 2 a: nearly done\nok 3 a: end\n"
	       "ok 4 d: has begun\nok 5 d: nearly done\nok 6 d: end\n1..6\n");
	assert_int_equal(most, 1);
}

static void together(void **state)
{
	run("d+a", 0);
	expect(" d: end\n");
	expect(" a: end\n1..6\n");
	run("a+a+d,a", 0);
	expect("1..12\n");
}

static void a_crash_is_told_and_the_next_one_runs(void **state)
{
	run("b,a", -EIO);
	expect("vm b: stopped: it read 0xdead\nvCPU 0: loads 50,");
	expect("  exits enter: 50\n");
	expect("# it read 0xdead\nnot ok 2 b: end\nok 3 a: has begun\n");
	expect("ok 5 a: end\n1..5\n");
}

static void codes_and_reports_fail(void **state)
{
	run("c", -EIO);
	expect("not ok 2 c: nearly done\n# exit 7\nnot ok 3 c: end\n1..3\n");
}

static void what_never_ends_is_bounded(void **state)
{
	static char line[] = "timeout=1";
	const char *why;

	assert_int_equal(cmdline_parse(line, &why), 0);
	run("h+a", -EIO);
	expect("vm h: stopped: no end after 1 seconds\n");
	expect("a: end\n");
	line[0] = '\0';
	assert_int_equal(cmdline_parse(line, &why), 0);
}

static void what_cannot_start(void **state)
{
	run("n,a", -EIO);
	expect("vm n: not started: no file none in the archive\n");
	expect("not ok 1 n: end\nok 2 a: has begun\n");
	run("p", -EIO);
	expect("vm p: not started: pinned to a CPU that is not online");
	run("e", -EIO);
	expect("vm e: not started: image is empty");
}

static void all_of_them(void **state)
{
	static char line[] = "timeout=1";
	const char *why;

	assert_int_equal(cmdline_parse(line, &why), 0);
	run("", -EIO);
	expect("ok 3 a: end\n");
	expect("not ok 5 b: end\n");
	expect("not ok 8 c: end\n");
	expect("1..15\n");
	line[0] = '\0';
	assert_int_equal(cmdline_parse(line, &why), 0);
}

static void bad_words(void **state)
{
	static const char *const specs[] = { "x", "a,x", "a+", "+a", ",", "a,,a", "a b", "A" };

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		run(specs[i], -EINVAL);
		expect("vm=: no VM '");
		assert_null(strstr(host_console(), "KTAP"));
	}
}

static void bad_archives(void **state)
{
	host_console_clear();
	archive_with(NULL);
	assert_int_equal(vmrun(""), -EIO);
	expect("the archive has no cupel.conf");
	archive_with("[vm a]\nkernel=good\nmemory=1K\n");
	assert_int_equal(vmrun("a"), -EIO);
	expect("cupel.conf: line 3: memory=");
	boot_archive.size = 0;
	assert_int_equal(vmrun(""), -EIO);
	expect("there is no archive");
}

/* --- With somebody at the console ------------------------------------------------------------------ */

static u32 looks; /* at which Ctrl-C comes; 0: it does not */

static int keyboard(struct console *c)
{
	return looks && !--looks ? CONSOLE_INTERRUPT : -1;
}

static void no_echo(struct console *c, char ch)
{
}

static struct console serial = { .name = "serial", .putc = no_echo, .getc = keyboard };

static void interrupted(u32 when)
{
	static char line[] = "timeout=9";
	u64 free = mm_stats().free_pages;
	const char *why;

	archive_with(conf);
	host_console_clear();
	assert_int_equal(cmdline_parse(line, &why), 0);
	looks = when;
	assert_int_equal(vmrun("h+h,a"), -EIO);
	expect("# interrupted at the console\nnot ok 1 h: end\n");
	expect("not ok 2 h: end\n1..2\n"); /* and nothing after it begins */
	assert_int_equal(looks, 0);
	vm_retire(NULL);
	assert_int_equal(mm_stats().free_pages, free);
}

/* At the first look already, and in the middle: after the lines that were printed, each a look a character. */
static void ctrl_c_ends_what_runs_and_what_would(void **state)
{
	console_register(&serial);
	assert_true(console_input_begin());
	host_guest = guest;
	console_interrupted();
	interrupted((u32)strlen("KTAP version 1\n") + 1);
	interrupted((u32)strlen("KTAP version 1\n") + 20);
}

static void the_last_vm_is_kept(void **state)
{
	u64 free = mm_stats().free_pages;

	archive_with(conf);
	host_console_clear();
	assert_int_equal(vmrun("a,d"), 0);
	assert_string_equal(vm_kept()->config.name, "d");
	assert_true(mm_stats().free_pages < free);
	assert_int_equal(vmrun("n"), -EIO);
	assert_string_equal(vm_kept()->config.name, "d");
	assert_int_equal(vmrun("a"), 0);
	assert_string_equal(vm_kept()->config.name, "a");
	vm_retire(NULL);
	assert_null(vm_kept());
	assert_int_equal(mm_stats().free_pages, free);
}

static int setup(void **state)
{
	host_setup(CPUS, MIB(32));
	smp_start_all();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_after_another),
		cmocka_unit_test(together),
		cmocka_unit_test(a_crash_is_told_and_the_next_one_runs),
		cmocka_unit_test(codes_and_reports_fail),
		cmocka_unit_test(what_never_ends_is_bounded),
		cmocka_unit_test(what_cannot_start),
		cmocka_unit_test(all_of_them),
		cmocka_unit_test(bad_words),
		cmocka_unit_test(bad_archives),
		cmocka_unit_test(ctrl_c_ends_what_runs_and_what_would), /* reads the console from here on */
		cmocka_unit_test(the_last_vm_is_kept),
	};

	return cmocka_run_group_tests_name("vmrun", tests, setup, NULL);
}
