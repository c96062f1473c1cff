/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Address space identifiers, handed out per CPU in generations: a new one needs no flush because the
 * generation began with one. No emulator shows a missing flush (they all flush on every entry), so each
 * one that is due is written down as owed, and as done only when an entry has carried it out.
 * (AMD APM vol. 2, 15.16)
 */
#include "internal.h"

DEFINE_PER_CPU(struct svm_cpu, svm_cpu);

/* ASID 0 is the host's. A new generation takes every translation of this CPU with it. */
static u32 take_asid(struct svm_cpu *c)
{
	if (!c->asid_generation || c->next_asid >= svm_features.nr_asids) {
		c->asid_generation++;
		c->next_asid = 1;
		c->flushes_owed++;
	}
	return c->next_asid++;
}

static void new_asid(struct vcpu *v)
{
	struct svm_cpu *c = this_cpu_ptr(svm_cpu);
	struct vcpu_context *ctx = v->arch.cur;

	ctx->asid = take_asid(c);
	ctx->asid_cpu = v->cpu;
	ctx->asid_generation = c->asid_generation;
	vmcb_of(v)->asid = ctx->asid;
	v->arch.flushes_done = v->arch.flushes_owed; /* nothing is cached under a fresh ASID */
}

/* What this vCPU's ASID has cached is stale. Without a flush by ASID a fresh one is as good. */
void svm_flush(struct vcpu *v)
{
	v->arch.flushes_owed++;
	v->arch.check_flush = true;
	if (!svm_features.flush_asid)
		v->arch.cur->asid_cpu = -1;
}

/*
 * Right before an entry: make the VMCB ask for what is owed. It is done then, since nothing comes
 * between this and VMRUN; svm_light_exit() takes the request back so that it is carried out once.
 */
void svm_flush_commit(struct vcpu *v, struct vmcb *b)
{
	struct svm_cpu *c = this_cpu_ptr(svm_cpu);
	struct vcpu_context *ctx = v->arch.cur;

	if (ctx->asid_cpu != v->cpu || ctx->asid_generation != c->asid_generation)
		new_asid(v);
	if (c->flushes_done != c->flushes_owed) {
		b->tlb_control = SVM_TLB_FLUSH_ALL;
		c->flushes_done = c->flushes_owed;
		v->arch.flushes_done = v->arch.flushes_owed;
	}
	if (v->arch.flushes_done != v->arch.flushes_owed) {
		b->tlb_control = SVM_TLB_FLUSH_ASID;
		v->arch.flushes_done = v->arch.flushes_owed;
	}
	v->arch.check_flush = false;
}
