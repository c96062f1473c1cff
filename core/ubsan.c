/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The runtime of -fsanitize=undefined, for GCC and clang: says what went wrong, in which file and
 * line. A debug build ends there; others go on. Names and layouts are those of the compilers'
 * libubsan (ubsan_handlers.h): the instrumented code passes one static record a place and the values.
 */
#include <cupel/printk.h>

#include "ubsan.h"

static const char *file_name(const struct source_location *loc)
{
	return loc->file ? loc->file : "unknown file";
}

/* Each place speaks once: its line is all ones afterwards. */
static bool first_time(struct source_location *loc)
{
	return __atomic_exchange_n(&loc->column, ~0U, __ATOMIC_RELAXED) != ~0U;
}

static void report(struct source_location *loc, const char *fmt, ...) __printf(2, 3);
static void report(struct source_location *loc, const char *fmt, ...)
{
	char what[160];
	va_list ap;

	if (!first_time(loc))
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	ubsan_end("undefined behaviour at %s:%u: %s", file_name(loc), loc->line, what);
}

/* Values up to a word come in the handle itself, larger ones behind a pointer. */
static s64 value_of(const struct type_descriptor *t, unsigned long handle)
{
	unsigned int bits = type_bits(t);

	if (bits > 64)
		return (s64) * (const u64 *)handle;
	if (bits == 64 || !bits)
		return (s64)handle;
	if (type_signed(t))
		return (s64)(handle << (64 - bits)) >> (64 - bits);
	return (s64)(handle & ((1UL << bits) - 1));
}

static void overflow(struct overflow_data *d, const char *op, unsigned long a, unsigned long b)
{
	report(&d->loc, "%lld %s %lld does not fit %s", (long long)value_of(d->type, a), op,
	       (long long)value_of(d->type, b), d->type->name);
}

void __ubsan_handle_add_overflow(struct overflow_data *d, unsigned long a, unsigned long b)
{
	overflow(d, "+", a, b);
}

void __ubsan_handle_sub_overflow(struct overflow_data *d, unsigned long a, unsigned long b)
{
	overflow(d, "-", a, b);
}

void __ubsan_handle_mul_overflow(struct overflow_data *d, unsigned long a, unsigned long b)
{
	overflow(d, "*", a, b);
}

void __ubsan_handle_divrem_overflow(struct overflow_data *d, unsigned long a, unsigned long b)
{
	overflow(d, "/", a, b);
}

void __ubsan_handle_negate_overflow(struct overflow_data *d, unsigned long a)
{
	report(&d->loc, "-(%lld) does not fit %s", (long long)value_of(d->type, a), d->type->name);
}

void __ubsan_handle_shift_out_of_bounds(struct shift_data *d, unsigned long a, unsigned long b)
{
	report(&d->loc, "shift of %lld by %lld in %s", (long long)value_of(d->left, a),
	       (long long)value_of(d->right, b), d->left->name);
}

void __ubsan_handle_out_of_bounds(struct bounds_data *d, unsigned long index)
{
	report(&d->loc, "index %lld is outside %s", (long long)value_of(d->index, index),
	       d->array->name);
}

void __ubsan_handle_load_invalid_value(struct value_data *d, unsigned long value)
{
	report(&d->loc, "%lld is no value of %s", (long long)value_of(d->type, value), d->type->name);
}

void __ubsan_handle_type_mismatch_v1(struct mismatch_data *d, unsigned long ptr)
{
	const char *what = ptr ? "access to an object that does not fit" : "access through NULL";

	report(&d->loc, "%s: %s at 0x%lx", what, d->type->name, ptr);
}

void __ubsan_handle_pointer_overflow(struct place_data *d, unsigned long base, unsigned long result)
{
	report(&d->loc, "pointer 0x%lx became 0x%lx", base, result);
}

void __ubsan_handle_vla_bound_not_positive(struct value_data *d, unsigned long bound)
{
	report(&d->loc, "array of %lld elements", (long long)value_of(d->type, bound));
}

void __ubsan_handle_nonnull_arg(struct nonnull_data *d)
{
	report(&d->loc, "NULL as argument %d, which may not be", d->arg);
}

void __ubsan_handle_nonnull_return_v1(struct place_data *d, struct source_location *loc)
{
	report(loc, "NULL returned where it may not be");
}

void __ubsan_handle_builtin_unreachable(struct place_data *d)
{
	report(&d->loc, "reached what can't be reached");
	panic("no way on");
}

void __ubsan_handle_missing_return(struct place_data *d)
{
	report(&d->loc, "function ends without a value");
	panic("no way on");
}

void __ubsan_handle_invalid_builtin(struct builtin_data *d)
{
	report(&d->loc, "zero given to a builtin that counts bits");
}

void __ubsan_handle_alignment_assumption(struct assumption_data *d, unsigned long ptr,
					 unsigned long align, unsigned long offset)
{
	report(&d->loc, "0x%lx is not aligned to %lu", ptr - offset, align);
}

void __ubsan_handle_function_type_mismatch(struct mismatch_data *d, unsigned long function)
{
	report(&d->loc, "function 0x%lx is not of type %s", function, d->type->name);
}
