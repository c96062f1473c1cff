/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the boot CPU is: its ID registers, read once, and its name. Part numbers: the Technical Reference
 * Manual of each processor, MIDR_EL1.
 */
#include <asm/boot.h>
#include <asm/host.h>
#include <asm/sysreg.h>
#include <cupel/arch.h>
#include <cupel/printk.h>

struct arm64_ids arm64_ids;

#define MODEL(implementer, part) ((implementer) << 12 | (part))
#define ARM			 0x41U

static const struct {
	u32 model;
	const char *name;
} models[] = {
	{ MODEL(0x00U, 0x051U), "QEMU max" },  { MODEL(ARM, 0xd03U), "Cortex-A53" },
	{ MODEL(ARM, 0xd04U), "Cortex-A35" },  { MODEL(ARM, 0xd05U), "Cortex-A55" },
	{ MODEL(ARM, 0xd07U), "Cortex-A57" },  { MODEL(ARM, 0xd08U), "Cortex-A72" },
	{ MODEL(ARM, 0xd0bU), "Cortex-A76" },  { MODEL(ARM, 0xd0cU), "Neoverse-N1" },
	{ MODEL(ARM, 0xd40U), "Neoverse-V1" }, { MODEL(ARM, 0xd47U), "Cortex-A710" },
	{ MODEL(ARM, 0xd49U), "Neoverse-N2" }, { MODEL(0x46U, 0x001U), "A64FX" },
};

void boot_read_ids(void)
{
	arm64_ids = (struct arm64_ids){
		.midr = read_sysreg(midr_el1),
		.pfr0 = read_sysreg(id_aa64pfr0_el1),
		.pfr1 = read_sysreg(id_aa64pfr1_el1),
		.dfr0 = read_sysreg(id_aa64dfr0_el1),
		.isar0 = read_sysreg(id_aa64isar0_el1),
		.isar1 = read_sysreg(id_aa64isar1_el1),
		.isar2 = read_sysreg(SYS_ID_AA64ISAR2_EL1),
		.mmfr0 = read_sysreg(id_aa64mmfr0_el1),
		.mmfr1 = read_sysreg(id_aa64mmfr1_el1),
		.mmfr2 = read_sysreg(SYS_ID_AA64MMFR2_EL1),
		.mmfr4 = read_sysreg(SYS_ID_AA64MMFR4_EL1),
	};
}

u32 arm64_pa_bits(void)
{
	static const u8 bits[] = { 32, 36, 40, 42, 44, 48 };
	u32 range = arm64_id_field(arm64_ids.mmfr0, MMFR0_PARANGE);

	return range < ARRAY_SIZE(bits) ? bits[range] : 48;
}

/* The mode belongs to the name: the same processor in the other one is another machine to measure. */
static void describe_model(char *text, size_t size)
{
	u32 midr = (u32)arm64_ids.midr; /* Arm ARM (DDI 0487) D19.2.98 */
	u32 implementer = midr >> 24, part = (midr >> 4) & 0xfff;
	u32 variant = (midr >> 20) & 0xf, revision = midr & 0xf;
	const char *mode = arm64_vhe ? "VHE" : "nVHE";

	for (u32 i = 0; i < ARRAY_SIZE(models); i++) {
		if (models[i].model != MODEL(implementer, part))
			continue;
		snprintf(text, size, "%s r%up%u, %s", models[i].name, variant, revision, mode);
		return;
	}
	snprintf(text, size, "implementer 0x%x part 0x%x r%up%u, %s", implementer, part, variant,
		 revision, mode);
}

const char *arch_cpu_model(void)
{
	static char text[64];

	describe_model(text, sizeof(text));
	return text;
}
