/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Event channels by the 2-level ABI, and all operations that both have: what each does and refuses, what is
 * left to the vCPU when a page is away, and storms in which no event may be lost.
 */
#include "evtchn_rig.h"

#include "../../core/slots.h"

static struct vm *vm;
static struct vcpu *v0, *v1;
static enum gpc_kind kind;

static int make(void **state)
{
	kind = (enum gpc_kind)(uintptr_t)*state;
	vm = rig_make(RIG_MAX_VCPUS, kind, EVTCHN_SPREAD);
	v0 = vm->vcpu[0];
	v1 = vm->vcpu[1];
	return 0;
}

static int drop(void **state)
{
	rig_drop(vm);
	return 0;
}

static u64 *pending_word(struct vm *of, u32 port)
{
	return guest_bits(rig_va(of, RIG_SHARED), XEN_EVTCHN_PENDING, port);
}

static bool is_pending(struct vm *of, u32 port)
{
	return READ_ONCE(*pending_word(of, port)) & BIT(port % 64);
}

static void mask(struct vm *of, u32 port)
{
	guest_2l_mask(rig_va(of, RIG_SHARED), port);
}

/* --- One delivery ------------------------------------------------------------------------------- */

static void assert_upcall(struct vcpu *v, u32 port, u32 upcalls)
{
	assert_true(is_pending(v->vm, port));
	assert_true(rig_info(v)->evtchn_pending_sel & BIT(port / 64));
	assert_int_equal(rig_info(v)->evtchn_upcall_pending, 1);
	assert_int_equal(v->arch.upcalls, upcalls);
}

static void assert_quiet(struct vcpu *v)
{
	assert_int_equal(rig_info(v)->evtchn_upcall_pending, 0);
	assert_int_equal(rig_info(v)->evtchn_pending_sel, 0);
	assert_int_equal(v->arch.upcalls, 0);
	assert_false(rig_asked(v));
}

static void note_port(void *arg, u32 port)
{
	*(u32 *)arg = port;
}

static u32 take(struct vcpu *v, u32 *port)
{
	*port = 0;
	return guest_2l_upcall(rig_va(v->vm, RIG_SHARED), rig_info(v), note_port, port);
}

static void an_ipi_arrives(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1), got;

	assert_int_equal(rig_send(v0, port), 0);
	assert_upcall(v1, port, 1);
	assert_quiet(v0);
	assert_int_equal(take(v1, &got), 1);
	assert_int_equal(got, port);
	assert_false(is_pending(vm, port));
	assert_int_equal(rig_send(v0, port), 0);
	assert_upcall(v1, port, 2);
}

/* One kick for all that comes before the guest looks. */
static void only_the_first_kicks(void **state)
{
	u32 a = (u32)rig_ipi(v0, 1), b = (u32)rig_ipi(v0, 1);
	struct evtchn_counts before = evtchn_counts_sum();

	lock_stats_enabled = true;
	rig_send(v0, a);
	rig_send(v0, a);
	rig_send(v0, b);
	lock_stats_enabled = false;
	assert_upcall(v1, a, 1);
	assert_upcall(v1, b, 1);
	assert_int_equal(evtchn_counts_sum().sent - before.sent, 3);
	assert_int_equal(evtchn_counts_sum().already - before.already, 1);
	assert_int_equal(evtchn_counts_sum().upcalls - before.upcalls, 1);
	/* It has cleared upcall_pending and not yet looked further: new words need a new one. */
	rig_info(v1)->evtchn_upcall_pending = 0;
	rig_send(v0, a);
	assert_int_equal(v1->arch.upcalls, 1);
	rig_info(v1)->evtchn_pending_sel = 0;
	*pending_word(vm, a) = 0;
	rig_send(v0, a);
	assert_upcall(v1, a, 2);
}

static void masked_is_only_pending(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	mask(vm, port);
	assert_int_equal(rig_send(v0, port), 0);
	assert_true(is_pending(vm, port));
	assert_quiet(v1);
	assert_int_equal(rig_unmask(v0, port), 0);
	assert_upcall(v1, port, 1);
}

