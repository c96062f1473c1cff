/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paravirtualised time (Arm DEN 0057): where a vCPU's stolen time is told, 64 bytes each in a slot that
 * the guest can only read. It is written by the owner, before its vCPU is loaded, through a page cache:
 * the page may move like any other, and must never be written by an address it no longer has.
 */
#include "hyp.h"

#include <cupel/abi.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/steal.h>

/* DEN 0057 3.2.2 */
struct stolen_time {
	u32 revision;
	u32 attributes;
	u64 stolen_ns;
	u8 reserved[48];
};

static gpaddr_t record_of(u32 vcpu)
{
	return GUEST_ARM64_STEAL + vcpu * sizeof(struct stolen_time);
}

u32 pvtime_order(const struct vm *vm)
{
	return size_to_order(vm->nr_vcpus * sizeof(struct stolen_time));
}

static u32 caches_order(const struct vm *vm)
{
	return size_to_order(vm->nr_vcpus * sizeof(vm->arch.steal[0]));
}

/*
 * The slot is read-only for the guest alone. Never dirty: whatever copy of the page is made, the next load
 * writes all there is to say into it anew.
 */
#define RECORD_FLAGS (GPC_READONLY | GPC_NEVER_DIRTY)

int pvtime_init(struct vm *vm)
{
	vm->arch.steal = pages_alloc(caches_order(vm));
	if (!vm->arch.steal)
		return -ENOMEM;
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		struct gpc *g = &vm->arch.steal[i];
		int err = gpc_init(g, vm, RECORD_FLAGS, NULL);

		if (!err)
			err = gpc_activate(g, record_of(i), sizeof(struct stolen_time));
		if (err)
			return err;
	}
	return 0;
}

void pvtime_destroy(struct vm *vm)
{
	if (!vm->arch.steal)
		return;
	for (u32 i = 0; i < vm->nr_vcpus && vm->arch.steal[i].vm; i++)
		gpc_destroy(&vm->arch.steal[i]);
	pages_free(vm->arch.steal, caches_order(vm));
	vm->arch.steal = NULL;
}

s64 pvtime_call(struct vcpu *v, u32 fn, u64 arg)
{
	if (!v->vm->arch.steal)
		return SMCCC_NOT_SUPPORTED;
	if (fn == PV_TIME_FEATURES)
		return (u32)arg == PV_TIME_FEATURES || (u32)arg == PV_TIME_ST ? 0 :
										SMCCC_NOT_SUPPORTED;
	v->steal.on = true;
	return (s64)record_of(v->id);
}

static bool write_record(struct gpc *g, u64 ns)
{
	srcu_token_t token = guest_read_lock();
	struct stolen_time *t = gpc_get(g, sizeof(*t));

	if (t) {
		WRITE_ONCE(t->stolen_ns, ns);
		gpc_put(g);
	}
	guest_read_unlock(token);
	return t;
}

bool arch_steal_publish(struct vcpu *v, u64 ns)
{
	struct gpc *g = v->vm->arch.steal ? &v->vm->arch.steal[v->id] : NULL;
	int err;

	if (!g || write_record(g, ns))
		return true;
	err = gpc_refresh(g);
	if (!err && write_record(g, ns))
		return true;
	/* On its way: the guest does not run long on an old figure. Gone for good: there is none to see. */
	if (err != -EFAULT)
		vcpu_request_quiet(v, VCPU_REQ_PREEMPT);
	return false;
}

void arch_steal_preempted(struct vcpu *v)
{
}
