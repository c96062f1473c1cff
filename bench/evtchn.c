/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Event channels in parallel: N vCPUs stay in guest mode, N senders raise a port of one each as fast as
 * they can, nothing is acknowledged unless asked for. The ways to guard a page cache take turns on the
 * same path. Nothing but deliveries may happen inside a round; locks and shared atomic operations are
 * counted in a round of their own, since counting is not free.
 */
#include "harness.h"

#include <asm/xen.h>
#include <cupel/arch.h>
#include <cupel/clock.h>
#include <cupel/evtchn.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/rmw.h>
#include <cupel/smp.h>
#include <string.h>

#define BENCH	    "evtchn"
#define MAX_ROWS    24
#define MAX_VCPUS   128
#define INFO_STRIDE 64 /* a vcpu_info on a cache line of its own */

static const char *const layouts[] = { "spread", "packed", NULL };
static const char *const abis[] = { "2l", "fifo", NULL };
static const char *const acks[] = { "none", "sender", NULL };
enum { ABI_2L, ABI_FIFO };
enum { ACK_NONE, ACK_SENDER };

/* One sender's part of a round. Written by that CPU only. */
struct seat {
	struct bench_seat b;
	s64 worst; /* the last result that was an error */
};

static struct seat *seat(u32 member)
{
	return bench_seat(member);
}

/* What a sender raises, and how it is acknowledged. */
struct target {
	struct vcpu *vcpu;
	u32 port;
	u64 *pending; /* word of the port, and what an acknowledgement clears in it */
	u64 bits;
	u32 *ready; /* FIFO: of the control block */
	struct xen_vcpu_info *info;
};

struct side {
	struct vm *vm;
	enum gpc_kind kind;
	struct target target[MAX_VCPUS];
	struct hist hist;
	struct bench_rounds rate; /* deliveries/s of all senders together */
	struct evtchn_counts events;
	struct lock_count locks;
	u64 rmws, counted;
};

struct words {
	struct bench_choice gpc, layout, abi, ack;
	u32 vcpus[MAX_ROWS], nr_vcpus;
	u64 rounds, sends, duration_ms;
};

struct group {
	u32 layout, abi, ack, vcpus;
	struct side *side[NR_GPC_KINDS];
	u32 nr_sides;
};

static struct words words;
static struct group group;
static struct table detail, final;
/* Deliveries/s, for the last table: [row][kind]. */
static u64 result[MAX_ROWS][NR_GPC_KINDS];

/* --- A VM whose vCPUs have a port each ----------------------------------------------------------- */

/* Memory that neither the image nor the loader's tables lie in: below the end of the largest slot. */
static gpaddr_t free_gpa(const struct vm *vm)
{
	const struct mem_slot *best = &vm->slots->slot[0];

	for (u32 i = 1; i < vm->slots->count; i++)
		if (vm->slots->slot[i].size > best->size)
			best = &vm->slots->slot[i];
	return best->gpa + best->size - MIB(2);
}

/* Page n of the area used here: shared_info, vcpu_infos, control blocks, event array. */
enum {
	PAGE_SHARED,
	PAGE_INFO,
	PAGE_CONTROL = PAGE_INFO + 2,
	PAGE_ARRAY = PAGE_CONTROL + MAX_VCPUS
};

static gpaddr_t area(const struct vm *vm, u32 page)
{
	return free_gpa(vm) + page * PAGE_SIZE;
}

static int place_pages(struct vm *vm)
{
	int err = gpc_activate(evtchn_shared_info(vm), area(vm, PAGE_SHARED), XEN_SHARED_INFO_SIZE);

	for (u32 i = 0; !err && i < vm->nr_vcpus; i++)
		err = gpc_activate(evtchn_vcpu_info(vm->vcpu[i]),
				   area(vm, PAGE_INFO) + i * INFO_STRIDE, XEN_VCPU_INFO_SIZE);
	return err;
}