static void unmask_tells_of_what_came_meanwhile(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1), got;

	/* Nothing pending: nothing told. */
	mask(vm, port);
	assert_int_equal(rig_unmask(v0, port), 0);
	assert_quiet(v1);
	/* Not masked: it was told already. */
	*pending_word(vm, port) |= BIT(port % 64);
	assert_int_equal(rig_unmask(v0, port), 0);
	assert_quiet(v1);
	mask(vm, port);
	rig_unmask(v0, port);
	assert_upcall(v1, port, 1);
	assert_int_equal(take(v1, &got), 1);
	assert_int_equal(rig_unmask(v0, 0), -XEN_EINVAL);
	assert_int_equal(rig_unmask(v0, 7), -XEN_EINVAL);
	assert_int_equal(rig_unmask(v0, ~0U), -XEN_EINVAL);
}

static void the_hypervisor_raises_any_port(void **state)
{
	u32 port = (u32)rig_unbound(v0, 99);

	assert_int_equal(rig_send(v0, port), 0);
	assert_false(is_pending(vm, port));
	assert_int_equal(evtchn_raise(vm, port), 0);
	assert_upcall(v0, port, 1);
	assert_int_equal(evtchn_raise(vm, 0), -XEN_EINVAL);
	assert_int_equal(evtchn_raise(vm, port + 1), -XEN_EINVAL);
	assert_int_equal(evtchn_raise(vm, EVTCHN_FIFO_PORTS), -XEN_EINVAL);
	assert_int_equal(evtchn_raise(vm, ~0U), -XEN_EINVAL);
}

/* --- Binding ------------------------------------------------------------------------------------ */

static void virqs_have_rules(void **state)
{
	s64 timer = rig_bind_virq(v1, VIRQ_TIMER, 1), console;

	assert_in_range(timer, 1, EVTCHN_2L_PORTS - 1);
	assert_int_equal(rig_bind_virq(v1, VIRQ_TIMER, 1), -XEN_EEXIST);
	assert_in_range(rig_bind_virq(v1, VIRQ_TIMER, 0), 1, EVTCHN_2L_PORTS - 1);
	assert_int_equal(rig_bind_virq(v0, VIRQ_CONSOLE, 1), -XEN_EINVAL);
	assert_int_equal(rig_bind_virq(v0, NR_VIRQS, 0), -XEN_EINVAL);
	assert_int_equal(rig_bind_virq(v0, ~0U, 0), -XEN_EINVAL);
	assert_int_equal(rig_bind_virq(v0, VIRQ_TIMER, RIG_MAX_VCPUS), -XEN_ENOENT);
	console = rig_bind_virq(v0, VIRQ_CONSOLE, 0);
	assert_in_range(console, 1, EVTCHN_2L_PORTS - 1);
	/* A guest may not send those; a vCPU's stay where they are, the domain's move. */
	assert_int_equal(rig_send(v0, (u32)timer), -XEN_EINVAL);
	assert_int_equal(rig_bind_vcpu(v0, (u32)timer, 0), -XEN_EINVAL);
	assert_int_equal(rig_bind_vcpu(v0, (u32)console, 2), 0);
	evtchn_virq(v1, VIRQ_TIMER);
	assert_upcall(v1, (u32)timer, 1);
	evtchn_virq(v1, VIRQ_CONSOLE);
	assert_upcall(vm->vcpu[2], (u32)console, 1);
	evtchn_virq(v1, VIRQ_DEBUG);
	evtchn_virq(v1, NR_VIRQS);
	assert_int_equal(rig_close(v0, (u32)console), 0);
	evtchn_virq(v1, VIRQ_CONSOLE);
	assert_false(is_pending(vm, (u32)console));
	assert_in_range(rig_bind_virq(v0, VIRQ_CONSOLE, 0), 1, EVTCHN_2L_PORTS - 1);
}

/* However many VMs there have been, each has a number that others can name it by, and its own. */
static void numbers_of_vms_come_again(void **state)
{
	static struct vm brief;
	u32 mine = evtchn_domid(vm);

	for (u32 i = 0; i < DOMID_SELF + 2; i++) {
		assert_int_equal(evtchn_vm_init(&brief), 0);
		assert_in_range(evtchn_domid(&brief), 1, DOMID_SELF - 1);
		assert_int_not_equal(evtchn_domid(&brief), mine);
		evtchn_vm_destroy(&brief);
	}
}

