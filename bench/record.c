/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records: one JSON object per row, with the same keys for every experiment. Pure text, no clock and
 * no console: also built for the host. Must never print a key that docs/experiments.md lacks, nor a
 * byte that could end the "@@" frame or the string it stands in.
 */
#include "harness.h"

#include <cupel/printk.h>
#include <string.h>

/* More buckets than this are merged in pairs until they fit a line. */
#define MAX_HIST_ENTRIES 400

struct json {
	char *buf;
	size_t size, len;
	bool comma;
};

static void put_char(struct json *j, char c)
{
	if (j->len + 1 < j->size)
		j->buf[j->len] = c;
	j->len++;
}

static void put_raw(struct json *j, const char *s)
{
	while (*s)
		put_char(j, *s++);
}

static void put_escaped(struct json *j, unsigned char c)
{
	char code[8];

	snprintf(code, sizeof(code), "\\u%04x", c);
	put_raw(j, code);
}

/* '@' is escaped too: a name may then hold "@@" without ending the frame. */
static void put_string(struct json *j, const char *s)
{
	put_char(j, '"');
	for (; *s; s++) {
		unsigned char c = *s;

		if (c < 0x20 || c >= 0x7f || c == '@') {
			put_escaped(j, c);
			continue;
		}
		if (c == '"' || c == '\\')
			put_char(j, '\\');
		put_char(j, c);
	}
	put_char(j, '"');
}

static void put_number(struct json *j, u64 num)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%lu", num);
	put_raw(j, digits);
}

static void put_key(struct json *j, const char *key)
{
	if (j->comma)
		put_char(j, ',');
	put_string(j, key);
	put_char(j, ':');
	j->comma = true;
}

static void key_number(struct json *j, const char *key, u64 num)
{
	put_key(j, key);
	put_number(j, num);
}

static void key_string(struct json *j, const char *key, const char *s)
{
	put_key(j, key);
	put_string(j, s ? s : "");
}

static void open_object(struct json *j, const char *key)
{
	put_key(j, key);
	put_char(j, '{');
	j->comma = false;
}

static void close_object(struct json *j)
{
	put_char(j, '}');
	j->comma = true;
}

static void key_fields(struct json *j, const char *key, const struct record_object *o)
{
	u32 kept = min(o->nr, (u32)RECORD_MAX_FIELDS);

	open_object(j, key);
	for (u32 i = 0; i < kept; i++) {
		const struct record_field *f = &o->field[i];

		if (f->str)
			key_string(j, f->key, f->str);
		else
			key_number(j, f->key, f->num);
	}
	if (o->nr > kept)
		key_number(j, "dropped", o->nr - kept);
	close_object(j);
}

static void put_origin(struct json *j, const struct record_origin *o)
{
	key_string(j, "arch", o->arch);
	open_object(j, "machine");
	key_string(j, "board", o->machine);
	key_string(j, "cpu", o->cpu);
	key_string(j, "firmware", o->firmware);
	key_number(j, "cpus", o->cpus);
	close_object(j);
	open_object(j, "build");
	key_string(j, "id", o->build);
	key_string(j, "compiler", o->compiler);
	key_string(j, "flags", o->flags);
	close_object(j);
	open_object(j, "clock");
	key_string(j, "ticks", o->clock);
	key_number(j, "hz", o->clock_hz);
	key_string(j, "source", o->clock_source);
	close_object(j);
}

static void put_summary(struct json *j, const struct summary *s)
{
	key_number(j, "n", s->n);
	key_number(j, "min", s->min);
	key_number(j, "q1", s->q1);
	key_number(j, "p50", s->p50);
	key_number(j, "mean", s->mean);
	key_number(j, "p90", s->p90);
	key_number(j, "p99", s->p99);
	key_number(j, "max", s->max);
	key_number(j, "stddev", s->stddev);
}

static u64 group_count(const struct hist *h, u32 i, u32 group)
{
	u64 count = 0;

	for (u32 k = i; k < i + group && k < HIST_BUCKETS; k++)
		count += h->bucket[k];
	return count;
}

static u32 groups_used(const struct hist *h, u32 group)
{
	u32 used = 0;

	for (u32 i = 0; i < HIST_BUCKETS; i += group)
		used += group_count(h, i, group) != 0;
	return used;
}

static void put_bucket(struct json *j, u64 edge, u64 count)
{
	if (j->comma)
		put_char(j, ',');
	put_char(j, '[');
	put_number(j, edge);
	put_char(j, ',');
	put_number(j, count);
	put_char(j, ']');
	j->comma = true;
}

static void put_hist(struct json *j, const struct hist *h)
{
	u32 group = 1;

	put_key(j, "hist");
	put_char(j, '[');
	j->comma = false;
	while (h && groups_used(h, group) > MAX_HIST_ENTRIES)
		group *= 2;
	for (u32 i = 0; h && i < HIST_BUCKETS; i += group) {
		u64 count = group_count(h, i, group);

		if (count)
			put_bucket(j, hist_edge(i), count);
	}
	put_char(j, ']');
	j->comma = true;
}

/* A decimal ratio; not measured is null, since 0 would be a claim. */
static void put_noise(struct json *j, u64 permille)
{
	char ratio[32] = "null";

	if (permille)
		snprintf(ratio, sizeof(ratio), "%lu.%03u", (permille / 1000),
			 (unsigned int)(permille % 1000));
	put_key(j, "noise");
	put_raw(j, ratio);
}

size_t record_format(const struct record *r, const struct record_origin *o, char *buf, size_t size)
{
	struct json j = { .buf = buf, .size = size };

	put_char(&j, '{');
	key_string(&j, "bench", r->bench);
	put_origin(&j, o);
	key_fields(&j, "variant", &r->variant);
	key_fields(&j, "sweep", &r->sweep);
	key_string(&j, "unit", r->unit);
	put_summary(&j, &r->summary);
	put_hist(&j, r->hist);
	key_fields(&j, "counters", &r->counters);
	put_noise(&j, r->noise_permille);
	close_object(&j);
	if (size)
		buf[min(j.len, size - 1)] = '\0';
	return j.len;
}

void record_begin(struct record *r, const char *bench, const char *unit)
{
	memset(r, 0, sizeof(*r));
	r->bench = bench;
	r->unit = unit;
}

static void add_field(struct record_object *o, struct record_field f)
{
	if (o->nr < RECORD_MAX_FIELDS)
		o->field[o->nr] = f;
	o->nr++;
}

void record_num(struct record_object *o, const char *key, u64 num)
{
	add_field(o, (struct record_field){ .key = key, .num = num });
}

void record_str(struct record_object *o, const char *key, const char *str)
{
	add_field(o, (struct record_field){ .key = key, .str = str });
}
