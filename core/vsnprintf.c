/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Formatted text, into a buffer or straight to a sink. Takes no lock, allocates nothing and never
 * writes past what it was given: it is what a panic prints with. A conversion it does not know is
 * printed as it stands and takes no argument.
 */
#include <cupel/printk.h>
#include <string.h>

#include "format.h"

enum {
	FLAG_LEFT = BIT32(0),
	FLAG_ZERO = BIT32(1),
	FLAG_NEGATIVE = BIT32(2),
	FLAG_UPPER = BIT32(3),
	FLAG_ALT = BIT32(4),
	FLAG_PLUS = BIT32(5),
	FLAG_SPACE = BIT32(6)
};

/* Nobody needs more, and a wild number must not print for minutes. */
#define WIDTH_MAX 512

struct spec {
	u32 flags;
	int width;
	int precision; /* -1 = none */
	int length; /* -2 = hh, -1 = h, 0 = int, 1 = l, z, t, j, 2 = ll */
};

static void pad(struct format_sink *out, char c, int n)
{
	for (; n > 0; n--)
		out->put(out, c);
}

static void put_text(struct format_sink *out, const struct spec *s, const char *text, int len)
{
	if (!(s->flags & FLAG_LEFT))
		pad(out, ' ', s->width - len);
	for (int i = 0; i < len; i++)
		out->put(out, text[i]);
	if (s->flags & FLAG_LEFT)
		pad(out, ' ', s->width - len);
}

static void put_string(struct format_sink *out, const struct spec *s, const char *text)
{
	size_t limit = s->precision >= 0 ? (size_t)s->precision : 1UL << 20;

	if (!text)
		text = "(null)";
	put_text(out, s, text, (int)strnlen(text, limit));
}

static const char *sign_prefix(const struct spec *s, u32 base)
{
	if (s->flags & FLAG_NEGATIVE)
		return "-";
	if (s->flags & FLAG_PLUS)
		return "+";
	if (s->flags & FLAG_SPACE)
		return " ";
	if ((s->flags & FLAG_ALT) && base == 16)
		return s->flags & FLAG_UPPER ? "0X" : "0x";
	return "";
}

static void put_number(struct format_sink *out, struct spec *s, u64 value, u32 base)
{
	const char *digits = s->flags & FLAG_UPPER ? "0123456789ABCDEF" : "0123456789abcdef";
	const char *prefix = sign_prefix(s, base);
	char buf[24]; /* 22 octal digits hold 64 bits */
	int len = 0, zeros, fill;

	for (; value; value /= base)
		buf[len++] = digits[value % base];
	zeros = (s->precision >= 0 ? s->precision : 1) - len;
	zeros = max(zeros, 0);
	fill = s->width - len - zeros - (int)strlen(prefix);
	if ((s->flags & FLAG_ZERO) && !(s->flags & FLAG_LEFT) && s->precision < 0) {
		zeros += max(fill, 0);
		fill = 0;
	}
	if (!(s->flags & FLAG_LEFT))
		pad(out, ' ', fill);
	for (; *prefix; prefix++)
		out->put(out, *prefix);
	pad(out, '0', zeros);
	while (len)
		out->put(out, buf[--len]);
	if (s->flags & FLAG_LEFT)
		pad(out, ' ', fill);
}

static u32 flag_of(char c)
{
	switch (c) {
	case '-': return FLAG_LEFT;
	case '0': return FLAG_ZERO;
	case '#': return FLAG_ALT;
	case '+': return FLAG_PLUS;
	case ' ': return FLAG_SPACE;
	default: return 0;
	}
}

static const char *parse_number(const char *f, int *out, va_list *ap)
{
	int n = 0;

	if (*f == '*') {
		*out = va_arg(*ap, int);
		return f + 1;
	}
	for (; *f >= '0' && *f <= '9'; f++)
		n = min(n * 10 + (*f - '0'), WIDTH_MAX);
	*out = n;
	return f;
}

static const char *parse_length(const char *f, int *length)
{
	for (*length = 0;; f++) {
		if (*f == 'l' && *length >= 0 && *length < 2)
			(*length)++;
		else if (*f == 'h' && *length <= 0 && *length > -2)
			(*length)--;
		else if ((*f == 'z' || *f == 't' || *f == 'j') && *length == 0)
			*length = 1;
		else
			return f;
	}
}

