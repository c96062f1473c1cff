/* SPDX-License-Identifier: GPL-2.0-only */
/* VMs with event channels and nothing else, for test_evtchn*.c: pages, operations, who serves requests. */
#ifndef UNIT_EVTCHN_RIG_H
#define UNIT_EVTCHN_RIG_H

#include "host.h"

#include <string.h>

#include <cupel/errno.h>
#include <cupel/evtchn.h>
#include <cupel/mm.h>

#include "../../core/evtchn.h"
#include "../../core/evtchn_guest.h"

#define RIG_MEMORY    MIB(1)
#define RIG_SHARED    0x8000UL /* shared_info */
#define RIG_INFO      0x9000UL /* vcpu_info, 64 bytes a vCPU */
#define RIG_CONTROL   0xa000UL /* control blocks, 128 bytes a vCPU */
#define RIG_ARRAY     0x20000UL /* event array */
#define RIG_MAX_VCPUS 4

static inline void *rig_va(struct vm *vm, gpaddr_t gpa)
{
	return vm_gpa_to_va(vm, gpa, 1, false);
}

static inline struct xen_vcpu_info *rig_info(struct vcpu *v)
{
	return rig_va(v->vm, RIG_INFO + v->id * 64);
}

static inline struct vm *rig_make(u32 vcpus, enum gpc_kind kind, enum evtchn_layout layout)
{
	struct vm_config c = {
		.name = "unit",
		.memory = RIG_MEMORY,
		.vcpus = vcpus,
		.gpc = kind,
		.layout = layout,
	};
	const char *why;
	int err;
	struct vm *vm = vm_create(&c, NULL, 0, &err, &why);

	assert_non_null(vm);
	assert_int_equal(evtchn_vm_init(vm), 0);
	assert_int_equal(gpc_activate(evtchn_shared_info(vm), RIG_SHARED, XEN_SHARED_INFO_SIZE), 0);
	for (u32 i = 0; i < vcpus; i++) {
		struct gpc *g = evtchn_vcpu_info(vm->vcpu[i]);

		assert_int_equal(gpc_activate(g, RIG_INFO + i * 64, 64), 0);
		vm->vcpu[i]->run_state = VCPU_RUNNABLE;
	}
	return vm;
}

static inline void rig_drop(struct vm *vm)
{
	evtchn_vm_destroy(vm);
	assert_null(vm->evtchn);
	assert_null(vm->gpcs);
	vm_destroy(vm);
}

/* What vcpu_run() does before it enters the guest; false: nothing was asked for. */
static inline bool rig_serve(struct vcpu *v)
{
	unsigned long flags = arch_irq_save();
	u32 bits = atomic_fetch_and_full(&v->requests, ~VCPU_REQ_EVTCHN) & VCPU_REQ_EVTCHN;

	if (bits)
		(void)evtchn_serve(v);
	arch_irq_restore(flags);
	return bits;
}

static inline bool rig_asked(const struct vcpu *v)
{
	return READ_ONCE(v->requests) & VCPU_REQ_EVTCHN;
}

/* --- Operations: the result, or the port ---------------------------------------------------------- */

static inline s64 rig_close(struct vcpu *v, u32 port)
{
	struct evtchn_close a = { port };

	return evtchn_op(v, EVTCHNOP_close, &a);
}

static inline s64 rig_send(struct vcpu *v, u32 port)
{
	struct evtchn_send a = { port };

	return evtchn_op(v, EVTCHNOP_send, &a);
}

static inline s64 rig_unmask(struct vcpu *v, u32 port)
{
	struct evtchn_unmask a = { port };

	return evtchn_op(v, EVTCHNOP_unmask, &a);
}

static inline s64 rig_ipi(struct vcpu *v, u32 vcpu)
{
	struct evtchn_bind_ipi a = { .vcpu = vcpu };
	s64 err = evtchn_op(v, EVTCHNOP_bind_ipi, &a);

	return err ? err : a.port;
}

static inline s64 rig_bind_virq(struct vcpu *v, u32 virq, u32 vcpu)
{
	struct evtchn_bind_virq a = { .virq = virq, .vcpu = vcpu };
	s64 err = evtchn_op(v, EVTCHNOP_bind_virq, &a);

	return err ? err : a.port;
}

static inline s64 rig_unbound(struct vcpu *v, u32 remote)
{
	struct evtchn_alloc_unbound a = { .dom = DOMID_SELF, .remote_dom = (u16)remote };
	s64 err = evtchn_op(v, EVTCHNOP_alloc_unbound, &a);

	return err ? err : a.port;
}

static inline s64 rig_connect(struct vcpu *v, u32 remote, s64 port)
{
	struct evtchn_bind_interdomain a = { .remote_dom = (u16)remote, .remote_port = (u32)port };
	s64 err = evtchn_op(v, EVTCHNOP_bind_interdomain, &a);

	return err ? err : a.local_port;
}

static inline s64 rig_bind_vcpu(struct vcpu *v, u32 port, u32 vcpu)
{
	struct evtchn_bind_vcpu a = { port, vcpu };

	return evtchn_op(v, EVTCHNOP_bind_vcpu, &a);
}

static inline s64 rig_reset(struct vcpu *v)
{
	struct evtchn_reset a = { DOMID_SELF };

	return evtchn_op(v, EVTCHNOP_reset, &a);
}

static inline struct evtchn_status rig_status(struct vcpu *v, u32 port)
{
	struct evtchn_status a = { .dom = DOMID_SELF, .port = port };

	assert_int_equal(evtchn_op(v, EVTCHNOP_status, &a), 0);
	return a;
}

#define RIG_ONE(fn, k) { #fn ", " #k, fn, make, drop, (void *)(uintptr_t)GPC_##k }
/* A test for each kind of page cache; make(), drop() are the file's own. */
#define RIG_EACH(fn)                                                                            \
	RIG_ONE(fn, RWLOCK), RIG_ONE(fn, TRYLOCK), RIG_ONE(fn, EXPEDITED), RIG_ONE(fn, ATOMIC), \
		RIG_ONE(fn, ATOMIC_FAST), RIG_ONE(fn, TARGETED)

#endif