static s64 switch_to_fifo(struct vm *vm)
{
	struct evtchn_expand_array array = { area(vm, PAGE_ARRAY) >> PAGE_SHIFT };
	s64 err = 0;

	for (u32 i = 0; !err && i < vm->nr_vcpus; i++) {
		struct evtchn_init_control c = {
			.control_gfn = area(vm, PAGE_CONTROL + i) >> PAGE_SHIFT,
			.vcpu = i,
		};

		err = evtchn_op(vm->vcpu[0], EVTCHNOP_init_control, &c);
	}
	return err ? err : evtchn_op(vm->vcpu[0], EVTCHNOP_expand_array, &array);
}

/* Where the port's pending bit is in guest memory: found once, outside every round. */
static void find_words(struct vm *vm, u32 abi, struct target *t)
{
	u8 *shared = vm_gpa_to_va(vm, area(vm, PAGE_SHARED), PAGE_SIZE, true);
	u32 *array = vm_gpa_to_va(vm, area(vm, PAGE_ARRAY), PAGE_SIZE, true);

	t->info =
		vm_gpa_to_va(vm, area(vm, PAGE_INFO) + t->vcpu->id * INFO_STRIDE, INFO_STRIDE, true);
	if (abi == ABI_FIFO) {
		t->pending = (u64 *)(void *)&array[t->port & ~1U];
		t->bits = (BIT(EVTCHN_FIFO_PENDING) | BIT(EVTCHN_FIFO_LINKED) | EVTCHN_FIFO_LINK_MASK)
			  << 32 * (t->port & 1);
		t->ready = vm_gpa_to_va(vm, area(vm, PAGE_CONTROL + t->vcpu->id), PAGE_SIZE, true);
	} else {
		t->pending = (u64 *)(void *)(shared + XEN_EVTCHN_PENDING) + t->port / 64;
		t->bits = BIT(t->port % 64);
	}
}

static s64 bind_ports(struct side *s, u32 abi)
{
	struct vm *vm = s->vm;

	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		struct evtchn_bind_ipi ipi = { .vcpu = i };
		s64 err = evtchn_op(vm->vcpu[i], EVTCHNOP_bind_ipi, &ipi);

		if (err)
			return err;
		s->target[i] = (struct target){ .vcpu = vm->vcpu[i], .port = ipi.port };
		find_words(vm, abi, &s->target[i]);
	}
	return 0;
}

static int side_make(const struct group *g, struct side *s, enum gpc_kind kind)
{
	struct vm_config c;
	s64 err;

	memset(s, 0, sizeof(*s));
	s->kind = kind;
	bench_vm_config(&c, "spin", g->vcpus, "");
	c.memory = MIB(16);
	c.xen = true;
	c.gpc = kind;
	c.layout = (enum evtchn_layout)g->layout;
	s->vm = bench_vm(BENCH, &c);
	if (!s->vm)
		return -ENOENT;
	err = bench_vm_start_up(BENCH, s->vm);
	if (!err)
		err = place_pages(s->vm);
	if (!err && g->abi == ABI_FIFO)
		err = switch_to_fifo(s->vm);
	if (!err)
		err = bind_ports(s, g->abi);
	if (err)
		printk(BENCH ": no event channels for %u vCPUs (%ld)\n", g->vcpus, (long)err);
	return (int)err;
}

/* --- A round ------------------------------------------------------------------------------------- */

struct round {
	struct side *side;
	u32 vcpus, ack;
	u32 sending __cacheline_aligned; /* senders that are not done */
};
static struct round round_now;

static void stay_in_guest(struct vcpu *v, const struct round *r)
{
	vcpu_load(v);
	/* Pairs with the release in send_until(): the last sender's request comes after. */
	while (load_acquire(&r->sending)) {
		if (vcpu_run(v) == VCPU_EXIT_STOP)
			break;
	}
	vcpu_put(v);
}

/* What a guest that handled the event would have done to its pages. */
static void acknowledge(const struct target *t)
{
	WRITE_ONCE(t->info->evtchn_upcall_pending, 0);
	WRITE_ONCE(t->info->evtchn_pending_sel, 0);
	if (t->ready)
		WRITE_ONCE(*t->ready, 0);
	atomic_fetch_and_full(t->pending, ~t->bits);
}

