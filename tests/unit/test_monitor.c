/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The monitor's line editor, seen as a terminal sees it: what it echoes is drawn on a line, and must be what
 * it holds. The parser of commands; and what the console does with input.
 */
#include "host.h"

#include <stdio.h>
#include <string.h>

#include <cupel/bench.h>
#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/monitor.h>
#include <cupel/printk.h>
#include <unistd.h>

#define UP    "\033[A"
#define DOWN  "\033[B"
#define RIGHT "\033[C"
#define LEFT  "\033[D"
#define HOME  "\033[1~"
#define END   "\033OF"
#define DEL   "\033[3~"

/* --- A terminal --------------------------------------------------------------------------------- */

static struct line_editor editor;
static char screen[2 * LINE_ROOM];
static u32 column, bells;

static void draw(const char *s, size_t n)
{
	for (; n; n--, s++) {
		if (*s == '\n') {
			column = 0;
			memset(screen, 0, sizeof(screen));
		} else if (*s == '\b') {
			assert_true(column > 0);
			column--;
		} else if (*s == '\a') {
			bells++;
		} else {
			assert_true(*s >= ' ' || *s == '^');
			assert_true(column < sizeof(screen) - 1);
			screen[column++] = *s;
		}
	}
}

static int fresh(void **state)
{
	memset(&editor, 0, sizeof(editor));
	memset(screen, 0, sizeof(screen));
	column = bells = 0;
	editor.emit = draw;
	editor.prompt = "> ";
	line_begin(&editor);
	return 0;
}

/* The screen shows prompt and line, the cursor is where the editor says; blanks behind are rubbed out. */
static void check_screen(void)
{
	size_t n = strlen(screen);

	assert_memory_equal(screen, "> ", 2);
	assert_memory_equal(screen + 2, editor.text, editor.len);
	assert_int_equal(column, 2 + editor.at);
	while (n > 2 + editor.len)
		assert_int_equal(screen[--n], ' ');
}

static enum line_event type(const char *keys)
{
	enum line_event e = LINE_MORE;

	for (; *keys; keys++) {
		assert_int_equal(e, LINE_MORE);
		e = line_feed(&editor, (u8)*keys);
		if (e == LINE_MORE)
			check_screen();
	}
	return e;
}

static void typed(const char *keys, const char *want)
{
	assert_int_equal(type(keys), LINE_MORE);
	assert_string_equal(editor.text, want);
}

static void entered(const char *keys, const char *want)
{
	assert_int_equal(type(keys), LINE_DONE);
	assert_string_equal(editor.text, want);
	line_begin(&editor);
}

/* --- Editing ------------------------------------------------------------------------------------ */

static void every_key(void **state)
{
	typed("run exist", "run exist");
	typed("\b\177ts", "run exits");
	typed("\001vm \005!", "vm run exits!");
	typed("\002\002\027", "vm run s!");
	typed("\001\006\006\013", "vm");
	typed(" hello\002\002\025", "lo");
	typed(RIGHT LEFT LEFT "he" RIGHT, "helo");
	typed("l", "hello");
	typed(HOME DEL "\004" END LEFT DEL, "ll");
	typed("\033[H1\033[F2\033[4~3\033[7~4\033[8~5\033OH6", "641ll235");
	typed("\t.", "6 .41ll235");
	entered("\r", "6 .41ll235");
}

static void keys_at_the_ends_do_nothing(void **state)
{
	typed("\b\177\004\013\025\027\002\006" LEFT RIGHT DEL UP DOWN "\016\020", "");
	typed("ab\006" RIGHT DEL "\004" END, "ab");
	typed("\001\002" LEFT "\b\025\027", "ab");
}

static void words(void **state)
{
	typed("one  two\027", "one  ");
	typed("\027", "");
	typed("one two  \027\027x", "x");
}

