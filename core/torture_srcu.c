/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * torture=srcu: objects are replaced under readers by every kind of updater there is, and each goes through
 * STAGES grace periods before it is used again: a reader that meets one which is past its first has met
 * it after it was free. Readers nest, run in interrupts, are handed over to other CPUs, and may hold their
 * index for long. One of the domains has a wait that does not wait: it must be caught, or else nothing
 * that is said of the others means anything. Nothing here may look into srcu.c, but for what it counts.
 */
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/srcu.h>
#include <cupel/torture.h>
#include <string.h>

#define DOMAINS	       4
#define ITEMS	       8 /* a CPU and domain */
#define STAGES	       10
#define HANDOVERS      8
#define SHORT_NS       2000UL
#define LONG_NS	       200000UL
#define FLOOD_NS       3000000UL
#define BETWEEN_FLOODS 50000000UL

enum {
	READS,
	READS_IRQ,
	NESTED,
	HANDED_OVER,
	RACED,
	WAITS_EXPEDITED,
	WAITS_ATOMIC,
	WAITS_FAST,
	WAITS_TARGETED,
	WAITS_POLLED,
	WAITS_IRQS_OFF,
	REUSED,
	SHARED,
	NO_READER,
	FLOOD_READS,
	FLOOD_WAITS,
	FLOOD_FLIPS,
	NEW_DOMAINS,
	BROKEN_CAUGHT,
	EARLY,
	BATCH,
	COOKIE_LOST,
	IRQS_CHANGED,
	LEFT_OVER,
};

static const struct torture_count counts[] = {
	[READS] = { "reads", TORTURE_MUST, "read sections in thread context" },
	[READS_IRQ] = { "reads_irq", TORTURE_MUST, "in interrupt context" },
	[NESTED] = { "nested", TORTURE_MUST, "inside another section" },
	[HANDED_OVER] = { "handed_over", TORTURE_MUST_SMP, "ended on another CPU than begun" },
	[RACED] = { "raced", TORTURE_MUST_SMP, "whose object was replaced meanwhile" },
	[WAITS_EXPEDITED] = { "expedited", TORTURE_MUST, "waits of this kind" },
	[WAITS_ATOMIC] = { "atomic", TORTURE_MUST, "waits of this kind" },
	[WAITS_FAST] = { "atomic_fast", TORTURE_MUST, "waits of this kind" },
	[WAITS_TARGETED] = { "targeted", TORTURE_MUST, "waits for the CPUs that had read" },
	[WAITS_POLLED] = { "polled", TORTURE_MUST, "cookies that came true by themselves" },
	[WAITS_IRQS_OFF] = { "irqs_off", TORTURE_MUST_SMP, "waits with interrupts off" },
	[REUSED] = { "reused", TORTURE_MUST, "objects that went through all stages" },
	[SHARED] = { "shared", TORTURE_MUST_SMP, "waits that another's grace period ended" },
	[NO_READER] = { "no_reader", TORTURE_MUST, "waits ended by the proof of no reader" },
	[FLOOD_READS] = { "flood_reads", TORTURE_MUST_SMP, "sections without a gap between them" },
	[FLOOD_WAITS] = { "flood_waits", TORTURE_MUST_SMP, "waits that ended under them" },
	[FLOOD_FLIPS] = { "flood_flips", TORTURE_MUST_SMP, "turns of the index for that" },
	[NEW_DOMAINS] = { "domains", TORTURE_MUST, "domains made and destroyed" },
	[BROKEN_CAUGHT] = { "broken_caught", TORTURE_MUST, "times the broken wait was found out" },
	[EARLY] = { "early", TORTURE_NEVER, "objects met after a grace period" },
	[BATCH] = { "batch", TORTURE_NEVER, "grace periods that began and ended inside a section" },
	[COOKIE_LOST] = { "cookie_lost", TORTURE_NEVER, "cookies that are not done after a wait" },
	[IRQS_CHANGED] = { "irqs_changed", TORTURE_NEVER, "waits that changed the interrupt state" },
	[LEFT_OVER] = { "left_over", TORTURE_NEVER, "domains with a reader at the end" },
	{ NULL },
};

