/* SPDX-License-Identifier: GPL-2.0-only */
/* A vCPU's way onto a CPU and off it again, and what core asks about one. */
#include "hyp.h"

#include <cupel/printk.h>
#include <string.h>

#include "../../drivers/gic/vgic_ids.h"
#include "../../drivers/timer/arm_vtimer.h"

#define MPIDR_RES1 BIT(31)

int arch_vcpu_init(struct vcpu *v)
{
	struct arch_vcpu *a = &v->arch;

	for (u32 i = 0; i < NR_GUEST_CONTEXTS; i++)
		a->ctx[i].vcpu = v;
	a->cur = &a->ctx[0];
	a->s2 = &v->vm->arch.s2[0];
	a->vmpidr = MPIDR_RES1 | vcpu_affinity_of(v->id);
	a->hcr = hyp_hcr | (v->vm->config.wfi == WFI_TRAP ? HCR_TWI : 0);
	vtimer_vcpu_init(v);
	return 0;
}

void arch_vcpu_destroy(struct vcpu *v)
{
}

void arch_vcpu_load(struct vcpu *v)
{
	this_cpu(guest_current) = v;
	stage2_load(v);
	write_sysreg(v->arch.vmpidr, vmpidr_el2);
	world_load(v->arch.cur);
	if (read_sysreg(hcr_el2) != v->arch.hcr)
		write_sysreg(v->arch.hcr, hcr_el2);
	vtimer_load(v);
	vgic_load(v);
}

static void put_fp(struct vcpu *v)
{
	fp_save(&v->arch.cur->fp);
	v->arch.fp_live = false;
	hyp_fp_trap(true);
}

void arch_vcpu_put(struct vcpu *v)
{
	vgic_put(v);
	vtimer_put(v);
	world_put(v->arch.cur);
	if (v->arch.fp_live)
		put_fp(v);
	this_cpu(guest_current) = NULL;
}

/* Power on at the posted entry point. GIC registers keep what they were set to; the rest is reset. */
static void reset(struct vcpu *v)
{
	struct vgic_cpu *c = &v->arch.vgic;

	arch_vcpu_put(v);
	world_reset(v->arch.cur, v->arch.reset.pc, v->arch.reset.x0);
	vtimer_reset(v);
	c->vmcr = 0;
	memset(c->apr, 0, sizeof(c->apr));
	memset(&c->soft, 0, sizeof(c->soft));
	arch_vcpu_load(v);
}

void arch_vcpu_requests(struct vcpu *v, u32 bits)
{
	if (bits & VCPU_REQ_RESET)
		reset(v);
	if (bits & VCPU_REQ_TLB)
		__asm__ volatile("tlbi vmalls12e1\n\tdsb nsh\n\tisb" : : : "memory");
	if (bits & VCPU_REQ_EVENT)
		vgic_fold(v);
}

enum vcpu_exit arch_vcpu_enter(struct vcpu *v)
{
	int e;

	if (unlikely(v->arch.vgic.dirty))
		vgic_fold(v);
	e = world_enter(v->arch.cur);
	WRITE_ONCE(v->mode, VCPU_OUTSIDE);
	/* irqchip=external: after every exit that reaches the device models. */
	if (v->vm->arch.vgic->soft)
		vtimer_sync_lines(v);
	return (enum vcpu_exit)e;
}

bool arch_vcpu_wakeable(struct vcpu *v)
{
	return vgic_wakeable(v) || vtimer_wakeable(v);
}

u64 arch_vcpu_next_deadline(struct vcpu *v)
{
	return vtimer_deadline(v);
}

void arch_vcpu_dump(struct vcpu *v)
{
	struct guest_ctx *ctx = v->arch.cur;

	if (v == this_cpu(guest_current))
		world_put(ctx);
	printk("vCPU %u of %s: pc 0x%016lx pstate 0x%08lx lr 0x%016lx\n", v->id, v->vm->config.name,
	       ctx->pc, ctx->pstate, ctx->regs[30]);
	for (u32 i = 0; i < 30; i += 3)
		printk("  x%-2u 0x%016lx  x%-2u 0x%016lx  x%-2u 0x%016lx\n", i, ctx->regs[i], i + 1,
		       ctx->regs[i + 1], i + 2, ctx->regs[i + 2]);
	for (u32 i = 0; i + 1 < NR_GUEST_REGS; i += 2)
		printk("  %-11s 0x%016lx  %-11s 0x%016lx\n", guest_reg_name(i), ctx->sys[i],
		       guest_reg_name(i + 1), ctx->sys[i + 1]);
}
