/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page caches: the updaters' half, and the readers' slow ways. States: inactive -> active, not valid ->
 * valid -> (invalidated) active, not valid -> …. Must never hold a lock that a reader wants while it waits
 * for readers, and never give out an address that an invalidation has missed.
 *
 * Locks, in their order: refresh_lock of a cache (held over waits: one refresh, activation or
 * deactivation at a time), gpc_lock of the VM (the list, and every change of `valid`), lock of a cache
 * (rwlock kinds: taken by readers). No interrupt handler takes the first two.
 *
 * An address is replaced in three steps: valid = false; wait until no section that may have seen it set is
 * left; write, and then set it with release. In the rwlock kinds taking the lock is the wait. The SRCU
 * kinds wait at the end of a call, once for all the caches it marked, with no lock held but refresh_lock.
 *
 * A cache found not valid was marked by somebody who perhaps still waits: its readers may be inside. What
 * has to be waited for is therefore kept in the cache until its next address is published: the cookie of a
 * grace period, or (targeted) the CPUs in `draining`. So any number of updaters of one cache may wait side
 * by side, each for all the readers that matter.
 */
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/rmw.h>
#include <string.h>

struct srcu guest_srcu;

/* A slot change may take long: who meets one so often in a row is told to come again. */
#define REFRESH_TRIES 4

int gpc_setup(void)
{
	return srcu_init(&guest_srcu, "guest");
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
		return g->va;
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
	/* Full: before the look at `valid`. Pairs with the barrier in invalidate_one(). */
	atomic_fetch_or_full(&g->readers[cpu / 64], BIT(cpu % 64));
	count_shared_rmw();
}

/* --- Marking and waiting ------------------------------------------------------------------------ */

/* What an updater has to wait for, of all the caches it has marked. */
struct drain {
	bool wait[NR_GPC_KINDS];
	bool kicked; /* a vCPU that uses one in guest mode */
	u64 cpus[NR_CPUS / 64]; /* targeted */
};

static u32 mask_words(void)
{
	return (guest_srcu.nr_cpus + 63) / 64;
}

/* After the barrier that follows valid = false, and before anyone counts sections: see gpc_get(). */
static void take_readers(struct gpc *g)
{
	for (u32 i = 0; i < mask_words(); i++) {
		if (READ_ONCE(g->readers[i]))
			g->draining[i] |= atomic_xchg_full(&g->readers[i], 0UL);
	}
}

static void invalidate_locked(struct gpc *g)
{
	unsigned long flags = arch_irq_save();

	write_lock(&g->lock);
	WRITE_ONCE(g->valid, false);
	write_unlock(&g->lock);
	arch_irq_restore(flags);
}

/* Takes vm->gpc_lock for granted, as does all that follows down to wait_for(). */
static void invalidate_one(struct gpc *g)
{
	g->counts.invalidations++;
	if (g->kind <= GPC_TRYLOCK) {
		invalidate_locked(g);
		return;
	}
	WRITE_ONCE(g->valid, false);
	/*
	 * Pairs with barrier B of a section and the exchange in gpc_mark_reader(): a reader sees `valid`
	 * as false, or its section and its bit are seen from here on.
	 */
	smp_mb();
	if (g->kind == GPC_TARGETED)
		take_readers(g);
	else
		g->cookie = srcu_cookie(&guest_srcu);
}

static void add_wait(struct gpc *g, struct drain *d)
{
	bool wait = false;

	if (g->kind == GPC_TARGETED) {
		for (u32 i = 0; i < mask_words(); i++) {
			d->cpus[i] |= g->draining[i];
			wait |= g->draining[i] != 0;
		}
	} else if (g->kind > GPC_TRYLOCK) {
		wait = !srcu_done(&guest_srcu, g->cookie);
	}
	d->wait[g->kind] |= wait;
	g->counts.waits += wait;
}

static void mark(struct gpc *g, struct drain *d)
{
	if (READ_ONCE(g->valid)) {
		invalidate_one(g);
		if (g->flags & GPC_PINNED) {
			vcpu_request(g->user, VCPU_REQ_GPC);
			d->kicked = true;
		}
	}
	add_wait(g, d);
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
	gpaddr_t page = ALIGN_DOWN(g->gpa, PAGE_SIZE);

	return page >= gpa ? page - gpa < size : size && gpa - page < PAGE_SIZE;
}

void gpc_invalidate(struct vm *vm, gpaddr_t gpa, u64 size)
{
	struct drain d = { 0 };

	spin_lock(&vm->gpc_lock);
	for (struct gpc *g = vm->gpcs; g; g = g->next) {
		if (overlaps(g, gpa, size))
			mark(g, &d);
	}
	vm->invalidations++;
	spin_unlock(&vm->gpc_lock);
	wait_for(vm, &d);
}

