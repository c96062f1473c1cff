/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page caches: the updaters' half, and the readers' slow ways. States: inactive -> active, not valid ->
 * valid -> (invalidated) active, not valid -> …. Must never hold a lock that a reader wants while it waits
 * for readers, and never give out an address that an invalidation has missed.
 *
 * An address is replaced in three steps: `valid` goes to GPC_INVALID; wait until no section that may have seen
 * it valid is left; write, and then set it with release. In the rwlock kinds, taking the lock is the wait.
 *
 * Whoever takes a page away takes no lock to find its caches: the list is read in a section of its own domain,
 * and a cache that comes off the list is kept until such sections have ended. Against a refresh that has looked
 * the page up before, each side writes first and then looks at what the other writes (store buffering):
 *
 *   gpc_invalidate(), and its caller          publish()
 *     one more is under way                     valid = GPC_PENDING
 *     full barrier                              full barrier
 *     valid? -> GPC_INVALID                     any under way, or passed since? -> give up
 *     wait for readers                          GPC_PENDING -> GPC_VALID, if it is that still
 *
 * An updater that finds a cache not valid may be the second one: the readers of the first may be inside. It
 * waits for them too, unless nobody else is waiting. So any number of updaters wait side by side, each for all
 * the readers that matter.
 *
 * targeted: an invalidation only reads the masks. A refresh moves the bits from `readers` to `draining`, waits
 * for those CPUs, and clears them; all of it before it sets `valid`. A reader that found its bit set just before
 * is in a section that this waits for; a later one sets it anew. Scanning before the move would miss the
 * former. An invalidation that looks at `readers` first and `draining` second sees a bit in one of them.
 *
 * Locks, in their order: refresh_lock of a cache (held over waits: one refresh, activation or deactivation at
 * a time), gpc_lock of the VM (changes of the list; what memory changes count), lock of a cache (rwlock kinds:
 * taken by readers). No interrupt handler takes the first two.
 */
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/rmw.h>
#include <string.h>

#include "core.h"

struct srcu guest_srcu;
/* Whoever walks a VM's list: not in guest_srcu, so that updaters do not wait for one another there. */
static struct srcu list_srcu;

/* In vm->gpc_seq: invalidations under way, and above them those that have ended. */
#define UNDER_WAY 0xffffUL
#define ENDED	  0x10000UL

/* A slot change may take long: who meets one so often in a row is told to come again. */
#define REFRESH_TRIES 4

int gpc_setup(void)
{
	int err = srcu_init(&guest_srcu, "guest");

	return err ? err : srcu_init(&list_srcu, "gpc_list");
}

/* --- Readers ------------------------------------------------------------------------------------ */

/* The rwlock kinds: an interrupt handler may read what it interrupted a reader or updater of. */
struct reading {
	u32 depth; /* caches held by this CPU */
	unsigned long flags; /* interrupt state before the first */
};

static DEFINE_PER_CPU(struct reading, reading);

static void begin_reading(void)
{
	unsigned long flags = arch_irq_save();
	struct reading *r = this_cpu_ptr(reading);

	if (!r->depth++)
		r->flags = flags;
}

static void end_reading(void)
{
	struct reading *r = this_cpu_ptr(reading);

	if (!--r->depth)
		arch_irq_restore(r->flags);
}

void *gpc_get_locked(struct gpc *g, u32 len)
{
	begin_reading();
	if (g->kind == GPC_RWLOCK) {
		read_lock(&g->lock);
	} else if (!read_trylock(&g->lock)) {
		end_reading();
		return NULL;
	}
	if (likely(gpc_check(g, len)))
		return READ_ONCE(g->va);
	gpc_put_locked(g);
	return NULL;
}

void gpc_put_locked(struct gpc *g)
{
	read_unlock(&g->lock);
	end_reading();
}

void gpc_mark_reader(struct gpc *g, u32 cpu)
{
	atomic_fetch_or_full(&g->readers[cpu / 64], BIT(cpu % 64));
	count_shared_rmw();
	smp_mb(); /* before the look at `valid`: pairs with the exchange in invalidate_one() */
}

