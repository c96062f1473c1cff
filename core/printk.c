/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The console. Text goes straight to every registered console under one lock, so that a line printed
 * by one call is never torn. Must work in any context: before memory management, in interrupt
 * handlers, and in a panic that hit while the lock was held.
 *
 * Once somebody reads, what is typed is fetched after every character that is printed: at 115200 baud a
 * line of output lasts longer than a 16550's 16 bytes of input. Nobody reading: no UART is asked.
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

/* What was typed and not read yet; guarded by the lock. `head` and `tail` wrap with their type. */
static struct {
	u8 byte[256];
	u8 head, tail;
	bool on;
	bool interrupted;
} input;

/* A UART that always has something, since it isn't there, keeps nobody for ever. */
#define INPUT_BURST 32

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

static void keep_input(u8 ch)
{
	if (ch == CONSOLE_INTERRUPT) {
		input.interrupted = true;
		input.tail = input.head; /* it takes back what was typed before it */
	}
	if ((u8)(input.head + 1) == input.tail)
		input.byte[(u8)(input.head - 1)] = CONSOLE_DAMAGED;
	else
		input.byte[input.head++] = ch;
}

static void take_input(void)
{
	if (!input.on || READ_ONCE(console_forced))
		return;
	for (struct console *c = consoles; c; c = c->next) {
		int ch = 0;

		for (u32 n = 0; c->getc && ch >= 0 && n < INPUT_BURST; n++) {
			ch = c->getc(c);
			if (ch >= 0)
				keep_input((u8)ch);
		}
	}
}

static void put_raw(char ch)
{
	static char last;

	for (struct console *c = consoles; c; c = c->next) {
		if (ch == '\n' && last != '\r')
			c->putc(c, '\r');
		c->putc(c, ch);
	}
	last = ch;
	take_input();
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

bool console_input_begin(void)
{
	bool locked;
	unsigned long flags = console_enter(&locked);

	for (struct console *c = consoles; c; c = c->next)
		input.on |= c->getc != NULL;
	console_leave(flags, locked);
	return input.on;
}

bool console_input_on(void)
{
	return input.on;
}

int console_getc(void)
{
	bool locked;
	unsigned long flags = console_enter(&locked);
	int ch = -1;

	take_input();
	if (input.tail != input.head)
		ch = input.byte[input.tail++];
	console_leave(flags, locked);
	return ch;
}

bool console_interrupted(void)
{
	bool locked, was;
	unsigned long flags = console_enter(&locked);

	take_input();
	was = input.interrupted;
	input.interrupted = false;
	if (was && input.tail != input.head && input.byte[input.tail] == CONSOLE_INTERRUPT)
		input.tail++;
	console_leave(flags, locked);
	return was;
}

void console_force_unlock(void)
{
	WRITE_ONCE(console_forced, true);
}