/* stage: 0 is what readers are to find; 1 once it has been replaced; one more a grace period. */
struct item {
	u32 stage;
	bool polled; /* by its cookie, not by a wait */
	u64 cookie;
	struct item *next;
} __cacheline_aligned;

struct domain {
	struct srcu srcu;
	struct item *item __cacheline_aligned; /* exchanged by updaters */
	spinlock_t targeted; /* one targeted updater at a time: guards the exchange of readers[] */
	u64 readers[NR_CPUS / 64]; /* sticky: CPUs that read since then */
};

/* What a CPU has of each domain; of its thread context. */
struct own {
	struct item *free, *removed;
};

static struct domain domains[DOMAINS];

/* The wait of this one does not wait. Written in interrupts too: no items of its own to free. */
static struct {
	struct srcu srcu;
	struct item *item;
	struct item items[2];
} broken;

static struct item *items;
static struct own *owns;

/* A section on its way to another CPU: claimed by an exchange to or from NULL. */
struct handover {
	struct domain *d;
	struct item *item;
	srcu_token_t token;
	u32 from;
	u32 state;
};
enum { HAND_FREE, HAND_CLAIMED, HAND_READY };
static struct handover handovers[HANDOVERS];

static u32 flood; /* a domain's number + 1: workers are to read it without a gap */
static u64 next_flood;
static u64 everybody[NR_CPUS / 64];

/* --- Readers ------------------------------------------------------------------------------------ */

/* Grace periods that have ended, and whether one is under way. */
static u64 progress(struct domain *d)
{
	return READ_ONCE(d->srcu.seq);
}

static struct item *look_up(struct domain *d)
{
	u64 *word = &d->readers[cpu_id() / 64], bit = BIT(cpu_id() % 64);

	/* Full: the bit comes before the look, as the updater's change comes before its exchange. */
	if (!(READ_ONCE(*word) & bit))
		atomic_fetch_or_full(word, bit);
	smp_rmb(); /* pairs with the exchange in wait_targeted() */
	/* Pairs with the exchange in replace(). */
	return load_acquire(&d->item);
}

static void check(const struct item *item, const char *when)
{
	u32 stage = READ_ONCE(item->stage);

	if (stage > 1)
		torture_fail(EARLY, "%s: stage %u", when, stage);
}

static void check_end(struct domain *d, const struct item *item, u64 before)
{
	u64 after = progress(d);

	check(item, "at the end");
	if (READ_ONCE(item->stage))
		torture_count(RACED);
	/* One that was under way may end; another can't begin and end. */
	if ((after >> 1) - (before >> 1) > (before & 1))
		torture_fail(BATCH, "from %lu to %lu", before, after);
}

static void read_nested(struct domain *d, u64 *random, u32 depth)
{
	srcu_token_t token = srcu_read_lock(&d->srcu);
	u64 before = progress(d);
	const struct item *item = look_up(d);

	check(item, "at first");
	torture_delay(random, torture_one_in(random, 24) ? LONG_NS : SHORT_NS);
	if (depth) {
		read_nested(d, random, depth - 1);
		torture_count(NESTED);
	}
	check_end(d, item, before);
	srcu_read_unlock(&d->srcu, token);
}

static void read_some(struct domain *d, u64 *random)
{
	unsigned long flags = 0;
	bool off = torture_one_in(random, 4);

	if (off)
		flags = arch_irq_save();
	read_nested(d, random, torture_one_in(random, 4) ? (u32)(torture_random(random) % 3) : 0);
	if (off)
		arch_irq_restore(flags);
	torture_count(READS);
}

/* Any context: whoever comes by ends a section that another CPU began. */
static void take_over(void)
{
	for (u32 i = 0; i < HANDOVERS; i++) {
		struct handover *h = &handovers[i];
		u32 ready = HAND_READY;

		if (READ_ONCE(h->from) == cpu_id() ||
		    !atomic_cmpxchg_full(&h->state, &ready, HAND_CLAIMED))
			continue;
		check(h->item, "handed over");
		srcu_read_unlock(&h->d->srcu, h->token);
		torture_count(HANDED_OVER);
		/* Pairs with the exchange in hand_over(). */
		store_release(&h->state, (u32)HAND_FREE);
	}
}

