/* SPDX-License-Identifier: GPL-2.0-only */
/* A guest of the host build is a function: each call of it stands for one stay in guest mode. */
#ifndef ASM_HOST_VCPU_H
#define ASM_HOST_VCPU_H

#include <cupel/types.h>

struct vcpu;

struct arch_vm {
	bool live; /* between arch_vm_init() and arch_vm_destroy() */
	u64 mapped; /* bytes given to arch_stage2_map() */
};

struct arch_vcpu {
	int (*guest)(struct vcpu *v); /* returns an enum vcpu_exit */
	void *data; /* the guest's own */
	u32 posted; /* interrupts: bits set by anyone, taken by the guest */
	u64 deadline; /* of its timer; 0 = none */
	u64 stolen; /* its steal record; ns */
	u32 records, preempted; /* calls that wrote it; puts that left the guest waiting */
	bool no_record; /* it can't be written now */
	u32 enters, puts, served; /* calls of the arch half; bits of arch_vcpu_requests() */
	bool live;
	u32 upcalls; /* calls of arch_evtchn_upcall(): atomic */
};

/* In `posted`: an event channel's upcall. */
#define HOST_UPCALL (1U << 31)

#endif
