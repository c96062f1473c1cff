/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device tree reader: trees of both GICs, each property gone wrong, every cut-off point, and random
 * damage. Trees are written with libfdt's sequential writer.
 */
#include "host.h"

#include <libfdt.h>
#include <stdlib.h>
#include <string.h>

#include <cupel/errno.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

static u8 blob[16384];
static struct platform p;
static const char *why;

/* What a row of a table changes in the tree; NULL and 0: nothing. */
struct change {
	const char *node; /* its name in build() */
	const char *prop;
	const void *data;
	int len; /* -1: leave the property out */
};

static const struct change *change;
static bool spin; /* CPUs 1 and 2 are in a spin table */

static void prop(const char *node, const char *name, const void *data, int len)
{
	if (change && change->node && !strcmp(change->node, node) && change->prop &&
	    !strcmp(change->prop, name)) {
		if (change->len < 0)
			return;
		data = change->data;
		len = change->len;
	}
	assert_int_equal(fdt_property(blob, name, data, len), 0);
}

static void prop_text(const char *node, const char *name, const char *text)
{
	prop(node, name, text, (int)strlen(text) + 1);
}

static void prop_cells(const char *node, const char *name, int count, const u32 *cells)
{
	fdt32_t be[32];

	for (int i = 0; i < count; i++)
		be[i] = cpu_to_fdt32(cells[i]);
	prop(node, name, be, 4 * count);
}

#define CELLS(node, name, ...) \
	prop_cells(node, name, sizeof((u32[]){ __VA_ARGS__ }) / 4, (const u32[]){ __VA_ARGS__ })

static void begin(const char *name)
{
	fdt_begin_node(blob, name);
}

static void end(void)
{
	fdt_end_node(blob);
}

static void build_cpus(void)
{
	begin("cpus");
	CELLS("cpus", "#address-cells", 1);
	CELLS("cpus", "#size-cells", 0);
	for (u32 i = 0; i < 3; i++) {
		char name[16];
		static const char *const label[] = { "cpu0", "cpu1", "cpu2" };

		snprintf(name, sizeof(name), "cpu@%u", i);
		begin(name);
		prop_text(label[i], "device_type", "cpu");
		prop_text(label[i], "enable-method", spin && i ? "spin-table" : "psci");
		CELLS(label[i], "reg", i << 8);
		CELLS(label[i], "cpu-release-addr", 0, 0x4f200000 + (i << 13) + 0xd8);
		if (i == 2)
			prop_text(label[i], "status", "disabled");
		end();
	}
	end();
}

static bool bcm2836; /* a Raspberry Pi 3's instead of a GIC */

static void build_bcm2836(void)
{
	begin("local_intc");
	prop_text("intc", "compatible", "brcm,bcm2836-l1-intc");
	CELLS("intc", "#interrupt-cells", 2);
	CELLS("intc", "reg", 0, 0x40000000, 0, 0x100);
	end();
	begin("timer");
	prop_text("timer", "compatible", "arm,armv7-timer");
	CELLS("timer", "interrupts", 0, 4, 1, 4, 3, 4, 2, 4);
	end();
}

static void build_gic(bool v3)
{
	begin("intc");
	prop_text("intc", "compatible", v3 ? "arm,gic-v3" : "arm,gic-400");
	CELLS("intc", "#interrupt-cells", 3);
	CELLS("intc", "interrupts", 1, 9, 4);
	if (v3) {
		CELLS("intc", "#redistributor-regions", 2);
		CELLS("intc", "reg", 0, 0x8000000, 0, 0x10000, 0, 0x80a0000, 0, 0xf60000, 0x40, 0,
		      0, 0x4000000);
	} else {
		CELLS("intc", "reg", 0, 0x8000000, 0, 0x10000, 0, 0x8010000, 0, 0x10000, 0,
		      0x8030000, 0, 0x10000, 0, 0x8040000, 0, 0x10000);
	}
	end();
}

