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
 * gpc_get() never spins on anything an updater may hold while it waits, never refreshes, never blocks.
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

#define GPC_READONLY	BIT32(0) /* readers don't write: a read-only slot will do */
#define GPC_NEVER_DIRTY BIT32(1) /* the page is never marked in the dirty log, and says so on purpose */
#define GPC_PINNED	BIT32(2) /* the hardware uses the address while `user` is in guest mode */

struct gpc_counts {
	u64 refreshes, again, invalidations, waits;
};

struct gpc {
	/* Read by readers. */
	void *va; /* with the offset in the page; written while no reader can be inside */
	u64 generation; /* of the slots, when va was looked up; ~0 for a cache of hypervisor memory */
	u32 len; /* bytes that may be used at va, inside one page */
	u8 kind; /* enum gpc_kind */
	u8 flags;
	bool active;
	bool valid; /* stored with release after va; loaded with acquire before it */
	struct vm *vm;
	rwlock_t lock; /* rwlock and trylock kinds: guards va, generation, len, active, valid */

	/* targeted: CPUs that have read since the last invalidation. Read by readers, seldom written. */
	u64 *readers; /* NR_CPUS bits; NULL for other kinds */

	/* Of updaters. */
	spinlock_t refresh_lock __cacheline_aligned; /* one refresh, activation or deactivation at a time */
	gpaddr_t gpa; /* key, or INVALID_GPA when it caches hypervisor memory */
	paddr_t pa; /* page behind va */
	struct vcpu *user; /* GPC_PINNED: who is kicked out and re-checked */
	struct gpc *next; /* on the VM's list, guarded by vm->gpc_lock */
	bool listed;
	struct gpc_counts counts;
};

#define INVALID_GPA (~0UL)

/* kind = vm->config.gpc. -ENOMEM. `user` may be NULL unless GPC_PINNED. */
int gpc_init(struct gpc *g, struct vm *vm, u32 flags, struct vcpu *user);
void gpc_destroy(struct gpc *g); /* deactivates it */

/*
 * Thread context, no read section, no lock a reader may want. len within the page of gpa: -EINVAL.
 * -EFAULT: no memory there (or read-only, for a cache that writes). -EAGAIN: a slot change is under way:
 * try again later, from outside; never loops for ever by itself.
 */
int gpc_activate(struct gpc *g, gpaddr_t gpa, u32 len);
int gpc_activate_va(struct gpc *g, void *va, u32 len); /* hypervisor memory: always valid */
int gpc_refresh(struct gpc *g);
void gpc_deactivate(struct gpc *g); /* after this no reader has the address */

/* Mark invalid every cache of the VM in [gpa, gpa+size), wait for their readers once, kick pinned users. */
void gpc_invalidate(struct vm *vm, gpaddr_t gpa, u64 size);

/*
 * Owner CPU, interrupts off, after mode = IN_GUEST and the barrier in vcpu_run(): true when the pinned
 * caches of this vCPU are usable; otherwise VCPU_REQ_GPC has been posted and the guest is not entered.
 */
bool gpc_pins_valid(struct vcpu *v);
/* Serve VCPU_REQ_GPC: refresh the pinned caches of this vCPU. Owner CPU, outside every read section. */
void gpc_serve(struct vcpu *v);

/* Inline: bool/void *gpc_get(g, len), void gpc_put(g), void gpc_dirty(g). See core/gpc_read.h. */
#include <cupel/gpc_read.h>

#endif