static void send_until(struct seat *s, const struct target *t, struct round *r)
{
	u64 most = words.sends ? words.sends : ~0UL;
	u64 limit = words.sends ? ~0UL : ns_to_ticks(words.duration_ms * 1000000);
	u64 start = bench_gang_start();
	struct vm *vm = t->vcpu->vm;

	do {
		u64 begin = arch_counter();
		s64 err = evtchn_raise(vm, t->port);

		s->b.end = arch_counter();
		hist_add(&s->b.hist, s->b.end - begin);
		s->b.ops++;
		if (unlikely(err < 0))
			s->worst = err;
		if (r->ack == ACK_SENDER)
			acknowledge(t);
	} while (s->b.ops < most && s->b.end - start < limit);
	/* Release: pairs with the acquire in stay_in_guest(). */
	if (atomic_fetch_add_release(&r->sending, -1) == 1) {
		for (u32 i = 0; i < r->vcpus; i++)
			vcpu_request(r->side->target[i].vcpu, VCPU_REQ_PREEMPT);
	}
}

static void round_member(u32 member, void *ctx)
{
	struct round *r = ctx;

	if (member < r->vcpus)
		stay_in_guest(r->side->target[member].vcpu, r);
	else
		send_until(seat(member - r->vcpus), &r->side->target[member - r->vcpus], r);
}

static int gang(const struct group *g, struct side *s)
{
	struct bench_gang gang = { .cpus = 2 * g->vcpus, .fn = round_member, .ctx = &round_now };
	int err = bench_seats(BENCH, g->vcpus, sizeof(struct seat));

	if (err)
		return err;
	round_now = (struct round){ s, g->vcpus, g->ack, g->vcpus };
	err = bench_gang_run(&gang);
	for (u32 i = 0; !err && i < g->vcpus; i++)
		err = (int)seat(i)->worst;
	if (!err && !vm_running(s->vm))
		err = -EIO;
	if (err)
		printk(BENCH ": a delivery failed: %d (VM: %s)\n", err, s->vm->stop_reason);
	return err;
}

static int timed_round(void *ctx, u32 variant, u32 number)
{
	struct group *g = ctx;
	struct side *s = g->side[variant];
	int err = gang(g, s);

	if (err || number == BENCH_WARMUP)
		return err;
	bench_seats_merge(&s->hist, g->vcpus);
	bench_rounds_add(&s->rate, number, bench_seats_rate(g->vcpus));
	return 0;
}

/* Locks of the delivery path: those of event channels and page caches, and no others. */
static bool add_site(const struct lock_site *site, const struct lock_count *n, void *arg)
{
	struct lock_count *sum = arg;

	if (strstr(site->file, "core/evtchn") || strstr(site->file, "core/gpc")) {
		sum->acquired += n->acquired;
		sum->contended += n->contended;
	}
	return true;
}

static struct lock_count delivery_locks(void)
{
	struct lock_count sum = { 0 };

	lock_stats_walk(add_site, &sum);
	return sum;
}

static int counted_round(const struct group *g, struct side *s)
{
	struct evtchn_counts events = evtchn_counts_sum();
	struct lock_count locks;
	u64 rmws;
	int err = lock_stats_init();
	bool counting = lock_stats_enabled;

	if (err)
		return err;
	locks = delivery_locks();
	rmws = shared_rmw_sum();
	WRITE_ONCE(lock_stats_enabled, true);
	err = gang(g, s);
	WRITE_ONCE(lock_stats_enabled, counting);
	s->locks = delivery_locks();
	s->locks.acquired -= locks.acquired;
	s->locks.contended -= locks.contended;
	s->rmws = shared_rmw_sum() - rmws;
	s->events = evtchn_counts_sum();
	s->events.upcalls -= events.upcalls;
	s->events.deferred -= events.deferred;
	s->counted = bench_seats_ops(g->vcpus);
	return err;
}

/* --- A comparison -------------------------------------------------------------------------------- */

static struct side *side_get(u32 i)
{
	if (!group.side[i])
		group.side[i] = pages_alloc(size_to_order(sizeof(struct side)));
	return group.side[i];
}

static void sides_destroy(struct group *g)
{
	for (u32 i = 0; i < g->nr_sides; i++) {
		bench_vm_destroy(g->side[i]->vm);
		g->side[i]->vm = NULL;
	}
}

