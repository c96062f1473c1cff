/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's timer driver, as the architecture starts it. */
#ifndef ASM_X86_TIMER_H
#define ASM_X86_TIMER_H

#include <cupel/types.h>

/* Boot CPU, once, after lapic_cpu_init(): frequencies and the tick's handler. */
void x86_timer_init(void);
/* Each CPU: its tick, off until core/ arms it. */
void x86_timer_cpu_init(void);
/* A deadline of the calling CPU is set in its timer. */
bool x86_tick_is_armed(void);
/*
 * To be called after the timer's LVT entry was written: QEMU's APIC forgets an expiry that it has not
 * delivered yet when that happens (hw/intc/apic.c, apic_timer_update()), so what is over is set again.
 */
void x86_tick_lvt_written(void);

#endif