static void channels_between_vms(void **state)
{
	struct vm *other = rig_make(1, kind, EVTCHN_PACKED);
	struct vcpu *o = other->vcpu[0];
	u32 here = (u32)rig_unbound(v0, evtchn_domid(other)), there, got;

	assert_int_equal(rig_connect(o, 60000, here), -XEN_ESRCH);
	assert_int_equal(rig_connect(o, evtchn_domid(vm), here + 1), -XEN_EINVAL);
	assert_int_equal(rig_connect(o, evtchn_domid(vm), 0), -XEN_EINVAL);
	assert_int_equal(rig_connect(o, DOMID_SELF, here), -XEN_EINVAL);
	there = (u32)rig_connect(o, evtchn_domid(vm), here);
	/* Binding raises the local port once. */
	assert_upcall(o, there, 1);
	assert_quiet(v0);
	take(o, &got);
	/* Taken. */
	assert_int_equal(rig_connect(o, evtchn_domid(vm), here), -XEN_EINVAL);
	assert_int_equal(rig_bind_vcpu(v0, here, 1), 0);
	assert_int_equal(rig_send(o, there), 0);
	assert_upcall(v1, here, 1);
	assert_int_equal(rig_send(v1, here), 0);
	assert_upcall(o, there, 2);
	assert_int_equal(rig_status(v0, here).u.interdomain.dom, evtchn_domid(other));
	assert_int_equal(rig_status(v0, here).u.interdomain.port, there);
	/* The other end stays, unbound, for the same domain. */
	assert_int_equal(rig_close(o, there), 0);
	assert_int_equal(rig_status(v0, here).status, EVTCHNSTAT_unbound);
	assert_int_equal(rig_status(v0, here).u.unbound.dom, evtchn_domid(other));
	assert_int_equal(rig_send(v0, here), 0);
	assert_false(is_pending(other, there));
	there = (u32)rig_connect(o, evtchn_domid(vm), here);
	rig_drop(other);
	assert_int_equal(rig_status(v0, here).status, EVTCHNSTAT_unbound);
	assert_int_equal(rig_send(v0, here), 0);
}

/* What a sender sees that comes while a port is closed and bound anew: halves of two connections. */
static void half_bound_anew(void **state)
{
	struct vm *other = rig_make(1, kind, EVTCHN_PACKED);
	struct vcpu *o = other->vcpu[0];
	u32 here = (u32)rig_unbound(v0, evtchn_domid(other));
	u32 there = (u32)rig_connect(o, evtchn_domid(vm), here), ipi = (u32)rig_ipi(o, 0), got;
	struct evtchn *e = evtchn_find(vm->evtchn, here);

	assert_upcall(o, there, 1);
	take(o, &got);
	e->peer_port = EVTCHN_2L_PORTS - 1; /* no such port there */
	assert_int_equal(rig_send(v0, here), 0);
	e->peer_port = ipi; /* somebody else's */
	assert_int_equal(rig_send(v0, here), 0);
	assert_int_equal(o->arch.upcalls, 1);
	assert_false(is_pending(other, ipi));
	e->peer_port = there;
	assert_int_equal(rig_send(v0, here), 0);
	assert_upcall(o, there, 2);
	rig_drop(other);
}

static void nobody_else_gets_it(void **state)
{
	struct vm *other = rig_make(1, kind, EVTCHN_PACKED);
	u32 here = (u32)rig_unbound(v0, evtchn_domid(other) + 1);

	assert_int_equal(rig_connect(other->vcpu[0], evtchn_domid(vm), here), -XEN_EINVAL);
	rig_drop(other);
}

static void a_vm_with_itself(void **state)
{
	u32 a = (u32)rig_unbound(v0, DOMID_SELF);
	u32 b = (u32)rig_connect(v0, DOMID_SELF, a), got;

	assert_int_not_equal(a, b);
	take(v0, &got);
	rig_bind_vcpu(v0, b, 1);
	rig_send(v0, a);
	assert_upcall(v1, b, 1);
	rig_send(v0, b);
	assert_true(is_pending(vm, a));
	assert_int_equal(rig_close(v0, a), 0);
	assert_int_equal(rig_status(v0, b).status, EVTCHNSTAT_unbound);
}

static void the_selector_is_that_of_the_new_vcpu(void **state)
{
	u32 port = (u32)rig_unbound(v0, 99);

	assert_int_equal(rig_bind_vcpu(v0, port, 1), 0);
	assert_int_equal(evtchn_raise(vm, port), 0);
	assert_upcall(v1, port, 1);
	assert_quiet(v0);
	assert_int_equal(rig_status(v0, port).vcpu, 1);
	assert_int_equal(rig_bind_vcpu(v0, port, RIG_MAX_VCPUS), -XEN_ENOENT);
	assert_int_equal(rig_bind_vcpu(v0, port + 1, 0), -XEN_EINVAL);
	assert_int_equal(rig_bind_vcpu(v0, (u32)rig_ipi(v0, 0), 1), -XEN_EINVAL);
}

