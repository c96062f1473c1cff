/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An experiment's words on the command line. They are untrusted: each bad one gets one clear line
 * and -EINVAL, before anything is measured.
 */
#include "harness.h"

#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/printk.h>
#include <string.h>

static bool among(const char *const *names, const char *key)
{
	for (; *names; names++) {
		size_t len = strlen(key);

		/* "key", or "key - help" */
		if (!strncmp(*names, key, len) && ((*names)[len] == '\0' || (*names)[len] == ' '))
			return true;
	}
	return false;
}

struct word_check {
	const struct experiment *e;
	bool bad;
};

static bool check_word(const char *key, const char *value, void *arg)
{
	struct word_check *c = arg;

	if (cmdline_is_general(key) || among(c->e->keys, key))
		return true;
	printk("bench %s: no such key: %s\n", c->e->name, key);
	c->bad = true;
	return false;
}

int bench_check_words(const struct experiment *e)
{
	static const char *const on_off[] = { "on", "off", NULL };
	struct word_check c = { .e = e };
	struct bench_choice records; /* record_emit() asks itself: here it is only checked */

	cmdline_walk(check_word, &c);
	if (!c.bad)
		return bench_words("records", on_off, "on", &records);
	printk("bench %s: keys are:\n", e->name);
	for (u32 i = 0; e->keys[i]; i++)
		printk("  %s\n", e->keys[i]);
	return -EINVAL;
}

static int bad_value(const char *key, const char *value, const char *want)
{
	printk("bench: %s=%s: %s\n", key, value, want);
	return -EINVAL;
}

static int bad_range(const char *key, const char *value, u64 low, u64 high)
{
	char want[80];

	snprintf(want, sizeof(want), "expected a number from %lu to %lu", low, high);
	return bad_value(key, value, want);
}

int bench_number(const char *key, u64 low, u64 high, u64 fallback, u64 *out)
{
	const char *value = cmdline_get(key);

	*out = fallback;
	if (!value)
		return 0;
	if (parse_u64(value, out) < 0 || *out < low || *out > high)
		return bad_range(key, value, low, high);
	return 0;
}

int bench_numbers(const char *key, u32 high, u32 *list, u32 room, u32 *nr)
{
	const char *value = cmdline_get(key);

	*nr = 0;
	if (!value)
		return 0;
	if (parse_list(value, list, room, nr) < 0 || !*nr)
		return bad_value(key, value, "expected numbers like 1,2,4 or 1-8");
	for (u32 i = 0; i < *nr; i++)
		if (!list[i] || list[i] > high)
			return bad_range(key, value, 1, high);
	return 0;
}

static int find_name(const char *const *names, const char *word, size_t len)
{
	for (int i = 0; names[i]; i++)
		if (strlen(names[i]) == len && !strncmp(names[i], word, len))
			return i;
	return -EINVAL;
}

static int bad_choice(const char *key, const char *value, const char *const *names)
{
	char want[120] = "expected some of";

	for (u32 i = 0; names[i]; i++) {
		size_t len = strlen(want);

		snprintf(want + len, sizeof(want) - len, "%s %s", i ? "," : "", names[i]);
	}
	return bad_value(key, value, want);
}

static bool chosen(const struct bench_choice *c, int pick)
{
	for (u32 i = 0; i < c->nr; i++)
		if (c->pick[i] == (u32)pick)
			return true;
	return false;
}

int bench_words(const char *key, const char *const *names, const char *fallback,
		struct bench_choice *out)
{
	const char *value = cmdline_get(key);
	const char *word = value ? value : fallback;

	for (out->nr = 0; word;) {
		const char *comma = strchr(word, ',');
		size_t len = comma ? (size_t)(comma - word) : strlen(word);
		int pick = find_name(names, word, len);

		if (pick < 0 || chosen(out, pick) || out->nr == BENCH_MAX_CHOICES)
			return bad_choice(key, value ? value : fallback, names);
		out->pick[out->nr++] = pick;
		word = comma ? comma + 1 : NULL;
	}
	return 0;
}
