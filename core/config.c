/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words and numbers that people write: the command line, sizes, lists. All of it is untrusted, and
 * nothing here prints, allocates or touches anything but what it is given.
 */
#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/errno.h>
#include <string.h>

#define MAX_WORDS 64

struct word {
	const char *key;
	const char *value;
};

static struct word words[MAX_WORDS];
static u32 nr_words, nr_boot_words;

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/*
 * Copy one word down over itself without its quotes, and end it. Returns what follows it, or NULL
 * when a quote stays open.
 */
static char *cut_word(char *line)
{
	char *out = line;
	bool quoted = false, more;

	for (; *line && (quoted || !is_space(*line)); line++) {
		if (*line == '"')
			quoted = !quoted;
		else
			*out++ = *line;
	}
	more = *line != '\0';
	*out = '\0';
	if (quoted)
		return NULL;
	return more ? line + 1 : line;
}

static void add_word(char *word)
{
	char *equals = strchr(word, '=');

	if (equals)
		*equals = '\0';
	words[nr_words].key = word;
	words[nr_words].value = equals ? equals + 1 : "";
	nr_words++;
}

static const char *parse_error;

const char *cmdline_error(void)
{
	return parse_error;
}

static int split(char *line, const char **why)
{
	for (;;) {
		char *word;

		while (is_space(*line))
			line++;
		if (!*line)
			return 0;
		if (nr_words == MAX_WORDS) {
			*why = "too many words";
			return -E2BIG;
		}
		word = line;
		line = cut_word(line);
		if (!line) {
			*why = "unclosed quote";
			return -EINVAL;
		}
		if (*word)
			add_word(word);
	}
}

int cmdline_parse(char *line, const char **why)
{
	int err;

	nr_words = 0;
	err = split(line, why);
	nr_boot_words = nr_words;
	parse_error = err ? *why : NULL;
	return err;
}

int cmdline_add(char *line, const char **why)
{
	int err;

	nr_words = nr_boot_words;
	err = split(line, why);
	if (err)
		nr_words = nr_boot_words;
	return err;
}

void cmdline_forget_unknown(void)
{
	u32 kept = 0;

	for (u32 i = 0; i < nr_boot_words; i++) {
		if (cmdline_is_general(words[i].key))
			words[kept++] = words[i];
	}
	nr_words = nr_boot_words = kept;
}

const char *cmdline_get(const char *key)
{
	/* The last one wins: whoever appends to a command line means it. */
	for (u32 i = nr_words; i > 0; i--) {
		if (!strcmp(words[i - 1].key, key))
			return words[i - 1].value;
	}
	return NULL;
}

void cmdline_walk(bool (*fn)(const char *key, const char *value, void *arg), void *arg)
{
	for (u32 i = 0; i < nr_words; i++) {
		if (!fn(words[i].key, words[i].value, arg))
			return;
	}
}

static int digit(char c, u32 base)
{
	u32 v = c >= '0' && c <= '9' ? (u32)(c - '0') : ((u32)c | 0x20) - 'a' + 10;

	return v < base ? (int)v : -1;
}

/* Digits at *s, which is left behind them. */
static int scan_number(const char **s, u64 *out)
{
	u32 base = 10;
	u64 v = 0;

	if ((*s)[0] == '0' && ((*s)[1] | 0x20) == 'x') {
		base = 16;
		*s += 2;
	}
	if (digit(**s, base) < 0)
		return -EINVAL;
	for (; digit(**s, base) >= 0; (*s)++) {
		if (__builtin_mul_overflow(v, (u64)base, &v) ||
		    __builtin_add_overflow(v, (u64)digit(**s, base), &v))
			return -ERANGE;
	}
	*out = v;
	return 0;
}

int parse_u64(const char *s, u64 *out)
{
	u64 v = 0;
	int err = scan_number(&s, &v);

	if (err)
		return err;
	if (*s)
		return -EINVAL;
	*out = v;
	return 0;
}

static u32 unit_shift(char c)
{
	switch (c | 0x20) {
	case 'k': return 10;
	case 'm': return 20;
	case 'g': return 30;
	case 't': return 40;
	default: return 0;
	}
}

int parse_size(const char *s, u64 *out)
{
	u32 shift;
	u64 v = 0;
	int err = scan_number(&s, &v);

	if (err)
		return err;
	shift = unit_shift(*s);
	if (shift)
		s++;
	if (*s)
		return -EINVAL;
	if (v << shift >> shift != v)
		return -ERANGE;
	*out = v << shift;
	return 0;
}

/* "N" or "N-M" at *s. */
static int scan_range(const char **s, u64 *from, u64 *to)
{
	int err = scan_number(s, from);

	if (err)
		return err;
	*to = *from;
	if (**s == '-') {
		(*s)++;
		err = scan_number(s, to);
		if (err)
			return err;
	}
	return *from <= *to && *to <= UINT32_MAX ? 0 : -EINVAL;
}

int parse_list(const char *s, u32 *out, u32 max, u32 *count)
{
	u32 n = 0;

	for (;;) {
		u64 from, to;
		int err = scan_range(&s, &from, &to);

		if (err)
			return err;
		if (to - from >= max - n)
			return -E2BIG;
		for (; from <= to; from++)
			out[n++] = (u32)from;
		if (!*s)
			break;
		if (*s++ != ',')
			return -EINVAL;
	}
	*count = n;
	return 0;
}

int parse_word(const char *s, const char *const *names)
{
	for (int i = 0; names[i]; i++) {
		if (!strcmp(s, names[i]))
			return i;
	}
	return -EINVAL;
}

/* What is read once, while the machine comes up, and what is read by whatever runs. */
static const char *const boot_words[] = { "nr_cpus",	"console", "semihosting",
					  "debug-exit", "icount",  "board",
					  "initrd",	"acpi",	   NULL };
static const char *const run_words[] = { "bench",    "selftest", "vm",	  "torture",
					 "seconds",  "seed",	 "stall", "timeout",
					 "lockstat", "records",	 NULL };

bool cmdline_is_for_boot(const char *key)
{
	/* "arm64.mode" and the like belong to the arch of that name. */
	size_t n = strlen(ARCH_NAME);

	return parse_word(key, boot_words) >= 0 || (!strncmp(key, ARCH_NAME, n) && key[n] == '.');
}

bool cmdline_is_general(const char *key)
{
	return parse_word(key, run_words) >= 0 || cmdline_is_for_boot(key);
}