/* Not on the boot CPU: it is there whoever is parked, and its ticks end what is left. */
static void hand_over(struct domain *d, u64 *random)
{
	struct handover *h = &handovers[torture_random(random) % HANDOVERS];
	u32 free = HAND_FREE;

	if (!atomic_cmpxchg_full(&h->state, &free, HAND_CLAIMED))
		return;
	h->d = d;
	WRITE_ONCE(h->from, cpu_id());
	h->token = srcu_read_lock(&d->srcu);
	h->item = look_up(d);
	/* Pairs with the exchange in take_over(). */
	store_release(&h->state, (u32)HAND_READY);
}

/* The next section begins before the last one ends: no look finds this CPU without a reader. */
static void read_without_gap(struct domain *d)
{
	srcu_token_t last = srcu_read_lock(&d->srcu), next;
	u32 n = 0;

	do {
		next = srcu_read_lock(&d->srcu);
		check(look_up(d), "in a flood");
		srcu_read_unlock(&d->srcu, last);
		last = next;
		if (!(++n % 64))
			cpu_relax();
	} while (READ_ONCE(flood) && !torture_over());
	srcu_read_unlock(&d->srcu, last);
	torture_add(FLOOD_READS, n);
}

/* --- Updaters ----------------------------------------------------------------------------------- */

static struct own *own_of(u32 cpu, const struct domain *d)
{
	return &owns[cpu * DOMAINS + (u32)(d - domains)];
}

/* Put another in its place; NULL when this CPU has none left. */
static struct item *replace(struct domain *d, struct own *o)
{
	struct item *fresh = o->free, *old;

	if (!fresh)
		return NULL;
	o->free = fresh->next;
	WRITE_ONCE(fresh->stage, 0);
	/* Full: the stage is set before it is found, and a grace period begins after it was put there. */
	old = atomic_xchg_full(&d->item, fresh);
	WRITE_ONCE(old->stage, 1);
	old->next = o->removed;
	o->removed = old;
	return old;
}

/* Whether a grace period has ended since the item was removed, or since it was last asked about. */
static bool has_aged(struct domain *d, struct item *item, bool waited)
{
	if (!item->polled)
		return waited;
	if (!srcu_done(&d->srcu, item->cookie))
		return false;
	item->polled = false;
	torture_count(WAITS_POLLED);
	return true;
}

/* What was removed ages: by the caller's wait, if it waited, or by its own cookie. */
static void age(struct domain *d, struct own *o, bool waited)
{
	struct item **p = &o->removed, *item;

	while ((item = *p)) {
		if (has_aged(d, item, waited))
			WRITE_ONCE(item->stage, item->stage + 1);
		if (item->stage <= STAGES) {
			p = &item->next;
			continue;
		}
		*p = item->next;
		item->next = o->free;
		o->free = item;
		torture_count(REUSED);
	}
}

static void wait_targeted(struct domain *d)
{
	u64 mask[NR_CPUS / 64];

	for (u32 i = 0; i < ARRAY_SIZE(mask); i++)
		mask[i] = READ_ONCE(d->readers[i]) ? atomic_xchg_full(&d->readers[i], 0UL) : 0;
	srcu_wait_for_cpus(&d->srcu, mask);
}

static void wait_fully(struct domain *d, u32 way)
{
	const struct srcu_counts *c = &d->srcu.cpu[cpu_id()].counts;
	u64 cookie = srcu_cookie(&d->srcu), shared = c->shared, fast = c->fast;
	bool irqs = arch_irqs_enabled();

	srcu_synchronize(&d->srcu, (enum srcu_wait)way);
	torture_count(WAITS_EXPEDITED + way);
	torture_add(SHARED, c->shared - shared);
	torture_add(NO_READER, c->fast - fast);
	if (arch_irqs_enabled() != irqs)
		torture_fail(IRQS_CHANGED, "way %u", way);
	/* The proof of no reader is no grace period: nobody's cookie comes true by it. */
	if (way != SRCU_ATOMIC_FAST && !srcu_done(&d->srcu, cookie))
		torture_fail(COOKIE_LOST, "way %u", way);
}

