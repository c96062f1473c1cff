/* SPDX-License-Identifier: GPL-2.0-only */
/* Records and entry points between instrumented code and ubsan.c; see libubsan's ubsan_handlers.h. */
#ifndef CORE_UBSAN_H
#define CORE_UBSAN_H

#include <cupel/printk.h>
#include <cupel/types.h>

#ifdef CONFIG_DEBUG
#define ubsan_end(...) panic(__VA_ARGS__)
#else
#define ubsan_end(fmt, ...) printk(fmt "\n", __VA_ARGS__)
#endif

struct source_location {
	const char *file;
	u32 line;
	u32 column; /* all ones: has been reported */
};

struct type_descriptor {
	u16 kind; /* 0 = integer, 1 = float */
	u16 info; /* integer: bit 0 signed, the rest log2 of the width */
	char name[];
};

static inline bool type_signed(const struct type_descriptor *t)
{
	return t->info & 1;
}

static inline unsigned int type_bits(const struct type_descriptor *t)
{
	return t->kind ? 0 : 1U << (t->info >> 1);
}

struct overflow_data {
	struct source_location loc;
	const struct type_descriptor *type;
};

struct shift_data {
	struct source_location loc;
	const struct type_descriptor *left, *right;
};

struct bounds_data {
	struct source_location loc;
	const struct type_descriptor *array, *index;
};

struct value_data {
	struct source_location loc;
	const struct type_descriptor *type;
};

struct mismatch_data {
	struct source_location loc;
	const struct type_descriptor *type;
	u8 log_alignment;
	u8 check_kind;
};

struct place_data {
	struct source_location loc;
};

struct nonnull_data {
	struct source_location loc, attribute;
	int arg;
};

struct builtin_data {
	struct source_location loc;
	u8 kind;
};

struct assumption_data {
	struct source_location loc, assumption;
	const struct type_descriptor *type;
};

void __ubsan_handle_add_overflow(struct overflow_data *d, unsigned long a, unsigned long b);
void __ubsan_handle_sub_overflow(struct overflow_data *d, unsigned long a, unsigned long b);
void __ubsan_handle_mul_overflow(struct overflow_data *d, unsigned long a, unsigned long b);
void __ubsan_handle_divrem_overflow(struct overflow_data *d, unsigned long a, unsigned long b);
void __ubsan_handle_negate_overflow(struct overflow_data *d, unsigned long a);
void __ubsan_handle_shift_out_of_bounds(struct shift_data *d, unsigned long a, unsigned long b);
void __ubsan_handle_out_of_bounds(struct bounds_data *d, unsigned long index);
void __ubsan_handle_load_invalid_value(struct value_data *d, unsigned long value);
void __ubsan_handle_type_mismatch_v1(struct mismatch_data *d, unsigned long ptr);
void __ubsan_handle_pointer_overflow(struct place_data *d, unsigned long base, unsigned long result);
void __ubsan_handle_vla_bound_not_positive(struct value_data *d, unsigned long bound);
void __ubsan_handle_nonnull_arg(struct nonnull_data *d);
void __ubsan_handle_nonnull_return_v1(struct place_data *d, struct source_location *loc);
void __ubsan_handle_builtin_unreachable(struct place_data *d);
void __ubsan_handle_missing_return(struct place_data *d);
void __ubsan_handle_invalid_builtin(struct builtin_data *d);
void __ubsan_handle_alignment_assumption(struct assumption_data *d, unsigned long ptr,
					 unsigned long align, unsigned long offset);
void __ubsan_handle_function_type_mismatch(struct mismatch_data *d, unsigned long function);

#endif