static void the_rest_is_refused(void **state)
{
	struct evtchn_bind_pirq pirq = { .pirq = 16 };
	struct evtchn_alloc_unbound foreign = { .dom = (u16)(evtchn_domid(vm) + 1) };
	struct evtchn_status status = { .dom = (u16)(evtchn_domid(vm) + 1), .port = 1 };
	struct evtchn_expand_array expand = { 0 };
	struct evtchn_set_priority prio = { .port = (u32)rig_ipi(v0, 0), .priority = 3 };
	struct evtchn_reset reset = { 60000 };
	struct vm *other;

	assert_int_equal(evtchn_op(v0, EVTCHNOP_bind_pirq, &pirq), -XEN_EINVAL);
	assert_int_equal(evtchn_op(v0, 14, NULL), -XEN_ENOSYS);
	assert_int_equal(evtchn_op(v0, ~0U, NULL), -XEN_ENOSYS);
	assert_int_equal(evtchn_arg_size(14), 0);
	assert_int_equal(evtchn_arg_size(EVTCHNOP_status), 24);
	assert_int_equal(evtchn_arg_size(EVTCHNOP_init_control), 24);
	assert_int_equal(evtchn_arg_size(EVTCHNOP_bind_virq), 12);
	assert_int_equal(evtchn_op(v0, EVTCHNOP_alloc_unbound, &foreign), -XEN_ESRCH);
	assert_int_equal(evtchn_op(v0, EVTCHNOP_status, &status), -XEN_ESRCH);
	other = rig_make(1, kind, EVTCHN_SPREAD);
	foreign.dom = status.dom = (u16)evtchn_domid(other);
	assert_int_equal(evtchn_op(v0, EVTCHNOP_alloc_unbound, &foreign), -XEN_EPERM);
	assert_int_equal(evtchn_op(v0, EVTCHNOP_status, &status), -XEN_EPERM);
	rig_drop(other);
	assert_int_equal(evtchn_op(v0, EVTCHNOP_expand_array, &expand), -XEN_EOPNOTSUPP);
	assert_int_equal(evtchn_op(v0, EVTCHNOP_set_priority, &prio), -XEN_ENOSYS);
	assert_int_equal(evtchn_op(v0, EVTCHNOP_reset, &reset), -XEN_ESRCH);
	assert_int_equal(rig_ipi(v0, RIG_MAX_VCPUS), -XEN_ENOENT);
	assert_int_equal(rig_send(v0, 0), -XEN_EINVAL);
	assert_int_equal(rig_send(v0, 4095), -XEN_EINVAL);
	assert_int_equal(rig_send(v0, ~0U), -XEN_EINVAL);
	assert_int_equal(rig_close(v0, 0), -XEN_EINVAL);
	assert_int_equal(rig_close(v0, ~0U), -XEN_EINVAL);
}

static void status_tells(void **state)
{
	struct evtchn_status a = { .dom = DOMID_SELF, .port = EVTCHN_2L_PORTS };
	u32 port = (u32)rig_bind_virq(v0, VIRQ_TIMER, 2);

	assert_int_equal(rig_status(v0, port).status, EVTCHNSTAT_virq);
	assert_int_equal(rig_status(v0, port).vcpu, 2);
	assert_int_equal(rig_status(v0, port).u.virq, VIRQ_TIMER);
	port = (u32)rig_ipi(v0, 3);
	assert_int_equal(rig_status(v0, port).status, EVTCHNSTAT_ipi);
	assert_int_equal(rig_status(v0, port).vcpu, 3);
	assert_int_equal(rig_status(v0, 4095).status, EVTCHNSTAT_closed);
	assert_int_equal(evtchn_op(v0, EVTCHNOP_status, &a), -XEN_EINVAL);
	a.port = 0;
	assert_int_equal(evtchn_op(v0, EVTCHNOP_status, &a), -XEN_EINVAL);
}

/* --- Ports -------------------------------------------------------------------------------------- */

static u32 line_of(u32 port)
{
	return (XEN_EVTCHN_PENDING + port / 8) / CACHE_LINE;
}

static void spread_ports_share_no_line(void **state)
{
	u64 lines = 0, words = 0;

	/* Port 0, which would be the first of its line, is none. */
	for (u32 i = 0; i < 63; i++) {
		u32 port = (u32)rig_ipi(v0, 0);

		if (i < 7)
			assert_false(lines & BIT(line_of(port)));
		assert_false(words & BIT(port / 64));
		lines |= BIT(line_of(port));
		words |= BIT(port / 64);
	}
}