/* With interrupts off on some CPUs; never on the boot CPU, which has sections of others to end. */
static void update_waiting(struct domain *d, struct torture_worker *w)
{
	bool off = w->cpu % 2 && torture_one_in(&w->random, 3);
	u32 way = (u32)(torture_random(&w->random) % NR_SRCU_WAITS);
	unsigned long flags = 0;

	if (way == SRCU_EXPEDITED)
		off = false;
	replace(d, own_of(w->cpu, d));
	if (off) {
		flags = arch_irq_save();
		torture_count(WAITS_IRQS_OFF);
	}
	wait_fully(d, way);
	if (off)
		arch_irq_restore(flags);
	age(d, own_of(w->cpu, d), true);
}

/*
 * One targeted updater of a domain at a time, from before it takes the object away until its readers are
 * gone. What is in `removed` before may have readers that are in no mask any more: those wait otherwise.
 */
static void update_targeted(struct domain *d, struct torture_worker *w)
{
	struct own *o = own_of(w->cpu, d), alone = { .free = o->free };

	if (!o->free || !spin_trylock(&d->targeted))
		return;
	replace(d, &alone);
	wait_targeted(d);
	spin_unlock(&d->targeted);
	torture_count(WAITS_TARGETED);
	o->free = alone.free;
	WRITE_ONCE(alone.removed->stage, 2);
	alone.removed->next = o->removed;
	o->removed = alone.removed;
}

static void update_polled(struct domain *d, struct torture_worker *w)
{
	struct own *o = own_of(w->cpu, d);
	struct item *old = replace(d, o);

	if (old) {
		old->cookie = srcu_cookie(&d->srcu);
		old->polled = true;
	}
}

static void update(struct domain *d, struct torture_worker *w)
{
	switch (torture_random(&w->random) % 4) {
	case 0: update_targeted(d, w); break;
	case 1: update_polled(d, w); break;
	default: update_waiting(d, w); break;
	}
}

/* A domain of one's own, made and gone. */
static void new_domain(struct torture_worker *w)
{
	struct srcu s;

	if (srcu_init(&s, "torture"))
		return;
	for (u32 i = 0; i < 8; i++) {
		srcu_read_unlock(&s, srcu_read_lock(&s));
		srcu_synchronize(&s, (enum srcu_wait)(i % NR_SRCU_WAITS));
		srcu_wait_for_cpus(&s, everybody);
	}
	srcu_destroy(&s);
	torture_count(NEW_DOMAINS);
}

/* --- The broken one ------------------------------------------------------------------------------- */

static void read_broken(struct torture_worker *w)
{
	srcu_token_t token = srcu_read_lock(&broken.srcu);
	const struct item *item = load_acquire(&broken.item); /* pairs with update_broken() */
	u64 start = arch_counter(), end = ns_to_ticks(5000000);

	while (!READ_ONCE(item->stage) && arch_counter() - start < end)
		cpu_relax();
	torture_delay(&w->random, SHORT_NS);
	if (READ_ONCE(item->stage) > 1)
		torture_count(BROKEN_CAUGHT);
	srcu_read_unlock(&broken.srcu, token);
}

/* In interrupts of the boot CPU only. */
static void update_broken(void)
{
	struct item *old = broken.item, *fresh = &broken.items[old == &broken.items[0]];

	WRITE_ONCE(fresh->stage, 0);
	store_release(&broken.item, fresh); /* pairs with the acquire in read_broken() */
	WRITE_ONCE(old->stage, 1);
	/* Here a wait that waits would be. */
	WRITE_ONCE(old->stage, 2);
}

/* --- The flood ------------------------------------------------------------------------------------ */

