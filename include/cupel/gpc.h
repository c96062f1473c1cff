/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page cache: guest frame -> host address, looked up once and then read by anyone from any context,
 * while the page may move at any moment. A cache is active or not, valid or not; its readers look at
 * both inside a read section, and whoever takes the page away makes it invalid first and then waits
 * for the readers. It never pins a page: protection is invalidation.
 *
 * Reading:
 *	token = guest_read_lock();
 *	p = gpc_get(g, len);            NULL: not valid now, or (trylock) busy. Nothing to put then.
 *	…
 *	gpc_put(g);
 *	guest_read_unlock(token);
 * gpc_get() runs on the CPU that began the section. It never spins on anything an updater may hold while
 * it waits, never refreshes, never blocks. In the rwlock kinds interrupts are off until gpc_put().
 * Whoever finds the cache invalid leaves the section, and then refreshes it in thread context or makes
 * it a request of the vCPU (VCPU_REQ_GPC, VCPU_REQ_EVTCHN).
 *
 * What readers may do beside each other in the page is their own matter (atomics of the guest's ABI).
 */
#ifndef CUPEL_GPC_H
#define CUPEL_GPC_H

#include <cupel/srcu.h>
#include <cupel/vm.h>

/*
 * The machine-wide domain of all that is read of guests without a lock: slot arrays, port tables, page
 * caches. One section covers them all. Set up by gpc_setup() before the first VM.
 */
extern struct srcu guest_srcu;
int gpc_setup(void);

static inline srcu_token_t guest_read_lock(void)
{
	return srcu_read_lock(&guest_srcu);
}
static inline void guest_read_unlock(srcu_token_t token)
{
	srcu_read_unlock(&guest_srcu, token);
}

/* enum gpc_kind is in vm.h: a VM's choice. */

#define GPC_READONLY BIT32(0) /* readers don't write: a read-only slot will do */
#define GPC_NEVER_DIRTY \
	BIT32(1) /* the page is never marked in the dirty log, and says so on purpose */
#define GPC_PINNED BIT32(2) /* the hardware uses the address while `user` is in guest mode */
/*
 * Read while another cache is held, and never the other way round: with the rwlock kinds two readers and
 * two updaters that disagree about the order wait for each other.
 */
#define GPC_INNER BIT32(3)

struct gpc_counts { /* approximate where updaters of one cache meet */
	u64 refreshes; /* that gave an address */
	u64 again; /* tries that met an invalidation or a slot change */
	u64 invalidations; /* times it went from valid to not, whoever did it */
	u64 waits; /* times an updater waited for its readers */
};

/* gpc.valid. PENDING: its address is written, but may have been taken away meanwhile. */
enum { GPC_INVALID, GPC_VALID, GPC_PENDING };

struct gpc {
	/* Read by readers. What they find with `valid` set was written while no reader could be inside. */
	void *va; /* with the offset in the page */
	u64 generation; /* of the slots, when va was looked up */
	const u64 *present; /* what it is compared to: the VM's, or itself for hypervisor memory */
	struct vm *vm;
	u32 len; /* bytes that may be used at va, inside one page */
	u8 kind; /* enum gpc_kind */
	u8 flags;
	u8 valid; /* GPC_VALID is stored with release after va, loaded with acquire before it */
	bool active; /* of updaters: it has a key */
	rwlock_t lock; /* rwlock and trylock kinds: guards all of the above */
	/* targeted: CPUs that have read since the last invalidation. A bit is set once, then only looked at. */
	u64 readers[NR_CPUS / 64];

	/* Of updaters. */
	spinlock_t refresh_lock __cacheline_aligned; /* one refresh, activation or deactivation at a time */
	gpaddr_t gpa; /* key, or INVALID_GPA when it caches hypervisor memory */
	struct vcpu *user; /* GPC_PINNED: who is kicked out and re-checked */
	struct gpc *next_pin; /* on user->pins */
	struct gpc *next; /* on the VM's list; changed under vm->gpc_lock, walked without */
	bool detaching; /* whoever has refresh_lock waits for readers */
	u64 draining[NR_CPUS / 64]; /* targeted: their CPUs then; written under refresh_lock */
	struct gpc_counts counts;
} __cacheline_aligned;

#define INVALID_GPA (~0UL)

/* kind = vm->config.gpc. 0, or -EINVAL: GPC_PINNED without a user. *g need not be initialised. */
int gpc_init(struct gpc *g, struct vm *vm, u32 flags, struct vcpu *user);
void gpc_destroy(struct gpc *g); /* deactivates it */

/*
 * Thread context, no read section, no lock a reader may want. len within the page of gpa: -EINVAL.
 * -EFAULT: no memory there (or read-only, for a cache that writes); after gpc_activate() it is inactive
 * then. -EAGAIN: a slot change or an invalidation is under way: it is active and not valid, and
 * gpc_refresh() is to be tried later, from outside; never loops for ever by itself.
 * A pinned cache is activated and deactivated by its user's owner, or while that is loaded nowhere.
 */
int gpc_activate(struct gpc *g, gpaddr_t gpa, u32 len);
int gpc_activate_va(struct gpc *g, void *va, u32 len); /* hypervisor memory: always valid */
int gpc_refresh(struct gpc *g); /* -EINVAL: not active */
void gpc_deactivate(struct gpc *g); /* after this no reader has the address */

/*
 * Mark invalid every cache of the VM in [gpa, gpa+size), wait for their readers once, kick pinned users out
 * of guest mode. Thread context, as above. Whoever takes a page away has raised vm->invalidating before, and
 * raises vm->invalidations when the new place can be looked up.
 */
void gpc_invalidate(struct vm *vm, gpaddr_t gpa, u64 size);

/*
 * Owner CPU, interrupts off, after mode = IN_GUEST and the barrier in vcpu_run(): true when the pinned
 * caches of this vCPU are usable; otherwise VCPU_REQ_GPC has been posted and the guest is not entered.
 */
bool gpc_pins_valid(struct vcpu *v);
/*
 * Serve VCPU_REQ_GPC: refresh the pinned caches of this vCPU. False: one has no page now, and the guest is to
 * wait for it with interrupts on. Owner CPU, outside every read section.
 */
bool gpc_serve(struct vcpu *v);

/* Inline: void *gpc_get(g, len), void gpc_put(g), void gpc_dirty(g). */
#include <cupel/gpc_read.h>

#endif