static int sides_make(struct group *g)
{
	g->nr_sides = 0;
	for (u32 i = 0; i < words.gpc.nr; i++) {
		struct side *s = side_get(i);
		int err;

		if (!s)
			return -ENOMEM;
		g->nr_sides++;
		err = side_make(g, s, (enum gpc_kind)words.gpc.pick[i]);
		if (err)
			return err;
	}
	return 0;
}

static int group_measure(struct group *g)
{
	int err = sides_make(g);

	if (!err)
		err = bench_interleave(words.rounds, g->nr_sides, timed_round, g);
	for (u32 i = 0; !err && i < g->nr_sides; i++)
		err = counted_round(g, g->side[i]);
	sides_destroy(g);
	return err;
}

static void emit(const struct group *g, const struct side *s, const struct summary *sum)
{
	u64 rate = bench_rounds_median(&s->rate);
	static struct record r;

	record_begin(&r, BENCH, bench_tick_unit());
	record_str(&r.variant, "gpc", gpc_kind_names[s->kind]);
	record_str(&r.variant, "layout", layouts[g->layout]);
	record_str(&r.variant, "abi", abis[g->abi]);
	record_str(&r.variant, "ack", acks[g->ack]);
	record_num(&r.sweep, "vcpus", g->vcpus);
	r.summary = *sum;
	r.hist = &s->hist;
	r.noise_permille = bench_rounds_noise(&s->rate);
	record_num(&r.counters, "deliveries_per_s", rate);
	record_num(&r.counters, "counted_deliveries", s->counted);
	record_num(&r.counters, "lock_acquired", s->locks.acquired);
	record_num(&r.counters, "lock_contended", s->locks.contended);
	record_num(&r.counters, "shared_rmw", s->rmws);
	record_num(&r.counters, "upcalls", s->events.upcalls);
	record_num(&r.counters, "deferred", s->events.deferred);
	record_emit(&r);
}

static void detail_row(const struct group *g, const struct side *s, const struct summary *sum)
{
	bool counts = bench_counts_instructions();

	table_cell(&detail, "%s", gpc_kind_names[s->kind]);
	table_cell(&detail, "%u", g->vcpus);
	table_cell(&detail, "%lu", bench_rounds_median(&s->rate));
	table_cell(&detail, "%lu", counts ? sum->min : ticks_to_ns(sum->min));
	table_cell(&detail, "%lu", counts ? sum->p50 : ticks_to_ns(sum->p50));
	table_cell(&detail, "%lu", counts ? sum->p99 : ticks_to_ns(sum->p99));
	table_cell(&detail, "%lu", counts ? sum->max : ticks_to_ns(sum->max));
	table_cell(&detail, "%lu", sum->n);
	table_cell_ratio(&detail, s->locks.acquired, s->counted);
	table_cell_ratio(&detail, s->locks.contended, s->counted);
	table_cell_ratio(&detail, s->rmws, s->counted);
	table_cell_ratio(&detail, bench_rounds_noise(&s->rate), 1000);
}

static void group_report(const struct group *g, u32 row)
{
	for (u32 i = 0; i < g->nr_sides; i++) {
		const struct side *s = g->side[i];
		struct summary sum;

		hist_summary(&s->hist, &sum);
		emit(g, s, &sum);
		detail_row(g, s, &sum);
		result[row][i] = bench_rounds_median(&s->rate);
	}
}

static void tables_print(const char *what)
{
	static const char *heads[NR_GPC_KINDS + 2];
	static char title[112];

	heads[0] = "vCPUs";
	for (u32 i = 0; i < words.gpc.nr; i++)
		heads[i + 1] = gpc_kind_names[words.gpc.pick[i]];
	heads[words.gpc.nr + 1] = NULL;
	snprintf(title, sizeof(title), "Event channels: deliveries/s, %s", what);
	table_begin(&final, title, heads);
	for (u32 row = 0; row < words.nr_vcpus; row++) {
		table_cell(&final, "%u", words.vcpus[row]);
		for (u32 i = 0; i < words.gpc.nr; i++)
			table_cell(&final, "%lu", result[row][i]);
	}
	table_print(&detail);
	table_print(&final);
}

