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

	for (u32 i = 0; i < nr; i++)
		if (listed(list, ops[i].name))
			sample(&ops[i], i, n);
}