static void packed_ports_come_in_order(void **state)
{
	struct vm *other = rig_make(1, kind, EVTCHN_PACKED);

	for (u32 i = 1; i < 200; i++)
		assert_int_equal(rig_ipi(other->vcpu[0], 0), i);
	assert_int_equal(rig_close(other->vcpu[0], 17), 0);
	assert_int_equal(rig_ipi(other->vcpu[0], 0), 17);
	assert_int_equal(rig_ipi(other->vcpu[0], 0), 200);
	rig_drop(other);
}

static void there_are_so_many(void **state)
{
	static bool got[EVTCHN_2L_PORTS];
	s64 port;

	memset(got, 0, sizeof(got));
	for (u32 i = 1; i < EVTCHN_2L_PORTS; i++) {
		port = rig_ipi(v0, i % RIG_MAX_VCPUS);
		assert_in_range(port, 1, EVTCHN_2L_PORTS - 1);
		assert_false(got[port]);
		got[port] = true;
	}
	assert_int_equal(rig_ipi(v0, 0), -XEN_ENOSPC);
	assert_int_equal(rig_unbound(v0, 1), -XEN_ENOSPC);
	assert_int_equal(rig_close(v0, 1234), 0);
	assert_int_equal(rig_close(v0, 1234), -XEN_EINVAL);
	assert_int_equal(rig_ipi(v0, 0), 1234);
	assert_int_equal(rig_reset(v0), 0);
	assert_int_equal(rig_status(v0, 1234).status, EVTCHNSTAT_closed);
	assert_in_range(rig_ipi(v0, 0), 1, EVTCHN_2L_PORTS - 1);
}

static void a_new_port_has_no_past(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	mask(vm, port);
	rig_send(v0, port);
	assert_int_equal(rig_close(v0, port), 0);
	assert_int_equal(rig_ipi(v0, 1), port);
	assert_false(is_pending(vm, port));
}

static void reset_closes_all(void **state)
{
	struct vm *other = rig_make(1, kind, EVTCHN_SPREAD);
	u32 here = (u32)rig_unbound(v0, evtchn_domid(other));
	u32 there = (u32)rig_connect(other->vcpu[0], evtchn_domid(vm), here);
	u32 timer = (u32)rig_bind_virq(v0, VIRQ_TIMER, 1);

	assert_int_equal(rig_reset(v0), 0);
	assert_int_equal(rig_status(v0, here).status, EVTCHNSTAT_closed);
	assert_int_equal(rig_status(v0, timer).status, EVTCHNSTAT_closed);
	assert_int_equal(rig_status(other->vcpu[0], there).status, EVTCHNSTAT_unbound);
	assert_int_equal(rig_bind_virq(v0, VIRQ_TIMER, 1) > 0, 1);
	rig_drop(other);
}

/* --- Poll --------------------------------------------------------------------------------------- */

static void poll_waits_for_a_port(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1), other = (u32)rig_ipi(v0, 1), none = 0;

	mask(vm, port);
	assert_int_equal(evtchn_poll(v0, &port, 1), 1);
	assert_false(evtchn_poll_done(v0));
	v0->run_state = VCPU_BLOCKED;
	rig_send(v1, other);
	assert_false(evtchn_poll_done(v0));
	assert_int_equal(v0->run_state, VCPU_BLOCKED);
	/* A masked one as well. */
	rig_send(v1, port);
	assert_true(evtchn_poll_done(v0));
	assert_int_equal(v0->run_state, VCPU_RUNNABLE);
	evtchn_poll_end(v0);
	evtchn_poll_end(v0);
	assert_int_equal(vm->evtchn->pollers, 0);
	assert_int_equal(evtchn_poll(v0, &port, 1), 0);
	assert_int_equal(vm->evtchn->pollers, 0);
	assert_int_equal(evtchn_poll(v0, &none, 1), -XEN_EINVAL);
	none = EVTCHN_2L_PORTS;
	assert_int_equal(evtchn_poll(v0, &none, 1), -XEN_EINVAL);
}

static void poll_waits_for_many(void **state)
{
	u32 port[3];

	for (u32 i = 0; i < 3; i++)
		port[i] = (u32)rig_ipi(v0, i);
	assert_int_equal(evtchn_poll(v0, port, 3), 1);
	rig_send(v1, port[2]);
	assert_true(evtchn_poll_done(v0));
	evtchn_poll_end(v0);
	assert_int_equal(evtchn_poll(v0, port, 3), 0);
	assert_int_equal(evtchn_poll(v0, port, 2), 1);
	assert_false(evtchn_poll_done(v0));
	evtchn_poll_end(v0);
}

