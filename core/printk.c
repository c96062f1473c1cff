/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The console. Text goes straight to every registered console under one lock, so that a line printed
 * by one call is never torn. Must work in any context: before memory management, in interrupt
 * handlers, and in a panic that hit while the lock was held.
 */
#include <cupel/arch.h>
#include <cupel/lock.h>
#include <cupel/printk.h>
#include <string.h>

#include "core.h"
#include "format.h"

/* Guards the list of consoles and what is being printed. A leaf: nothing is taken under it. */
static spinlock_t console_lock = SPINLOCK_INIT("console");
static struct console *consoles;

/* Set once and for good by a panicking CPU: from then on it prints without the lock. */
static bool console_forced;

static unsigned long console_enter(bool *locked)
{
	unsigned long flags = arch_irq_save();

	*locked = !READ_ONCE(console_forced);
	if (*locked)
		spin_lock(&console_lock);
	return flags;
}

static void console_leave(unsigned long flags, bool locked)
{
	/* Forced meanwhile: a panic took the console away from under this call. */
	if (locked && !READ_ONCE(console_forced))
		spin_unlock(&console_lock);
	arch_irq_restore(flags);
}

void console_register(struct console *c)
{
	bool locked;
	unsigned long flags = console_enter(&locked);

	c->next = consoles;
	consoles = c;
	console_leave(flags, locked);
}

static void put_raw(char ch)
{
	for (struct console *c = consoles; c; c = c->next) {
		if (ch == '\n')
			c->putc(c, '\r');
		c->putc(c, ch);
	}
}

static void console_put(struct format_sink *sink, char ch)
{
	put_raw(ch);
}

void vprintk(const char *fmt, va_list ap)
{
	struct format_sink sink = { console_put };
	bool locked;
	unsigned long flags = console_enter(&locked);

	format_to(&sink, fmt, ap);
	console_leave(flags, locked);
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintk(fmt, ap);
	va_end(ap);
}

void console_write(const char *s, size_t len)
{
	bool locked;
	unsigned long flags = console_enter(&locked);

	for (; len; len--)
		put_raw(*s++);
	console_leave(flags, locked);
}

int console_getc(void)
{
	bool locked;
	unsigned long flags = console_enter(&locked);
	int ch = -1;

	for (struct console *c = consoles; c && ch < 0; c = c->next) {
		if (c->getc)
			ch = c->getc(c);
	}
	console_leave(flags, locked);
	return ch;
}

void console_force_unlock(void)
{
	WRITE_ONCE(console_forced, true);
}
