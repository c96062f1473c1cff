/* SPDX-License-Identifier: GPL-2.0-only */
/* The freestanding C library functions that the compiler and libfdt call; bodies in core/string.c. */
#ifndef CUPEL_LIBC_STRING_H
#define CUPEL_LIBC_STRING_H

#include <stddef.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int c, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *s, const char *find);
/* Always terminates; returns strlen(src). */
size_t strlcpy(char *dst, const char *src, size_t size);

#endif
