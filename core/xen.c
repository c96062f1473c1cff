/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen's guest ABI: what a VM and its vCPUs have of it, the table of hypercalls, and the scheduler's. Every
 * argument comes from a guest: it is copied before it is looked at, a bad one gets the ABI's error, and
 * harms nobody but its guest.
 */
#include <cupel/mm.h>

#include "xen.h"

#define POLL_MAX 128 /* ports, as Xen */

#define SHUTDOWN_crash 3

/* --- VMs ---------------------------------------------------------------------------------------- */

static int init_vcpu(struct vcpu *v)
{
	struct xen_vcpu *x = pages_alloc(size_to_order(sizeof(*x)));
	int err;

	if (!x)
		return -XEN_ENOMEM;
	v->xen = x;
	x->vcpu = v;
	xen_time_init(v);
	err = gpc_init(&x->time, v->vm, 0, NULL);
	if (!err)
		err = xen_runstate_init(v);
	if (!err)
		v->steal.on = true; /* runstate tells waiting from sleeping by it */
	xen_place_vcpu_info(v);
	return err;
}

static void destroy_vcpu(struct vcpu *v)
{
	struct xen_vcpu *x = v->xen;

	if (!x)
		return;
	xen_runstate_destroy(v);
	gpc_destroy(&x->time);
	v->xen = NULL;
	pages_free(x, size_to_order(sizeof(*x)));
}

static int init_vm(struct vm *vm)
{
	struct xen_vm *x = vm->xen;
	int err;

	x->boot = arch_counter();
	x->lock.name = "xen";
	x->line_lock.name = "xen_line";
	x->shared = INVALID_GPA;
	x->page = page_alloc();
	if (!x->page)
		return -XEN_ENOMEM;
	err = gpc_activate_va(evtchn_shared_info(vm), x->page, XEN_SHARED_INFO_SIZE);
	for (u32 i = 0; !err && i < vm->nr_vcpus; i++)
		err = init_vcpu(vm->vcpu[i]);
	return err;
}

int xen_vm_init(struct vm *vm)
{
	struct xen_vm *x;
	int err = evtchn_vm_init(vm);

	if (err)
		return err;
	x = pages_alloc(size_to_order(sizeof(*x)));
	if (!x) {
		evtchn_vm_destroy(vm);
		return -XEN_ENOMEM;
	}
	vm->xen = x;
	err = init_vm(vm);
	if (err)
		xen_vm_destroy(vm);
	return err;
}

void xen_vm_destroy(struct vm *vm)
{
	struct xen_vm *x = vm->xen;

	evtchn_vm_destroy(vm); /* after this nobody delivers, and no cache of its points here */
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		destroy_vcpu(vm->vcpu[i]);
	if (x->page)
		page_free(x->page);
	vm->xen = NULL;
	pages_free(x, size_to_order(sizeof(*x)));
}

u64 xen_callback(const struct vm *vm)
{
	return READ_ONCE(vm->xen->callback);
}

u8 xen_upcall_vector(const struct vcpu *v)
{
	return READ_ONCE(v->xen->vector);
}

/* --- A stay on a CPU ---------------------------------------------------------------------------- */

static void end_poll(struct vcpu *v)
{
	v->xen->polling = false;
	v->xen->poll_until = ~0UL;
	evtchn_poll_end(v);
}

void xen_vcpu_load(struct vcpu *v)
{
	unsigned long flags = arch_irq_save();
	u64 now = arch_counter();

	if (unlikely(v->xen->polling))
		end_poll(v);
	WRITE_ONCE(v->xen->down, false);
	xen_runstate_change(v, RUNSTATE_running, now);
	xen_time_load(v, now);
	arch_irq_restore(flags);
}

void xen_vcpu_put(struct vcpu *v, u32 run_state)
{
	unsigned long flags = arch_irq_save();
	u32 state = RUNSTATE_runnable;

	if (run_state == VCPU_BLOCKED)
		state = RUNSTATE_blocked;
	else if (run_state == VCPU_OFF)
		state = RUNSTATE_offline;
	xen_time_put(v);
	xen_runstate_change(v, state, arch_counter());
	arch_irq_restore(flags);
}

bool xen_vcpu_wakeable(struct vcpu *v)
{
	/* A timer is raised at load, a deferred delivery is finished there: both want a stay. */
	if ((READ_ONCE(v->requests) & VCPU_REQ_EVTCHN) || xen_vcpu_deadline(v) <= arch_counter())
		return true;
	return v->xen->polling && evtchn_poll_done(v);
}

void xen_vcpu_reset(struct vcpu *v)
{
	unsigned long flags = arch_irq_save();

	if (v->xen->polling)
		end_poll(v);
	xen_set_singleshot(v, ~0UL);
	xen_set_periodic(v, 0);
	arch_irq_restore(flags);
}

