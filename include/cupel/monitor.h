/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The monitor: what the console does when the command line asks for nothing. Its line editor and the
 * parser of its commands are pure: they print through what they are given and touch nothing else.
 */
#ifndef CUPEL_MONITOR_H
#define CUPEL_MONITOR_H

#include <cupel/types.h>

/* Prompt, read, do, until the machine is switched off. Boot CPU, thread context, interrupts on. */
__noreturn void monitor(void);

/* --- The line editor ---------------------------------------------------------------------------- */

#define LINE_ROOM    256 /* with the NUL */
#define LINE_HISTORY 16 /* the line being edited is one of them */

enum line_event {
	LINE_MORE,
	LINE_DONE, /* text[] is what was typed */
	LINE_CANCELLED, /* by Ctrl-C */
	LINE_DAMAGED, /* characters of it are lost, or it was too long: it is not to be run */
};

/* All zero but for the first two is an empty line with no history. */
struct line_editor {
	/* n characters of the echo; '\n' is CR LF. Moves back by '\b' only, so any terminal will do. */
	void (*emit)(const char *s, size_t n);
	const char *prompt;
	char text[LINE_ROOM]; /* NUL terminated */
	u32 len, at;
	bool damaged;
	bool after_cr;
	u8 escape, param; /* where in an escape sequence, which may come in pieces */
	u32 lines; /* ever kept */
	u32 back; /* how many lines ago is what is shown; 0 = the line being typed */
	char history[LINE_HISTORY][LINE_ROOM];
};

/* An empty line behind a prompt: first, and after every event but LINE_MORE. */
void line_begin(struct line_editor *e);
/* A byte from the terminal, whatever it is. */
enum line_event line_feed(struct line_editor *e, u8 ch);

/* --- Commands ----------------------------------------------------------------------------------- */

struct monitor_command {
	const char *name; /* NULL ends a table */
	const char *help; /* "words - what it does" */
	void (*run)(char *rest); /* what follows the command's name, without blanks before it */
};

/*
 * The command that a line begins with, by name or by a beginning that only one has; NULL: none, or several.
 * No blanks before it. *rest is what follows; the line is not changed.
 */
const struct monitor_command *monitor_find(const struct monitor_command *table, char *line,
					   char **rest);

/* --- What the commands show (monitor_show.c) ------------------------------------------------------ */

struct vm;
void show_machine(char *rest);
void show_memory(char *rest);
void show_counters(char *rest);
void show_regs(char *rest);

#endif
