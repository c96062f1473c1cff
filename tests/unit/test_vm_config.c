/* SPDX-License-Identifier: GPL-2.0-only */
/* cupel.conf: what it means, and for each malformed text the line and the words that say so. */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#include <cupel/config.h>
#include <cupel/errno.h>

#define MAX 4

static struct vm_config vm[MAX];
static u32 count, line;
static const char *why;

/* From a heap copy without a NUL: a read past its end is seen by the sanitizer. */
static int parse_bytes(const char *text, size_t size)
{
	char *copy = malloc(size ? size : 1);
	int err;

	memcpy(copy, text, size);
	why = "unset";
	err = config_parse_vms(copy, size, vm, MAX, &count, &why, &line);
	free(copy);
	return err;
}

static int parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static void all_keys(void **state)
{
	assert_int_equal(parse("# VMs\r\n"
			       "\n"
			       "[vm one]\n"
			       "kernel = a.elf   # the image\n"
			       "  memory=64M\n"
			       "vcpus\t=\t4\n"
			       "cpus = 1-2,5\n"
			       "cmdline = x=1 y=2  z\n"
			       "irqchip = external\n"
			       "irqstate = locked\n"
			       "wfi = native\n"
			       "[vm two]\n"
			       "kernel=b"),
			 0);
	assert_int_equal(count, 2);
	assert_string_equal(vm[0].name, "one");
	assert_string_equal(vm[0].kernel, "a.elf");
	assert_int_equal(vm[0].memory, MIB(64));
	assert_int_equal(vm[0].vcpus, 4);
	assert_int_equal(vm[0].nr_pin, 3);
	assert_int_equal(vm[0].pin[2], 5);
	assert_string_equal(vm[0].cmdline, "x=1 y=2  z");
	assert_int_equal(vm[0].irqchip, IRQCHIP_EXTERNAL);
	assert_true(vm[0].irqchip_said);
	assert_int_equal(vm[0].irqstate, IRQSTATE_LOCKED);
	assert_int_equal(vm[0].wfi, WFI_NATIVE);
}

static void defaults(void **state)
{
	memset(vm, 0xff, sizeof(vm));
	assert_int_equal(parse("[vm v]\nkernel=k\n"), 0);
	assert_int_equal(vm[0].vcpus, 1);
	assert_int_equal(vm[0].memory, MIB(16));
	assert_int_equal(vm[0].nr_pin, 0);
	assert_int_equal(vm[0].irqchip, IRQCHIP_FULL);
	assert_false(vm[0].irqchip_said);
	assert_int_equal(vm[0].irqstate, IRQSTATE_PERCPU);
	assert_int_equal(vm[0].wfi, WFI_TRAP);
	assert_string_equal(vm[0].cmdline, "");
}

static void nothing(void **state)
{
	assert_int_equal(parse(""), 0);
	assert_int_equal(count, 0);
	assert_int_equal(parse("\n \t\n# only words\n"), 0);
	assert_int_equal(count, 0);
}

#define VM "[vm v]\nkernel=k\n"