static void build_devices(void)
{
	begin("timer");
	prop_text("timer", "compatible", "arm,armv8-timer");
	CELLS("timer", "interrupts", 1, 13, 4, 1, 14, 4, 1, 11, 4, 1, 10, 4, 1, 12, 4);
	end();
	begin("psci");
	prop_text("psci", "compatible", "arm,psci-1.0");
	prop_text("psci", "method", "smc");
	end();
	/* A bus of its own addresses. */
	begin("soc");
	CELLS("soc", "#address-cells", 1);
	CELLS("soc", "#size-cells", 1);
	CELLS("soc", "ranges", 0x1000, 0, 0x9000000, 0x10000);
	begin("uart@1000");
	prop_text("uart", "compatible", "arm,pl011");
	CELLS("uart", "reg", 0x1000, 0x1000);
	end();
	end();
	begin("aliases");
	prop_text("aliases", "serial0", "/soc/uart@1000");
	prop_text("aliases", "self", "self");
	prop_text("aliases", "two", "serial0");
	prop("aliases", "open", "/soc/uart@1000", 14);
	prop("aliases", "empty", "", 0);
	end();
	begin("chosen");
	prop_text("chosen", "stdout-path", "/soc/uart@1000:115200n8");
	prop_text("chosen", "bootargs", "selftest vm");
	CELLS("chosen", "linux,initrd-start", 0x48000000);
	CELLS("chosen", "linux,initrd-end", 0x48001800);
	end();
}

static void build(bool v3)
{
	assert_int_equal(fdt_create(blob, sizeof(blob)), 0);
	fdt_add_reservemap_entry(blob, 0x40000000, 0x1000);
	fdt_finish_reservemap(blob);
	begin("");
	CELLS("root", "#address-cells", 2);
	CELLS("root", "#size-cells", 2);
	prop_text("root", "model", "test board");
	begin("memory@40000000");
	prop_text("memory", "device_type", "memory");
	CELLS("memory", "reg", 0, 0x40000000, 0, 0x10000000);
	end();
	begin("reserved-memory");
	CELLS("reserved", "#address-cells", 2);
	CELLS("reserved", "#size-cells", 2);
	prop("reserved", "ranges", "", 0);
	begin("fw@4f000000");
	CELLS("fw", "reg", 0, 0x4f000000, 0, 0x100000);
	end();
	end();
	build_cpus();
	if (bcm2836)
		build_bcm2836();
	else
		build_gic(v3);
	build_devices();
	end();
	assert_int_equal(fdt_finish(blob), 0);
}

/* From a heap copy of exactly that size, so that the sanitizer sees a read past its end. */
static int read_cut(size_t size)
{
	void *copy = malloc(size ? size : 1);
	int err;

	memcpy(copy, blob, size);
	memset(&p, 0, sizeof(p));
	err = fdt_read_platform(copy, size, &p, &why);
	free(copy);
	assert_true(err == 0 || (err < 0 && why));
	assert_true(p.nr_cpus <= NR_CPUS && p.nr_mem <= PLATFORM_MAX_MEM);
	assert_true(p.nr_modules <= PLATFORM_MAX_MODULES && p.gic.nr_redist <= PLATFORM_MAX_REDISTS);
	assert_true(strnlen(p.cmdline, CMDLINE_MAX) < CMDLINE_MAX);
	return err;
}

static void good_v3(void **state)
{
	build(true);
	assert_int_equal(read_cut(fdt_totalsize(blob)), 0);
	assert_string_equal(p.machine, "test board");
	assert_int_equal(p.nr_cpus, 3);
	assert_int_equal(p.cpus[1].hwid, 0x100);
	assert_true(p.cpus[1].enabled);
	assert_false(p.cpus[2].enabled);
	assert_int_equal(p.gic.kind, GIC_V3);
	assert_int_equal(p.gic.nr_redist, 2);
	assert_int_equal(p.gic.redist[1].base, 0x4000000000);
	assert_int_equal(p.gic.maint_intid, 25);
	assert_int_equal(p.timer.phys_ns, 30);
	assert_int_equal(p.timer.virt, 27);
	assert_int_equal(p.timer.hyp_phys, 26);
	assert_int_equal(p.timer.hyp_virt, 28);
	assert_int_equal(p.psci, PSCI_SMC);
	assert_int_equal(p.uart.kind, UART_PL011);
	assert_int_equal(p.uart.base, 0x9000000);
	assert_string_equal(p.cmdline, "selftest vm");
	assert_int_equal(p.nr_modules, 1);
	assert_int_equal(p.modules[0].size, 0x1800);
}

