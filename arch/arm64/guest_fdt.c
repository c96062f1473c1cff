/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device tree a guest gets in x0: memory, CPUs, PSCI by HVC, interrupt controller, timer, UART, and
 * the command line. Bindings: the Devicetree Specification 0.4 and Linux's of each device.
 */
#include "hyp.h"

#include <cupel/abi.h>
#include <cupel/printk.h>
#include <libfdt.h>
#include <string.h>

#include "../../drivers/gic/vgic_ids.h"
#include "../../drivers/timer/arm_vtimer.h"
#include "../../drivers/uart/vpl011.h"

#define PHANDLE_GIC    1
#define PHANDLE_CLOCK  2
#define IRQ_SPI	       0
#define IRQ_PPI	       1
#define IRQ_LEVEL_HIGH 4
#define IRQ_LEVEL_LOW  8

/* PPIs of the architecture that this VM does not have: secure and EL2 timers. */
#define PPI_SEC_TIMER 29
#define PPI_HYP_TIMER 26

/* Collects the first error, so that the tree reads as a tree. */
struct tree {
	void *fdt;
	int err;
};

static void check(struct tree *t, int err)
{
	if (!t->err)
		t->err = err;
}

static void begin(struct tree *t, const char *name)
{
	check(t, fdt_begin_node(t->fdt, name));
}

static void end(struct tree *t)
{
	check(t, fdt_end_node(t->fdt));
}

static void cell(struct tree *t, const char *name, u32 val)
{
	check(t, fdt_property_u32(t->fdt, name, val));
}

static void flag(struct tree *t, const char *name)
{
	check(t, fdt_property(t->fdt, name, NULL, 0));
}

static void text(struct tree *t, const char *name, const char *val)
{
	check(t, fdt_property_string(t->fdt, name, val));
}

/* Several strings, each with its NUL; the last NUL is the array's own. */
#define texts(t, name, list) check((t), fdt_property((t)->fdt, (name), (list), sizeof(list)))

static void cells(struct tree *t, const char *name, const u32 *val, u32 count)
{
	fdt32_t out[16];

	for (u32 i = 0; i < count; i++)
		out[i] = cpu_to_fdt32(val[i]);
	check(t, fdt_property(t->fdt, name, out, (int)(count * sizeof(out[0]))));
}

/* base and size pairs, two cells each */
static void regs(struct tree *t, const u64 *val, u32 count)
{
	u32 out[8];

	for (u32 i = 0; i < count; i++) {
		out[2 * i] = (u32)(val[i] >> 32);
		out[2 * i + 1] = (u32)val[i];
	}
	cells(t, "reg", out, 2 * count);
}

static void add_chosen(struct tree *t, const struct vm *vm)
{
	begin(t, "chosen");
	text(t, "bootargs", vm->config.cmdline);
	text(t, "stdout-path", "/pl011@9000000");
	end(t);
	begin(t, "memory@40000000");
	text(t, "device_type", "memory");
	regs(t, (u64[]){ GUEST_ARM64_RAM, vm->config.memory }, 2);
	end(t);
}

static void add_cpus(struct tree *t, const struct vm *vm)
{
	char name[24];

	begin(t, "cpus");
	cell(t, "#address-cells", 1);
	cell(t, "#size-cells", 0);
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		u32 aff = (u32)vcpu_affinity(vm->vcpu[i]);

		snprintf(name, sizeof(name), "cpu@%x", aff);
		begin(t, name);
		text(t, "device_type", "cpu");
		text(t, "compatible", "arm,armv8");
		cell(t, "reg", aff);
		text(t, "enable-method", "psci");
		end(t);
	}
	end(t);
	begin(t, "psci");
	texts(t, "compatible", "arm,psci-1.0\0arm,psci-0.2");
	text(t, "method", "hvc");
	end(t);
}

