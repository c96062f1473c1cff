/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of core/xen*.c share: the state behind a VM's Xen ABI. Nobody else looks in here; what
 * others may ask is in <cupel/xen.h>.
 */
#ifndef CORE_XEN_H
#define CORE_XEN_H

#include <asm/xen.h>
#include <cupel/gpc.h>
#include <cupel/xen.h>

#define XEN_LINE_MAX 128

struct xen_vm {
	u64 boot; /* arch_counter() at system time 0 */
	u64 callback; /* HVM_PARAM_CALLBACK_IRQ; written by any vCPU, read by whoever raises an upcall */
	bool update_flag; /* the guest asked for XEN_RUNSTATE_UPDATE (vm_assist) */
	/*
	 * Guards where the shared pages are: all below, and of each vCPU `registered` and the activation
	 * of its caches. Held over grace periods, never by a reader, and never over a change of slots.
	 */
	spinlock_t lock;
	gpaddr_t shared; /* where the guest has put shared_info; INVALID_GPA: in `page` */
	void *page; /* shared_info before the guest has put it anywhere */
	bool adding; /* memory is being made for it: atomic, guards the next two */
	void *added; /* a page of ours that was added to the guest's memory, */
	gpaddr_t added_at; /* and where it is now */
	spinlock_t line_lock; /* guards line and len */
	u32 len;
	char line[XEN_LINE_MAX + 1]; /* of its console, not yet printed */
};

/* Runstate: where a vCPU's time went, in ns of system time. */
struct xen_runstate {
	spinlock_t lock; /* guards all of this, and who writes the guest's record */
	struct vcpu_runstate_info now; /* of the last change; the times add up to state_entry_time */
	u64 stolen; /* v->steal.ticks up to then */
	bool behind; /* the guest's record could not be written */
	u32 first; /* bytes of it in area[0], the rest is in area[1] */
	struct gpc area[2]; /* [0] is taken before [1] */
};

struct xen_vcpu {
	struct vcpu *vcpu;
	/* Timers, in arch_counter() values, ~0 = none. The owner's. */
	u64 once; /* singleshot, set_timer_op */
	u64 next, period; /* periodic: when next, and how long */
	struct soft_timer timer; /* armed on the CPU where it is loaded, for the first of them */
	u64 period_posted; /* a period that another vCPU has set, ~0 = none: taken at load */

	bool polling; /* in SCHEDOP_poll; the owner's */
	u64 poll_until; /* ~0 = no timeout */
	bool down; /* off by VCPUOP_down: VCPUOP_up lets it go on from there */

	u8 vector; /* HVMOP_set_evtchn_upcall_vector, 0 = none; read in any context */
	bool registered; /* VCPUOP_register_vcpu_info has been */
	bool time_stale; /* its time info is to be written at load */
	u64 time_written; /* counter at which it was */
	struct xen_runstate run;
	bool time_wanted; /* `time` is registered */
	struct gpc time; /* VCPUOP_register_vcpu_time_area */
	u8 info[XEN_VCPU_INFO_SIZE] __cacheline_aligned; /* vcpu_info of one that has none of its own yet */
};

/* Whether the guest computes its time from vcpu_time_info. */
#define XEN_HAS_TIME ((XEN_FEATURES & BIT32(XENFEAT_hvm_safe_pvclock)) != 0)

/* xen_ops.c, xen_vcpu.c: hypercalls by their number; owner CPU, interrupts off, in an exit. */
s64 xen_version_op(struct vcpu *v, u32 cmd, u64 arg);
s64 xen_memory_op(struct vcpu *v, u32 cmd, u64 arg);
s64 xen_hvm_op(struct vcpu *v, u32 cmd, u64 arg);
s64 xen_vm_assist(struct vcpu *v, u32 cmd, u32 type);
s64 xen_console_io(struct vcpu *v, u32 cmd, u32 count, u64 buffer);
s64 xen_vcpu_op(struct vcpu *self, u32 cmd, u32 id, u64 arg, enum vcpu_exit *exit);

/* xen_pages.c: where shared pages are. As above, with vm->xen->lock not held. */
s64 xen_move_shared_info(struct vcpu *v, u64 gfn);
s64 xen_register_vcpu_info(struct vcpu *v, u64 gfn, u64 offset);
s64 xen_register_runstate(struct vcpu *v, gpaddr_t first, gpaddr_t second, u32 bytes_in_first);
s64 xen_register_time(struct vcpu *v, gpaddr_t gpa);
/* Activate a vCPU's vcpu_info where it is before it is registered. The VM's lock is held, or it is new. */
void xen_place_vcpu_info(struct vcpu *v);

/* xen_time.c. Counter value of a system time, ~0 when it is beyond any. */
u64 xen_time_to_counter(const struct vm *vm, u64 ns);
u64 xen_counter_to_time(const struct vm *vm, u64 counter);
void xen_time_init(struct vcpu *v);
void xen_time_load(struct vcpu *v, u64 now);
void xen_time_put(struct vcpu *v);
void xen_set_singleshot(struct vcpu *v, u64 deadline); /* counter value; of the calling vCPU */
void xen_set_periodic(struct vcpu *v, u64 period); /* ticks, 0 = stop; of the calling vCPU */
s64 xen_set_timer_op(struct vcpu *v, s64 timeout);

/* xen_runstate.c. */
int xen_runstate_init(struct vcpu *v);
void xen_runstate_destroy(struct vcpu *v);
/* It is in `state` from counter value `now` on; the guest's record too, if it can be reached. Owner CPU. */
void xen_runstate_change(struct vcpu *v, u32 state, u64 now);
/* Write the guest's record as it is: after it was registered. Any vCPU's CPU, thread context. */
void xen_runstate_publish(struct vcpu *v);
void xen_runstate_get(struct vcpu *v, struct vcpu_runstate_info *out); /* up to this moment */

#endif
