/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The line editor and the parser of the monitor's commands. What comes in is whatever a serial line
 * delivers: nothing here may trust it, wait for it, or touch more than its own line and history.
 */
#include <cupel/monitor.h>
#include <cupel/printk.h>
#include <string.h>

#define CTRL(c)	  ((c) & 0x1f)
#define ESC	  0x1b
#define BACKSPACE 0x7f /* or Ctrl-H */

/* ECMA-48, 5.4: ESC [ digits final; ESC O final is what the same keys send in application mode. */
enum { NO_ESCAPE, ESCAPE_BEGUN, ESCAPE_PARAM };

static void move(struct line_editor *e, u32 to)
{
	for (; e->at > to; e->at--)
		e->emit("\b", 1);
	e->emit(e->text + e->at, to - e->at);
	e->at = to;
}

/* [from, to) becomes s[n], and the cursor is behind that. False: no room. */
static bool replace(struct line_editor *e, u32 from, u32 to, const char *s, u32 n)
{
	u32 old = e->len, rest = old - to;

	if (from + n + rest >= LINE_ROOM)
		return false;
	move(e, from);
	memmove(e->text + from + n, e->text + to, rest);
	memcpy(e->text + from, s, n);
	e->len = from + n + rest;
	e->text[e->len] = '\0';
	move(e, e->len);
	for (; e->at < old; e->at++)
		e->emit(" ", 1);
	move(e, from + n);
	if (!from && !rest)
		e->damaged = false; /* nothing of what was there is left */
	return true;
}

static void insert(struct line_editor *e, char ch)
{
	if (replace(e, e->at, e->at, &ch, 1))
		return;
	if (!e->damaged)
		e->emit("\a", 1);
	e->damaged = true;
}

static u32 word_before(const struct line_editor *e)
{
	u32 at = e->at;

	while (at && e->text[at - 1] == ' ')
		at--;
	while (at && e->text[at - 1] != ' ')
		at--;
	return at;
}

/* --- History ------------------------------------------------------------------------------------ */

static char *line_ago(struct line_editor *e, u32 back)
{
	return e->history[(e->lines - back) % LINE_HISTORY];
}

/* The line being typed takes the place of the oldest, and is found there when it is come back to. */
static void recall(struct line_editor *e, u32 back)
{
	const char *s;

	if (back > e->lines || back >= LINE_HISTORY)
		return;
	if (!e->back)
		memcpy(line_ago(e, 0), e->text, LINE_ROOM);
	e->back = back;
	s = line_ago(e, back);
	replace(e, 0, e->len, s, (u32)strlen(s));
}

static void remember(struct line_editor *e)
{
	if (!e->len || (e->lines && !strcmp(line_ago(e, 1), e->text)))
		return;
	memcpy(line_ago(e, 0), e->text, LINE_ROOM);
	e->lines++;
}

/* --- Keys --------------------------------------------------------------------------------------- */

/* The control character that means the same as a cursor key; 0: none does. */
static u8 key_meaning(u8 final, u8 param)
{
	static const char finals[] = "ABCDHF", digits[] = "13478";
	static const u8 meant[] = { CTRL('P'), CTRL('N'), CTRL('F'), CTRL('B'), CTRL('A'), CTRL('E') };
	static const u8 by_digit[] = { CTRL('A'), CTRL('D'), CTRL('E'), CTRL('A'), CTRL('E') };
	const char *p;

	if (final != '~') {
		p = strchr(finals, final);
		return p ? meant[p - finals] : 0;
	}
	p = param && param < 10 ? strchr(digits, '0' + param) : NULL;
	return p ? by_digit[p - digits] : 0;
}

/* What a byte means, 0 while a sequence goes on. A control character ends one that is cut off. */
static u8 decode(struct line_editor *e, u8 ch)
{
	u8 state = e->escape;

	e->escape = NO_ESCAPE;
	if (ch == ESC) {
		e->escape = ESCAPE_BEGUN;
		e->param = 0;
		return 0;
	}
	if (state == ESCAPE_BEGUN && (ch == '[' || ch == 'O')) {
		e->escape = ESCAPE_PARAM;
		return 0;
	}
	if (state != ESCAPE_PARAM || ch < ' ')
		return ch;
	if (ch >= '@')
		return key_meaning(ch, e->param);
	e->escape = ESCAPE_PARAM;
	e->param = (u8)(e->param * 10 + (ch & 0xf));
	return 0;
}

static void edit(struct line_editor *e, u8 ch)
{
	switch (ch) {
	case CTRL('A'): move(e, 0); break;
	case CTRL('B'): move(e, e->at - (e->at > 0)); break;
	case CTRL('D'): replace(e, e->at, e->at + (e->at < e->len), "", 0); break;
	case CTRL('E'): move(e, e->len); break;
	case CTRL('F'): move(e, e->at + (e->at < e->len)); break;
	case BACKSPACE:
	case CTRL('H'): replace(e, e->at - (e->at > 0), e->at, "", 0); break;
	case CTRL('K'): replace(e, e->at, e->len, "", 0); break;
	case CTRL('N'):
		if (e->back)
			recall(e, e->back - 1);
		break;
	case CTRL('P'): recall(e, e->back + 1); break;
	case CTRL('U'): replace(e, 0, e->at, "", 0); break;
	case CTRL('W'): replace(e, word_before(e), e->at, "", 0); break;
	case CTRL('I'): insert(e, ' '); break;
	default:
		if (ch >= ' ' && ch < BACKSPACE)
			insert(e, (char)ch);
	}
}

void line_begin(struct line_editor *e)
{
	e->len = e->at = e->back = 0;
	e->text[0] = '\0';
	e->damaged = false;
	e->emit(e->prompt, strlen(e->prompt));
}

enum line_event line_feed(struct line_editor *e, u8 ch)
{
	bool second = e->after_cr && ch == '\n';

	e->after_cr = ch == '\r';
	if (ch == CONSOLE_DAMAGED)
		e->damaged |= e->len != 0;
	ch = decode(e, ch);
	if (ch == CONSOLE_INTERRUPT) {
		e->emit("^C\n", 3);
		return LINE_CANCELLED;
	}
	if (ch != '\r' && ch != '\n') {
		edit(e, ch);
		return LINE_MORE;
	}
	if (second)
		return LINE_MORE;
	e->emit("\n", 1);
	if (e->damaged)
		return LINE_DAMAGED;
	remember(e);
	return LINE_DONE;
}

/* --- Commands ----------------------------------------------------------------------------------- */

const struct monitor_command *monitor_find(const struct monitor_command *table, char *line,
					   char **rest)
{
	const struct monitor_command *found = NULL;
	u32 matches = 0;
	size_t n = 0;

	while (line[n] && line[n] != ' ')
		n++;
	for (*rest = line + n; **rest == ' ';)
		++*rest;
	for (; n && table->name; table++) {
		if (strncmp(table->name, line, n))
			continue;
		if (!table->name[n])
			return table;
		found = table;
		matches++;
	}
	return matches == 1 ? found : NULL;
}
