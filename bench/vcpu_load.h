/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the vcpu-load experiment share. */
#ifndef BENCH_VCPU_LOAD_H
#define BENCH_VCPU_LOAD_H

#include "harness.h"

#include <cupel/lock.h>
#include <cupel/vm.h>

/* In the order of enum irqchip_kind and enum irqstate_kind. */
extern const char *const load_irqchips[];
extern const char *const load_irqstates[];

/* irqchip=LIST, or else `fallback`. -EINVAL, with a line, for one that this machine has not. */
int load_irqchip_words(const char *fallback, struct bench_choice *c);

/* What a VM's vCPUs have counted, and what was counted on the active-state path meanwhile. */
struct load_counts {
	u64 loads, active_writes, host_irqs, guest_ticks;
	u64 exits[EXIT_COUNTERS];
	struct lock_count lock;
};

/* Add what the vCPUs of a VM have counted since they were made. They must be put. */
void load_counts_add(struct load_counts *c, const struct vm *vm);
void load_counts_sum(struct load_counts *c, const struct load_counts *more);
/* now - then, field by field. */
struct load_counts load_counts_since(const struct load_counts *now, const struct load_counts *then);
/* Count acquisitions of descriptor locks from here to load_count_locks_end(). -ENOMEM. */
int load_count_locks_begin(void);
struct lock_count load_count_locks_end(void);
/* The counters every row of this experiment carries. `counted` is the round with counting on. */
void load_record_counts(struct record *r, const struct load_counts *timed,
			const struct load_counts *counted);

/* K VMs of N vCPUs each share the CPUs through the scheduler. */
int overcommit_run(const char *bench, u32 vms);
/* What choosing a variant costs: a direct call against one through the VM's pointer. */
void select_cost_run(void);

#endif