static void ends_of_lines(void **state)
{
	entered("a\r", "a");
	typed("\n", "");
	entered("b\n", "b");
	entered("\n", "");
	entered("\r", "");
	typed("\n", "");
	entered("c\r", "c");
	entered("\nd\n", "d");
}

static void sequences_in_pieces_and_broken_ones(void **state)
{
	typed("ab\033", "ab");
	typed("[", "ab");
	typed("D", "ab");
	typed("x", "axb");
	typed("\033[1;5Cy", "axby"); /* with a modifier: the key itself */
	typed("\033[200~\033[3;5~\033[Z\033OP\033[999999999999H", "axby"); /* keys that we don't have */
	typed("z", "zaxby");
	typed("\033\033[Fq", "zaxbyq");
	typed("\033r", "zaxbyqr"); /* a lone escape takes nothing with it */
	entered("\033[\r", "zaxbyqr"); /* nor does a line's end belong to a sequence */
	typed("\033[3\025a", "a");
}

static void noise(void **state)
{
	char all[256];
	u32 n = 0;

	for (u32 ch = 1; ch < 256; ch++) {
		if (ch < ' ' &&
		    strchr("\001\002\003\004\005\006\b\t\n\013\r\016\020\025\027\033", (int)ch))
			continue;
		if ((ch < ' ' || ch >= 0x80) && ch != CONSOLE_DAMAGED)
			all[n++] = (char)ch;
	}
	all[n] = '\0';
	typed("vm", "vm");
	typed(all, "vm");
	assert_int_equal(line_feed(&editor, 0), LINE_MORE);
	entered("\r", "vm");
}

static void interrupt(void **state)
{
	assert_int_equal(type("run x\003"), LINE_CANCELLED);
	line_begin(&editor);
	typed(UP, "");
	typed("\033[\002", "");
	assert_int_equal(type("\033\003"), LINE_CANCELLED);
}

/* --- What must not be run ------------------------------------------------------------------------ */

static void too_long(void **state)
{
	char line[LINE_ROOM];

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	typed(line, line);
	typed("yyyy", line);
	assert_int_equal(bells, 1);
	assert_int_equal(type("\r"), LINE_DAMAGED);
	line_begin(&editor);
	typed(UP, ""); /* nothing that is not run is remembered */
	entered("ok\r", "ok");
	typed(line, line);
	typed("y\001y\005\b", line + 1);
	assert_int_equal(type("\r"), LINE_DAMAGED); /* what did not fit is still missing */
	line_begin(&editor);
	typed(line, line);
	typed("y\025", "");
	entered("again\r", "again");
	typed(line, line);
	typed("y" UP, "again");
	entered("\r", "again");
}

static void damaged(void **state)
{
	typed("\377\377", "");
	entered("vm hello\r", "vm hello");
	typed("vm \377hello", "vm hello");
	assert_int_equal(type("\r"), LINE_DAMAGED);
	line_begin(&editor);
	typed("vm\377 a\027\027", "");
	entered("vm b\r", "vm b");
}

/* --- History ------------------------------------------------------------------------------------- */

static void history(void **state)
{
	typed(UP, "");
	entered("one\r", "one");
	entered("two\r", "two");
	entered("two\r", "two"); /* once */
	entered("\r", "");
	typed("th" UP, "two");
	typed(UP, "one");
	typed(UP, "one");
	typed(DOWN DOWN, "th");
	typed(DOWN "\016", "th");
	typed("\020\020+", "one+");
	typed(DOWN UP, "one"); /* what was changed there stays as it was */
	entered("\r", "one");
	typed(UP UP, "two");
}

static void history_is_bounded(void **state)
{
	char line[16], want[16];

	for (u32 i = 0; i < 3 * LINE_HISTORY; i++) {
		snprintf(line, sizeof(line), "line %u\r", i);
		snprintf(want, sizeof(want), "line %u", i);
		entered(line, want);
	}
	typed("now", "now");
	for (u32 i = 1; i < LINE_HISTORY; i++) {
		snprintf(want, sizeof(want), "line %u", 3 * LINE_HISTORY - i);
		typed(UP, want);
	}
	typed(UP, want);
	for (u32 i = 1; i < LINE_HISTORY; i++)
		typed(DOWN,
		      i == LINE_HISTORY - 1 ?
			      "now" :
			      editor.history[(editor.lines - LINE_HISTORY + 1 + i) % LINE_HISTORY]);
}