static void detail_begin(const char *what)
{
	static const char *const heads[] = { "gpc",   "vCPUs",	   "deliveries/s", "min",
					     "p50",   "p99",	   "max",	   "n",
					     "locks", "contended", "atomics",	   "A/A",
					     NULL };
	static char title[160];

	snprintf(title, sizeof(title),
		 "Event channels, %s: one delivery in %s; locks and shared atomic operations per delivery",
		 what, bench_counts_instructions() ? "instructions" : "ns");
	table_begin(&detail, title, heads);
}

/* --- The experiment ------------------------------------------------------------------------------ */

static const char *const keys[] = {
	"gpc - the way to guard page caches, of rwlock,trylock,expedited,atomic,atomic-fast,targeted (default all)",
	"layout - spread,packed: ports on cache lines of their own or side by side (default spread)",
	"abi - 2l,fifo: how events are told to the guest (default 2l)",
	"ack - none,sender: whether each event is acknowledged, by its sender (default none)",
	"vcpus - list of vCPU counts; as many senders beside them (default 1,2,4,... and half the CPUs)",
	"rounds - rounds of each kind, A B A B (default 6)",
	"sends - deliveries a sender makes in a round (default: as many as fit in duration; icount: 1000)",
	"duration - length of a round in ms (default 100)",
	NULL,
};

static int evtchn_run(void);
static const struct experiment evtchn_experiment = {
	.name = "evtchn",
	.help = "event channel deliveries/s into running guests: rwlock against lockless page caches",
	.keys = keys,
	.run = evtchn_run,
};
EXPERIMENT(evtchn_experiment);

static int words_read(struct words *w)
{
	u32 most = min(nr_cpus_online / 2, (u32)MAX_VCPUS);
	int err = bench_check_words(&evtchn_experiment);

	if (!err)
		err = bench_words("gpc", gpc_kind_names,
				  "rwlock,trylock,expedited,atomic,atomic-fast,targeted", &w->gpc);
	if (!err)
		err = bench_words("layout", layouts, "spread", &w->layout);
	if (!err)
		err = bench_words("abi", abis, "2l", &w->abi);
	if (!err)
		err = bench_words("ack", acks, "none", &w->ack);
	if (!err && !most) {
		printk(BENCH ": a vCPU and its sender need two CPUs, and one is online (--cpus 2)\n");
		err = -EINVAL;
	}
	if (!err)
		err = bench_numbers("vcpus", most, w->vcpus, MAX_ROWS, &w->nr_vcpus);
	if (!err)
		err = bench_number("rounds", 2, BENCH_MAX_ROUNDS, 6, &w->rounds);
	if (!err)
		err = bench_number("sends", 1, 100000000, bench_counts_instructions() ? 1000 : 0,
				   &w->sends);
	if (!err)
		err = bench_number("duration", 1, 600000, 100, &w->duration_ms);
	if (!err && !w->nr_vcpus)
		w->nr_vcpus = bench_powers(most, w->vcpus, MAX_ROWS);
	return err;
}

static int sweep_rows(struct group *g)
{
	char what[48];
	int err = 0;

	snprintf(what, sizeof(what), "layout=%s abi=%s ack=%s", layouts[g->layout], abis[g->abi],
		 acks[g->ack]);
	detail_begin(what);
	for (u32 row = 0; !err && row < words.nr_vcpus; row++) {
		char line[80];

		g->vcpus = words.vcpus[row];
		snprintf(line, sizeof(line), "%s vcpus=%u", what, g->vcpus);
		bench_progress(BENCH, row + 1, words.nr_vcpus, line);
		err = group_measure(g);
		if (!err)
			group_report(g, row);
	}
	if (!err)
		tables_print(what);
	return err;
}

static int evtchn_run(void)
{
	int err = words_read(&words);

	for (u32 l = 0; !err && l < words.layout.nr; l++)
		for (u32 a = 0; !err && a < words.abi.nr; a++)
			for (u32 k = 0; !err && k < words.ack.nr; k++) {
				group.layout = words.layout.pick[l];
				group.abi = words.abi.pick[a];
				group.ack = words.ack.pick[k];
				err = sweep_rows(&group);
			}
	return err;
}