static void poll_brings_the_page_back(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	gpc_invalidate(vm, RIG_SHARED, PAGE_SIZE);
	assert_int_equal(evtchn_poll(v0, &port, 1), 1);
	evtchn_poll_end(v0);
}

/* --- Debts -------------------------------------------------------------------------------------- */

static void without_the_page_of_the_bits(void **state)
{
	u32 a = (u32)rig_ipi(v0, 1), b = (u32)rig_ipi(v0, 1);

	gpc_invalidate(vm, RIG_SHARED, PAGE_SIZE);
	assert_int_equal(rig_send(v0, a), 0);
	assert_int_equal(rig_send(v0, b), 0);
	assert_int_equal(rig_send(v0, a), 0);
	assert_false(is_pending(vm, a));
	assert_true(rig_asked(v1));
	assert_true(evtchn_upcall_pending(v1));
	assert_true(rig_serve(v1));
	assert_upcall(v1, a, 1);
	assert_upcall(v1, b, 1);
	assert_false(rig_asked(v1));
	assert_false(rig_serve(v1));
}

static void without_the_page_of_the_selector(void **state)
{
	u32 a = (u32)rig_ipi(v0, 1), b = (u32)rig_ipi(v0, 1);

	gpc_invalidate(vm, RIG_INFO, PAGE_SIZE);
	rig_send(v0, a);
	rig_send(v0, b);
	assert_true(is_pending(vm, a));
	assert_int_equal(rig_info(v1)->evtchn_pending_sel, 0);
	assert_true(evtchn_upcall_pending(v1));
	assert_true(rig_serve(v1));
	assert_upcall(v1, a, 1);
	assert_upcall(v1, b, 1);
	assert_true(evtchn_upcall_pending(v1));
	/* Of another vCPU that can't be known, until it has looked. */
	assert_true(evtchn_upcall_pending(v0));
	assert_true(rig_serve(v0));
	assert_false(evtchn_upcall_pending(v0));
}

/*
 * The deadlock of EVTCHNOP_send: whoever sends is in a read section, so that to refresh there would be to
 * wait for itself. It must not even try; here that would be seen, or the test would never end.
 */
static void a_sender_never_refreshes(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);
	u64 waits, refreshes;

	gpc_invalidate(vm, 0, RIG_MEMORY);
	waits = srcu_counts(&guest_srcu).waits;
	refreshes = evtchn_shared_info(vm)->counts.refreshes + evtchn_vcpu_info(v1)->counts.refreshes;
	assert_int_equal(rig_send(v0, port), 0);
	assert_int_equal(evtchn_raise(vm, port), 0);
	assert_int_equal(srcu_counts(&guest_srcu).waits, waits);
	assert_int_equal(evtchn_shared_info(vm)->counts.refreshes +
				 evtchn_vcpu_info(v1)->counts.refreshes,
			 refreshes);
	/* Paid in two steps: bits, then the vCPU. */
	assert_true(rig_serve(v1));
	assert_upcall(v1, port, 1);
}

/* The page is gone for good: the vCPU does not spin, nothing is forgotten. */
static void without_memory(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	assert_int_equal(vm_move_slot(vm, 0, GIB(1)), 0);
	rig_send(v0, port);
	assert_true(rig_serve(v1));
	assert_false(rig_asked(v1));
	assert_false(evtchn_upcall_pending(v1));
	/* Once more: it is owed still, and looked at again. */
	rig_send(v0, port);
	assert_true(rig_serve(v1));
	assert_false(rig_asked(v1));
	assert_int_equal(vm_move_slot(vm, GIB(1), 0), 0);
	assert_true(rig_serve(v1));
	assert_upcall(v1, port, 1);
}

/* A vCPU that is off pays nothing: another does it. */
static void an_idle_debtor(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	gpc_invalidate(vm, RIG_SHARED, PAGE_SIZE);
	v1->run_state = VCPU_OFF;
	rig_send(v0, port);
	assert_true(rig_asked(v0));
	assert_true(rig_serve(v0));
	assert_upcall(v1, port, 1);
	/* It goes off while it owes. */
	v1->run_state = VCPU_RUNNABLE;
	*pending_word(vm, port) = 0;
	gpc_invalidate(vm, RIG_SHARED, PAGE_SIZE);
	rig_send(v0, port);
	v1->run_state = VCPU_OFF;
	evtchn_gone_off(v1);
	assert_true(rig_serve(v0));
	assert_true(is_pending(vm, port));
	/* Nobody is asked for nothing. */
	evtchn_gone_off(v1);
	assert_false(rig_asked(v0));
}

