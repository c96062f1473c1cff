/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an arm64 machine says in its ACPI tables (acpi.c): CPUs and GIC (MADT), timers (GTDT), PSCI
 * (FADT). Nobody else names these, so all three must be right. Must not touch the machine: what a table
 * leaves open stays open.
 */
#include <cupel/errno.h>
#include <cupel/platform.h>

#include "acpi.h"
#include "firmware.h"

#define MPIDR_AFFINITY 0xff00ffffffUL

/* Sizes are not in the tables: Arm IHI 0048B 4.1.1 and 5.2, IHI 0069 12.8 and 12.10. */
#define GICV2_DIST_SIZE	  KIB(4)
#define GICV2_CPU_SIZE	  KIB(8)
#define GICV3_DIST_SIZE	  KIB(64)
#define GICV3_REDIST_SIZE KIB(128) /* two frames; a GICv4's other two are not used */

/* A GSIV is the GIC's INTID (ACPI 6.5, 5.2.15). 0 = absent, or what no device can have. */
static u32 intid(u32 gsiv)
{
	return gsiv >= 16 && gsiv < 1020 ? gsiv : 0;
}

/* --- MADT: 5.2.12.14 to 5.2.12.17 --- */

static void add_redist(struct gic_info *g, paddr_t base, u64 size)
{
	if (base && size && g->nr_redist < PLATFORM_MAX_REDISTS)
		g->redist[g->nr_redist++] = (struct mem_range){ base, size };
}

static void set_range(struct mem_range *r, paddr_t base, u64 size)
{
	if (base && !r->base)
		*r = (struct mem_range){ base, size };
}

static enum cpu_method start_method(const struct platform *p, const u8 *e)
{
	if (p->psci != PSCI_NONE)
		return CPU_METHOD_PSCI;
	return fw_get32(e, GICC_PARKING) && fw_get64(e, GICC_PARKED_ADDRESS) ? CPU_METHOD_PARKING :
									       CPU_METHOD_NONE;
}

static void read_gicc(struct platform *p, const u8 *e)
{
	struct gic_info *g = &p->gic;
	u32 flags = fw_get32(e, GICC_FLAGS);
	struct cpu_info cpu = {
		.hwid = fw_get64(e, GICC_MPIDR) & MPIDR_AFFINITY,
		.method = start_method(p, e),
		.enabled = flags & GICC_ENABLED,
		.acpi_uid = fw_get32(e, GICC_UID),
	};

	if (!(flags & (GICC_ENABLED | GICC_ONLINE_CAPABLE)))
		return;
	if (cpu.method == CPU_METHOD_PARKING)
		cpu.enabled = false;
	acpi_add_cpu(p, &cpu);
	set_range(&g->cpu_if, fw_get64(e, GICC_BASE), GICV2_CPU_SIZE);
	set_range(&g->vcpu_if, fw_get64(e, GICC_GICV), GICV2_CPU_SIZE);
	set_range(&g->hyp_if, fw_get64(e, GICC_GICH), GICV2_DIST_SIZE);
	add_redist(g, fw_get64(e, GICC_GICR), GICV3_REDIST_SIZE);
	if (!g->maint_intid)
		g->maint_intid = intid(fw_get32(e, GICC_MAINTENANCE));
}

/* Version 0: the hardware is to be asked; finish_gic() does so by what else the table names. */
static void read_gicd(struct gic_info *g, const u8 *e)
{
	u8 version = e[GICD_VERSION];

	g->dist.base = fw_get64(e, GICD_BASE);
	if (version == 3 || version == 4)
		g->kind = GIC_V3;
	else if (version == 2 || version == 0)
		g->kind = GIC_V2;
}

/* One entry of the right length for its type; other types are none of our business. */
static void madt_entry(struct platform *p, const u8 *e, u32 len)
{
	if (e[0] == MADT_GICC && len >= GICC_SIZE)
		read_gicc(p, e);
	else if (e[0] == MADT_GICD && len >= GICD_SIZE)
		read_gicd(&p->gic, e);
	else if (e[0] == MADT_GICR && len >= GICR_SIZE)
		add_redist(&p->gic, fw_get64(e, GICR_BASE), fw_get32(e, GICR_LENGTH));
}

static int finish_gic(struct gic_info *g, const char **why)
{
	if (g->kind == GIC_V2 && g->nr_redist)
		g->kind = GIC_V3;
	g->dist.size = g->kind == GIC_V3 ? GICV3_DIST_SIZE : GICV2_DIST_SIZE;
	*why = "MADT names no GIC distributor";
	if (!g->dist.base)
		return -EINVAL;
	*why = "MADT names no GIC redistributor";
	if (g->kind == GIC_V3 && !g->nr_redist)
		return -EINVAL;
	*why = "MADT names no GIC CPU interface";
	return g->kind == GIC_V2 && !g->cpu_if.base ? -EINVAL : 0;
}

/* --- FADT and GTDT: 5.2.9.4 and 5.2.25 --- */

static int read_fadt(const u8 *fadt, struct platform *p, const char **why)
{
	u16 boot = fw_get16(fadt, FADT_ARM_BOOT);

	*why = "FADT does not describe a hardware-reduced machine";
	if (!(fw_get32(fadt, FADT_FLAGS) & FADT_FLAG_HW_REDUCED))
		return -EINVAL;
	if (boot & FADT_ARM_PSCI)
		p->psci = boot & FADT_ARM_PSCI_HVC ? PSCI_HVC : PSCI_SMC;
	return 0;
}

static void read_gtdt(const u8 *gtdt, struct arm_timer_info *t)
{
	t->phys_ns = intid(fw_get32(gtdt, GTDT_NS_EL1));
	t->virt = intid(fw_get32(gtdt, GTDT_VIRT_EL1));
	t->hyp_phys = intid(fw_get32(gtdt, GTDT_EL2));
	if (fw_get32(gtdt, ACPI_HEADER_LENGTH) >= GTDT_VIRT_EL2 + 4) /* revision 3 */
		t->hyp_virt = intid(fw_get32(gtdt, GTDT_VIRT_EL2));
}

int acpi_read_arm(const struct acpi_access *a, paddr_t rsdp, struct platform *p, const char **why)
{
	struct acpi_root root;
	const u8 *fadt, *gtdt, *madt;
	int err = acpi_open(a, rsdp, &root, p, why);

	if (err)
		return err;
	fadt = acpi_find(&root, "FACP", FADT_ARM_BOOT + 2);
	gtdt = acpi_find(&root, "GTDT", GTDT_MIN_SIZE);
	madt = acpi_find(&root, "APIC", MADT_ENTRIES);
	*why = !fadt ? "no good FADT of ACPI 5.1 or later" :
	       !gtdt ? "no good GTDT" :
		       "no good MADT";
	if (!fadt || !gtdt || !madt)
		return -EINVAL;
	read_gtdt(gtdt, &p->timer);
	err = read_fadt(fadt, p, why); /* before the MADT: it says how CPUs are started */
	if (!err)
		err = acpi_read_madt(madt, madt_entry, p, why);
	return err ? err : finish_gic(&p->gic, why);
}