/* What is reserved, by either way, or holds the archive, is no RAM. */
static void memory_is_cut(void **state)
{
	static const struct mem_range want[] = { { 0x40001000, 0x7fff000 },
						 { 0x48002000, 0x6ffe000 },
						 { 0x4f100000, 0xf00000 } };

	build(true);
	assert_int_equal(read_cut(fdt_totalsize(blob)), 0);
	assert_int_equal(p.nr_mem, ARRAY_SIZE(want));
	assert_memory_equal(p.mem, want, sizeof(want));
}

static void good_v2(void **state)
{
	build(false);
	assert_int_equal(read_cut(fdt_totalsize(blob)), 0);
	assert_int_equal(p.gic.kind, GIC_V2);
	assert_int_equal(p.gic.cpu_if.base, 0x8010000);
	assert_int_equal(p.gic.vcpu_if.base, 0x8040000);
}

/* Numbers are those of its sources, and follow the SGIs; the first timer is the one. */
static void no_gic(void **state)
{
	static const struct {
		struct change change;
		int err;
		u32 virt;
	} cases[] = {
		{ { NULL }, 0, 19 },
		{ { "intc", "#interrupt-cells", "\0\0\0\1", 4 }, 0, 17 }, /* the list's third cell */
		{ { "intc", "#interrupt-cells", "\0\0\0\0", 4 }, 0, 0 },
		{ { "intc", "#interrupt-cells", "\0\0\0\3", 4 }, 0, 0 },
		{ { "intc", "#interrupt-cells", NULL, -1 }, 0, 0 },
		{ { "timer", "interrupts", "\0\0\0\1", 4 }, 0, 0 },
		{ { "intc", "reg", NULL, -1 }, -EINVAL, 0 },
	};

	bcm2836 = true;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		change = &cases[i].change;
		build(false);
		assert_int_equal(read_cut(fdt_totalsize(blob)), cases[i].err);
		assert_int_equal(p.gic.kind, GIC_BCM2836);
		assert_int_equal(p.timer.virt, cases[i].virt);
	}
	change = &cases[0].change;
	build(false);
	assert_int_equal(read_cut(fdt_totalsize(blob)), 0);
	assert_int_equal(p.gic.local.base, 0x40000000);
	assert_int_equal(p.gic.local.size, 0x100);
	assert_int_equal(p.gic.maint_intid, 0);
	assert_int_equal(p.timer.phys_ns, 17);
	assert_int_equal(p.timer.virt, 19);
	assert_int_equal(p.timer.hyp_phys, 18);
	assert_int_equal(p.timer.hyp_virt, 0);
	change = NULL;
	bcm2836 = false;
}

#define BAD(n, pr, bytes, text) { { n, pr, bytes, sizeof(bytes) - 1 }, text }
#define GONE(n, pr, text)	{ { n, pr, NULL, -1 }, text }

