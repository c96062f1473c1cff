/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steal time: how long a vCPU was ready to run and did not, kept by the scheduler and told to the guest
 * through page caches (arm64: DEN 0057, x86: KVM's MSR, Xen's runstate). Written at load and at put, in
 * atomic context: a page that can't be reached now is skipped and caught up with later, and nothing that
 * was stolen is forgotten.
 */
#ifndef CUPEL_STEAL_H
#define CUPEL_STEAL_H

#include <cupel/vcpu.h>

/* ns a vCPU has spent runnable and not running, so far. Owner CPU. */
u64 steal_ns(const struct vcpu *v);

/* Called by core's scheduler, owner CPU; cheap when nothing asks for time (v->steal.on is false). */
void steal_load(struct vcpu *v);
void steal_put(struct vcpu *v, u32 run_state);
/* Another CPU or the owner made it runnable: any context. */
void steal_runnable(struct vcpu *v);

/* Arch half: write the guest's record, in whatever form; false: the page could not be reached. */
bool arch_steal_publish(struct vcpu *v, u64 ns);
void arch_steal_preempted(struct vcpu *v); /* at put; x86's preempted flag */

#endif
