/* SPDX-License-Identifier: GPL-2.0-only */
/* printf-style formatting into a buffer, small on purpose: it must not need anything else. */
#include <guest.h>
#include <runtime.h>

struct out {
	char *p, *end;
};

struct spec {
	u32 width;
	bool left, zero, is_long;
};

static void emit(struct out *o, char c)
{
	if (o->p < o->end)
		*o->p++ = c;
}

static void emit_padded(struct out *o, const char *s, size_t n, const struct spec *sp)
{
	size_t pad = sp->width > n ? sp->width - n : 0;

	for (; pad && !sp->left; pad--)
		emit(o, sp->zero ? '0' : ' ');
	while (n--)
		emit(o, *s++);
	for (; pad; pad--)
		emit(o, ' ');
}

static void emit_number(struct out *o, u64 v, u32 base, bool negative, const struct spec *sp)
{
	char buf[24];
	size_t at = sizeof(buf);

	do
		buf[--at] = "0123456789abcdef"[v % base];
	while (v /= base);
	if (negative)
		buf[--at] = '-';
	emit_padded(o, buf + at, sizeof(buf) - at, sp);
}

static void emit_signed(struct out *o, s64 v, const struct spec *sp)
{
	emit_number(o, v < 0 ? -(u64)v : (u64)v, 10, v < 0, sp);
}

static const char *parse_spec(const char *f, struct spec *sp)
{
	*sp = (struct spec){ 0 };
	for (;; f++) {
		if (*f == '-')
			sp->left = true;
		else if (*f == '0')
			sp->zero = true;
		else
			break;
	}
	for (; *f >= '0' && *f <= '9'; f++)
		sp->width = sp->width * 10 + *f - '0';
	for (; *f == 'l' || *f == 'z'; f++)
		sp->is_long = true;
	return f;
}

static void convert(struct out *o, char c, const struct spec *sp, va_list *ap)
{
	const char *s;
	char ch;

	switch (c) {
	case 'd':
		emit_signed(o, sp->is_long ? va_arg(*ap, long) : va_arg(*ap, int), sp);
		break;
	case 'u':
	case 'x':
		emit_number(o, sp->is_long ? va_arg(*ap, unsigned long) : va_arg(*ap, unsigned int),
			    c == 'x' ? 16 : 10, false, sp);
		break;
	case 'p':
		emit_number(o, (u64)va_arg(*ap, void *), 16, false, sp);
		break;
	case 's':
		s = va_arg(*ap, const char *);
		emit_padded(o, s, strlen(s), sp);
		break;
	case 'c':
		ch = va_arg(*ap, int);
		emit_padded(o, &ch, 1, sp);
		break;
	default:
		emit(o, c);
	}
}

size_t format(char *buf, size_t size, const char *f, va_list args)
{
	struct out o = { buf, buf + size - 1 };
	struct spec sp;
	va_list ap;

	va_copy(ap, args);
	for (; *f; f++) {
		if (*f != '%') {
			emit(&o, *f);
			continue;
		}
		f = parse_spec(f + 1, &sp);
		if (!*f)
			break;
		convert(&o, *f, &sp, &ap);
	}
	va_end(ap);
	*o.p = '\0';
	return o.p - buf;
}
