/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the members of a gang keep what they did in a round: a seat each, on lines that no other member
 * touches. Seats are made by the boot CPU between rounds; during one, each member has its own and nobody
 * looks.
 */
#include "harness.h"

#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <string.h>

static struct bench_seat *seats[NR_CPUS];
static u32 seat_order; /* of each */

static void seats_drop(void)
{
	for (u32 i = 0; i < NR_CPUS; i++) {
		if (seats[i])
			pages_free(seats[i], seat_order);
		seats[i] = NULL;
	}
}

int bench_seats(const char *bench, u32 members, size_t size)
{
	u32 order = size_to_order(size);

	if (order != seat_order)
		seats_drop();
	seat_order = order;
	for (u32 i = 0; i < members; i++) {
		if (!seats[i])
			seats[i] = pages_alloc(order);
		if (!seats[i]) {
			printk("%s: no memory for the histograms of %u CPUs\n", bench, members);
			return -ENOMEM;
		}
		memset(seats[i], 0, size);
	}
	return 0;
}

void *bench_seat(u32 member)
{
	return seats[member];
}

u64 bench_seats_rate(u32 members)
{
	u64 ops = 0, start = bench_gang_start(), end = start;

	for (u32 i = 0; i < members; i++) {
		ops += seats[i]->ops;
		end = max(end, seats[i]->end);
	}
	return bench_scale(ops, arch_counter_hz(), end - start);
}

u64 bench_seats_ops(u32 members)
{
	u64 ops = 0;

	for (u32 i = 0; i < members; i++)
		ops += seats[i]->ops;
	return ops;
}

void bench_seats_merge(struct hist *into, u32 members)
{
	for (u32 i = 0; i < members; i++)
		hist_merge(into, &seats[i]->hist);
}
