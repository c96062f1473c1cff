/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The monitor's line editor with a terminal behind it: whatever comes in, what is shown is what it holds.
 * Each line that comes out is looked up as a command.
 */
#include "fuzz.h"

#include <cupel/monitor.h>
#include <string.h>

static char screen[2 * LINE_ROOM];
static size_t column;

static void draw(const char *s, size_t n)
{
	for (; n; n--, s++) {
		if (*s == '\n') {
			column = 0;
			memset(screen, 0, sizeof(screen));
		} else if (*s == '\b') {
			FUZZ_CHECK(column);
			column--;
		} else if (*s != '\a') {
			FUZZ_CHECK(column + 1 < sizeof(screen));
			screen[column++] = *s;
		}
	}
}

static void nothing(char *rest)
{
}

static const struct monitor_command table[] = {
	{ "run", "", nothing },
	{ "reboot", "", nothing },
	{ NULL },
};

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct line_editor e;
	char *rest;

	memset(&e, 0, sizeof(e));
	e.emit = draw;
	e.prompt = "";
	draw("\n", 1);
	line_begin(&e);
	for (; size; size--, data++) {
		enum line_event event = line_feed(&e, *data);

		FUZZ_CHECK(e.len < LINE_ROOM && e.at <= e.len && e.text[e.len] == '\0');
		FUZZ_CHECK(strlen(e.text) == e.len);
		if (event == LINE_MORE) {
			FUZZ_CHECK(column == e.at && !memcmp(screen, e.text, e.len));
			continue;
		}
		monitor_find(table, e.text, &rest);
		FUZZ_CHECK(rest >= e.text && rest <= e.text + e.len);
		line_begin(&e);
	}
	return 0;
}
