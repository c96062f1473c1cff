/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steal time: how long a vCPU was ready to run and did not, kept by the scheduler and told to the guest
 * through page caches (arm64: DEN 0057, x86: KVM's MSR, Xen's runstate). Written at load and at put, in
 * atomic context: a page that can't be reached now is skipped and caught up with later, and nothing that
 * was stolen is forgotten.
 *
 * The account is kept for a vCPU whose steal.on is set: at its creation by steal=on, or by whoever serves
 * the guest that asks, on that vCPU's CPU or while it is off. What went before is not stolen.
 */
#ifndef CUPEL_STEAL_H
#define CUPEL_STEAL_H

#include <cupel/vcpu.h>

/* ns a vCPU has spent runnable and not running, so far. Owner CPU. */
u64 steal_ns(const struct vcpu *v);

/* Called by core's scheduler, owner CPU; nobody calls them while v->steal.on is false. */
void steal_load(struct vcpu *v); /* before it is loaded */
void steal_put(struct vcpu *v, u32 run_state); /* what it will be, before it is: enum vcpu_run_state */
/* Another CPU or the owner is about to make it runnable: any context. */
void steal_runnable(struct vcpu *v);

/*
 * Arch half: write the guest's record, in whatever form; true when there is none to write. False: the page
 * could not be reached now; the next load tries again. Owner CPU, thread context, not loaded, in no section.
 */
bool arch_steal_publish(struct vcpu *v, u64 ns);
void arch_steal_preempted(struct vcpu *v); /* at put, still runnable; x86's preempted flag */

#endif
