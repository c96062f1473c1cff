/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine's interrupt controller: GICv3, GICv2 or a BCM2836's, whichever firmware names. The end of an
 * interrupt is split (EOImode 1): gic_eoi() only drops the running priority, so that a forwarded
 * interrupt stays active until its guest, or gic_deactivate(), ends it.
 */
#ifndef DRIVERS_GIC_GIC_H
#define DRIVERS_GIC_GIC_H

#include "gic_regs.h"

#include <asm/io.h>
#include <asm/sysreg.h>
#include <cupel/irq.h>

/* INTIDs of the software-generated interrupts Cupel uses itself */
#define GIC_SGI_KICK 0
#define GIC_SGI_STOP 1

extern bool gic_v3; /* set by gic_init(), read-only afterwards */
extern volatile char *gicc_base; /* GICv2 CPU interface, banked per CPU */

/* INTIDs of a BCM2836's timers: CNTPS, CNTPNS, CNTHP, CNTV */
#define BCM2836_TIMERS 16
/* On a machine without GIC: what waits on this CPU, as gic_ack() does; nothing is to be ended. */
u32 bcm2836_ack(void);

/*
 * The highest pending interrupt becomes active. What comes back is for gic_intid(), gic_eoi() and
 * gic_deactivate(); INTID >= GIC_SPURIOUS_MIN: there was none, and nothing is to be ended. All take
 * the generation as an argument, so that a path that knows it asks once.
 * The DSB makes the activation visible to the redistributor before what the handler does (IHI 0069
 * 12.1.6).
 */
static inline u32 gic_ack(bool v3)
{
	u32 iar;

	if (!v3)
		return mmio_read32(gicc_base + GICC_IAR);
	iar = (u32)read_sysreg(SYS_ICC_IAR1_EL1);
	dsb(sy);
	return iar;
}

/* A GICv2 puts the requesting CPU of an SGI above the INTID; a GICv3 has nothing there. */
static inline u32 gic_intid(bool v3, u32 iar)
{
	return v3 ? iar : iar & GICC_IAR_INTID;
}

/* Priority drop, done before a gic_deactivate() of the same interrupt: that is what the ISB is for. */
static inline void gic_eoi(bool v3, u32 iar)
{
	if (v3) {
		write_sysreg(iar, SYS_ICC_EOIR1_EL1);
		isb();
	} else {
		mmio_write32(gicc_base + GICC_EOIR, iar);
	}
}

/* In force at the next exception return or ISB. */
static inline void gic_deactivate(bool v3, u32 iar)
{
	if (v3)
		write_sysreg(iar, SYS_ICC_DIR_EL1);
	else
		mmio_write32(gicc_base + GICC_DIR, iar);
}

/* Boot CPU, once: distributor, chips of all interrupts. Panics when there is no usable controller. */
void gic_init(void);
/* Each CPU, interrupts off: its redistributor and CPU interface. */
void gic_cpu_init(void);
/* 0, or -ENXIO when no part of the controller belongs to that CPU. */
int gic_check_cpu(u32 cpu);

/* Any context. Stores before the call are visible to whoever takes the interrupt. */
void gic_send_sgi(u32 cpu, u32 sgi);
void gic_send_sgi_others(u32 sgi);

/* What one generation of the controller does; gic.c chooses. */
struct gic_driver {
	const struct irq_chip *chip;
	/* Returns the number of interrupt lines, or -errno with *why. */
	int (*init)(const char **why);
	void (*cpu_init)(void);
	int (*check_cpu)(u32 cpu);
	void (*send_sgi)(u32 cpu, u32 sgi);
	void (*send_sgi_others)(u32 sgi);
};
extern const struct gic_driver gicv2_driver, gicv3_driver, bcm2836_driver;

/* Shared by both drivers: one bit, or the whole bank, of the registers at the same offsets. */
static inline void gic_write_bit(volatile char *bank, u32 offset, u32 irq)
{
	mmio_write32(bank + offset + irq / 32 * 4, BIT32(irq % 32));
}

static inline bool gic_read_bit(volatile char *bank, u32 offset, u32 irq)
{
	return mmio_read32(bank + offset + irq / 32 * 4) & BIT32(irq % 32);
}

/* Registers that firmware names; panics when they can't be mapped. */
struct mem_range;
volatile char *gic_map(const struct mem_range *r);
/*
 * Disable, end and forget interrupts [first, last), all at the host's one priority; `groups` is what
 * every IGROUPR word gets.
 */
void gic_reset_bank(volatile char *bank, u32 first, u32 last, u32 groups);
/* The register that sets or clears a state; 0 when there is none. */
u32 gic_state_register(enum irq_state which, bool on);

#endif
