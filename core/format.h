/* SPDX-License-Identifier: GPL-2.0-only */
/* Formatted text to a sink of characters: what printk() and vsnprintf() share. */
#ifndef CORE_FORMAT_H
#define CORE_FORMAT_H

#include <stdarg.h>

struct format_sink {
	void (*put)(struct format_sink *sink, char c);
};

void format_to(struct format_sink *out, const char *fmt, va_list ap);

#endif
