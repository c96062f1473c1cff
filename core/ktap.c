/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KTAP version 1 (Documentation/dev-tools/ktap.rst): one line a result, numbered without gaps from
 * whatever CPU it comes. What a guest says is text, never a directive.
 */
#include <cupel/ktap.h>
#include <cupel/lock.h>
#include <cupel/printk.h>

#include "core.h"

/* Guards the counters, and keeps each result beside its diagnostics. Printing nests inside. */
static spinlock_t ktap_lock = SPINLOCK_INIT("ktap");
static unsigned int results, failures, planned;

void ktap_begin(unsigned int plan)
{
	unsigned long flags;

	spin_lock_irqsave(&ktap_lock, flags);
	results = 0;
	failures = 0;
	planned = plan;
	spin_unlock_irqrestore(&ktap_lock, flags);
	printk("KTAP version 1\n");
	if (plan)
		printk("1..%u\n", plan);
}

/* '#' would begin a directive. */
static void escape(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 2 < size; from++) {
		if (*from == '#' || *from == '\\')
			to[n++] = '\\';
		to[n++] = *from >= ' ' ? *from : '?';
	}
	to[n] = '\0';
}

void ktap_result(bool ok, const char *name, const char *diag)
{
	char text[256];
	unsigned long flags;

	escape(text, sizeof(text), name);
	spin_lock_irqsave(&ktap_lock, flags);
	results++;
	failures += !ok;
	if (diag && *diag)
		printk("# %s\n", diag);
	printk("%s %u %s\n", ok ? "ok" : "not ok", results, text);
	spin_unlock_irqrestore(&ktap_lock, flags);
}

void ktap_skip(const char *name, const char *reason)
{
	unsigned long flags;

	spin_lock_irqsave(&ktap_lock, flags);
	results++;
	printk("ok %u %s # SKIP %s\n", results, name, reason);
	spin_unlock_irqrestore(&ktap_lock, flags);
}

int ktap_end(void)
{
	if (!planned)
		printk("1..%u\n", results);
	return (int)failures;
}
