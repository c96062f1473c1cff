/* SPDX-License-Identifier: GPL-2.0-only */
/* The generic timer as the host uses it: the physical counter, and CNTHP as each CPU's own tick. */
#ifndef DRIVERS_TIMER_ARM_TIMER_H
#define DRIVERS_TIMER_ARM_TIMER_H

/* Boot CPU, once: frequency and the tick's handler. */
void arm_timer_init(void);
/* Each CPU, interrupts off, after gic_cpu_init(). */
void arm_timer_cpu_init(void);

#endif