/* After this nobody has the address, and nobody gets it. With refresh_lock. */
static void detach(struct gpc *g)
{
	struct drain d = { 0 };

	spin_lock(&g->vm->gpc_lock);
	mark(g, &d);
	spin_unlock(&g->vm->gpc_lock);
	wait_for(g->vm, &d);
}

/* --- Refresh ------------------------------------------------------------------------------------ */

/* What was found, and as of when. */
struct place {
	void *va;
	u64 generation, invalidations;
};

/* Nothing has moved since, nor is about to. With vm->gpc_lock. */
static bool still_there(const struct vm *vm, const struct place *p)
{
	return !vm->invalidating && vm->invalidations == p->invalidations &&
	       READ_ONCE(vm->generation) == p->generation;
}

static int look_up(struct gpc *g, struct place *p)
{
	struct vm *vm = g->vm;
	srcu_token_t token;
	bool busy;

	spin_lock(&vm->gpc_lock);
	p->invalidations = vm->invalidations;
	p->generation = READ_ONCE(vm->generation);
	busy = vm->invalidating || (p->generation & GENERATION_BUSY);
	spin_unlock(&vm->gpc_lock);
	if (busy)
		return -EAGAIN;
	token = guest_read_lock();
	p->va = vm_gpa_to_va(vm, g->gpa, g->len, !(g->flags & GPC_READONLY));
	guest_read_unlock(token);
	return p->va ? 0 : -EFAULT;
}

/* The address is what it was and nobody took it away: only the generation is new. */
static bool renew(struct gpc *g, const struct place *p)
{
	bool same;

	spin_lock(&g->vm->gpc_lock);
	same = g->valid && g->va == p->va && still_there(g->vm, p);
	if (same)
		WRITE_ONCE(g->generation, p->generation);
	spin_unlock(&g->vm->gpc_lock);
	return same;
}

/* Nobody is inside. With vm->gpc_lock. */
static void set_address(struct gpc *g, void *va, u64 generation)
{
	unsigned long flags = 0;

	if (g->kind <= GPC_TRYLOCK) {
		flags = arch_irq_save();
		write_lock(&g->lock);
	}
	g->va = va;
	WRITE_ONCE(g->generation, generation);
	memset(g->draining, 0, sizeof(g->draining));
	/* Pairs with the acquire in gpc_check(). */
	store_release(&g->valid, true);
	if (g->kind <= GPC_TRYLOCK) {
		write_unlock(&g->lock);
		arch_irq_restore(flags);
	}
}

static int publish(struct gpc *g, const struct place *p)
{
	int err = -EAGAIN;

	spin_lock(&g->vm->gpc_lock);
	if (still_there(g->vm, p)) {
		err = p->va ? 0 : -EFAULT;
		if (!err)
			set_address(g, p->va, p->generation);
	}
	spin_unlock(&g->vm->gpc_lock);
	return err;
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
	return publish(g, &p);
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
	return READ_ONCE(g->valid) && g->generation == READ_ONCE(*g->present);
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
	g->next = g->vm->gpcs;
	g->vm->gpcs = g;
}

static void delist(struct gpc *g)
{
	struct gpc **p = &g->vm->gpcs;

	while (*p && *p != g)
		p = &(*p)->next;
	if (*p)
		*p = g->next;
	g->next = NULL;
}

static void pin(struct gpc *g)
{
	if (!(g->flags & GPC_PINNED))
		return;
	g->next_pin = g->user->pins;
	g->user->pins = g;
}

static void unpin(struct gpc *g)
{
	struct gpc **p = g->user ? &g->user->pins : NULL;

	while (p && *p && *p != g)
		p = &(*p)->next_pin;
	if (p && *p)
		*p = g->next_pin;
}

/* With refresh_lock. The key stays until there is another, and so does what has to be waited for. */
static void withdraw(struct gpc *g)
{
	struct drain d = { 0 };

	spin_lock(&g->vm->gpc_lock);
	g->active = false;
	mark(g, &d);
	delist(g);
	spin_unlock(&g->vm->gpc_lock);
	wait_for(g->vm, &d);
	unpin(g);
}

/* A new key: reachable for invalidation first, then active; the caller refreshes. */
static void set_key(struct gpc *g, gpaddr_t gpa, u32 len)
{
	withdraw(g);
	g->gpa = gpa;
	g->len = len;
	g->present = &g->vm->generation;
	spin_lock(&g->vm->gpc_lock);
	enlist(g);
	g->active = true;
	spin_unlock(&g->vm->gpc_lock);
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
	g->gpa = INVALID_GPA;
	g->len = len;
	g->present = &g->generation;
	spin_lock(&g->vm->gpc_lock);
	set_address(g, va, 0);
	g->active = true;
	spin_unlock(&g->vm->gpc_lock);
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
