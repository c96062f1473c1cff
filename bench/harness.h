/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the experiments share: reading their words, going through rounds, printing tables and
 * records. Nothing here knows what an experiment measures.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <cupel/archive.h>
#include <cupel/bench.h>
#include <cupel/types.h>
#include <cupel/vm.h>

/* --- Words of the command line ---------------------------------------------------------------- */

/* Every word of the line is either general or one of e->keys; else one line and -EINVAL. */
int bench_check_words(const struct experiment *e);
/* A number in [low, high]; `fallback` where the key is absent. */
int bench_number(const char *key, u64 low, u64 high, u64 fallback, u64 *out);
/* A list of numbers in [1, high], ascending order not required; *nr = 0 where the key is absent. */
int bench_numbers(const char *key, u32 high, u32 *list, u32 room, u32 *nr);
/* "a", "b,a": indices into names[] in the order given; all of fallback[] where the key is absent. */
#define BENCH_MAX_CHOICES 8
struct bench_choice {
	u32 pick[BENCH_MAX_CHOICES];
	u32 nr;
};
int bench_words(const char *key, const char *const *names, const char *fallback,
		struct bench_choice *out);

/* --- Sweeps and rounds ------------------------------------------------------------------------ */

/* Fill with 1, 2, 4, … below `last`, and `last` itself; returns how many. */
u32 bench_powers(u32 last, u32 *list, u32 room);

/*
 * Call fn for round 0..rounds-1 of each variant in turn: A B A B. Before them one warm-up turn with
 * round = BENCH_WARMUP, whose results the caller throws away. Stops at the first failure, and with
 * -EINTR between turns when somebody at the monitor wants it.
 */
#define BENCH_WARMUP (~0U)
int bench_interleave(u32 rounds, u32 variants, int (*fn)(void *ctx, u32 variant, u32 round),
		     void *ctx);

/* "name: … row i/n what", so that a long run shows where it is; n = 0 where it is not known. */
void bench_progress(const char *bench, u32 i, u32 n, const char *what);

/*
 * What each round of a variant gave. Even and odd rounds are two runs of the same thing, taken turn
 * by turn: A and A of the A/A run. Medians, so that one round that the host disturbed shows in the
 * histogram and not in the figure.
 */
#define BENCH_MAX_ROUNDS 200
struct bench_rounds {
	u64 value[2][BENCH_MAX_ROUNDS / 2];
	u32 nr[2];
};
void bench_rounds_add(struct bench_rounds *r, u32 round, u64 value);
u64 bench_rounds_half(const struct bench_rounds *r, u32 odd);
u64 bench_rounds_median(const struct bench_rounds *r);
/* The larger half over the smaller, x 1000; 0 if either is 0. */
u64 bench_rounds_noise(const struct bench_rounds *r);
/* value * mul / div without a wrap on the way; div = 0 gives 0. */
u64 bench_scale(u64 value, u64 mul, u64 div);

/*
 * Whether a tick is an instruction: the line says icount, where the emulator's clock advances a
 * nanosecond an instruction, and the counter runs at 1 GHz, give or take what calibration is worth.
 */
bool bench_counts_instructions(void);
/* "instructions" or "ticks". */
const char *bench_tick_unit(void);

/* --- Running something on many CPUs at once ---------------------------------------------------- */

struct bench_gang {
	u32 cpus; /* the first so many online CPUs */
	void (*fn)(u32 member, void *ctx); /* called on each, all starting together, interrupts on */
	void *ctx;
};
/* Returns when every member is done. -errno when a CPU cannot be called. Boot CPU only. */
int bench_gang_run(struct bench_gang *g);
/* For a member: the counter as the first of the gang to ask found it, so that all end together. */
u64 bench_gang_start(void);
/* Logical CPU of member i. */
u32 bench_gang_cpu(u32 member);

/* What a member did in the round. An experiment's own seat begins with it. */
struct bench_seat {
	u64 ops; /* operations done */
	u64 end; /* the counter after the last one */
	struct hist hist; /* ticks of one, or of a batch */
} __cacheline_aligned;

/* Empty seats of `size` bytes for so many members. -ENOMEM after one line. Boot CPU, between rounds. */
int bench_seats(const char *bench, u32 members, size_t size);
void *bench_seat(u32 member);
/* Over the first so many: operations; operations/s from the first start to the last end; all ticks. */
u64 bench_seats_ops(u32 members);
u64 bench_seats_rate(u32 members);
void bench_seats_merge(struct hist *into, u32 members);

/* --- Guests ------------------------------------------------------------------------------------ */

/* Defaults for a VM of guest NAME.elf; the caller then sets what it varies. */
void bench_vm_config(struct vm_config *c, const char *guest, u32 vcpus, const char *cmdline);
/* Make it; one line and NULL when that fails. */
struct vm *bench_vm(const char *bench, const struct vm_config *c);
/*
 * Start it and take turns with its vCPUs until each has handed over a sample, by which it says that
 * its start-up is over; then take them off the queues, for a caller that loads, runs and puts them
 * itself. -EIO and one line when the VM stops before.
 */
int bench_vm_start_up(const char *bench, struct vm *vm);
/* Stop it if it still runs, take its vCPUs off their queues, and free it. NULL is fine. */
void bench_vm_destroy(struct vm *vm);
/*
 * Start `nr` VMs and take turns with their vCPUs until all have stopped; on_stop is taken. -EIO and
 * one line for each that failed.
 */
int bench_vm_run(const char *bench, struct vm **vms, u32 nr);

/* One that is never started: memory, and page caches of this kind. One line and NULL on failure. */
struct vm *bench_idle_vm(const char *bench, enum gpc_kind kind, u32 vcpus);
/* Guest address of its n-th page, counted from the end of its memory. */
gpaddr_t bench_idle_page(const struct vm *vm, u32 n);

/* --- Tables for people -------------------------------------------------------------------------- */

#define TABLE_COLUMNS 14
#define TABLE_CELLS   1024
#define TABLE_TEXT    16384
struct table {
	const char *title;
	u32 columns, cells, used;
	u16 at[TABLE_CELLS]; /* where in text[] a cell begins */
	char text[TABLE_TEXT];
};
void table_begin(struct table *t, const char *title, const char *const *heads);
/* Append a cell; a table that is full drops what comes after and says so when printed. */
void table_cell(struct table *t, const char *fmt, ...) __printf(2, 3);
/* num / den with three decimals. */
void table_cell_ratio(struct table *t, u64 num, u64 den);
void table_print(const struct table *t);

/* --- Records ------------------------------------------------------------------------------------ */

/* What describes every record of a run, and comes from the machine. */
struct record_origin {
	const char *arch, *machine, *cpu, *firmware;
	u32 cpus;
	const char *build, *compiler, *flags;
	const char *clock, *clock_source;
	u64 clock_hz;
};
/* As snprintf(): returns the length it has or would have. Only the JSON, no markers. */
size_t record_format(const struct record *r, const struct record_origin *o, char *buf, size_t size);

#endif
