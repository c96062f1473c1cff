/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Event channels (Xen's public ABI, event_channel.h): ports of a VM, and their delivery into its guest
 * pages through page caches, by the 2-level ABI or by FIFO queues.
 *
 * evtchn_send() and evtchn_raise() run in any context, interrupts on or off, inside one read section of
 * guest_srcu; they take no lock that another CPU may hold while they wait. What can't be done there (a
 * cache is invalid, a FIFO queue is busy) is left with the target vCPU (VCPU_REQ_EVTCHN), which finishes
 * it outside every read section, before it enters its guest.
 *
 * Everything that changes a port (EVTCHNOP_*) takes the domain's lock, in thread context.
 */
#ifndef CUPEL_EVTCHN_H
#define CUPEL_EVTCHN_H

#include <cupel/gpc.h>
#include <cupel/vm.h>
#include <cupel/xen_abi.h>

#define EVTCHN_2L_PORTS	  4096
#define EVTCHN_FIFO_PORTS 131072

struct evtchn_domain; /* core/evtchn.h */
struct evtchn_vcpu;

/* Attach to a VM that is being made (vm->evtchn, vcpu->evtchn), and take away. -ENOMEM. Thread context. */
int evtchn_vm_init(struct vm *vm);
void evtchn_vm_destroy(struct vm *vm);

/* What guests call this VM (domid_t): between 1 and DOMID_SELF, its own while it lives. Any context. */
u32 evtchn_domid(const struct vm *vm);

/* Where a VM's shared_info is, and a vCPU's vcpu_info: for xen.c, which activates them. */
struct gpc *evtchn_shared_info(struct vm *vm);
struct gpc *evtchn_vcpu_info(struct vcpu *v);

/*
 * EVTCHNOP_cmd with its argument in hypervisor memory, already copied in; the caller copies it back when
 * the result is 0. The ABI's negative error, in Xen's numbering (xen_abi.h). Thread context, no lock held.
 * Waits for a change of the VM's memory; -XEN_EAGAIN if there is no end of those. An unmask that finds no page
 * is done before the vCPU next enters its guest.
 */
s64 evtchn_op(struct vcpu *v, u32 cmd, void *arg);
/* Size of that argument; 0: no such command. */
u32 evtchn_arg_size(u32 cmd);

/* EVTCHNOP_send on a local port: raises the peer's. 0 or the ABI's error. Any context. */
s64 evtchn_send(struct vm *vm, u32 port);
/* Raise a port of this VM as its hypervisor. Any context. */
s64 evtchn_raise(struct vm *vm, u32 port);
/* Raise whatever port this vCPU has bound to a per-vCPU VIRQ, or the VM to a global one. Any context. */
void evtchn_virq(struct vcpu *v, u32 virq);

/*
 * Raise it from this CPU's timer interrupt after `ns`; whatever happens to port and VM meanwhile. -EBUSY: too
 * many are on their way from this CPU. Any context.
 */
s64 evtchn_raise_later(struct vm *vm, u32 port, u64 ns);

/*
 * SCHEDOP_poll: `v` waits until one of the ports is pending, or a deadline. 0: one is pending already.
 * 1: the caller is to block the vCPU; evtchn_poll_end() when it runs again. Owner CPU.
 */
s64 evtchn_poll(struct vcpu *v, const u32 *port, u32 count);
void evtchn_poll_end(struct vcpu *v);
/* A polled port has become pending. Owner CPU or the waker. */
bool evtchn_poll_done(const struct vcpu *v);

/* evtchn_upcall_pending of this vCPU as the guest sees it; true as well when that can't be known now. */
bool evtchn_upcall_pending(struct vcpu *v);
/* Guest memory is there again, or elsewhere: what could not be paid for want of it is tried again. Any context. */
void evtchn_memory_changed(struct vm *vm);
/* It has gone off, and won't pay what it still owes to ports: another is asked to. Its CPU, put, no section. */
void evtchn_gone_off(struct vcpu *v);
/*
 * Serve VCPU_REQ_EVTCHN. Owner CPU, thread context with interrupts off, outside every read section. False:
 * memory is being changed, and the request has been posted again: the guest is not to be entered.
 */
bool evtchn_serve(struct vcpu *v);

/*
 * Arch half: evtchn_upcall_pending of `v` went from 0 to 1. Post the interrupt that the guest asked for
 * (per-vCPU vector, callback vector, PPI) and make the owner look. Any context, inside the read section.
 */
void arch_evtchn_upcall(struct vcpu *v);

/*
 * For tables: what happened, machine-wide sums over per-CPU counters. The first four are kept only while
 * lock_stats_enabled is true, as those of locks are.
 */
struct evtchn_counts {
	u64 sent; /* deliveries asked for */
	u64 already; /* was pending */
	u64 masked;
	u64 upcalls; /* 0 -> 1 of upcall_pending */
	u64 deferred; /* left with the vCPU */
	u64 served; /* finished by it */
};
struct evtchn_counts evtchn_counts_sum(void);

#endif
