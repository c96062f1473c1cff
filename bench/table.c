/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables for people: cells are collected first, so that every column is as wide as its widest cell.
 * The bars make the same text a Markdown table. Must never be parsed by a program: records are for
 * that.
 */
#include "harness.h"

#include <cupel/printk.h>
#include <stdarg.h>
#include <string.h>

static void add_text(struct table *t, const char *s)
{
	size_t len = strlen(s) + 1;

	/* One past the last cell marks a table that overflowed. */
	if (t->cells >= TABLE_CELLS || t->used + len > TABLE_TEXT) {
		t->cells = TABLE_CELLS + 1;
		return;
	}
	t->at[t->cells++] = t->used;
	memcpy(t->text + t->used, s, len);
	t->used += len;
}

void table_begin(struct table *t, const char *title, const char *const *heads)
{
	t->title = title;
	t->columns = t->cells = t->used = 0;
	for (; heads[t->columns] && t->columns < TABLE_COLUMNS; t->columns++)
		add_text(t, heads[t->columns]);
}

void table_cell(struct table *t, const char *fmt, ...)
{
	char cell[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cell, sizeof(cell), fmt, ap);
	va_end(ap);
	add_text(t, cell);
}

void table_cell_ratio(struct table *t, u64 num, u64 den)
{
	u64 thousandths = bench_scale(num, 1000, den);

	table_cell(t, "%lu.%03lu", thousandths / 1000, thousandths % 1000);
}

static u32 column_width(const struct table *t, u32 column, u32 cells)
{
	u32 width = 0;

	for (u32 i = column; i < cells; i += t->columns)
		width = max(width, (u32)strlen(t->text + t->at[i]));
	return width;
}

struct line {
	char text[TABLE_COLUMNS * 67 + 4];
	u32 len;
};

static void line_char(struct line *l, char c, u32 times)
{
	while (times-- && l->len < sizeof(l->text) - 2)
		l->text[l->len++] = c;
}

static void line_text(struct line *l, const char *s)
{
	while (*s)
		line_char(l, *s++, 1);
}

static void line_print(struct line *l)
{
	line_char(l, '|', 1);
	l->text[l->len++] = '\n';
	console_write(l->text, l->len);
}

static void print_rule(const struct table *t, const u32 *width)
{
	struct line l = { .len = 0 };

	for (u32 c = 0; c < t->columns; c++) {
		line_text(&l, "|-");
		line_char(&l, '-', width[c]);
		line_char(&l, c ? ':' : '-', 1);
	}
	line_print(&l);
}

/* Words to the left in the first column, figures to the right in the others. */
static void print_row(const struct table *t, u32 first, const u32 *width)
{
	struct line l = { .len = 0 };

	for (u32 c = 0; c < t->columns; c++) {
		const char *s = t->text + t->at[first + c];
		u32 pad = width[c] - strlen(s);

		line_text(&l, "| ");
		line_char(&l, ' ', c ? pad : 0);
		line_text(&l, s);
		line_char(&l, ' ', c ? 1 : pad + 1);
	}
	line_print(&l);
}

void table_print(const struct table *t)
{
	u32 cells = min(t->cells, (u32)TABLE_CELLS);
	u32 width[TABLE_COLUMNS];

	cells -= cells % t->columns;
	for (u32 c = 0; c < t->columns; c++)
		width[c] = column_width(t, c, cells);
	printk("\n%s\n\n", t->title);
	print_row(t, 0, width);
	print_rule(t, width);
	for (u32 i = t->columns; i < cells; i += t->columns)
		print_row(t, i, width);
	if (t->cells > TABLE_CELLS)
		printk("(the table is full: rows are missing; every row has its record)\n");
}