/* --- Event channels, scheduling ----------------------------------------------------------------- */

union evtchn_arg {
	struct evtchn_bind_interdomain bind_interdomain;
	struct evtchn_bind_virq bind_virq;
	struct evtchn_bind_pirq bind_pirq;
	struct evtchn_close close;
	struct evtchn_status status;
	struct evtchn_alloc_unbound alloc_unbound;
	struct evtchn_bind_ipi bind_ipi;
	struct evtchn_bind_vcpu bind_vcpu;
	struct evtchn_unmask unmask;
	struct evtchn_reset reset;
	struct evtchn_init_control init_control;
	struct evtchn_expand_array expand_array;
	struct evtchn_set_priority set_priority;
};

static __noinline s64 evtchn_slow(struct vcpu *v, u32 cmd, u64 arg)
{
	u32 size = evtchn_arg_size(cmd);
	union evtchn_arg a;
	s64 ret;

	if (!size)
		return -XEN_ENOSYS;
	if (arch_guest_read(v, &a, arg, size))
		return -XEN_EFAULT;
	ret = evtchn_op(v, cmd, &a);
	if (!ret && arch_guest_write(v, arg, &a, size))
		return -XEN_EFAULT;
	return ret;
}

/* Nothing here indexes the stack, and a send has few instructions to spare. */
static __hot_no_guard s64 event_channel_op(struct vcpu *v, u32 cmd, u64 arg)
{
	struct evtchn_send send;

	if (unlikely(cmd != EVTCHNOP_send))
		return evtchn_slow(v, cmd, arg);
	if (unlikely(arch_guest_read(v, &send, arg, sizeof(send))))
		return -XEN_EFAULT;
	return evtchn_send(v->vm, send.port);
}

static s64 shutdown(struct vcpu *v, u64 arg, enum vcpu_exit *exit)
{
	u32 reason;

	if (arch_guest_read(v, &reason, arg, sizeof(reason)))
		return -XEN_EFAULT;
	*exit = VCPU_EXIT_STOP;
	vm_stop(v->vm, reason == SHUTDOWN_crash ? -1 : 0, "shut down by its guest, reason %u",
		reason);
	return 0;
}

static s64 poll(struct vcpu *v, u64 arg, enum vcpu_exit *exit)
{
	struct sched_poll p;
	u32 port[POLL_MAX];
	s64 ret;

	if (arch_guest_read(v, &p, arg, sizeof(p)))
		return -XEN_EFAULT;
	if (p.nr_ports > POLL_MAX)
		return -XEN_EINVAL;
	if (arch_guest_read(v, port, p.ports, p.nr_ports * sizeof(port[0])))
		return -XEN_EFAULT;
	ret = evtchn_poll(v, port, p.nr_ports);
	if (ret <= 0)
		return ret;
	v->xen->polling = true;
	v->xen->poll_until = p.timeout ? xen_time_to_counter(v->vm, p.timeout) : ~0UL;
	*exit = VCPU_EXIT_BLOCK;
	return 0;
}

static s64 sched_op(struct vcpu *v, u32 cmd, u64 arg, enum vcpu_exit *exit)
{
	switch (cmd) {
	case SCHEDOP_yield: *exit = VCPU_EXIT_YIELD; return 0;
	case SCHEDOP_block: *exit = VCPU_EXIT_BLOCK; return 0;
	case SCHEDOP_shutdown: return shutdown(v, arg, exit);
	case SCHEDOP_poll: return poll(v, arg, exit);
	default: return -XEN_ENOSYS;
	}
}

/* Numbers and commands are ints to the guest: what the registers hold above is not looked at. */
__hot_no_guard s64 xen_hypercall(struct vcpu *v, u64 nr, const u64 arg[5], enum vcpu_exit *exit)
{
	if (likely((u32)nr == XEN_event_channel_op))
		return event_channel_op(v, (u32)arg[0], arg[1]);
	switch ((u32)nr) {
	case XEN_sched_op: return sched_op(v, (u32)arg[0], arg[1], exit);
	case XEN_vcpu_op: return xen_vcpu_op(v, (u32)arg[0], (u32)arg[1], arg[2], exit);
	case XEN_set_timer_op: return xen_set_timer_op(v, (s64)arg[0]);
	case XEN_version: return xen_version_op(v, (u32)arg[0], arg[1]);
	case XEN_memory_op: return xen_memory_op(v, (u32)arg[0], arg[1]);
	case XEN_hvm_op: return xen_hvm_op(v, (u32)arg[0], arg[1]);
	case XEN_vm_assist: return xen_vm_assist(v, (u32)arg[0], (u32)arg[1]);
	case XEN_console_io: return xen_console_io(v, (u32)arg[0], (u32)arg[1], arg[2]);
	default: return -XEN_ENOSYS;
	}
}
