/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rest of Xen's guest ABI, beside event channels: the hypercall table, version and features, memory
 * and HVM operations, vCPU operations, time, runstate. Every argument comes from a guest: it is copied
 * before it is looked at, and a bad one is answered with the ABI's error.
 */
#ifndef CUPEL_XEN_H
#define CUPEL_XEN_H

#include <cupel/evtchn.h>
#include <cupel/vcpu.h>

/* What Cupel says it is: xen_version 0 and, on x86, CPUID. */
#define XEN_VERSION_MAJOR 4
#define XEN_VERSION_MINOR 17

struct xen_vm; /* core/xen.h: vm->xen, NULL in a VM without xen=on */
struct xen_vcpu;

int xen_vm_init(struct vm *vm); /* evtchn_vm_init() included; -ENOMEM. Thread context. */
void xen_vm_destroy(struct vm *vm);
/*
 * INIT, CPU_OFF and on again: timers and a poll end. What was registered stays, as a guest registers once
 * for the life of a vCPU. Owner CPU, or while it is off.
 */
void xen_vcpu_reset(struct vcpu *v);

/*
 * One hypercall; arg[] as in registers. *exit is written only when the guest must not simply go on. A
 * guest's user mode never gets here (the arch answers -XEN_EPERM). Owner CPU, interrupts off, in an exit.
 */
s64 xen_hypercall(struct vcpu *v, u64 nr, const u64 arg[5], enum vcpu_exit *exit);

/* Guest's system time in ns: what vcpu_time_info says, what timers are set in. */
u64 xen_system_time(const struct vm *vm);

/*
 * Around a stay on a CPU, when v->xen is set: before it is loaded, and when it is put. Owner CPU, thread
 * context, in no read section.
 */
void xen_vcpu_load(struct vcpu *v);
void xen_vcpu_put(struct vcpu *v, u32 run_state); /* what it will be: enum vcpu_run_state */
/*
 * Serve VCPU_REQ_TIME: a record that load could not write, because memory was on the move, is written before the
 * guest runs. False: it still is, the vCPU is to come again. Owner CPU, outside every read section.
 */
bool xen_serve(struct vcpu *v);
/* Slots have changed: a record that could not be reached may be there again. Thread context, no lock held. */
void xen_memory_changed(struct vm *vm);
/* arch_counter() value of its next timer event, ~0 = none. Joins arch_vcpu_next_deadline(). */
u64 xen_vcpu_deadline(const struct vcpu *v);
/*
 * Joins arch_vcpu_wakeable(), which itself says whether a pending upcall would end a halt (x86: not with
 * interrupts off): a poll is over, or an upcall is pending while it polls.
 */
bool xen_vcpu_wakeable(struct vcpu *v);

/* HVM_PARAM_CALLBACK_IRQ as the guest set it; the arch reads it in arch_evtchn_upcall(). */
u64 xen_callback(const struct vm *vm);
u8 xen_upcall_vector(const struct vcpu *v); /* HVMOP_set_evtchn_upcall_vector; 0 = none */
/* What a vCPU reads as its counter has jumped: its time info is written anew. Owner CPU, in an exit. */
void xen_time_changed(struct vcpu *v);

/*
 * Arch half. Guest memory by the guest's virtual address, as its kernel would reach it now: -EFAULT, and
 * some of it may have been written. Owner CPU, in an exit.
 */
int arch_guest_read(struct vcpu *v, void *to, u64 va, u32 len);
int arch_guest_write(struct vcpu *v, u64 va, const void *from, u32 len);
/* Where in guest-physical memory that address is now, to be read and written: -EFAULT. As above. */
int arch_guest_translate(struct vcpu *v, u64 va, gpaddr_t *gpa);
/* Whether upcalls can be raised that way: HVM_PARAM_CALLBACK_IRQ, and vectors (x86 only). Any context. */
bool arch_xen_callback_valid(u64 param);
bool arch_xen_vector_valid(u8 vector);
/*
 * How this vCPU's guest turns its counter into ns from arch_counter() value `now` on: tsc_timestamp,
 * tsc_to_system_mul, tsc_shift and flags of *t; the rest is the caller's. Owner CPU.
 */
void arch_xen_time(const struct vcpu *v, u64 now, struct vcpu_time_info *t);

#endif