static void a_closed_port_owes_nothing(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1), again;

	gpc_invalidate(vm, RIG_SHARED, PAGE_SIZE);
	rig_send(v0, port);
	assert_int_equal(rig_close(v0, port), 0);
	again = (u32)rig_ipi(v0, 0);
	assert_int_equal(again, port);
	assert_true(rig_serve(v1));
	assert_false(is_pending(vm, port));
	/* On the list or not, it can be owed again. */
	gpc_invalidate(vm, RIG_SHARED, PAGE_SIZE);
	rig_send(v0, again);
	assert_true(rig_serve(v0));
	assert_upcall(v0, port, 1);
}

static void a_moved_page_is_found(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	assert_int_equal(vm_move_page(vm, RIG_SHARED), 0);
	assert_int_equal(vm_move_page(vm, RIG_INFO), 0);
	rig_send(v0, port);
	assert_true(rig_serve(v1));
	assert_upcall(v1, port, 1);
}

/* CPU 1 changes memory and takes its time; CPU 2 makes a call that needs the page. */
static struct {
	u32 port;
	bool changing;
	s64 err;
} waiting;

static void change_and_call(u32 cpu, void *arg)
{
	u64 end;

	if (cpu == 2) {
		while (!load_acquire(&waiting.changing))
			cpu_relax();
		waiting.err = rig_unmask(v0, waiting.port);
		return;
	}
	slots_lock(vm);
	invalidation_begin(vm);
	gpc_invalidate(vm, RIG_SHARED, PAGE_SIZE);
	store_release(&waiting.changing, true);
	for (end = arch_counter() + 20000000UL; arch_counter() < end;)
		cpu_relax();
	invalidation_end(vm);
	slots_unlock(vm);
}

static void an_operation_waits_for_memory(void **state)
{
	waiting.port = (u32)rig_ipi(v0, 1);
	waiting.changing = false;
	mask(vm, waiting.port);
	rig_send(v0, waiting.port);
	host_on_cpus(2, change_and_call, NULL);
	assert_int_equal(waiting.err, 0);
	/* It was left to the vCPU that asked. */
	for (u32 tries = 0; rig_serve(v0); tries++)
		assert_true(tries < 4);
	for (u32 tries = 0; rig_serve(v1); tries++)
		assert_true(tries < 4);
	assert_upcall(v1, waiting.port, 1);
}

/* CPU 2 serves, and is held up after it has found no shared_info; CPU 1 says meanwhile that there is one. */
static void serve_and_change(u32 cpu, void *arg)
{
	u64 end;

	if (cpu == 2) {
		while (!load_acquire(&waiting.changing))
			cpu_relax();
		assert_true(rig_serve(v0));
		return;
	}
	spin_lock(&vm->gpc_lock);
	store_release(&waiting.changing, true);
	for (end = arch_counter() + 20000000UL; arch_counter() < end;)
		cpu_relax();
	evtchn_memory_changed(vm);
	spin_unlock(&vm->gpc_lock);
}

/* What can't be paid as memory comes back is not left until it changes once more. */
static void memory_comes_back_just_then(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	waiting.changing = false;
	mask(vm, port);
	rig_send(v0, port);
	gpc_deactivate(evtchn_shared_info(vm));
	gpc_invalidate(vm, RIG_INFO, PAGE_SIZE);
	assert_int_equal(rig_unmask(v0, port), 0);
	host_on_cpus(2, serve_and_change, NULL);
	assert_true(rig_asked(v0));
	assert_int_equal(gpc_activate(evtchn_shared_info(vm), RIG_SHARED, XEN_SHARED_INFO_SIZE), 0);
	assert_true(rig_serve(v0));
	assert_false(rig_asked(v0));
	while (rig_serve(v1))
		;
	assert_upcall(v1, port, 1);
}