static void add_gic(struct tree *t, const struct vm *vm)
{
	bool v3 = vm->arch.vgic->model == VGIC_MODEL_V3;

	begin(t, "intc@8000000");
	text(t, "compatible", v3 ? "arm,gic-v3" : "arm,cortex-a15-gic");
	cell(t, "#interrupt-cells", 3);
	flag(t, "interrupt-controller");
	if (v3) {
		cell(t, "#redistributor-regions", 1);
		regs(t,
		     (u64[]){ GUEST_ARM64_GICD, KIB(64), GUEST_ARM64_GICR, vm->nr_vcpus * KIB(128) },
		     4);
	} else {
		regs(t, (u64[]){ GUEST_ARM64_GICD, KIB(4), GUEST_ARM64_GICC, GUEST_ARM64_GICC_SIZE },
		     4);
	}
	cell(t, "phandle", PHANDLE_GIC);
	end(t);
}

static void add_timer(struct tree *t, const struct vm *vm)
{
	static const u32 ppi[] = { PPI_SEC_TIMER, GUEST_INTID_PTIMER, GUEST_INTID_VTIMER,
				   PPI_HYP_TIMER };
	u32 cpus = vm->arch.vgic->model == VGIC_MODEL_V2 ? (u32)BIT(vm->nr_vcpus) - 1 : 0;
	u32 out[3 * ARRAY_SIZE(ppi)];

	for (u32 i = 0; i < ARRAY_SIZE(ppi); i++) {
		out[3 * i] = IRQ_PPI;
		out[3 * i + 1] = ppi[i] - 16;
		out[3 * i + 2] = IRQ_LEVEL_HIGH | cpus << 8;
	}
	begin(t, "timer");
	text(t, "compatible", "arm,armv8-timer");
	cells(t, "interrupts", out, ARRAY_SIZE(out));
	flag(t, "always-on");
	end(t);
}

static void add_uart(struct tree *t)
{
	begin(t, "apb-pclk");
	text(t, "compatible", "fixed-clock");
	cell(t, "#clock-cells", 0);
	cell(t, "clock-frequency", 24000000);
	cell(t, "phandle", PHANDLE_CLOCK);
	end(t);
	begin(t, "pl011@9000000");
	texts(t, "compatible", "arm,pl011\0arm,primecell");
	regs(t, (u64[]){ GUEST_ARM64_UART, KIB(4) }, 2);
	cells(t, "interrupts", (u32[]){ IRQ_SPI, GUEST_INTID_UART - 32, IRQ_LEVEL_HIGH }, 3);
	cells(t, "clocks", (u32[]){ PHANDLE_CLOCK, PHANDLE_CLOCK }, 2);
	texts(t, "clock-names", "uartclk\0apb_pclk");
	end(t);
}

/* As an unmodified guest looks for it: Linux, Documentation/devicetree/bindings/arm/xen.txt. */
static void add_xen(struct tree *t)
{
	begin(t, "hypervisor");
	texts(t, "compatible", "xen,xen-4.17\0xen,xen");
	regs(t, (u64[]){ GUEST_ARM64_XEN, GUEST_ARM64_XEN_SIZE }, 2);
	cells(t, "interrupts",
	      (u32[]){ IRQ_PPI, GUEST_ARM64_XEN_INTID - 16, 0xf00 | IRQ_LEVEL_LOW }, 3);
	end(t);
}

int guest_fdt_build(struct vm *vm, void *buf, u32 size)
{
	struct tree t = { .fdt = buf };

	check(&t, fdt_create(buf, (int)size));
	check(&t, fdt_finish_reservemap(buf));
	begin(&t, "");
	cell(&t, "#address-cells", 2);
	cell(&t, "#size-cells", 2);
	text(&t, "compatible", "linux,dummy-virt");
	text(&t, "model", "Cupel virtual machine");
	cell(&t, "interrupt-parent", PHANDLE_GIC);
	add_chosen(&t, vm);
	add_cpus(&t, vm);
	add_gic(&t, vm);
	add_timer(&t, vm);
	add_uart(&t);
	if (vm->config.xen)
		add_xen(&t);
	end(&t);
	check(&t, fdt_finish(buf));
	return t.err ? -ENOSPC : (int)fdt_totalsize(buf);
}
