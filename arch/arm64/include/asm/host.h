/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the host half of arch/arm64 (boot, memory, traps, SMP) offers to its guest half, and asks of
 * it. Nothing outside arch/arm64 and the arm64 drivers includes this.
 */
#ifndef ASM_HOST_H
#define ASM_HOST_H

#include <cupel/types.h>

/*
 * HCR_EL2.E2H is set on every CPU. Decided once, before the final page tables go live, and read-only
 * from then on. HCR_EL2.TGE is always clear: the host never enters EL0, and EL2's own execution does
 * not depend on it, so a guest's HCR_EL2 may stay in place while the host runs as long as IMO, FMO,
 * AMO, RW and E2H keep their values in ARM64_HCR_HOST.
 */
extern bool arm64_vhe;
#define ARM64_HCR_HOST (HCR_RW | HCR_IMO | HCR_FMO | HCR_AMO) /* | HCR_E2H when arm64_vhe */

/* ID registers of the boot CPU. */
struct arm64_ids {
	u64 midr, pfr0, pfr1, dfr0, isar0, isar1, isar2, mmfr0, mmfr1, mmfr2, mmfr4;
};
extern struct arm64_ids arm64_ids;

/* One unsigned 4-bit field. */
static inline u32 arm64_id_field(u64 reg, u32 shift)
{
	return (reg >> shift) & 0xf;
}

/* Physical address bits that MMFR0.PARange stands for, 48 at most (no 52-bit addresses here). */
u32 arm64_pa_bits(void);

/* The guest half: on each CPU, interrupts off, once per-CPU areas, traps and the GIC are up. */
void arm64_guest_cpu_init(void);

/*
 * A host interrupt is pending: acknowledge, dispatch, drop its priority, deactivate it unless it is
 * forwarded, until none is left. Interrupts off. Called by the vectors and after a guest's exit.
 */
void arm64_host_irq(void);

/*
 * Exits from a lower EL arrive at these labels of the guest half by one direct branch from the vector,
 * with every general register and SP_EL2 as the exception left them, interrupts masked.
 */
void arm64_guest_exit_sync(void);
void arm64_guest_exit_irq(void);
void arm64_guest_exit_fiq(void);
void arm64_guest_exit_serror(void);

#endif
