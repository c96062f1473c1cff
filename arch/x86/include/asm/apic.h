/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The local APIC and IOAPIC: register layout (shared with the virtual ones) and what the drivers
 * offer the architecture. Layout: AMD APM vol. 2, 16.3 to 16.6 and 16.9 (x2APIC); IOAPIC: Intel
 * 82093AA data sheet, 3.1 and 3.2.
 */
#ifndef ASM_X86_APIC_H
#define ASM_X86_APIC_H

#include <cupel/irq.h>
#include <cupel/types.h>

/* Offsets in the xAPIC page; the x2APIC MSR is MSR_X2APIC_BASE + (offset >> 4). */
#define APIC_ID	       0x020
#define APIC_VERSION   0x030
#define APIC_TPR       0x080
#define APIC_APR       0x090
#define APIC_PPR       0x0a0
#define APIC_EOI       0x0b0
#define APIC_RRR       0x0c0
#define APIC_LDR       0x0d0
#define APIC_DFR       0x0e0
#define APIC_SVR       0x0f0
#define APIC_ISR       0x100 /* 8 registers, 0x10 apart */
#define APIC_TMR       0x180
#define APIC_IRR       0x200
#define APIC_ESR       0x280
#define APIC_ICR       0x300
#define APIC_ICR2      0x310 /* xAPIC only: destination in bits 31:24 */
#define APIC_LVT_TIMER 0x320
#define APIC_LVT_THERM 0x330
#define APIC_LVT_PERF  0x340
#define APIC_LVT_LINT0 0x350
#define APIC_LVT_LINT1 0x360
#define APIC_LVT_ERROR 0x370
#define APIC_TMICT     0x380
#define APIC_TMCCT     0x390
#define APIC_TDCR      0x3e0
#define APIC_SELF_IPI  0x3f0 /* x2APIC only */

#define APIC_SVR_ENABLE BIT32(8)

#define APIC_LVT_VECTOR		0xff
#define APIC_LVT_PENDING	BIT32(12) /* delivery status */
#define APIC_LVT_MASKED		BIT32(16)
#define APIC_LVT_TIMER_ONESHOT	(0U << 17)
#define APIC_LVT_TIMER_PERIODIC (1U << 17)
#define APIC_LVT_TIMER_DEADLINE (2U << 17)
#define APIC_LVT_TIMER_MODE	(3U << 17)

#define APIC_TDCR_DIV_1 0xb
#define APIC_TDCR_DIV_2 0x0

#define APIC_ICR_FIXED	    (0U << 8)
#define APIC_ICR_NMI	    (4U << 8)
#define APIC_ICR_INIT	    (5U << 8)
#define APIC_ICR_STARTUP    (6U << 8)
#define APIC_ICR_BUSY	    BIT32(12)
#define APIC_ICR_ASSERT	    BIT32(14)
#define APIC_ICR_LEVEL	    BIT32(15)
#define APIC_ICR_SELF	    (1U << 18)
#define APIC_ICR_ALL	    (2U << 18)
#define APIC_ICR_OTHERS	    (3U << 18)
#define APIC_ICR_DEST_SHIFT 24 /* in APIC_ICR2 */

#define XAPIC_MAX_ID 254 /* 255 is the broadcast address */

/* IOAPIC: an index register, a window onto the chosen register. */
#define IOAPIC_REGSEL	     0x00
#define IOAPIC_WINDOW	     0x10
#define IOAPIC_REG_ID	     0x00
#define IOAPIC_REG_VERSION   0x01 /* bits 23:16: highest entry */
#define IOAPIC_REG_REDIR(n)  (0x10 + 2 * (n)) /* low word; high word is the next register */
#define IOAPIC_REDIR_MASKED  BIT32(16)
#define IOAPIC_REDIR_LEVEL   BIT32(15)
#define IOAPIC_REDIR_IRR     BIT32(14)
#define IOAPIC_REDIR_LOW     BIT32(13)
#define IOAPIC_REDIR_PENDING BIT32(12)
#define IOAPIC_DEST_SHIFT    24 /* in the high word */

/*
 * Host vectors. A vector is the number of its struct irq_desc. The tick and the IPIs are per-CPU
 * (IRQ_PERCPU), on a chip that carries IRQ_CHIP_PERCPU_STATE_LOCKLESS.
 */
#define X86_VEC_FIRST_GSI 0x30 /* IOAPIC routes, given out upwards */
#define X86_VEC_LAST_GSI  0xdf
#define X86_VEC_TEST	  0xe0 /* self-tests: an IPI nobody else sends */
#define X86_VEC_TIMER	  0xec /* LVT timer: the host tick */
#define X86_VEC_KICK	  0xfd /* reschedule IPI */
#define X86_VEC_ERROR	  0xfe
#define X86_VEC_SPURIOUS  0xff /* low nibble must be all ones on old chips; needs no EOI */

/* Once, boot CPU: choose xAPIC or x2APIC for all CPUs. */
void lapic_init(void);
/* On each CPU, interrupts off: enable it, all LVT entries masked. */
void lapic_cpu_init(void);
bool lapic_is_x2apic(void);
/* The calling CPU's hardware id. */
u32 lapic_id(void);
u32 lapic_read(u32 reg);
void lapic_write(u32 reg, u32 value);
void lapic_eoi(void);
/* Any context. `mode` is APIC_ICR_* bits with the vector. */
void lapic_send(u32 apic_id, u32 mode);
void lapic_send_others(u32 mode);

/* The calling CPU's LVT timer entry, if its state was set to masked. Interrupts off. */
void lapic_timer_unmask(void);

/* The chip of X86_VEC_TIMER and the IPI vectors. */
extern const struct irq_chip lapic_chip;

/* Boot CPU, once: every input of every IOAPIC masked. */
void ioapic_init(void);
/*
 * Route a global interrupt to the CPU with that APIC id; the vector is an irq number for
 * irq_request(). It stays masked until irq_enable(). -EINVAL: no such input; -ENOSPC: no vector left;
 * -ERANGE: the id doesn't fit the 8 bits of a redirection entry.
 */
int ioapic_route(u32 gsi, u32 apic_id, bool level, bool active_low, u32 *vector);

#endif
