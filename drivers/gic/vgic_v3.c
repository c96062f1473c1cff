/* SPDX-License-Identifier: GPL-2.0-only */
/* List registers of a GICv3, which are system registers (IHI 0069 12.4). Only the loaded vCPU's. */
#include "vgic.h"

#include <asm/sysreg.h>
#include <cupel/platform.h>

#define SYS_ICH_AP0R(n) S3_4_C12_C8_##n
#define SYS_ICH_AP1R(n) S3_4_C12_C9_##n
#define SYS_ICH_HCR	S3_4_C12_C11_0
#define SYS_ICH_VTR	S3_4_C12_C11_1
#define SYS_ICH_VMCR	S3_4_C12_C11_7

/* ICH_VTR_EL2 (12.4.11) */
#define VTR_LISTREGS(vtr) (((vtr) & 0x1f) + 1)
#define VTR_TDS		  BIT(19)
#define VTR_PREBITS(vtr)  (((vtr) >> 26 & 7) + 1)

static u32 nr_apr; /* active-priority registers of each group; set once by the boot CPU */

/* clang-format off */
#define EACH_LR(X)                                                                          \
	X(0, C12_0)                                                                         \
	X(1, C12_1)                                                                         \
	X(2, C12_2)                                                                         \
	X(3, C12_3) X(4, C12_4) X(5, C12_5) X(6, C12_6) X(7, C12_7) X(8, C13_0) X(9, C13_1) \
		X(10, C13_2) X(11, C13_3) X(12, C13_4) X(13, C13_5) X(14, C13_6) X(15, C13_7)
/* clang-format on */

static u64 read_lr(u32 n)
{
	switch (n) {
#define X(i, reg) \
	case i: return read_sysreg(S3_4_C12_##reg);
		EACH_LR(X)
#undef X
	}
	return 0;
}

static void write_lr(u32 n, u64 val)
{
	switch (n) {
#define X(i, reg) \
	case i: write_sysreg(val, S3_4_C12_##reg); break;
		EACH_LR(X)
#undef X
	}
}

static u64 empty(void)
{
	return read_sysreg(SYS_ICH_ELRSR);
}

static u64 read_hcr(void)
{
	return read_sysreg(SYS_ICH_HCR);
}

static void write_hcr(u64 val)
{
	write_sysreg(val, SYS_ICH_HCR);
}

static u64 read_vmcr(void)
{
	return read_sysreg(SYS_ICH_VMCR);
}

static void load(struct vgic_cpu *c)
{
	write_sysreg(c->vmcr, SYS_ICH_VMCR);
	write_sysreg(c->apr[0][0], SYS_ICH_AP0R(0));
	write_sysreg(c->apr[1][0], SYS_ICH_AP1R(0));
	if (unlikely(nr_apr > 1)) {
		write_sysreg(c->apr[0][1], SYS_ICH_AP0R(1));
		write_sysreg(c->apr[1][1], SYS_ICH_AP1R(1));
	}
	if (unlikely(nr_apr > 2)) {
		write_sysreg(c->apr[0][2], SYS_ICH_AP0R(2));
		write_sysreg(c->apr[1][2], SYS_ICH_AP1R(2));
		write_sysreg(c->apr[0][3], SYS_ICH_AP0R(3));
		write_sysreg(c->apr[1][3], SYS_ICH_AP1R(3));
	}
}

static void put(struct vgic_cpu *c)
{
	write_sysreg(0, SYS_ICH_HCR);
	c->hcr = 0;
	c->vmcr = read_sysreg(SYS_ICH_VMCR);
	c->apr[0][0] = read_sysreg(SYS_ICH_AP0R(0));
	c->apr[1][0] = read_sysreg(SYS_ICH_AP1R(0));
	if (unlikely(nr_apr > 1)) {
		c->apr[0][1] = read_sysreg(SYS_ICH_AP0R(1));
		c->apr[1][1] = read_sysreg(SYS_ICH_AP1R(1));
	}
	if (unlikely(nr_apr > 2)) {
		c->apr[0][2] = read_sysreg(SYS_ICH_AP0R(2));
		c->apr[1][2] = read_sysreg(SYS_ICH_AP1R(2));
		c->apr[0][3] = read_sysreg(SYS_ICH_AP0R(3));
		c->apr[1][3] = read_sysreg(SYS_ICH_AP1R(3));
	}
}

void vgic_v3_cpu_init(void)
{
	u64 vtr = read_sysreg(SYS_ICH_VTR);

	/* What the guest finds in ICC_SRE_EL1: system registers, no bypass (12.2.23). */
	write_sysreg(7, SYS_ICC_SRE_EL1);
	write_sysreg(0, SYS_ICH_HCR);
	isb();
	for (u32 lr = 0; lr < VTR_LISTREGS(vtr); lr++)
		write_lr(lr, 0);
	if (!cpu_id()) {
		nr_apr = VTR_PREBITS(vtr) > 5 ? BIT32(VTR_PREBITS(vtr) - 5) : 1;
		vgic_hw = (struct vgic_hw){
			.nr_lrs = min(VTR_LISTREGS(vtr), (u64)VGIC_MAX_LRS),
			.sysregs = true,
			.tdir = vtr & VTR_TDS,
			.read_lr = read_lr,
			.write_lr = write_lr,
			.empty = empty,
			.read_hcr = read_hcr,
			.write_hcr = write_hcr,
			.read_vmcr = read_vmcr,
			.load = load,
			.put = put,
		};
	}
	vgic_maintenance_init();
}
