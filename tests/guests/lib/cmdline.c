/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's command line: words "key=value" or "key" between spaces. Values are copied out once. */
#include <guest.h>
#include <stdlib.h>

static char line[512];

/* Cuts the line into NUL-terminated words, so that a value can be handed out as it stands. */
void cmdline_set(const char *text)
{
	strlcpy(line, text, sizeof(line) - 1);
	for (char *p = line; *p; p++)
		if (*p == ' ' || *p == '\n')
			*p = '\1';
	for (char *p = line; *p; p++)
		if (*p == '\1')
			*p = '\0';
}

const char *cmdline_get(const char *key)
{
	size_t n = strlen(key);

	for (const char *p = line; p < line + sizeof(line) - n - 2; p++) {
		if (p != line && p[-1])
			continue;
		if (strncmp(p, key, n))
			continue;
		if (p[n] == '=')
			return p + n + 1;
		if (!p[n])
			return p + n;
	}
	return NULL;
}

u64 cmdline_u64(const char *key, u64 missing)
{
	const char *v = cmdline_get(key);

	return v && *v ? strtoul(v, NULL, 0) : missing;
}

bool cmdline_is(const char *key, const char *value)
{
	const char *v = cmdline_get(key);

	return v && !strcmp(v, value);
}