/* Everything between '%' and the conversion letter. */
static const char *parse_spec(const char *f, struct spec *s, va_list *ap)
{
	*s = (struct spec){ .precision = -1 };
	for (; flag_of(*f); f++)
		s->flags |= flag_of(*f);
	f = parse_number(f, &s->width, ap);
	if (s->width < 0) {
		s->flags |= FLAG_LEFT;
		s->width = s->width < -WIDTH_MAX ? WIDTH_MAX : -s->width;
	}
	s->width = min(s->width, WIDTH_MAX);
	if (*f == '.') {
		f = parse_number(f + 1, &s->precision, ap);
		s->precision = max(s->precision, -1);
	}
	return parse_length(f, &s->length);
}

static u64 unsigned_arg(const struct spec *s, va_list *ap)
{
	if (s->length == 2)
		return va_arg(*ap, unsigned long long);
	if (s->length == 1)
		return va_arg(*ap, unsigned long);
	if (s->length == -1)
		return (u16)va_arg(*ap, unsigned int);
	if (s->length == -2)
		return (u8)va_arg(*ap, unsigned int);
	return va_arg(*ap, unsigned int);
}

static u64 signed_arg(struct spec *s, va_list *ap)
{
	s64 v;

	if (s->length == 2)
		v = va_arg(*ap, long long);
	else if (s->length == 1)
		v = va_arg(*ap, long);
	else
		v = va_arg(*ap, int);
	if (s->length == -1)
		v = (int16_t)v;
	else if (s->length == -2)
		v = (int8_t)v;
	if (v >= 0)
		return (u64)v;
	s->flags |= FLAG_NEGATIVE;
	return 0 - (u64)v;
}

static void put_integer(struct format_sink *out, struct spec *s, char letter, va_list *ap)
{
	s->precision = min(s->precision, WIDTH_MAX);
	if (letter == 'd' || letter == 'i') {
		u64 magnitude = signed_arg(s, ap);

		put_number(out, s, magnitude, 10);
		return;
	}
	s->flags &= ~(u32)(FLAG_PLUS | FLAG_SPACE);
	if (letter == 'X')
		s->flags |= FLAG_UPPER;
	put_number(out, s, unsigned_arg(s, ap), letter == 'u' ? 10 : letter == 'o' ? 8 : 16);
}

/* False when the letter is not known. */
static bool convert(struct format_sink *out, struct spec *s, char letter, va_list *ap)
{
	char c;

	switch (letter) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o': put_integer(out, s, letter, ap); return true;
	case 'p':
		s->flags |= FLAG_ALT;
		put_number(out, s, (uintptr_t)va_arg(*ap, void *), 16);
		return true;
	case 's': put_string(out, s, va_arg(*ap, const char *)); return true;
	case 'c':
		c = (char)va_arg(*ap, int);
		put_text(out, s, &c, 1);
		return true;
	case '%': out->put(out, '%'); return true;
	default: return false;
	}
}

void format_to(struct format_sink *out, const char *fmt, va_list ap)
{
	va_list args;

	va_copy(args, ap);
	while (*fmt) {
		struct spec s;
		const char *end;

		if (*fmt != '%') {
			out->put(out, *fmt++);
			continue;
		}
		end = parse_spec(fmt + 1, &s, &args);
		if (*end && convert(out, &s, *end, &args)) {
			fmt = end + 1;
			continue;
		}
		while (fmt < end)
			out->put(out, *fmt++);
	}
	va_end(args);
}

struct buffer_sink {
	struct format_sink sink;
	char *buf;
	size_t size, len;
};

static void buffer_put(struct format_sink *sink, char c)
{
	struct buffer_sink *b = container_of(sink, struct buffer_sink, sink);

	if (b->len + 1 < b->size)
		b->buf[b->len] = c;
	b->len++;
}

int vsnprintf(char *buf, size_t size, const char *fmt, va_list ap)
{
	struct buffer_sink b = { .sink.put = buffer_put, .buf = buf, .size = size };

	format_to(&b.sink, fmt, ap);
	if (size)
		buf[min(b.len, size - 1)] = '\0';
	return (int)min(b.len, (size_t)INT32_MAX);
}

int snprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return n;
}
