/* SPDX-License-Identifier: GPL-2.0-only */
/* The weak machine of weak.h. Plain memory always holds the newest value of each word. */
#include "host.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "weak.h"

#define WORDS	  64
#define STORES	  512
#define STACK	  (256 << 10)
#define RANGES	  16
#define SWITCH	  3 /* one access in so many is followed by another CPU's */
#define INTERRUPT 6

/* Of each word, the number of a store. */
struct view {
	u16 at[WORDS];
};

struct store {
	u64 value;
	struct view view;
};

struct word {
	const void *p;
	u32 stores;
	struct store store[STORES];
};

struct cpu {
	ucontext_t context;
	char *stack;
	void (*fn)(void *arg);
	void *arg;
	bool runs;
	void (*irq)(void *arg);
	void *irq_arg;
	u32 irqs_left;
	bool in_irq;
	struct view now; /* what it must not read before */
	struct view taken; /* views of stores it has read, for its next acquire fence */
	struct view released; /* its view at its last release fence */
};

static struct word words[WORDS];
static u32 nr_words;
static struct {
	const char *from, *to;
} ranges[RANGES];
static u32 nr_ranges;

static struct cpu cpus[WEAK_CPUS];
static struct cpu *self; /* NULL: the test itself */
static ucontext_t main_context;
static struct view full; /* left by full fences */
static u64 seed, left;

u64 weak_random(u64 n)
{
	return host_random(&seed) % n;
}

u32 weak_cpu(void)
{
	return self ? (u32)(self - cpus) : 0;
}

/* --- Views -------------------------------------------------------------------------------------- */

static void join(struct view *into, const struct view *from)
{
	for (u32 i = 0; i < nr_words; i++)
		into->at[i] = max(into->at[i], from->at[i]);
}

static u64 read_plain(const void *p, u32 size)
{
	u64 value = 0;

	memcpy(&value, p, size);
	return value;
}

/* NULL for a word that is not the machine's, or outside a run. */
static struct word *find_word(const void *p, u32 size)
{
	struct word *w;
	u32 i;

	for (w = words; w < words + nr_words; w++) {
		if (w->p == p)
			return w;
	}
	for (i = 0; i < nr_ranges; i++) {
		if ((const char *)p >= ranges[i].from && (const char *)p < ranges[i].to)
			break;
	}
	if (i == nr_ranges)
		return NULL;
	if (nr_words == WORDS)
		abort();
	nr_words++;
	w->p = p;
	w->stores = 1;
	w->store[0].value = read_plain(p, size);
	memset(&w->store[0].view, 0, sizeof(w->store[0].view));
	return w;
}

/* --- Turns -------------------------------------------------------------------------------------- */

static bool any_runs(void)
{
	for (u32 i = 0; i < WEAK_CPUS; i++) {
		if (cpus[i].runs)
			return true;
	}
	return false;
}

static void turn_to_another(void)
{
	struct cpu *from = self;
	u32 i = (u32)weak_random(WEAK_CPUS);

	while (!cpus[i].runs)
		i = (i + 1) % WEAK_CPUS;
	if (&cpus[i] == from)
		return;
	self = &cpus[i];
	swapcontext(&from->context, &self->context);
}

static void give_up(void)
{
	struct cpu *from = self;

	self = NULL;
	swapcontext(&from->context, &main_context);
}

static void maybe_interrupt(void)
{
	struct cpu *c = self;

	if (!c->irqs_left || c->in_irq || weak_random(INTERRUPT))
		return;
	c->irqs_left--;
	c->in_irq = true;
	c->irq(c->irq_arg);
	c->in_irq = false;
}

/* Before every access. */
static void step(void)
{
	if (!self)
		return;
	if (!left)
		give_up();
	left--;
	if (!weak_random(SWITCH))
		turn_to_another();
	maybe_interrupt();
}

void weak_relax(void)
{
	if (!self)
		return;
	if (!left)
		give_up();
	left--;
	turn_to_another();
	maybe_interrupt();
}

/* --- Accesses ----------------------------------------------------------------------------------- */

/* The newest half of the time, so that whoever waits for a store sees it. */
static u32 choose_store(const struct word *w, u32 oldest)
{
	u32 newest = w->stores - 1;

	return weak_random(2) ? newest : oldest + (u32)weak_random(newest - oldest + 1);
}

static void take_view(const struct store *s, enum weak_order order)
{
	join(&self->taken, &s->view);
	if (order & WEAK_ACQUIRE)
		join(&self->now, &s->view);
}

u64 weak_load(const void *p, u32 size, enum weak_order order)
{
	struct word *w;
	u32 n, at;

	step();
	w = find_word(p, size);
	if (!w || !self)
		return read_plain(p, size);
	n = (u32)(w - words);
	at = choose_store(w, self->now.at[n]);
	self->now.at[n] = (u16)at;
	take_view(&w->store[at], order);
	return w->store[at].value;
}

