/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KVM's steal time: an MSR by which a guest names 64 bytes of its memory, one record a vCPU. How long it
 * waited for a CPU is written there before it runs again; that it was put off its CPU, as it goes. A page
 * that can't be reached is skipped at put, where nothing may wait, and looked up again at load.
 * (Linux: Documentation/virt/kvm/x86/msr.rst, MSR_KVM_STEAL_TIME)
 */
#include <asm/msr.h>
#include <asm/virt.h>
#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/steal.h>
#include <cupel/vm.h>

#define STEAL_ENABLE   BIT(0)
#define STEAL_RESERVED 0x3eUL /* the record is aligned to its size */

#define PREEMPTED 1 /* the hypervisor: it is off its CPU */
#define FLUSH_TLB 2 /* another vCPU of the guest: no need to interrupt it, flush before it runs */

struct steal_record {
	u64 steal; /* ns */
	u32 version; /* odd while the record is being written */
	u32 flags;
	u8 preempted; /* written by both sides, whole */
	u8 pad[47];
};
_Static_assert(sizeof(struct steal_record) == 64, "the guest's layout");

struct guest_steal {
	u64 msr;
	struct gpc gpc;
};

int guest_steal_init(struct vcpu *v)
{
	struct guest_steal *s;

	if (!v->vm->config.steal)
		return 0;
	s = pages_alloc(size_to_order(sizeof(*s)));
	if (!s)
		return -ENOMEM;
	v->arch.steal = s;
	return gpc_init(&s->gpc, v->vm, 0, NULL);
}

void guest_steal_destroy(struct vcpu *v)
{
	struct guest_steal *s = v->arch.steal;

	if (!s)
		return;
	gpc_destroy(&s->gpc);
	pages_free(s, size_to_order(sizeof(*s)));
	v->arch.steal = NULL;
}

void guest_steal_reset(struct vcpu *v)
{
	struct guest_steal *s = v->arch.steal;

	if (!s || !s->msr)
		return;
	s->msr = 0;
	gpc_deactivate(&s->gpc);
}

u64 guest_steal_msr(const struct vcpu *v)
{
	return v->arch.steal->msr;
}

/* A slot change may be under way, and the record out of reach: then the next load writes it. */
bool guest_steal_set_msr(struct vcpu *v, u64 value)
{
	struct guest_steal *s = v->arch.steal;
	int err;

	if (value & STEAL_RESERVED)
		return false;
	guest_steal_reset(v);
	if (value & STEAL_ENABLE) {
		err = gpc_activate(&s->gpc, value & ~STEAL_ENABLE, sizeof(struct steal_record));
		if (err && err != -EAGAIN)
			return false;
		v->steal.on = true;
	}
	s->msr = value;
	v->steal.behind = !arch_steal_publish(v, steal_ns(v));
	return true;
}

static void write_record(struct vcpu *v, struct steal_record *r, u64 ns)
{
	u32 version = READ_ONCE(r->version) | 1;

	WRITE_ONCE(r->version, version);
	/* A guest that reads the same even version before and after it reads `steal` has one that belongs to it. */
	smp_wmb();
	WRITE_ONCE(r->steal, ns);
	smp_wmb();
	WRITE_ONCE(r->version, version + 1);
	/* Pairs with the guest's exchange: its flush is seen here, or it sees a vCPU that runs and interrupts it. */
	if (atomic_xchg_full(&r->preempted, (u8)0) & FLUSH_TLB) {
		insn_cache_flush(v);
		v->vm->arch.backend->flush(v);
	}
}

static bool publish(struct vcpu *v, u64 ns)
{
	struct gpc *g = &v->arch.steal->gpc;
	srcu_token_t token = guest_read_lock();
	struct steal_record *r = gpc_get(g, sizeof(*r));

	if (r) {
		write_record(v, r, ns);
		gpc_dirty(g);
		gpc_put(g);
	}
	guest_read_unlock(token);
	return r;
}

bool arch_steal_publish(struct vcpu *v, u64 ns)
{
	struct guest_steal *s = v->arch.steal;

	if (!s || !s->msr)
		return true;
	return publish(v, ns) || (!gpc_refresh(&s->gpc) && publish(v, ns));
}

void arch_steal_preempted(struct vcpu *v)
{
	struct guest_steal *s = v->arch.steal;
	struct steal_record *r;
	srcu_token_t token;

	if (!s || !s->msr)
		return;
	token = guest_read_lock();
	r = gpc_get(&s->gpc, sizeof(*r));
	if (r) {
		WRITE_ONCE(r->preempted, PREEMPTED);
		gpc_dirty(&s->gpc);
		gpc_put(&s->gpc);
	}
	guest_read_unlock(token);
}
