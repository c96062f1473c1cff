/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device tree, PSCI and the console. QEMU starts an ELF file without a pointer to the tree and
 * leaves the tree at the start of RAM.
 */
#include <guest.h>
#include <libfdt.h>

#define PSCI_CPU_ON	0xc4000003
#define PSCI_SYSTEM_OFF 0x84000008

void secondary_start(void);

static u64 mpidr[MAX_VCPUS];
u32 xen_intid;

u64 cpu_mpidr(u32 cpu)
{
	return mpidr[cpu];
}

void arch_console_putc(char c)
{
	/* A virtual UART is never full: waiting for it would only cost exits. */
	mmio_write(GUEST_ARM64_UART, c);
}

void arch_exit(int code)
{
	hypercall(PSCI_SYSTEM_OFF, 0, 0, 0);
	for (;;)
		__asm__ volatile("wfi");
}

bool arch_hypervisor_present(void)
{
	return hypercall(HC_NULL, 0, 0, 0) == 0;
}

void arch_start_cpu(u32 cpu)
{
	u64 r = hypercall(PSCI_CPU_ON, mpidr[cpu], (u64)secondary_start, cpu);

	if (r)
		guest_die("CPU_ON of vCPU %u (mpidr %lx): %ld", cpu, mpidr[cpu], (long)r);
}

static u64 read_cells(const fdt32_t *p, int cells)
{
	u64 v = 0;

	while (cells--)
		v = v << 32 | fdt32_to_cpu(*p++);
	return v;
}

static void read_memory(const void *fdt)
{
	int node = fdt_node_offset_by_prop_value(fdt, -1, "device_type", "memory", 7);
	int ac = fdt_address_cells(fdt, 0), sc = fdt_size_cells(fdt, 0);
	const fdt32_t *reg = node < 0 ? NULL : fdt_getprop(fdt, node, "reg", NULL);

	if (!reg)
		return;
	ram_base = read_cells(reg, ac);
	ram_size = read_cells(reg + ac, sc);
}

static void read_cpus(const void *fdt)
{
	int cpus = fdt_path_offset(fdt, "/cpus"), node;
	int ac = fdt_address_cells(fdt, cpus);

	fdt_for_each_subnode(node, fdt, cpus) {
		const char *type = fdt_getprop(fdt, node, "device_type", NULL);
		const fdt32_t *reg = fdt_getprop(fdt, node, "reg", NULL);

		if (type && !strcmp(type, "cpu") && reg && nr_vcpus < MAX_VCPUS)
			mpidr[nr_vcpus++] = read_cells(reg, ac);
	}
}

/* Linux, Documentation/devicetree/bindings/arm/xen.txt: a node of that name, whose interrupt is a PPI. */
static void read_xen(const void *fdt)
{
	int node = fdt_path_offset(fdt, "/hypervisor"), size;
	const fdt32_t *irq = fdt_getprop(fdt, node, "interrupts", &size);

	if (node >= 0 && !fdt_node_check_compatible(fdt, node, "xen,xen") && irq && size == 12 &&
	    fdt32_to_cpu(irq[0]) == 1)
		xen_intid = 16 + fdt32_to_cpu(irq[1]);
}

void arch_read_firmware(void *boot)
{
	const void *fdt = boot ? boot : (void *)GUEST_ARM64_RAM;
	const char *args;

	if (fdt_check_header(fdt))
		guest_die("no device tree at %p", fdt);
	args = fdt_getprop(fdt, fdt_path_offset(fdt, "/chosen"), "bootargs", NULL);
	cmdline_set(args ? args : "");
	read_memory(fdt);
	read_cpus(fdt);
	read_xen(fdt);
	gic_v2 = fdt_node_offset_by_compatible(fdt, -1, "arm,gic-v3") < 0;
}

/* libfdt of the distribution is built with the stack protector. */
u64 __stack_chk_guard = 0x5bd1e995a5a5c3c3;
void __stack_chk_fail(void);
void __stack_chk_fail(void)
{
	guest_die("stack smashed");
}