/* An upcall that the guest has not taken when its vcpu_info goes away is told of when that is back. */
static void an_upcall_outlives_its_page(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	rig_send(v0, port);
	assert_upcall(v1, port, 1);
	gpc_deactivate(evtchn_vcpu_info(v1));
	vcpu_request(v1, VCPU_REQ_EVTCHN);
	assert_true(rig_serve(v1));
	assert_false(rig_asked(v1));
	assert_false(evtchn_upcall_pending(v1));
	assert_int_equal(gpc_activate(evtchn_vcpu_info(v1), RIG_INFO + 64, 64), 0);
	evtchn_memory_changed(vm);
	assert_true(rig_serve(v1));
	assert_upcall(v1, port, 2);
	assert_false(rig_asked(v1));
}

static void the_dirty_log_knows(void **state)
{
	u64 log[RIG_MEMORY / PAGE_SIZE / 64];
	u32 port = (u32)rig_ipi(v0, 1);

	assert_int_equal(vm_set_slot_flags(vm, 0, SLOT_DIRTY_LOG), 0);
	rig_send(v0, port);
	rig_serve(v1);
	assert_upcall(v1, port, 1);
	vm_dirty_log(vm, 0, log, ARRAY_SIZE(log));
	assert_int_equal(log[0], BIT(RIG_SHARED / PAGE_SIZE) | BIT(RIG_INFO / PAGE_SIZE));
}

/* --- From an interrupt -------------------------------------------------------------------------- */

static void take_ticks(u64 ns)
{
	u64 end = arch_counter() + ns;

	while (arch_counter() < end)
		cpu_relax();
	arch_irq_enable();
}

static void a_timer_raises(void **state)
{
	u32 port = (u32)rig_ipi(v0, 1);

	assert_int_equal(evtchn_raise_later(vm, port, 1000000), 0);
	assert_int_equal(evtchn_raise_later(vm, port + 1, 0), 0);
	assert_false(is_pending(vm, port));
	take_ticks(3000000);
	assert_upcall(v1, port, 1);
}

static void timers_are_few_and_outlive_the_vm(void **state)
{
	struct vm *other = rig_make(1, kind, EVTCHN_SPREAD);
	u32 port = (u32)rig_ipi(other->vcpu[0], 0), n = 0;

	while (!evtchn_raise_later(other, port, 2000000))
		n++;
	assert_int_equal(n, 8);
	rig_drop(other);
	take_ticks(5000000);
	assert_int_equal(evtchn_raise_later(vm, port, ~0UL), 0);
	assert_int_equal(evtchn_raise_later(vm, port, 0), 0);
	take_ticks(1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_EACH(an_ipi_arrives),
		RIG_EACH(only_the_first_kicks),
		RIG_EACH(masked_is_only_pending),
		RIG_EACH(unmask_tells_of_what_came_meanwhile),
		RIG_EACH(the_hypervisor_raises_any_port),
		RIG_ONE(virqs_have_rules, TARGETED),
		RIG_ONE(numbers_of_vms_come_again, TARGETED),
		RIG_EACH(channels_between_vms),
		RIG_ONE(half_bound_anew, TARGETED),
		RIG_ONE(nobody_else_gets_it, TARGETED),
		RIG_EACH(a_vm_with_itself),
		RIG_ONE(the_selector_is_that_of_the_new_vcpu, TARGETED),
		RIG_ONE(the_rest_is_refused, TARGETED),
		RIG_ONE(status_tells, TARGETED),
		RIG_ONE(spread_ports_share_no_line, TARGETED),
		RIG_ONE(packed_ports_come_in_order, TARGETED),
		RIG_ONE(there_are_so_many, TARGETED),
		RIG_ONE(a_new_port_has_no_past, TARGETED),
		RIG_EACH(reset_closes_all),
		RIG_EACH(poll_waits_for_a_port),
		RIG_EACH(poll_waits_for_many),
		RIG_EACH(poll_brings_the_page_back),
		RIG_EACH(without_the_page_of_the_bits),
		RIG_EACH(without_the_page_of_the_selector),
		RIG_EACH(a_sender_never_refreshes),
		RIG_EACH(without_memory),
		RIG_EACH(an_idle_debtor),
		RIG_EACH(a_closed_port_owes_nothing),
		RIG_EACH(a_moved_page_is_found),
		RIG_EACH(an_operation_waits_for_memory),
		RIG_EACH(memory_comes_back_just_then),
		RIG_EACH(an_upcall_outlives_its_page),
		RIG_EACH(the_dirty_log_knows),
		RIG_EACH(a_timer_raises),
		RIG_ONE(timers_are_few_and_outlive_the_vm, TARGETED),
	};

	return cmocka_run_group_tests_name("evtchn", tests, host_group_setup, NULL);
}
