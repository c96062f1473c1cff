/* SPDX-License-Identifier: GPL-2.0-only */
/* EL2 controls that are the same for every guest, set once on each CPU: what traps, and what exists. */
#include "hyp.h"

#include "../../drivers/timer/arm_vtimer.h"

u64 hyp_hcr;

/* MDCR_EL2, D19.3.17 */
#define MDCR_HPMN_MASK 0x1fUL
#define MDCR_TPMCR     BIT(5)
#define MDCR_TPM       BIT(6)
#define MDCR_TDA       BIT(9)
#define MDCR_TDOSA     BIT(10)
#define MDCR_TDRA      BIT(11)
#define MDCR_TTRF      BIT(19)

/* CPTR_EL2, D19.2.34: the layout changes with E2H */
#define CPTR_NVHE_RES1 0x32ffUL
#define CPTR_NVHE_TZ   BIT(8)
#define CPTR_NVHE_TFP  BIT(10)
#define CPTR_NVHE_TSM  BIT(12)
#define CPTR_VHE_FPEN  (3UL << 20)
#define CPTR_VHE_TTA   BIT(28)
#define CPTR_TAM       BIT(30)

/* CNTHCTL_EL2, D19.12.2: likewise */
#define CNTHCTL_NVHE_EL1PCTEN BIT(0)
#define CNTHCTL_VHE_EL1PCTEN  BIT(10)
#define CNTHCTL_VHE_EL1PTEN   BIT(11)

#define SYS_HCRX_EL2	S3_4_C1_C2_2
#define SYS_HFGRTR_EL2	S3_4_C1_C1_4
#define SYS_HFGWTR_EL2	S3_4_C1_C1_5
#define SYS_HFGITR_EL2	S3_4_C1_C1_6
#define SYS_HDFGRTR_EL2 S3_4_C3_C1_4
#define SYS_HDFGWTR_EL2 S3_4_C3_C1_5

#define PFR0_RAS 28
#define PFR0_AMU 44

void hyp_fp_trap(bool on)
{
	u64 cptr = arm64_id_field(arm64_ids.pfr0, PFR0_AMU) ? CPTR_TAM : 0;

	if (arm64_vhe)
		cptr |= CPTR_VHE_TTA | (on ? 0 : CPTR_VHE_FPEN);
	else
		cptr |= CPTR_NVHE_RES1 | CPTR_NVHE_TZ | CPTR_NVHE_TSM | (on ? CPTR_NVHE_TFP : 0);
	write_sysreg(cptr, cptr_el2);
	isb();
}

/* Fine-grained traps off, and no optional behaviour on: their reset values are unknown. */
static void no_fine_traps(void)
{
	if (arm64_id_field(arm64_ids.mmfr1, MMFR1_HCX))
		write_sysreg(0, SYS_HCRX_EL2);
	if (!arm64_id_field(arm64_ids.mmfr0, MMFR0_FGT))
		return;
	write_sysreg(0, SYS_HFGRTR_EL2);
	write_sysreg(0, SYS_HFGWTR_EL2);
	write_sysreg(0, SYS_HFGITR_EL2);
	write_sysreg(0, SYS_HDFGRTR_EL2);
	write_sysreg(0, SYS_HDFGWTR_EL2);
}

/* The counter is everybody's; the physical timer only where it is direct. */
static void trap_timers(void)
{
	u64 cnthctl = arm64_vhe ? CNTHCTL_VHE_EL1PCTEN : CNTHCTL_NVHE_EL1PCTEN;

	if (vtimer_phys_direct())
		cnthctl |= CNTHCTL_VHE_EL1PTEN;
	write_sysreg(cnthctl, cnthctl_el2);
}

static u64 choose_hcr(void)
{
	u64 hcr = ARM64_HCR_HOST | HCR_VM | HCR_SWIO | HCR_PTW | HCR_FB | HCR_BSU_IS | HCR_TSC |
		  HCR_TID3 | HCR_TIDCP | HCR_TACR;

	if (arm64_vhe)
		hcr |= HCR_E2H;
	if (arm64_id_field(arm64_ids.mmfr2, MMFR2_FWB))
		hcr |= HCR_FWB;
	if (arm64_id_field(arm64_ids.pfr0, PFR0_RAS))
		hcr |= HCR_TERR;
	return hcr;
}

void arm64_guest_cpu_init(void)
{
	u64 hpmn = read_sysreg(mdcr_el2) & MDCR_HPMN_MASK;

	if (!cpu_id()) {
		hyp_hcr = choose_hcr();
		sysregs_init();
	}
	write_sysreg(hpmn | MDCR_TPMCR | MDCR_TPM | MDCR_TDA | MDCR_TDOSA | MDCR_TDRA | MDCR_TTRF,
		     mdcr_el2);
	write_sysreg(0, hstr_el2);
	write_sysreg(arm64_ids.midr, vpidr_el2);
	no_fine_traps();
	hyp_fp_trap(true);
	stage2_cpu_init();
	vgic_cpu_init();
	vtimer_cpu_init();
	trap_timers();
}
