/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen's guest ABI from the guest's side, for tests: hypercalls, shared pages, both ABIs of event channels.
 * Pages are the guest's own memory, and guest-physical addresses are pointers.
 */
#ifndef GUEST_XEN_H
#define GUEST_XEN_H

#include <asm/xen.h>
#include <cupel/xen_abi.h>
#include <guest.h>

/* --- What the architecture does (lib/<arch>/xen.c) ------------------------------------------------ */

/* Find Xen as an unmodified guest would and make calls possible; false: it is not there. vCPU 0. */
bool xen_find(void);
s64 xen_call(u64 nr, u64 a, u64 b, u64 c, u64 d);
/* Without the hypercall page, where there is one; any number, from any mode. */
s64 xen_call_raw(u64 nr, u64 a, u64 b, u64 c, u64 d);
/*
 * Have upcalls of the calling vCPU taken by `fn`, by the interrupt that all vCPUs of the VM share or by one
 * of its own (where the ABI has that; otherwise it is the same). What Xen answered.
 */
enum xen_route { XEN_ROUTE_SHARED, XEN_ROUTE_OWN };
s64 xen_route_upcalls(enum xen_route route, irq_fn fn);
bool xen_has_own_route(void);
/* The shared interrupt is there for as long as the upcall is pending: a store by the guest itself is enough. */
bool xen_route_is_level(void);
u32 xen_id(void); /* the calling vCPU's number for Xen */

/* --- Shared pages ---------------------------------------------------------------------------------- */

/* Map shared_info at a page of the guest, which it replaces for as long as it is there. */
s64 xen_map_shared(void *page);
s64 xen_register_vcpu_info(u32 cpu, void *at); /* of XEN_VCPU_INFO_SIZE bytes */
extern u8 *xen_shared; /* where it is now */
extern struct xen_vcpu_info *xen_info[MAX_VCPUS];

/* ns of system time; the calling vCPU's view. */
u64 xen_now(void);
s64 xen_runstate(u32 cpu, struct vcpu_runstate_info *out);
/* A copy of a record that the hypervisor may be writing. */
void xen_read_runstate(const struct vcpu_runstate_info *r, struct vcpu_runstate_info *out);

/* --- Event channels: ports, or negative errors ------------------------------------------------------ */

s64 evtchn_ipi(u32 cpu);
s64 evtchn_virq(u32 virq, u32 cpu);
s64 evtchn_loop(u32 *other); /* an interdomain channel to ourselves */
s64 evtchn_close(u32 port);
s64 evtchn_send(u32 port);
s64 evtchn_move(u32 port, u32 cpu); /* while it is masked, or nobody raises it */
s64 evtchn_hyp_unmask(u32 port);
s64 evtchn_reset(void);

/* Go over to FIFO queues: on vCPU 0 for the VM, then each vCPU for itself. 0, or Xen's error. */
s64 evtchn_fifo_cpu(u32 cpu);
s64 evtchn_fifo_pages(u32 ports);
extern bool evtchn_fifo;
/* Call it for each page that the ABI in use has, but for shared_info and vcpu_info. */
void evtchn_move_pages(void (*move)(void *page));

void evtchn_mask(u32 port);
void evtchn_unmask(u32 port); /* as a guest does it: in memory, with the hypercall only if it is pending */
bool evtchn_is_masked(u32 port);
bool evtchn_is_pending(u32 port);
void evtchn_clear(u32 port);

/* Called for every event, on the vCPU that took it, the pending bit cleared. */
typedef void (*evtchn_fn)(u32 port);
extern evtchn_fn evtchn_handler;
/* The upcall of the calling vCPU: clear the flag, then look for events until there are none. */
void evtchn_upcall(u32 irq);

s64 sched_block(void);
s64 sched_poll(u32 *ports, u32 count, u64 until);
s64 xen_timer(u32 cpu, u64 until, u32 flags);
s64 xen_timer_stop(u32 cpu);

#endif
