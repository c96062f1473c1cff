/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A virtual CPU has one owner CPU at a time: vcpu_load() takes it there, vcpu_run() runs it until
 * something has to be decided above, vcpu_put() lets it go. Anything another CPU wants of it is a
 * request bit plus a kick; the owner serves requests before entry. Interrupts are posted into
 * per-vCPU words by anyone and folded by the owner.
 */
#ifndef CUPEL_VCPU_H
#define CUPEL_VCPU_H

#include <asm/vcpu.h>
#include <cupel/atomic.h>
#include <cupel/clock.h>
#include <cupel/types.h>

enum vcpu_exit {
	VCPU_EXIT_RESUME, /* handled: enter again (never leaves vcpu_run()) */
	VCPU_EXIT_LEAVE, /* the guest asked to leave all the way out (HC_LEAVE) */
	VCPU_EXIT_BLOCK, /* WFI/HLT with nothing pending: wait for a wake-up */
	VCPU_EXIT_YIELD, /* the guest gives the CPU up but stays runnable */
	VCPU_EXIT_PREEMPT, /* a request from the scheduler */
	VCPU_EXIT_OFF, /* PSCI CPU_OFF, or waiting for SIPI */
	VCPU_EXIT_STOP, /* its VM is stopped */
};

/* Request bits, set by anyone with vcpu_request(). */
#define VCPU_REQ_PREEMPT BIT32(0) /* leave vcpu_run() with VCPU_EXIT_PREEMPT */
#define VCPU_REQ_STOP	 BIT32(1)
#define VCPU_REQ_EVENT	 BIT32(2) /* posted interrupts to fold */
#define VCPU_REQ_TLB	 BIT32(3) /* flush this vCPU's second-stage translations before entry */
#define VCPU_REQ_RESET	 BIT32(4) /* start at the entry point that was posted (CPU_ON, SIPI) */

#define VCPU_REQ_EVTCHN BIT32(5) /* deliveries that the sender could not finish: evtchn_serve() */
#define VCPU_REQ_GPC	BIT32(6) /* pinned page caches to look at again: gpc_serve() */
#define VCPU_REQ_SYNC	BIT32(7) /* somebody waits until nothing found in guest memory is held */
#define VCPU_REQ_TIME	BIT32(8) /* a record of its time that could not be written: xen_serve() */

enum vcpu_mode { VCPU_OUTSIDE, VCPU_IN_GUEST };

/* Scheduler's view. */
enum vcpu_run_state { VCPU_OFF, VCPU_RUNNABLE, VCPU_RUNNING, VCPU_BLOCKED };

#define EXIT_COUNTERS 24

struct vcpu {
	/* Written by the owner only. */
	struct vm *vm;
	u32 id;
	int cpu; /* where it is loaded, -1 = nowhere */
	u64 exits[EXIT_COUNTERS]; /* by arch_exit_names[] */
	u64 loads;
	u64 host_irqs; /* host interrupts that ended a stay in guest mode */
	u64 active_writes; /* host active-state writes made for this vCPU */
	u64 guest_ticks; /* timer interrupts handed to the guest */
	const struct mmio_window *mmio_hit; /* the window of its last access, tried first */
	struct evtchn_vcpu *evtchn; /* NULL without xen */
	struct xen_vcpu *xen; /* likewise */
	struct gpc *pins; /* its GPC_PINNED caches, NULL = none: looked at before every entry */
	struct steal {
		bool on; /* somebody wants to know */
		bool behind; /* the guest's record could not be written last time */
		u64 ticks; /* stolen so far */
	} steal;

	/* Written by others too. */
	u8 shared_line[0] __cacheline_aligned;
	union {
		struct {
			u32 requests;
			u32 pinned; /* the owner's: `pins` is not empty */
		};
		u64 before_entry; /* both at a look: not zero, and the guest is not entered yet */
	};
	u32 mode; /* enum vcpu_mode: owner stores, then a full barrier, then reads requests */
	u32 run_state; /* enum vcpu_run_state; changed by cmpxchg */
	u64 runnable_since; /* while steal.on: core/steal.c */

	/* Scheduler: guarded by the run queue's lock of `sched_cpu`. */
	int sched_cpu __cacheline_aligned; /* run queue it belongs to; -1 = none */
	int sched_next; /* queue it is to go to: differs from sched_cpu while a move is due */
	struct vcpu *rq_next;
	bool halted; /* it blocked, and has not run since: it stays put until it is wakeable */
	struct soft_timer wake_timer; /* armed on sched_cpu while blocked with a deadline */

	struct arch_vcpu arch;
};

/* All three: thread context, on the CPU that owns it. vcpu_run() returns with interrupts on. */
void vcpu_load(struct vcpu *v);
enum vcpu_exit vcpu_run(struct vcpu *v);
void vcpu_put(struct vcpu *v);

/*
 * Set request bits and make the owner look: wakes it if blocked, kicks it out of guest mode if there.
 * Any context, no lock taken.
 * The full barrier between setting the bit and reading `mode` pairs with the one in vcpu_run()
 * between setting `mode` and reading `requests` (store buffering).
 */
void vcpu_request(struct vcpu *v, u32 bits);
/* Only the bits; for a caller that knows the owner will look. */
static inline void vcpu_request_quiet(struct vcpu *v, u32 bits)
{
	atomic_fetch_or_release(&v->requests, bits); /* pairs with the acquire that takes them */
}
/* Blocked -> runnable on its CPU. Any context. */
void vcpu_wake(struct vcpu *v);
/* Off -> runnable. -EBUSY when it was not off. */
int vcpu_power_on(struct vcpu *v);

/*
 * Serve a hypercall of abi.h. The result goes to the guest; *exit is written only when the guest
 * must not simply go on. Owner CPU.
 */
s64 hypercall(struct vcpu *v, u32 nr, u64 a, u64 b, u64 c, enum vcpu_exit *exit);

/* Arch half; all with interrupts off unless said otherwise. */
int arch_vcpu_init(struct vcpu *v); /* thread context; state after reset, not runnable */
void arch_vcpu_destroy(struct vcpu *v);
void arch_vcpu_load(struct vcpu *v);
void arch_vcpu_put(struct vcpu *v);
/* Serve VCPU_REQ_EVENT/TLB/RESET bits that core took from `requests`. */
void arch_vcpu_requests(struct vcpu *v, u32 bits);
/*
 * Enter the guest once, come back, handle the exit (host interrupts included). May re-enter by itself
 * for exits it can serve without looking at requests. v->mode is VCPU_IN_GUEST on entry; the arch sets
 * VCPU_OUTSIDE as soon as it is out.
 */
enum vcpu_exit arch_vcpu_enter(struct vcpu *v);
/*
 * True when an interrupt that would end a WFI/HLT is pending, posted words that are not yet folded
 * included. Owner CPU, while it is not loaded; interrupts on or off, no lock taken.
 */
bool arch_vcpu_wakeable(struct vcpu *v);
/* Counter value at which one of its timers will make it wakeable; ~0 = none. As above. */
u64 arch_vcpu_next_deadline(struct vcpu *v);
/* Names of v->exits[], NULL terminated, at most EXIT_COUNTERS. */
extern const char *const arch_exit_names[];
/* Print a vCPU's registers. */
void arch_vcpu_dump(struct vcpu *v);

#endif
