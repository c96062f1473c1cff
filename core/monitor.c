/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The monitor: reads lines from the console and does what they say, as the command line would have had
 * it done. It only uses what other rooms export, and while something runs it stays out of its way: a
 * VM's console is looked at once in a millisecond, an experiment's between its rounds.
 */
#include <cupel/arch.h>
#include <cupel/bench.h>
#include <cupel/clock.h>
#include <cupel/config.h>
#include <cupel/monitor.h>
#include <cupel/printk.h>
#include <cupel/sched.h>
#include <cupel/vm.h>
#include <string.h>

#include "core.h"

#define PROMPT "cupel> "
/* At 115200 baud the 16 bytes of a 16550 are full after 1.4 ms. */
#define POLL_NS 1000000

static struct line_editor editor; /* filled in by monitor(): with its history, too large for the image */
static int last_code; /* of the last run: what the machine ends with */

/* --- Running ------------------------------------------------------------------------------------ */

static const char *words; /* of the line that was added to boot's */

static bool refuse_late_word(const char *key, const char *value, void *arg)
{
	bool *refused = arg;

	if (key < words || key >= words + LINE_ROOM || !cmdline_is_for_boot(key))
		return true;
	printk("%s: is read at boot only: nothing is run\n", key);
	*refused = true;
	return false;
}

/* A line of words as at boot. False: there is nothing to run in it. */
static bool run_line(char *line)
{
	const char *why;
	bool refused = false;

	words = line;
	if (cmdline_add(line, &why)) {
		printk("%s: nothing is run\n", why);
		return true;
	}
	cmdline_walk(refuse_late_word, &refused);
	if (!refused && !something_is_asked())
		return false;
	last_code = EXIT_CODE_USAGE;
	if (!refused) {
		warn_of_unknown_words();
		vm_retire(NULL); /* its memory is there for the next, as after boot */
		console_interrupted(); /* what was typed before this line is no wish to end it */
		last_code = run_what_is_asked();
	}
	printk("ended with code %d\n", last_code);
	return true;
}

/* The first of the words has a key of its own at boot. */
static void run_as(const char *key, const char *rest)
{
	static char line[LINE_ROOM + 8];

	snprintf(line, sizeof(line), "%s=%s", key, rest);
	run_line(line);
}

static void run_bench(char *rest)
{
	if (*rest) {
		run_as("bench", rest);
		return;
	}
	printk("run what? There are:\n");
	list_experiments();
}

static void run_vm(char *rest)
{
	run_as("vm", rest);
}

/* --- Other commands ------------------------------------------------------------------------------- */

static void list(char *rest)
{
	const struct experiment *e = find_experiment(rest);

	if (!e) {
		if (*rest)
			printk("%s: no experiment of that name; there are:\n", rest);
		list_experiments();
		vmrun_list();
		return;
	}
	printk("%s - %s\n", e->name, e->help);
	for (u32 i = 0; e->keys[i]; i++)
		printk("  %s\n", e->keys[i]);
}

static void reboot(char *rest)
{
	arch_machine_reboot();
}

static void power_off(char *rest)
{
	arch_machine_exit(last_code);
}

static void help(char *rest);

static const struct monitor_command commands[] = {
	{ "help", "- this text; a command's first letters will do", help },
	{ "list", "[EXPERIMENT] - what there is to run, or an experiment's words", list },
	{ "run", "EXPERIMENT [words] - as bench=EXPERIMENT at boot", run_bench },
	{ "vm", "[A,B+C] [words] - run VMs as vm=A,B+C at boot; none named: all", run_vm },
	{ "machine", "- firmware, CPUs, clock", show_machine },
	{ "memory", "- who has what", show_memory },
	{ "counters", "[on|off|clear] - interrupts, SRCU, locks (while on), the last VM's exits",
	  show_counters },
	{ "regs", "[VCPU] - counters and registers of the last VM that ran", show_regs },
	{ "reboot", "- reset the machine", reboot },
	{ "poweroff", "- end it, with the code of the last run", power_off },
	{ NULL },
};

static void help(char *rest)
{
	for (const struct monitor_command *c = commands; c->name; c++)
		printk("  %s %s\n", c->name, c->help);
	printk("Also a line of words as at boot: selftest, torture=…, bench=…, vm=…. Ctrl-C ends a run\n"
	       "at its next round. Keys: arrows, Home, End, Delete, Ctrl-A E B F D K U W P N.\n");
}

/* --- Reading ------------------------------------------------------------------------------------ */

static void execute(char *line)
{
	char *rest;
	const struct monitor_command *c;

	while (*line == ' ')
		line++;
	c = monitor_find(commands, line, &rest);
	if (c && *rest && c->help[0] == '-')
		printk("%s: takes no words: nothing is done\n", c->name);
	else if (c)
		c->run(rest);
	else if (*line && !run_line(line))
		printk("no such command, or several begin so, and nothing to run: try help\n");
}

/* Nothing but a reason to look. */
static void wake_up(struct soft_timer *t)
{
}

static struct soft_timer poll = { .fn = wake_up };
static int typed;

/* Asked more than once: what has come stays until it is used. */
static bool poll_input(void *arg)
{
	if (!poll.armed)
		soft_timer_arm(&poll, arch_counter() + ns_to_ticks(POLL_NS));
	if (typed < 0)
		typed = console_getc();
	return typed >= 0;
}

static bool never(void *arg)
{
	return false;
}

static void obey(enum line_event e)
{
	if (e == LINE_DONE)
		execute(editor.text);
	else if (e == LINE_DAMAGED)
		printk("too long, or characters were lost: nothing is run\n");
	line_begin(&editor);
}

void monitor(void)
{
	u64 up;

	cmdline_forget_unknown();
	if (!console_input_begin()) {
		printk("monitor: no console of this machine can be read: name a vm, bench or selftest at boot\n");
		sched_loop_until(never, NULL);
	}
	up = ticks_to_ns(arch_counter() - arch_boot_counter());
	printk("the monitor, %lu.%06lu ms after the first instruction: type help\n", up / 1000000,
	       up % 1000000);
	editor.emit = console_write;
	editor.prompt = PROMPT;
	line_begin(&editor);
	for (;;) {
		enum line_event e;

		typed = -1;
		sched_loop_until(poll_input, NULL);
		e = line_feed(&editor, (u8)typed);
		if (e != LINE_MORE)
			obey(e);
	}
}
