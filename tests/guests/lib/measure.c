/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes samples of operations and hands them over. It may not print or make a hypercall while an
 * operation is being sampled.
 */
#include <guest.h>
#include <measure.h>

#define MAX_SAMPLES 4096
#define WARM_UP	    50

static u64 value[MAX_SAMPLES];

/* Is `name` one of the words of a list "a,b,c"? No list: yes. */
static bool listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	if (!list)
		return true;
	while (list) {
		if (!strncmp(list, name, n) && (!list[n] || list[n] == ','))
			return true;
		list = strchr(list, ',');
		list = list ? list + 1 : NULL;
	}
	return false;
}

static bool is_op(const char *name, size_t len, const struct op *ops, u32 nr)
{
	while (nr--)
		if (strlen(ops[nr].name) == len && !strncmp(ops[nr].name, name, len))
			return true;
	return false;
}

/* Every word of the list names an operation; or a line, and those there are. */
static bool all_known(const char *list, const struct op *ops, u32 nr)
{
	while (list && *list) {
		const char *comma = strchr(list, ',');
		size_t len = comma ? (size_t)(comma - list) : strlen(list);

		if (!is_op(list, len, ops, nr)) {
			print("no such op: %.*s; there are:", (int)len, list);
			for (u32 i = 0; i < nr; i++)
				print(" %s", ops[i].name);
			print("\n");
			return false;
		}
		list = comma ? comma + 1 : NULL;
	}
	return true;
}

static void sample(const struct op *op, u32 series, u32 n)
{
	for (u32 i = 0; i < WARM_UP; i++)
		op->once();
	for (u32 i = 0; i < n; i++)
		value[i] = op->once();
	series_name(series, op->name);
	samples(series, value, n);
}

void measure(const struct op *ops, u32 nr)
{
	const char *list = cmdline_get("ops");
	u32 n = min(cmdline_u64("samples", 1000), (u64)MAX_SAMPLES);

	if (!all_known(list, ops, nr))
		return;
	for (u32 i = 0; i < nr; i++)
		if (listed(list, ops[i].name))
			sample(&ops[i], i, n);
}