static void malformed(void **state)
{
	static const struct {
		struct change change;
		const char *why; /* NULL: it does without */
	} cases[] = {
		GONE("memory", "reg", "no RAM"),
		GONE("memory", "device_type", "no RAM"),
		BAD("memory", "reg", "\0\0\0\0", "wrong length"),
		BAD("memory", "reg", "\377\377\377\377\377\377\377\0\0\0\0\0\0\0\377\377", "wraps"),
		BAD("root", "#address-cells", "\0\0\0\3", "no bus maps"),
		BAD("root", "#size-cells", "\377\377\377\377", "no bus maps"),
		BAD("fw", "reg", "\0\0\0", "wrong length"),
		BAD("fw", "reg", "\0\0\0\0\0\0\0\2\377\377\377\377\377\377\377\377", "wraps"),
		/* At the last addresses, where nothing is that could be lost. */
		BAD("fw", "reg", "\377\377\377\377\377\377\360\0\0\0\0\0\0\0\17\377", NULL),
		BAD("fw", "reg", "\377\377\377\377\377\377\360\0\0\0\0\0\0\0\20\0", NULL),
		BAD("cpus", "#address-cells", "\0\0\0\0", "#address-cells in /cpus"),
		BAD("cpus", "#address-cells", "\0\0\0\3", "#address-cells in /cpus"),
		BAD("cpu1", "reg", "\0\0", "without a proper reg"),
		BAD("cpu1", "reg", "\0\0\0\0", "same reg"),
		GONE("cpu1", "reg", "without a proper reg"),
		GONE("cpu1", "enable-method", NULL),
		BAD("chosen", "bootargs", "no end", "without an end"),
		GONE("chosen", "bootargs", NULL),
		BAD("chosen", "stdout-path", "/no/such\0", NULL),
		BAD("chosen", "stdout-path", "no end", NULL),
		BAD("chosen", "linux,initrd-end", "\100\0\0\0", "ends before it starts"),
		BAD("chosen", "linux,initrd-end", "\177\0\0\0", "not in RAM"),
		BAD("chosen", "linux,initrd-end", "\0\0\0", NULL),
		GONE("chosen", "linux,initrd-start", NULL),
		BAD("soc", "ranges", "\0\0\0\0", "no bus maps"),
		GONE("soc", "ranges", "no bus maps"),
		BAD("soc", "ranges", "\0\0\20\0\377\377\377\377\377\377\377\377\0\1\0\0", "wraps"),
		GONE("uart", "reg", "console without a reg"),
		GONE("intc", "#interrupt-cells", NULL),
		BAD("intc", "#interrupt-cells", "\0\0\0\0", NULL),
		BAD("intc", "#redistributor-regions", "\0\0\4\1", "too many redistributor"),
		BAD("intc", "#redistributor-regions", "\0\0\0\0", "too many redistributor"),
		BAD("intc", "#redistributor-regions", "\0\0\0\3", "too few reg"),
		GONE("intc", "compatible", NULL),
		BAD("timer", "interrupts", "\0\0\0\1", NULL),
		GONE("timer", "compatible", NULL),
		BAD("psci", "method", "xyz", NULL),
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int err;

		change = &cases[i].change;
		build(true);
		change = NULL;
		err = read_cut(fdt_totalsize(blob));
		if ((err == 0) != !cases[i].why || (err && !strstr(why, cases[i].why)))
			fail_msg("%s of %s: %d, %s", cases[i].change.prop, cases[i].change.node,
				 err, why);
	}
}

/* The words lie in RAM that nobody else says is reserved; a CPU that spins may be called disabled. */
static void spin_tables(void **state)
{
	static const struct mem_range want[] = { { 0x40001000, 0x7fff000 },
						 { 0x48002000, 0x6ffe000 },
						 { 0x4f100000, 0x102000 },
						 { 0x4f203000, 0x1000 },
						 { 0x4f205000, 0xdfb000 } };
	static const struct change odd = { "cpu1", "cpu-release-addr", "\0\0\0\4", 4 };
	static const struct change none = { "cpu1", "cpu-release-addr", NULL, -1 };
	static const struct change failed = { "cpu2", "status", "fail", 5 };

	spin = true;
	build(true);
	assert_int_equal(read_cut(fdt_totalsize(blob)), 0);
	assert_int_equal(p.cpus[0].method, CPU_METHOD_PSCI);
	for (u32 i = 1; i < 3; i++) {
		assert_int_equal(p.cpus[i].method, CPU_METHOD_SPIN_TABLE);
		assert_int_equal(p.cpus[i].release_addr, 0x4f2000d8 + (i << 13));
		assert_true(p.cpus[i].enabled);
	}
	assert_int_equal(p.nr_mem, ARRAY_SIZE(want));
	assert_memory_equal(p.mem, want, sizeof(want));

	change = &odd;
	build(true);
	assert_int_equal(read_cut(fdt_totalsize(blob)), -EINVAL);
	assert_non_null(strstr(why, "odd cpu-release-addr"));
	change = &none;
	build(true);
	assert_int_equal(read_cut(fdt_totalsize(blob)), 0);
	assert_int_equal(p.cpus[1].method, CPU_METHOD_NONE);
	assert_false(p.cpus[1].enabled);
	change = &failed;
	build(true);
	assert_int_equal(read_cut(fdt_totalsize(blob)), 0);
	assert_false(p.cpus[2].enabled);
	change = NULL;
	spin = false;
}