/* --- Marking and waiting ------------------------------------------------------------------------ */

/* What an updater has to wait for, of all the caches it has looked at. */
struct drain {
	bool any; /* of what follows */
	bool wait[NR_GPC_KINDS];
	bool kicked; /* a vCPU that uses one in guest mode */
	u64 cpus[NR_CPUS / 64]; /* targeted */
};

static u32 mask_words(void)
{
	return DIV_ROUND_UP(guest_srcu.nr_cpus, 64U);
}

/* Updaters of one cache beside each other may lose one. */
static void bump(u64 *count)
{
	WRITE_ONCE(*count, READ_ONCE(*count) + 1);
}

/* Of the rwlock kinds; nothing in the others. */
static unsigned long begin_write(struct gpc *g)
{
	unsigned long flags = 0;

	if (g->kind <= GPC_TRYLOCK) {
		flags = arch_irq_save();
		write_lock(&g->lock);
	}
	return flags;
}

static void end_write(struct gpc *g, unsigned long flags)
{
	if (g->kind <= GPC_TRYLOCK) {
		write_unlock(&g->lock);
		arch_irq_restore(flags);
	}
}

/* True when readers may have had it. In the rwlock kinds they are gone on return. */
static bool invalidate_one(struct gpc *g)
{
	unsigned long flags = begin_write(g);
	u8 was;

	/*
	 * Pairs with barrier B of a section and the one in gpc_mark_reader(): a reader sees this, or its
	 * bit is seen by the acquires that follow (on arm64 no acquire overtakes a release: Arm ARM
	 * B2.3.11), and its section after the barrier of whoever waits.
	 */
	was = atomic_xchg_full(&g->valid, (u8)GPC_INVALID);
	end_write(g, flags);
	if (was != GPC_VALID)
		return false;
	bump(&g->counts.invalidations);
	return true;
}

/*
 * Another updater may still wait for readers of this cache, which it has made invalid. Acquire: pairs with the
 * releases at the end of such waits.
 */
static bool other_waits(const struct gpc *g)
{
	return (load_acquire(&g->vm->gpc_seq) & UNDER_WAY) > 1 || load_acquire(&g->detaching);
}

static void add_readers(const struct gpc *g, struct drain *d)
{
	for (u32 i = 0; i < mask_words(); i++) {
		/* Acquire: pairs with the exchange in take_readers(): `draining` second. */
		u64 cpus = load_acquire(&g->readers[i]) | load_acquire(&g->draining[i]);

		d->cpus[i] |= cpus;
		d->wait[GPC_TARGETED] |= cpus != 0;
	}
}

static void add_wait(struct gpc *g, struct drain *d)
{
	if (g->kind == GPC_TARGETED)
		add_readers(g, d);
	else if (g->kind > GPC_TRYLOCK)
		d->wait[g->kind] = true;
	if (g->flags & GPC_PINNED) {
		vcpu_ask(g->user, VCPU_REQ_GPC);
		d->kicked = true;
	}
	if (d->kicked || d->wait[g->kind]) {
		d->any = true;
		bump(&g->counts.waits);
	}
}

/* After a full barrier of the caller. True when readers may have had it. */
static bool take_away(struct gpc *g)
{
	/* Acquire: whoever has exchanged it has said before that it waits. */
	return load_acquire(&g->valid) != GPC_INVALID && invalidate_one(g);
}

/*
 * Until each has left guest mode, or looked at its requests since: gpc_pins_valid() keeps it out then. A vCPU
 * of this CPU is not in its guest now.
 */
static void wait_for_users(struct vm *vm)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		struct vcpu *v = vm->vcpu[i];

		/* Acquire: pairs with the store when it comes out; what its hardware did is done. */
		while (load_acquire(&v->mode) == VCPU_IN_GUEST &&
		       (READ_ONCE(v->requests) & VCPU_REQ_GPC) && READ_ONCE(v->cpu) != (int)cpu_id())
			cpu_relax();
	}
}