static void append(struct word *w, void *p, u32 size, u64 value, enum weak_order order,
		   const struct view *also)
{
	u32 n = (u32)(w - words);
	struct store *s;

	if (w->stores == STORES)
		abort();
	s = &w->store[w->stores];
	self->now.at[n] = (u16)w->stores++;
	s->value = value;
	s->view = order & WEAK_RELEASE ? self->now : self->released;
	s->view.at[n] = self->now.at[n];
	if (also)
		join(&s->view, also);
	memcpy(p, &value, size);
}

void weak_store(void *p, u32 size, u64 value, enum weak_order order)
{
	struct word *w;

	step();
	w = find_word(p, size);
	if (w && self)
		append(w, p, size, value, order, NULL);
	else
		memcpy(p, &value, size);
}

static u64 apply(enum weak_op op, u64 old, u64 value)
{
	switch (op) {
	case WEAK_ADD: return old + value;
	case WEAK_OR: return old | value;
	case WEAK_AND: return old & value;
	default: return value;
	}
}

static void fence(enum weak_order order)
{
	if (order & WEAK_ACQUIRE)
		join(&self->now, &self->taken);
	if (order == WEAK_FULL) {
		join(&self->now, &full);
		full = self->now;
	}
	if (order & WEAK_RELEASE)
		self->released = self->now;
}

static u64 rmw_now(void *p, u32 size, enum weak_op op, u64 value, enum weak_order order)
{
	struct word *w = find_word(p, size);
	u64 old = read_plain(p, size);
	const struct store *s;

	value = apply(op, old, value);
	if (!w || !self) {
		memcpy(p, &value, size);
		return old;
	}
	if (order == WEAK_FULL)
		fence(WEAK_FULL);
	s = &w->store[w->stores - 1];
	self->now.at[w - words] = (u16)(w->stores - 1);
	take_view(s, order);
	append(w, p, size, value, order, &s->view);
	if (order == WEAK_FULL)
		fence(WEAK_FULL);
	return old;
}

u64 weak_rmw(void *p, u32 size, enum weak_op op, u64 value, enum weak_order order)
{
	step();
	return rmw_now(p, size, op, value, order);
}

void weak_local_inc(void *p, u32 size)
{
	struct word *w;
	u64 old;

	step();
	w = find_word(p, size);
	old = read_plain(p, size);
	if (w && self) {
		if (!weak_random(SWITCH))
			turn_to_another();
		append(w, p, size, old + 1, WEAK_RELAXED, NULL);
	} else {
		old++;
		memcpy(p, &old, size);
	}
}

bool weak_cmpxchg(void *p, u32 size, u64 expected, u64 value)
{
	step();
	if (read_plain(p, size) != expected)
		return false;
	rmw_now(p, size, WEAK_SET, value, WEAK_ACQUIRE);
	return true;
}

void weak_fence(enum weak_order order)
{
	step();
	if (self)
		fence(order);
}

/* --- Runs --------------------------------------------------------------------------------------- */

void weak_watch(const void *p, size_t size)
{
	if (nr_ranges == RANGES)
		abort();
	ranges[nr_ranges].from = p;
	ranges[nr_ranges++].to = (const char *)p + size;
}

void weak_was(const void *p, u32 size, u64 before)
{
	struct word *w = find_word(p, size);

	w->store[1] = w->store[0];
	w->store[0].value = before;
	w->stores = 2;
}

void weak_reset(u64 new_seed)
{
	/* xorshift wants no zero, and near seeds to be far apart. */
	seed = new_seed * 0x9e3779b97f4a7c15UL | 1;
	nr_words = nr_ranges = 0;
	memset(&full, 0, sizeof(full));
	for (u32 i = 0; i < WEAK_CPUS; i++) {
		char *stack = cpus[i].stack ? cpus[i].stack : malloc(STACK);

		memset(&cpus[i], 0, sizeof(cpus[i]));
		cpus[i].stack = stack;
	}
}

static void program(void)
{
	self->fn(self->arg);
	self->runs = false;
	if (any_runs())
		turn_to_another();
	give_up();
}

void weak_cpu_runs(u32 cpu, void (*fn)(void *arg), void *arg)
{
	struct cpu *c = &cpus[cpu];

	c->fn = fn;
	c->arg = arg;
	c->runs = true;
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK;
	makecontext(&c->context, program, 0);
}

void weak_interrupts(u32 cpu, void (*fn)(void *arg), void *arg, u32 times)
{
	cpus[cpu].irq = fn;
	cpus[cpu].irq_arg = arg;
	cpus[cpu].irqs_left = times;
}

bool weak_run(u64 limit)
{
	u32 i = (u32)weak_random(WEAK_CPUS);

	left = limit;
	while (!cpus[i].runs)
		i = (i + 1) % WEAK_CPUS;
	self = &cpus[i];
	swapcontext(&main_context, &self->context);
	self = NULL;
	return !any_runs();
}
