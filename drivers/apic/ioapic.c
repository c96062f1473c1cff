/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The IOAPICs: every input masked at boot, a route made on demand. Two accesses make one register
 * access, so that all of them go under one lock, and the chip isn't lockless.
 */
#include <asm/apic.h>
#include <asm/io.h>
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/irq.h>
#include <cupel/lock.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

/* Mask registers of the two 8259s: Intel 8259A data sheet, OCW1. */
#define PIC1_DATA 0x21
#define PIC2_DATA 0xa1

struct ioapic {
	volatile u8 *page;
	u32 gsi_base;
	u32 inputs;
};

static struct ioapic ioapics[PLATFORM_MAX_IOAPICS];
static u32 nr_ioapics;

/* Guards the index register of every IOAPIC, next_vector and gsi_of[]. */
static spinlock_t ioapic_lock = SPINLOCK_INIT("ioapic");
static u32 next_vector = X86_VEC_FIRST_GSI;
static u32 gsi_of[256]; /* by vector */

static u32 ioapic_read(const struct ioapic *io, u32 reg)
{
	mmio_write32(io->page + IOAPIC_REGSEL, reg);
	return mmio_read32(io->page + IOAPIC_WINDOW);
}

static void ioapic_write(const struct ioapic *io, u32 reg, u32 value)
{
	mmio_write32(io->page + IOAPIC_REGSEL, reg);
	mmio_write32(io->page + IOAPIC_WINDOW, value);
}

static const struct ioapic *find_input(u32 gsi, u32 *input)
{
	for (u32 i = 0; i < nr_ioapics; i++) {
		if (gsi - ioapics[i].gsi_base < ioapics[i].inputs) {
			*input = gsi - ioapics[i].gsi_base;
			return &ioapics[i];
		}
	}
	return NULL;
}

static void set_mask(u32 vector, bool masked)
{
	unsigned long flags;
	u32 input, low;
	const struct ioapic *io;

	spin_lock_irqsave(&ioapic_lock, flags);
	io = find_input(gsi_of[vector], &input);
	if (io) {
		low = ioapic_read(io, IOAPIC_REG_REDIR(input)) & ~IOAPIC_REDIR_MASKED;
		ioapic_write(io, IOAPIC_REG_REDIR(input), low | (masked ? IOAPIC_REDIR_MASKED : 0));
	}
	spin_unlock_irqrestore(&ioapic_lock, flags);
}

static void chip_mask(struct irq_desc *d)
{
	set_mask(d->irq, true);
}

static void chip_unmask(struct irq_desc *d)
{
	set_mask(d->irq, false);
}

static int chip_set_state(struct irq_desc *d, enum irq_state which, bool on)
{
	if (which != IRQ_STATE_MASKED)
		return -EINVAL;
	set_mask(d->irq, on);
	return 0;
}

/* The entry shows delivery to the local APIC (IRR of a level input), not service there. */
static int chip_get_state(struct irq_desc *d, enum irq_state which, bool *on)
{
	const u32 bit = which == IRQ_STATE_MASKED ? IOAPIC_REDIR_MASKED :
						    IOAPIC_REDIR_IRR | IOAPIC_REDIR_PENDING;
	const struct ioapic *io;
	unsigned long flags;
	u32 input;

	if (which == IRQ_STATE_ACTIVE)
		return -EINVAL;
	spin_lock_irqsave(&ioapic_lock, flags);
	io = find_input(gsi_of[d->irq], &input);
	*on = io && (ioapic_read(io, IOAPIC_REG_REDIR(input)) & bit);
	spin_unlock_irqrestore(&ioapic_lock, flags);
	return io ? 0 : -EINVAL;
}

static const struct irq_chip ioapic_chip = {
	.name = "ioapic",
	.mask = chip_mask,
	.unmask = chip_unmask,
	.set_state = chip_set_state,
	.get_state = chip_get_state,
};

/* Nothing there reads as all ones on a PC, as zeroes on some emulators. */
static void add_ioapic(const struct ioapic_info *info)
{
	struct ioapic *io = &ioapics[nr_ioapics];
	u32 version = 0;

	io->page = arch_map_device(info->base, PAGE_SIZE);
	if (io->page)
		version = ioapic_read(io, IOAPIC_REG_VERSION);
	if (!version || version == ~0U) {
		printk("IOAPIC %u at 0x%llx left out: %s\n", info->id, (unsigned long long)info->base,
		       io->page ? "nothing is there" : "no device address");
		return;
	}
	io->gsi_base = info->gsi_base;
	io->inputs = (version >> 16 & 0xff) + 1;
	for (u32 i = 0; i < io->inputs; i++)
		ioapic_write(io, IOAPIC_REG_REDIR(i), IOAPIC_REDIR_MASKED);
	nr_ioapics++;
}

/*
 * A PC's firmware leaves its 8259s running, with the timer at vector 8. A masked LINT0 does not hold
 * that back on every machine: mask all of their inputs. Where there are none the writes go nowhere.
 */
static void silence_8259(void)
{
	outb(0xff, PIC1_DATA);
	outb(0xff, PIC2_DATA);
}

void ioapic_init(void)
{
	silence_8259();
	for (u32 i = 0; i < platform.x86.nr_ioapics; i++)
		add_ioapic(&platform.x86.ioapic[i]);
}

int ioapic_route(u32 gsi, u32 apic_id, bool level, bool active_low, u32 *vector)
{
	const struct ioapic *io;
	unsigned long flags;
	u32 input;

	if (apic_id > XAPIC_MAX_ID)
		return -ERANGE;
	spin_lock_irqsave(&ioapic_lock, flags);
	io = find_input(gsi, &input);
	if (io && next_vector <= X86_VEC_LAST_GSI) {
		*vector = next_vector++;
		gsi_of[*vector] = gsi;
		ioapic_write(io, IOAPIC_REG_REDIR(input) + 1, apic_id << IOAPIC_DEST_SHIFT);
		ioapic_write(io, IOAPIC_REG_REDIR(input),
			     IOAPIC_REDIR_MASKED | (level ? IOAPIC_REDIR_LEVEL : 0) |
				     (active_low ? IOAPIC_REDIR_LOW : 0) | *vector);
	} else {
		*vector = 0;
	}
	spin_unlock_irqrestore(&ioapic_lock, flags);
	if (!io)
		return -EINVAL;
	if (!*vector)
		return -ENOSPC;
	irq_set_chip(*vector, &ioapic_chip, level ? IRQ_LEVEL : 0);
	return 0;
}