/* No lock held but a refresh_lock. */
static void wait_for(struct vm *vm, const struct drain *d)
{
	if (d->wait[GPC_EXPEDITED])
		srcu_synchronize(&guest_srcu, SRCU_EXPEDITED);
	if (d->wait[GPC_ATOMIC])
		srcu_synchronize(&guest_srcu, SRCU_ATOMIC);
	if (d->wait[GPC_ATOMIC_FAST])
		srcu_synchronize(&guest_srcu, SRCU_ATOMIC_FAST);
	if (d->wait[GPC_TARGETED])
		srcu_wait_for_cpus(&guest_srcu, d->cpus);
	if (d->kicked)
		wait_for_users(vm);
}

static bool overlaps(const struct gpc *g, gpaddr_t gpa, u64 size)
{
	gpaddr_t page = ALIGN_DOWN(READ_ONCE(g->gpa), PAGE_SIZE);

	return page >= gpa ? page - gpa < size : size && gpa - page < PAGE_SIZE;
}

static void mark_range(struct vm *vm, gpaddr_t gpa, u64 size, struct drain *d)
{
	srcu_token_t token = srcu_read_lock(&list_srcu);

	/* Acquire: pairs with the release in enlist(). */
	for (struct gpc *g = load_acquire(&vm->gpcs); g; g = load_acquire(&g->next)) {
		if (overlaps(g, gpa, size) && (take_away(g) || other_waits(g)))
			add_wait(g, d);
	}
	srcu_read_unlock(&list_srcu, token);
}

void gpc_invalidate(struct vm *vm, gpaddr_t gpa, u64 size)
{
	struct drain d = { 0 };

	/* Full: before the looks at `valid`. Pairs with the barrier in publish(). */
	atomic_fetch_add_full(&vm->gpc_seq, 1UL);
	mark_range(vm, gpa, size, &d);
	if (d.any)
		wait_for(vm, &d);
	/* Release: pairs with the acquire in other_waits(). */
	atomic_fetch_add_release(&vm->gpc_seq, ENDED - 1);
}

/* targeted: to be waited for now; the next readers set their bits anew. With refresh_lock. */
static void take_readers(struct gpc *g)
{
	for (u32 i = 0; i < mask_words(); i++) {
		/* Acquire: not before the exchange in invalidate_one(), which is a release. */
		u64 cpus = load_acquire(&g->readers[i]);

		if (!cpus)
			continue;
		WRITE_ONCE(g->draining[i], cpus);
		/* Full: pairs with the acquires in add_readers() and gpc_get(). */
		atomic_fetch_and_full(&g->readers[i], ~cpus);
	}
}

/* After this nobody has the address, and nobody gets it. With refresh_lock. */
static void detach(struct gpc *g)
{
	struct drain d = { 0 };
	bool had;

	WRITE_ONCE(g->detaching, true);
	smp_mb(); /* before the exchange, for take_away() of another; and before the look at gpc_seq */
	had = take_away(g);
	if (g->kind == GPC_TARGETED)
		take_readers(g);
	if (had || g->kind == GPC_TARGETED || (load_acquire(&g->vm->gpc_seq) & UNDER_WAY))
		add_wait(g, &d);
	if (d.any)
		wait_for(g->vm, &d);
	for (u32 i = 0; i < mask_words(); i++)
		store_release(&g->draining[i], 0UL); /* pairs with the acquire in add_readers() */
	store_release(&g->detaching, false); /* pairs with the acquire in other_waits() */
}

/* --- Refresh ------------------------------------------------------------------------------------ */

/* What was found, and as of when. */
struct place {
	void *va;
	u64 generation, seq, invalidations;
};

/* False while anything is on its way. What memory changes count is guarded by gpc_lock. */
static bool look_at_changes(struct vm *vm, struct place *p)
{
	bool quiet;

	spin_lock(&vm->gpc_lock);
	p->seq = READ_ONCE(vm->gpc_seq);
	p->invalidations = vm->invalidations;
	p->generation = READ_ONCE(vm->generation);
	quiet = !(p->seq & UNDER_WAY) && !vm->invalidating && !(p->generation & GENERATION_BUSY);
	spin_unlock(&vm->gpc_lock);
	return quiet;
}