static void malformed(void **state)
{
	static const struct {
		const char *text;
		u32 line;
		const char *why;
	} cases[] = {
		{ "kernel=k\n", 1, "before the first" },
		{ "[vm v]\n", 2, "no kernel=" },
		{ "[vm v]\n\n[vm w]\nkernel=k\n", 3, "no kernel=" },
		{ "[vm v\nkernel=k\n", 1, "without ']'" },
		{ "[vm v] x\n", 1, "without ']'" },
		{ "[]\n", 1, "not [vm NAME]" },
		{ "[vm]\n", 1, "not [vm NAME]" },
		{ "[vmx v]\n", 1, "not [vm NAME]" },
		{ "[host v]\n", 1, "not [vm NAME]" },
		{ "[vm ]\n", 1, "VM name" },
		{ "[vm a b]\n", 1, "VM name" },
		{ "[vm a+b]\n", 1, "VM name" },
		{ "[vm a,b]\n", 1, "VM name" },
		{ "[vm \xc3\xa4]\n", 1, "VM name" },
		{ "[vm abcdefghijklmnopqrstuvwxyz0123456]\n", 1, "VM name" },
		{ VM VM, 3, "two VMs" },
		{ "[vm a]\nkernel=k\n[vm b]\nkernel=k\n[vm c]\nkernel=k\n[vm d]\nkernel=k\n[vm e]\n",
		  9, "too many" },
		{ VM "nonsense\n", 3, "neither" },
		{ VM "colour=red\n", 3, "unknown key" },
		{ VM "Kernel=k\n", 3, "unknown key" },
		{ VM "=k\n", 3, "unknown key" },
		{ "[vm v]\nkernel=\n", 2, "needs a file name" },
		{ "[vm v]\nkernel=0123456789012345678901234567890123456789012345678901234567890123\n",
		  2, "too long" },
		{ VM "memory=\n", 3, "memory=" },
		{ VM "memory=0\n", 3, "memory=" },
		{ VM "memory=4096\n", 3, "memory=" },
		{ VM "memory=1M1\n", 3, "memory=" },
		{ VM "memory=2T\n", 3, "memory=" },
		{ VM "memory=-1M\n", 3, "memory=" },
		{ VM "memory=99999999999999999999T\n", 3, "memory=" },
		{ VM "vcpus=0\n", 3, "vcpus=" },
		{ VM "vcpus=513\n", 3, "vcpus=" },
		{ VM "vcpus=two\n", 3, "vcpus=" },
		{ VM "cpus=\n", 3, "cpus=" },
		{ VM "cpus=0-64\n", 3, "cpus=" },
		{ VM "cpus=1024\n", 3, "can't exist" },
		{ VM "irqchip=half\n", 3, "irqchip=" },
		{ VM "irqstate=\n", 3, "irqstate=" },
		{ VM "wfi=Trap\n", 3, "wfi=" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(cases[i].text), -EINVAL);
		assert_int_equal(line, cases[i].line);
		if (!strstr(why, cases[i].why))
			fail_msg("'%s' says: %s", cases[i].text, why);
		assert_int_equal(count, 0);
	}
}

static void long_lines_and_nul(void **state)
{
	char text[1024] = VM "cmdline=";
	size_t n = strlen(text);

	memset(text + n, 'x', 256);
	assert_int_equal(parse(text), -EINVAL);
	assert_non_null(strstr(why, "cmdline= is too long"));
	text[n + 255] = '\0';
	assert_int_equal(parse(text), 0);
	memset(text + n, 'x', 600);
	assert_int_equal(parse(text), -EINVAL);
	assert_string_equal(why, "line is too long");
	assert_int_equal(line, 3);
	assert_int_equal(parse_bytes("[vm v]\nkernel=k\0x\n", 18), -EINVAL);
	assert_string_equal(why, "NUL in the text");
	assert_int_equal(line, 2);
}

static void every_cut(void **state)
{
	static const char text[] = "[vm one]\nkernel=a\nmemory=8M\ncpus=0-3\n[vm two]\nkernel=b\n";

	for (size_t n = 0; n < sizeof(text); n++) {
		int err = parse_bytes(text, n);

		assert_true(err == 0 || (err == -EINVAL && line >= 1 && line <= 7));
	}
}

static void noise(void **state)
{
	static const char *const parts[] = { "[vm ",  "]",	 "\n",	 "kernel", "=",
					     "a",     "#",	 " ",	 "memory", "1M",
					     "vcpus", "9",	 "cpus", "0-3",	   ",",
					     "\t",    "irqchip", "full", "\r" };
	u64 seed = 7;

	for (int round = 0; round < 20000; round++) {
		char text[512] = "";

		while (strlen(text) < 300 && host_random(&seed) % 40)
			strcat(text, parts[host_random(&seed) % ARRAY_SIZE(parts)]);
		assert_true(parse(text) == 0 || count == 0);
		assert_true(count <= MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_keys),
		cmocka_unit_test(defaults),
		cmocka_unit_test(nothing),
		cmocka_unit_test(malformed),
		cmocka_unit_test(long_lines_and_nul),
		cmocka_unit_test(every_cut),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests_name("vm_config", tests, NULL, NULL);
}
