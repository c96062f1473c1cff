/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host interrupts: descriptors, their handlers, and the two ways to set a state. The per-CPU setter
 * must never take a lock for a chip that needs none, nor leave one out for a chip that needs it.
 */
#include <cupel/irq.h>
#include <cupel/printk.h>

#include "lock_debug.h"

DEFINE_PER_CPU(u64, irq_count);

/* All zero, so that the table costs nothing in the image; irq_set_chip() names the locks. */
static struct irq_desc irq_descs[NR_IRQS];

struct irq_desc *irq_to_desc(u32 irq)
{
	return irq < NR_IRQS ? &irq_descs[irq] : NULL;
}

static unsigned long irq_lock(struct irq_desc *d)
{
	unsigned long flags = arch_irq_save();

	if (d->chip && d->chip->bus_lock)
		d->chip->bus_lock(d);
	spin_lock(&d->lock);
	return flags;
}

static void irq_unlock(struct irq_desc *d, unsigned long flags)
{
	spin_unlock(&d->lock);
	if (d->chip && d->chip->bus_sync_unlock)
		d->chip->bus_sync_unlock(d);
	arch_irq_restore(flags);
}

void irq_set_chip(u32 irq, const struct irq_chip *chip, u32 flags)
{
	struct irq_desc *d = irq_to_desc(irq);
	unsigned long irqs;

	BUG_ON(!d);
	d->lock.name = "irq_desc";
	spin_lock_irqsave(&d->lock, irqs);
	d->irq = irq;
	d->chip = chip;
	d->flags = flags;
	spin_unlock_irqrestore(&d->lock, irqs);
}

int irq_request(u32 irq, irq_handler_t handler, void *arg)
{
	struct irq_desc *d = irq_to_desc(irq);
	unsigned long flags;
	int err = -EBUSY;

	if (!d || !d->chip || !handler)
		return -EINVAL;
	spin_lock_irqsave(&d->lock, flags);
	if (!d->handler) {
		d->arg = arg;
		/* Pairs with the acquire in irq_dispatch(): whoever sees the handler sees arg. */
		store_release(&d->handler, handler);
		err = 0;
	}
	spin_unlock_irqrestore(&d->lock, flags);
	return err;
}

void irq_free(u32 irq)
{
	struct irq_desc *d = irq_to_desc(irq);
	unsigned long flags;

	if (!d)
		return;
	spin_lock_irqsave(&d->lock, flags);
	WRITE_ONCE(d->handler, NULL);
	spin_unlock_irqrestore(&d->lock, flags);
}

static void irq_set_mask(u32 irq, bool masked)
{
	struct irq_desc *d = irq_to_desc(irq);
	unsigned long flags;

	if (!d || !d->chip)
		return;
	flags = irq_lock(d);
	if (masked)
		d->chip->mask(d);
	else
		d->chip->unmask(d);
	irq_unlock(d, flags);
}

void irq_enable(u32 irq)
{
	irq_set_mask(irq, false);
}

void irq_disable(u32 irq)
{
	irq_set_mask(irq, true);
}

bool irq_dispatch(u32 irq)
{
	struct irq_desc *d = irq_to_desc(irq);
	irq_handler_t handler;

	this_cpu(irq_count)++;
	if (unlikely(!d))
		return false;
	/* Pairs with the release in irq_request(). */
	handler = load_acquire(&d->handler);
	if (unlikely(!handler))
		return false;
	lock_debug_irq_enter();
	handler(d, d->arg);
	lock_debug_irq_exit();
	return true;
}

int irq_set_state(struct irq_desc *d, enum irq_state which, bool on)
{
	unsigned long flags;
	int err;

	flags = irq_lock(d);
	err = d->chip && d->chip->set_state ? d->chip->set_state(d, which, on) : -EINVAL;
	irq_unlock(d, flags);
	return err;
}

int irq_get_state(struct irq_desc *d, enum irq_state which, bool *on)
{
	unsigned long flags;
	int err;

	flags = irq_lock(d);
	err = d->chip && d->chip->get_state ? d->chip->get_state(d, which, on) : -EINVAL;
	irq_unlock(d, flags);
	return err;
}

/* The registers belong to this CPU, and the chip says that writing them needs nobody's leave. */
static inline bool percpu_lockless(const struct irq_desc *d)
{
	const struct irq_chip *chip = d->chip;

	return chip && (chip->flags & IRQ_CHIP_PERCPU_STATE_LOCKLESS) && !chip->bus_lock &&
	       chip->set_state && (d->flags & IRQ_PERCPU);
}

int irq_set_percpu_state(struct irq_desc *d, enum irq_state which, bool on)
{
	if (unlikely(!percpu_lockless(d)))
		return irq_set_state(d, which, on);
	return d->chip->set_state(d, which, on);
}