/* Nothing has moved since, nor is about to. */
static bool still_there(struct vm *vm, const struct place *p)
{
	struct place now;

	return look_at_changes(vm, &now) && now.seq == p->seq &&
	       now.invalidations == p->invalidations && now.generation == p->generation;
}

static int look_up(struct gpc *g, struct place *p)
{
	srcu_token_t token;

	if (!look_at_changes(g->vm, p))
		return -EAGAIN;
	token = guest_read_lock();
	p->va = vm_gpa_to_va(g->vm, g->gpa, g->len, !(g->flags & GPC_READONLY));
	guest_read_unlock(token);
	return p->va ? 0 : -EFAULT;
}

/* The address is what it was and nobody took it away: only the generation is new. */
static bool renew(struct gpc *g, const struct place *p)
{
	if (READ_ONCE(g->valid) != GPC_VALID || g->va != p->va || !still_there(g->vm, p))
		return false;
	WRITE_ONCE(g->generation, p->generation);
	return true;
}

/* Nobody is inside, and it is not valid. */
static void set_address(struct gpc *g, void *va, u64 generation)
{
	unsigned long flags = begin_write(g);

	WRITE_ONCE(g->va, va);
	WRITE_ONCE(g->generation, generation);
	end_write(g, flags);
}

static int publish(struct gpc *g, const struct place *p)
{
	u8 pending = GPC_PENDING;

	set_address(g, p->va, p->generation);
	WRITE_ONCE(g->valid, GPC_PENDING);
	smp_mb(); /* pairs with the one that begins gpc_invalidate() */
	if (!still_there(g->vm, p)) {
		WRITE_ONCE(g->valid, GPC_INVALID);
		return -EAGAIN;
	}
	/* Full, its release half pairs with the acquire in gpc_check(). Fails when it was taken meanwhile. */
	return atomic_cmpxchg_full(&g->valid, &pending, (u8)GPC_VALID) ? 0 : -EAGAIN;
}

static int refresh_once(struct gpc *g)
{
	struct place p;
	int err = look_up(g, &p);

	if (err == -EAGAIN)
		return err;
	if (!err && renew(g, &p))
		return 0;
	detach(g);
	if (!err)
		return publish(g, &p);
	return still_there(g->vm, &p) ? err : -EAGAIN;
}

/* With refresh_lock. */
static int refresh(struct gpc *g)
{
	for (u32 tries = 0; tries < REFRESH_TRIES; tries++) {
		int err = refresh_once(g);

		g->counts.refreshes += !err;
		if (err != -EAGAIN)
			return err;
		g->counts.again++;
		cpu_relax();
	}
	return -EAGAIN;
}

static bool is_current(const struct gpc *g)
{
	return READ_ONCE(g->valid) == GPC_VALID && g->generation == READ_ONCE(*g->present);
}

int gpc_refresh(struct gpc *g)
{
	int err = 0;

	spin_lock(&g->refresh_lock);
	if (!g->active)
		err = -EINVAL;
	else if (!is_current(g))
		err = refresh(g);
	spin_unlock(&g->refresh_lock);
	return err;
}

/* --- Activation --------------------------------------------------------------------------------- */

int gpc_init(struct gpc *g, struct vm *vm, u32 flags, struct vcpu *user)
{
	if ((flags & GPC_PINNED) && !user)
		return -EINVAL;
	memset(g, 0, sizeof(*g));
	g->vm = vm;
	g->kind = vm->config.gpc;
	g->flags = (u8)flags;
	g->user = user;
	g->gpa = INVALID_GPA;
	g->present = &g->generation;
	g->lock.name = flags & GPC_INNER ? "gpc_inner" : "gpc";
	g->refresh_lock.name = "gpc_refresh";
	return 0;
}

/* On the VM's list, by its key. With vm->gpc_lock. */
static void enlist(struct gpc *g)
{
	WRITE_ONCE(g->next, g->vm->gpcs);
	store_release(&g->vm->gpcs, g); /* pairs with the acquires in mark_range() */
}