/* Any bytes at all: the screen stays true, and a line that comes out is NUL terminated. */
static void storm(void **state)
{
	static const char keys[] =
		"\001\002\004\005\006\b\t\013\016\020\025\027\033\033\033[[[ABCDHF~1347;O \177";
	u64 random = 7;

	for (u32 i = 0; i < 300000; i++) {
		u64 r = host_random(&random);
		u8 ch = r & 7 ? (u8)keys[(r >> 8) % (sizeof(keys) - 1)] : (u8)(r >> 16);
		enum line_event e = line_feed(&editor, ch);

		if (e == LINE_MORE) {
			check_screen();
		} else {
			assert_int_equal(strlen(editor.text), editor.len);
			line_begin(&editor);
		}
	}
}

/* --- Commands ------------------------------------------------------------------------------------ */

static void nothing(char *rest)
{
}

static const struct monitor_command table[] = {
	{ "run", "", nothing },
	{ "regs", "", nothing },
	{ "reboot", "", nothing },
	{ "re", "", nothing },
	{ NULL },
};

static void finds(const char *text, int which, const char *rest_wanted)
{
	char line[64], *rest;

	snprintf(line, sizeof(line), "%s", text);
	assert_ptr_equal(monitor_find(table, line, &rest), which < 0 ? NULL : &table[which]);
	assert_string_equal(rest, rest_wanted);
	assert_string_equal(line, text);
}

static void commands(void **state)
{
	finds("run", 0, "");
	finds("run  exits a=1 ", 0, "exits a=1 ");
	finds("ru x", 0, "x");
	finds("reb", 2, "");
	finds("re 1", 3, "1"); /* a whole name wins */
	finds("r", -1, "");
	finds("runs", -1, "");
	finds("run=x", -1, "");
	finds("", -1, "");
	finds(" ", -1, "");
}

/* --- Words of a line beside those of boot --------------------------------------------------------- */

static bool count_word(const char *key, const char *value, void *arg)
{
	++*(u32 *)arg;
	return true;
}

static u32 word_count(void)
{
	u32 n = 0;

	cmdline_walk(count_word, &n);
	return n;
}

static void words_of_a_line(void **state)
{
	char boot[] = "board=b odd=1 seed=2 lockstat";
	char first[] = "bench=x seed=3 rounds=\"4 5\"", second[] = "vm", bad[] = "vm=a \"b";
	char many[256];
	const char *why = NULL;

	assert_int_equal(cmdline_parse(boot, &why), 0);
	assert_int_equal(word_count(), 4);
	cmdline_forget_unknown();
	assert_int_equal(word_count(), 3);
	assert_null(cmdline_get("odd"));
	assert_int_equal(cmdline_add(first, &why), 0);
	assert_string_equal(cmdline_get("rounds"), "4 5");
	assert_string_equal(cmdline_get("seed"), "3");
	assert_string_equal(cmdline_get("board"), "b");
	assert_int_equal(cmdline_add(second, &why), 0);
	assert_string_equal(cmdline_get("vm"), "");
	assert_null(cmdline_get("bench"));
	assert_string_equal(cmdline_get("seed"), "2");
	assert_true(cmdline_add(bad, &why) < 0);
	assert_string_equal(why, "unclosed quote");
	assert_null(cmdline_get("vm"));
	assert_int_equal(word_count(), 3);
	assert_null(cmdline_error());
	memset(many, 'a', sizeof(many));
	for (u32 i = 1; i < sizeof(many); i += 2)
		many[i] = ' ';
	many[sizeof(many) - 1] = '\0';
	assert_true(cmdline_add(many, &why) < 0);
	assert_string_equal(why, "too many words");
	assert_string_equal(cmdline_get("seed"), "2");
}

