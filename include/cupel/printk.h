/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The console: formatted output, panic and assertions. printk() may be called from any context,
 * including before memory management and from a panic. One line printed by one call is never torn by
 * another CPU.
 */
#ifndef CUPEL_PRINTK_H
#define CUPEL_PRINTK_H

#include <cupel/types.h>
#include <stdarg.h>

struct console { /* a UART driver fills this in; putc may spin until the FIFO has room */
	const char *name;
	void (*putc)(struct console *c, char ch);
	/* A byte, CONSOLE_DAMAGED, or -1 when nothing is waiting; may be NULL */
	int (*getc)(struct console *c);
	void *priv;
	struct console *next;
};

void console_register(struct console *c);

/* Stands for what arrived broken, or was lost, on the line or for want of room. No keyboard sends it. */
#define CONSOLE_DAMAGED	  0xff
#define CONSOLE_INTERRUPT 0x03 /* Ctrl-C */
/* Read the consoles from now on, whenever anything is printed too; false: there is none to be read. */
bool console_input_begin(void);
bool console_input_on(void);
/* The next byte typed since then, or -1. Any context that does not print. */
int console_getc(void);
/* Whether Ctrl-C was typed since this was last asked. As above; asks no device while nobody reads. */
bool console_interrupted(void);

/* %c %s %d %i %u %x %p %% %l %ll %z %h, width, precision, '-', '0'. No floating point. */
void printk(const char *fmt, ...) __printf(1, 2);
void vprintk(const char *fmt, va_list ap);
void console_write(const char *s, size_t len);
int snprintf(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);
int vsnprintf(char *buf, size_t size, const char *fmt, va_list ap);

/* The linker's build id in hex, "unknown" when the image carries none. */
const char *build_id(void);

/* Print cause, CPU and backtrace (and what the arch knows of registers), then end the machine. */
__noreturn __cold void panic(const char *fmt, ...) __printf(1, 2);
/*
 * The machine, its firmware or its loader is not what Cupel needs: one line with the reason on every
 * console that is known, and the end. Boot CPU, before anything was run; for our own faults there is panic().
 */
__noreturn __cold void cannot_start(const char *fmt, ...) __printf(1, 2);
/* Give the console to a panicking CPU, whoever holds its lock. */
void console_force_unlock(void);
void print_backtrace(void);

#ifdef CONFIG_DEBUG
#define ASSERT(c)                                                                       \
	do {                                                                            \
		if (unlikely(!(c)))                                                     \
			panic("assertion failed: %s at %s:%d", #c, __FILE__, __LINE__); \
	} while (0)
#else
#define ASSERT(c) ((void)sizeof(c))
#endif
#define BUG_ON(c)                                                          \
	do {                                                               \
		if (unlikely(c))                                           \
			panic("BUG: %s at %s:%d", #c, __FILE__, __LINE__); \
	} while (0)

#endif