/* It keeps its `next` for who stands on it. With vm->gpc_lock. */
static bool delist(struct gpc *g)
{
	struct gpc **p = &g->vm->gpcs;

	while (*p && *p != g)
		p = &(*p)->next;
	if (!*p)
		return false;
	store_release(p, g->next); /* as above */
	return true;
}

static void pin(struct gpc *g)
{
	if (!(g->flags & GPC_PINNED))
		return;
	g->next_pin = g->user->pins;
	g->user->pins = g;
	WRITE_ONCE(g->user->pinned, true);
}

static void unpin(struct gpc *g)
{
	struct gpc **p = g->user ? &g->user->pins : NULL;

	while (p && *p && *p != g)
		p = &(*p)->next_pin;
	if (!p || !*p)
		return;
	*p = g->next_pin;
	WRITE_ONCE(g->user->pinned, g->user->pins != NULL);
}

/*
 * With refresh_lock. Nobody has the address before it comes off the list, where an invalidation would have
 * waited for its readers; nobody stands on it when this returns.
 */
static void withdraw(struct gpc *g)
{
	bool listed;

	g->active = false;
	detach(g);
	spin_lock(&g->vm->gpc_lock);
	listed = delist(g);
	spin_unlock(&g->vm->gpc_lock);
	if (listed)
		srcu_synchronize(&list_srcu, SRCU_ATOMIC_FAST);
	unpin(g);
}

/* A new key: reachable for invalidation first, then active; the caller refreshes. */
static void set_key(struct gpc *g, gpaddr_t gpa, u32 len)
{
	withdraw(g);
	WRITE_ONCE(g->gpa, gpa);
	WRITE_ONCE(g->len, len);
	g->present = &g->vm->generation;
	spin_lock(&g->vm->gpc_lock);
	enlist(g);
	spin_unlock(&g->vm->gpc_lock);
	g->active = true;
	pin(g);
}

static bool in_one_page(u64 address, u32 len)
{
	return len && len <= PAGE_SIZE - (address & (PAGE_SIZE - 1));
}

int gpc_activate(struct gpc *g, gpaddr_t gpa, u32 len)
{
	int err = 0;

	if (!in_one_page(gpa, len))
		return -EINVAL;
	spin_lock(&g->refresh_lock);
	if (!g->active || g->gpa != gpa || g->len != len)
		set_key(g, gpa, len);
	if (!is_current(g))
		err = refresh(g);
	if (err == -EFAULT)
		withdraw(g);
	spin_unlock(&g->refresh_lock);
	return err;
}

int gpc_activate_va(struct gpc *g, void *va, u32 len)
{
	if (!in_one_page(va_to_pa(va), len))
		return -EINVAL;
	spin_lock(&g->refresh_lock);
	withdraw(g);
	WRITE_ONCE(g->gpa, INVALID_GPA);
	WRITE_ONCE(g->len, len);
	g->present = &g->generation;
	set_address(g, va, 0);
	store_release(&g->valid, (u8)GPC_VALID); /* pairs with the acquire in gpc_check() */
	g->active = true;
	pin(g);
	spin_unlock(&g->refresh_lock);
	return 0;
}

void gpc_deactivate(struct gpc *g)
{
	spin_lock(&g->refresh_lock);
	withdraw(g);
	spin_unlock(&g->refresh_lock);
}

void gpc_destroy(struct gpc *g)
{
	gpc_deactivate(g);
}

/* --- Pinned caches ------------------------------------------------------------------------------ */

bool gpc_pins_valid(struct vcpu *v)
{
	for (const struct gpc *g = v->pins; g; g = g->next_pin) {
		if (gpc_check(g, 0))
			continue;
		vcpu_request_quiet(v, VCPU_REQ_GPC);
		return false;
	}
	return true;
}

bool gpc_serve(struct vcpu *v)
{
	bool all = true;

	for (struct gpc *g = v->pins; g; g = g->next_pin)
		all &= !gpc_refresh(g);
	return all;
}