static void words_of_boot_are_known(void **state)
{
	assert_true(cmdline_is_for_boot("nr_cpus") && cmdline_is_for_boot("host.x"));
	assert_false(cmdline_is_for_boot("vm") || cmdline_is_for_boot("timeout"));
	assert_true(cmdline_is_general("console") && cmdline_is_general("timeout"));
	assert_false(cmdline_is_general("rounds") || cmdline_is_for_boot("rounds"));
}

/* --- The console's input -------------------------------------------------------------------------- */

static const char *uart;
static u32 asked, burst;
static bool polite; /* a line is sent when there is a prompt */
static u64 ragged; /* not 0: keys come at any moment, or just don't */

static int uart_getc(struct console *c)
{
	asked++;
	if (ragged && host_random(&ragged) & 1)
		return -1;
	if (!uart || !*uart || !burst)
		return -1;
	burst--;
	if (polite && *uart == '\r')
		burst = 0;
	return (u8)*uart++;
}

static bool slow;

static void uart_putc(struct console *c, char ch)
{
	burst = slow ? 1 : burst; /* a character comes in while one goes out */
	if (polite && ch == '>')
		burst = ~0U;
}

static struct console serial = { .name = "serial", .putc = uart_putc, .getc = uart_getc };

static void give(const char *s)
{
	uart = s;
	burst = ~0U;
}

static void expect_input(const char *want)
{
	for (; *want; want++)
		assert_int_equal(console_getc(), (u8)*want);
	assert_int_equal(console_getc(), -1);
}

static void input(void **state)
{
	char many[1024];
	int last = 0, n = 0;

	assert_false(console_input_begin()); /* the tests' own console has none */
	console_register(&serial);
	slow = true;
	give("early");
	printk("nobody reads\n");
	assert_false(console_interrupted());
	assert_int_equal(console_getc(), -1);
	assert_int_equal(asked, 0);
	assert_true(console_input_begin() && console_input_on());
	give(uart);
	expect_input("early");
	give("typed while this was printed");
	burst = 0;
	printk("a line that takes as long as what is typed meanwhile\n");
	assert_int_equal(*uart, '\0');
	expect_input("typed while this was printed");
	give("gone\003kept");
	assert_true(console_interrupted());
	assert_false(console_interrupted());
	expect_input("kept");
	give("a\003b");
	expect_input("\003b");
	assert_true(console_interrupted());
	memset(many, 'x', sizeof(many));
	many[sizeof(many) - 1] = '\0';
	give(many);
	for (u32 i = 0; i < sizeof(many); i++)
		console_interrupted();
	for (int ch = console_getc(); ch >= 0; ch = console_getc(), n++)
		last = ch;
	assert_int_equal(last, CONSOLE_DAMAGED);
	assert_int_equal(n, 255);
	give("well again");
	expect_input("well again");
}

/* --- All of it ------------------------------------------------------------------------------------ */

static int toy(void)
{
	const char *size = cmdline_get("size");

	printk("toy: size %s\n", size ? size : "none");
	return size && !strcmp(size, "0") ? -EINVAL : 0;
}

static const char *const toy_keys[] = { "size - how large", NULL };
static const struct experiment toy_experiment = { "toy", "a test's own", toy_keys, toy };
EXPERIMENT(toy_experiment);

static void run_monitor(void *script)
{
	char boot[] = "board=b size=7 vm_ghost";
	const char *why;

	cmdline_parse(boot, &why);
	if (script) {
		console_register(&serial);
		give(script);
		polite = true;
		burst = 0;
	}
	alarm(script ? 60 : 2);
	monitor();
}

static void said(const char *want)
{
	if (!strstr(host_last_words(), want))
		fail_msg("no '%s' in: %s", want, host_last_words());
}

