/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The C library functions that the compiler and libfdt call. They must never call each other through
 * a pattern that the compiler turns back into a call of the same function: each loop of the memory
 * functions holds an empty asm statement that keeps it a loop.
 */
#include <cupel/types.h>
#include <stdlib.h>
#include <string.h>

/* Word accesses to memory of any type. */
typedef u64 __attribute__((may_alias)) word_t;

#define WORD	     sizeof(word_t)
#define KEEP_LOOP(p) __asm__ volatile("" : "+r"(p))
/* Called for every byte of guest memory and from the instrumentation's own runtime. */
#define __plain __attribute__((no_sanitize("undefined")))

static inline bool both_aligned(const void *a, const void *b)
{
	return (((uintptr_t)a | (uintptr_t)b) & (WORD - 1)) == 0;
}

__plain void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	u8 *d = dst;
	const u8 *s = src;

	if (both_aligned(d, s)) {
		for (; n >= 4 * WORD; n -= 4 * WORD, d += 4 * WORD, s += 4 * WORD) {
			const word_t *from = (const word_t *)s;
			word_t *to = (word_t *)d;
			word_t w0 = from[0], w1 = from[1], w2 = from[2], w3 = from[3];

			to[0] = w0;
			to[1] = w1;
			to[2] = w2;
			to[3] = w3;
			KEEP_LOOP(d);
		}
		for (; n >= WORD; n -= WORD, d += WORD, s += WORD) {
			*(word_t *)d = *(const word_t *)s;
			KEEP_LOOP(d);
		}
	}
	for (; n; n--) {
		*d++ = *s++;
		KEEP_LOOP(d);
	}
	return dst;
}

__plain static void copy_backwards(u8 *dst, const u8 *src, size_t n)
{
	u8 *d = dst + n;
	const u8 *s = src + n;

	if (both_aligned(d, s)) {
		for (; n >= WORD; n -= WORD) {
			d -= WORD;
			s -= WORD;
			*(word_t *)d = *(const word_t *)s;
			KEEP_LOOP(d);
		}
	}
	while (n--) {
		*--d = *--s;
		KEEP_LOOP(d);
	}
}

__plain static void copy_forwards(u8 *d, const u8 *s, size_t n)
{
	if (both_aligned(d, s)) {
		for (; n >= WORD; n -= WORD, d += WORD, s += WORD) {
			*(word_t *)d = *(const word_t *)s;
			KEEP_LOOP(d);
		}
	}
	for (; n; n--) {
		*d++ = *s++;
		KEEP_LOOP(d);
	}
}

__plain void *memmove(void *dst, const void *src, size_t n)
{
	/* One unsigned comparison: dst lies inside [src, src + n). */
	if ((uintptr_t)dst - (uintptr_t)src < n)
		copy_backwards(dst, src, n);
	else
		copy_forwards(dst, src, n);
	return dst;
}

__plain void *memset(void *dst, int c, size_t n)
{
	word_t w = (u8)c * 0x0101010101010101UL;
	u8 *d = dst;

	for (; n && ((uintptr_t)d & (WORD - 1)); n--) {
		*d++ = (u8)c;
		KEEP_LOOP(d);
	}
	for (; n >= 8 * WORD; n -= 8 * WORD, d += 8 * WORD) {
		word_t *to = (word_t *)d;

		to[0] = to[1] = to[2] = to[3] = w;
		to[4] = to[5] = to[6] = to[7] = w;
		KEEP_LOOP(d);
	}
	for (; n; n--) {
		*d++ = (u8)c;
		KEEP_LOOP(d);
	}
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *x = a, *y = b;

	for (; n; n--, x++, y++) {
		if (*x != *y)
			return *x - *y;
	}
	return 0;
}

void *memchr(const void *s, int c, size_t n)
{
	const u8 *p = s;

	for (; n; n--, p++) {
		if (*p == (u8)c)
			return (void *)p;
	}
	return NULL;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n]) {
		n++;
		KEEP_LOOP(n);
	}
	return n;
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (u8)*a - (u8)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++) {
		if (*a != *b)
			return (u8)*a - (u8)*b;
		if (!*a)
			break;
	}
	return 0;
}

char *strchr(const char *s, int c)
{
	for (;; s++) {
		if (*s == (char)c)
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	for (;; s++) {
		if (*s == (char)c)
			last = s;
		if (!*s)
			return (char *)last;
	}
}

char *strstr(const char *s, const char *find)
{
	size_t n = strlen(find);

	if (!n)
		return (char *)s;
	for (; *s; s++) {
		if (*s == *find && !strncmp(s, find, n))
			return (char *)s;
	}
	return NULL;
}

size_t strlcpy(char *dst, const char *src, size_t size)
{
	size_t n = strlen(src);

	if (size) {
		size_t copy = min(n, size - 1);

		memcpy(dst, src, copy);
		dst[copy] = '\0';
	}
	return n;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return 36;
}

/* "0x" counts as a prefix only when a digit follows it. */
static bool hex_prefix(const char *s)
{
	return s[0] == '0' && (s[1] | 0x20) == 'x' && digit_value(s[2]) < 16;
}

unsigned long strtoul(const char *s, char **end, int base)
{
	unsigned long value = 0;
	const char *p = s;
	bool negative = false, any = false, overflow = false;

	while (*p == ' ' || (*p >= '\t' && *p <= '\r'))
		p++;
	if (*p == '-' || *p == '+')
		negative = *p++ == '-';
	if ((base == 0 || base == 16) && hex_prefix(p)) {
		p += 2;
		base = 16;
	} else if (base == 0) {
		base = *p == '0' ? 8 : 10;
	}
	for (; digit_value(*p) < base; p++, any = true) {
		overflow |= __builtin_mul_overflow(value, (unsigned long)base, &value);
		overflow |= __builtin_add_overflow(value, (unsigned long)digit_value(*p), &value);
	}
	if (end)
		*end = (char *)(any ? p : s);
	if (overflow)
		return ~0UL;
	return negative ? 0 - value : value;
}