static void uarts(void **state)
{
	static const struct {
		const char *compatible;
		u32 kind, shift, width;
	} cases[] = {
		{ "arm,pl011\0arm,primecell\0", UART_PL011, 2, 4 },
		{ "arm,sbsa-uart\0", UART_SBSA, 2, 4 },
		{ "brcm,bcm2835-aux-uart\0", UART_BCM_MINI, 2, 4 },
		{ "xlnx,zynqmp-uart\0cdns,uart-r1p12\0xlnx,xuartps\0", UART_CADENCE, 2, 4 },
		{ "fsl,imx8mp-uart\0fsl,imx6q-uart\0", UART_IMX, 2, 4 },
		{ "nuvoton,npcm845-uart\0nuvoton,npcm750-uart\0", UART_16550, 2, 4 },
		{ "snps,dw-apb-uart\0", UART_16550, 0, 1 },
		{ "ns16550a\0", UART_16550, 0, 1 },
		{ "acme,uart\0", UART_NONE, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].compatible;
		struct change c = { "uart", "compatible", text, 0 };

		/* A list ends with its second NUL. */
		for (c.len = 1; text[c.len - 1] || text[c.len]; c.len++)
			;
		change = &c;
		build(true);
		assert_int_equal(read_cut(fdt_totalsize(blob)), 0);
		assert_int_equal(p.uart.kind, cases[i].kind);
		assert_int_equal(p.uart.reg_shift, cases[i].shift);
		assert_int_equal(p.uart.reg_width, cases[i].width);
	}
	change = NULL;
}

/* An alias leads to a path and to nothing else: one that names itself must not be followed for ever. */
static void console_paths(void **state)
{
	static const struct {
		const char *path, *note;
	} cases[] = {
		{ "/soc/uart@1000", NULL },
		{ "/soc/uart@1000:115200", NULL },
		{ "serial0", NULL },
		{ "serial0:115200n8", NULL },
		{ "self", "names no node" },
		{ "self:115200", "names no node" },
		{ "two", "names no node" },
		{ "open", "names no node" },
		{ "empty", "names no node" },
		{ "none", "names no node" },
		{ "", "names no node" },
		{ ":", "names no node" },
		{ "/soc/none", "names no node" },
		{ "/soc", "no known kind" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct change c = { "chosen", "stdout-path", cases[i].path,
				    (int)strlen(cases[i].path) + 1 };

		change = &c;
		build(true);
		change = NULL;
		assert_int_equal(read_cut(fdt_totalsize(blob)), 0);
		assert_int_equal(p.uart.kind, cases[i].note ? UART_NONE : UART_PL011);
		if (!cases[i].note)
			assert_null(p.uart_note);
		else if (!p.uart_note || !strstr(p.uart_note, cases[i].note))
			fail_msg("%s: %s", cases[i].path, p.uart_note);
	}
}

static void long_command_line(void **state)
{
	static char text[CMDLINE_MAX + 1];
	struct change c = { "chosen", "bootargs", text, CMDLINE_MAX };

	memset(text, 'x', CMDLINE_MAX);
	text[CMDLINE_MAX - 1] = '\0';
	change = &c;
	build(true);
	assert_int_equal(read_cut(fdt_totalsize(blob)), 0);
	assert_int_equal(strlen(p.cmdline), CMDLINE_MAX - 1);
	text[CMDLINE_MAX - 1] = 'x';
	c.len = CMDLINE_MAX + 1;
	build(true);
	change = NULL;
	assert_int_equal(read_cut(fdt_totalsize(blob)), -E2BIG);
}

static void every_cut(void **state)
{
	build(true);
	for (size_t n = 0; n < fdt_totalsize(blob); n++)
		assert_true(read_cut(n) < 0);
	memset(blob, 0, 64);
	assert_int_equal(read_cut(64), -ENOENT);
	assert_string_equal(why, "no device tree");
}

static void noise(void **state)
{
	u64 seed = 21;

	for (int round = 0; round < 30000; round++) {
		if (round % 64 == 0)
			build(round & 64);
		for (u64 n = host_random(&seed) % 3; n; n--)
			blob[host_random(&seed) % fdt_totalsize(blob) % sizeof(blob)] ^=
				1 << (host_random(&seed) & 7);
		if (fdt_totalsize(blob) > sizeof(blob))
			build(true);
		(void)read_cut(fdt_totalsize(blob));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_v3),
		cmocka_unit_test(memory_is_cut),
		cmocka_unit_test(good_v2),
		cmocka_unit_test(no_gic),
		cmocka_unit_test(malformed),
		cmocka_unit_test(spin_tables),
		cmocka_unit_test(uarts),
		cmocka_unit_test(console_paths),
		cmocka_unit_test(long_command_line),
		cmocka_unit_test(every_cut),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests_name("fdt", tests, NULL, NULL);
}