/* Forward progress: whoever waits comes to an end although readers never do. */
static void control(struct torture_worker *w)
{
	struct domain *d = &domains[torture_random(&w->random) % DOMAINS];
	u64 start = arch_counter(), flips = srcu_counts(&d->srcu).flips;

	if (start < next_flood)
		return;
	WRITE_ONCE(flood, (u32)(d - domains) + 1);
	do {
		update_waiting(d, w);
		srcu_wait_for_cpus(&d->srcu, everybody);
		torture_add(FLOOD_WAITS, 2);
	} while (arch_counter() - start < ns_to_ticks(FLOOD_NS));
	WRITE_ONCE(flood, 0);
	torture_add(FLOOD_FLIPS, srcu_counts(&d->srcu).flips - flips);
	next_flood = arch_counter() + ns_to_ticks(BETWEEN_FLOODS);
}

/* --- The torture -------------------------------------------------------------------------------- */

static void step(struct torture_worker *w)
{
	u64 dice = torture_random(&w->random) % 256;
	struct domain *d = &domains[torture_random(&w->random) % DOMAINS];
	u32 flooded = READ_ONCE(flood);

	take_over();
	if (w->cpu && flooded)
		read_without_gap(&domains[flooded - 1]);
	else if (dice < 200)
		read_some(d, &w->random);
	else if (dice < 212 && w->cpu)
		hand_over(d, &w->random);
	else if (dice < 213)
		read_broken(w);
	else if (dice < 214)
		new_domain(w);
	else
		update(d, w);
	age(d, own_of(w->cpu, d), false);
}

static void tick(struct torture_worker *w)
{
	struct domain *d = &domains[torture_random(&w->irq_random) % DOMAINS];

	take_over();
	read_nested(d, &w->irq_random, (u32)(torture_random(&w->irq_random) % 2));
	torture_count(READS_IRQ);
	if (!w->cpu)
		update_broken();
}

static int make_domain(struct domain *d, struct item *first)
{
	for (u32 cpu = 0; cpu < platform.nr_cpus; cpu++) {
		struct own *o = own_of(cpu, d);

		*o = (struct own){ 0 };
		for (u32 i = 0; i < ITEMS; i++, first++) {
			first->next = o->free;
			o->free = first;
		}
	}
	d->item = own_of(0, d)->free;
	own_of(0, d)->free = d->item->next;
	memset(d->readers, 0, sizeof(d->readers));
	return srcu_init(&d->srcu, "torture");
}

static unsigned int items_order(void)
{
	return size_to_order(platform.nr_cpus * (u64)DOMAINS * ITEMS * sizeof(*items));
}

static unsigned int owns_order(void)
{
	return size_to_order(platform.nr_cpus * (u64)DOMAINS * sizeof(*owns));
}

static int setup(void)
{
	int err;

	items = pages_alloc(items_order());
	owns = pages_alloc(owns_order());
	if (!items || !owns)
		return -ENOMEM;
	memset(everybody, 0xff, sizeof(everybody));
	next_flood = 0;
	broken.item = &broken.items[0];
	err = srcu_init(&broken.srcu, "broken");
	for (u32 i = 0; i < DOMAINS && !err; i++)
		err = make_domain(&domains[i], &items[i * platform.nr_cpus * ITEMS]);
	return err;
}

static void destroy(struct srcu *s)
{
	if (srcu_no_readers(s))
		srcu_destroy(s);
	else
		torture_fail(LEFT_OVER, "%s", s->name);
}

static void finish(void)
{
	take_over();
	for (u32 i = 0; i < DOMAINS; i++)
		destroy(&domains[i].srcu);
	destroy(&broken.srcu);
	pages_free(items, items_order());
	pages_free(owns, owns_order());
}

static const struct torture srcu_torture = {
	.name = "srcu",
	.help = "read sections against every kind of wait",
	.counts = counts,
	.setup = setup,
	.step = step,
	.tick = tick,
	.control = control,
	.finish = finish,
	.parks = true,
};
TORTURE(srcu_torture);
