/* SPDX-License-Identifier: GPL-2.0-only */
/* Exceptions taken to EL1: interrupts go to their handlers, faults to the try_call() in progress. */
#include <guest.h>
#include <runtime.h>

struct regs { /* as start.S stacks them */
	u64 x[31];
	u64 elr, spsr;
};

void arm_exception(u64 kind, struct regs *r);

static void take_irq(void)
{
	u32 iar, intid;

	if (irq_raw) {
		irq_raw(0);
		return;
	}
	iar = gic_ack();
	intid = iar & IAR_INTID;
	if (intid >= INTID_NONE) {
		irq_unexpected[cpu_id()]++;
		return;
	}
	irq_deliver(intid);
	gic_end(iar);
}

static void take_fault(u64 kind, struct regs *r)
{
	u64 esr = read_sysreg(esr_el1), far = read_sysreg(far_el1);
	u64 sp = try_fault(esr, 0, far, r->elr);

	if (!sp)
		guest_die("vCPU %u: exception %lu, ESR %lx FAR %lx ELR %lx", cpu_id(), kind, esr,
			  far, r->elr);
	r->x[0] = sp;
	r->elr = (u64)try_resume;
	r->spsr = (r->spsr & PSR_DAIF) | PSR_EL1H;
}

void arm_exception(u64 kind, struct regs *r)
{
	if (kind % 4 == 1)
		take_irq();
	else
		take_fault(kind, r);
}

bool fault_is_undefined(const struct fault *f)
{
	return f->cause >> ESR_EC_SHIFT == ESR_EC_UNKNOWN;
}

static u8 user_stack[4096] __aligned(16);

void user_enter(void (*fn)(void))
{
	write_sysreg(sp_el0, (u64)user_stack + sizeof(user_stack) + USER_ALIAS);
	write_sysreg(spsr_el1, PSR_EL0 | PSR_DAIF);
	write_sysreg(elr_el1, (u64)fn + USER_ALIAS);
	__asm__ volatile("eret");
	__builtin_unreachable();
}