static void a_session(void **state)
{
	static char script[] =
		"help\rlist\r\nlist toy\r\nmachine\rmemory\rcounters\rregs\rregs 0\r"
		"run toy\rrun  toy size=\"3 4\"\rbench=toy size=5\rrun toy size=0\rrun toy \"\r"
		"run toy nr_cpus=1\rrun other\rvm x\rsize=1\rcounters on\rcounters clear\r"
		"counters off\rcounters x\r\r  \rnr_cpus=2\rr\rpoweroff now\rrun\rvm x\rpoweroff\r";

	assert_int_equal(host_dies(run_monitor, script), 1);
	said("toy - a test's own\n");
	said("  size - how large\n");
	said("no VM has run");
	said("toy: size none\nended with code 0\n"); /* boot's own was dropped */
	said("toy: size 3 4\nended with code 0\n");
	said("toy: size 5\nended with code 0\n");
	said("toy: size 0\nended with code 2\n");
	said("unclosed quote: nothing is run\n");
	said("nr_cpus: is read at boot only: nothing is run\nended with code 2\n");
	said("bench=other: no experiment of that name");
	said("ended with code 2\ncupel> vm x\n");
	said("no VMs: there is no archive beside the image\nended with code 1\n");
	said("> size=1\nno such command");
	said("nr_cpus: is read at boot only: nothing is run\nended with code 2\ncupel> r\nno such command, or several");
	said("> poweroff now\npoweroff: takes no words: nothing is done\n");
	said("> run\nrun what? There are:\n  toy");
	said("x: on, off or clear\n");
}

static void no_key_is_lost(void **state)
{
	char script[4096] = "";
	const char *at;
	u32 runs = 0;

	for (u32 i = 0; i < 100; i++)
		strcat(script, "run toy size=123\r");
	strcat(script, "poweroff\r");
	ragged = 3;
	assert_int_equal(host_dies(run_monitor, script), 0);
	ragged = 0;
	for (at = host_last_words(); (at = strstr(at, "toy: size 123\nended with code 0\n")); at++)
		runs++;
	assert_int_equal(runs, 100);
}

static void the_code_is_that_of_the_last_run(void **state)
{
	assert_int_equal(host_dies(run_monitor, "run toy size=0\rrun toy\rnonsense\rpoweroff\r"), 0);
	assert_int_equal(host_dies(run_monitor, "run toy\rrun toy size=0\rpoweroff\r"), 2);
}

/* It is ended by the alarm. */
static void a_console_that_cannot_be_read_is_told(void **state)
{
	assert_int_equal(host_dies(run_monitor, NULL), -1);
	said("monitor: no console of this machine can be read");
	assert_null(strstr(host_last_words(), "> "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_key, fresh),
		cmocka_unit_test_setup(keys_at_the_ends_do_nothing, fresh),
		cmocka_unit_test_setup(words, fresh),
		cmocka_unit_test_setup(ends_of_lines, fresh),
		cmocka_unit_test_setup(sequences_in_pieces_and_broken_ones, fresh),
		cmocka_unit_test_setup(noise, fresh),
		cmocka_unit_test_setup(interrupt, fresh),
		cmocka_unit_test_setup(too_long, fresh),
		cmocka_unit_test_setup(damaged, fresh),
		cmocka_unit_test_setup(history, fresh),
		cmocka_unit_test_setup(history_is_bounded, fresh),
		cmocka_unit_test_setup(storm, fresh),
		cmocka_unit_test(commands),
		cmocka_unit_test(words_of_a_line),
		cmocka_unit_test(words_of_boot_are_known),
		cmocka_unit_test(a_console_that_cannot_be_read_is_told),
		cmocka_unit_test(a_session),
		cmocka_unit_test(the_code_is_that_of_the_last_run),
		cmocka_unit_test(no_key_is_lost),
		cmocka_unit_test(input),
	};

	return cmocka_run_group_tests(tests, host_group_setup, NULL);
}
