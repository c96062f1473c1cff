/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host interrupts. A per-CPU interrupt has one descriptor for all CPUs: that is what makes its lock
 * shared, and what irq_set_percpu_state() is there to avoid.
 */
#ifndef CUPEL_IRQ_H
#define CUPEL_IRQ_H

#include <cupel/errno.h>
#include <cupel/lock.h>
#include <cupel/types.h>

enum irq_state { IRQ_STATE_PENDING, IRQ_STATE_ACTIVE, IRQ_STATE_MASKED };

struct irq_desc;

/* The per-CPU states of this chip are the writing CPU's own, and setting one changes no other: no lock needed. */
#define IRQ_CHIP_PERCPU_STATE_LOCKLESS BIT32(0)

struct irq_chip {
	const char *name;
	u32 flags;
	void (*mask)(struct irq_desc *d);
	void (*unmask)(struct irq_desc *d);
	/* State of this interrupt, on the calling CPU if per-CPU. -EINVAL: no such state here. */
	int (*set_state)(struct irq_desc *d, enum irq_state which, bool on);
	int (*get_state)(struct irq_desc *d, enum irq_state which, bool *on);
	/* A chip behind a slow bus: taken around every access; such a chip is never lockless. */
	void (*bus_lock)(struct irq_desc *d);
	void (*bus_sync_unlock)(struct irq_desc *d);
};

typedef void (*irq_handler_t)(struct irq_desc *d, void *arg);

#define IRQ_PERCPU    BIT32(0) /* SGI/PPI/LVT: one instance per CPU */
#define IRQ_FORWARDED BIT32(1) /* belongs to guests: drop priority only, never deactivate */
#define IRQ_LEVEL     BIT32(2)

struct irq_desc {
	spinlock_t lock; /* guards chip state of this interrupt, flags, handler and arg */
	u32 irq; /* INTID on arm64, vector on x86 */
	u32 flags;
	const struct irq_chip *chip;
	irq_handler_t handler;
	void *arg;
} __cacheline_aligned;

#define NR_IRQS 1024

struct irq_desc *irq_to_desc(u32 irq); /* NULL beyond NR_IRQS */

void irq_set_chip(u32 irq, const struct irq_chip *chip, u32 flags);
/* -EBUSY when taken, -EINVAL for a bad number or no chip. */
int irq_request(u32 irq, irq_handler_t handler, void *arg);
void irq_free(u32 irq);
void irq_enable(u32 irq); /* unmask; a per-CPU interrupt: on the calling CPU only */
void irq_disable(u32 irq);

/* Run the handler of an acknowledged interrupt; false when nobody wants it. Interrupts off. */
bool irq_dispatch(u32 irq);

/*
 * Set a state of an interrupt under its descriptor lock (and the chip's bus lock). Interrupts off or
 * on; spins on the lock; may not be called from a handler of the same interrupt that holds the lock.
 */
int irq_set_state(struct irq_desc *d, enum irq_state which, bool on);
int irq_get_state(struct irq_desc *d, enum irq_state which, bool *on);

/*
 * The same for a per-CPU interrupt's instance on the calling CPU, which may not migrate meanwhile.
 * Takes no lock when the chip carries IRQ_CHIP_PERCPU_STATE_LOCKLESS and has no bus lock; otherwise
 * it *is* irq_set_state().
 */
int irq_set_percpu_state(struct irq_desc *d, enum irq_state which, bool on);

typedef int (*irq_set_state_t)(struct irq_desc *d, enum irq_state which, bool on);

/* Count of interrupts handled by the calling CPU. */
DECLARE_PER_CPU(u64, irq_count);

#endif
