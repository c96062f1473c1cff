/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's EL1 timers (Arm ARM D11.2): what the vCPU code asks of drivers/timer/arm_vtimer.c. */
#ifndef DRIVERS_TIMER_ARM_VTIMER_H
#define DRIVERS_TIMER_ARM_VTIMER_H

#include <cupel/vcpu.h>
#include <cupel/vm.h>

#define GUEST_INTID_VTIMER 27
#define GUEST_INTID_PTIMER 30

static inline bool is_guest_timer(u32 intid)
{
	return intid == GUEST_INTID_VTIMER || intid == GUEST_INTID_PTIMER;
}

/* Once per CPU, interrupts off. */
void vtimer_cpu_init(void);
/* Guests may reach the hardware's physical timer. After the boot CPU's vtimer_cpu_init(). */
bool vtimer_phys_direct(void);
void vtimer_vcpu_init(struct vcpu *v);
/* Both timers off, lines low. Not loaded. */
void vtimer_reset(struct vcpu *v);

/* Owner, interrupts off; before vgic_load(), after vgic_put(). */
void vtimer_load(struct vcpu *v);
void vtimer_put(struct vcpu *v);
/*
 * Take back the line of a direct timer that is no longer due. irqchip=external: after every exit that
 * reaches a device model; otherwise when the guest looks at its GIC, the list registers folded back.
 */
void vtimer_sync_lines(struct vcpu *v);

/* Earliest counter value at which a timer would wake it, now or in the past included; ~0 = never. */
u64 vtimer_deadline(struct vcpu *v);
/* One of its timers would wake it now. Not loaded. */
bool vtimer_wakeable(struct vcpu *v);

/* Registers of the emulated physical timer. */
enum vtimer_reg { VTIMER_TVAL, VTIMER_CTL, VTIMER_CVAL };
u64 vtimer_read(struct vcpu *v, enum vtimer_reg reg);
void vtimer_write(struct vcpu *v, enum vtimer_reg reg, u64 val);

#endif
