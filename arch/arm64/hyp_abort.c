/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Aborts at stage 2: an access to a register window is done in the guest's stead, one to memory that is on
 * its way is tried again; anything else stops the VM with a report of where and what. Exceptions that are the guest's own business are injected.
 */
#include "hyp.h"

#include <asm/trap.h>

#define HPFAR_FIPA(hpfar) (((hpfar) & 0xfffffffffffUL & ~0xfUL) << 8)

static gpaddr_t fault_address(void)
{
	return HPFAR_FIPA(read_sysreg(hpfar_el2)) | (read_sysreg(far_el2) & (PAGE_SIZE - 1));
}

static bool is_permission(u64 esr)
{
	return (esr & FSC_TYPE(~0UL)) == FSC_PERMISSION;
}

/*
 * HPFAR_EL2 says nothing of a permission fault outside a table walk (Arm ARM D19.2.61): its address is
 * translated again. False: it can't be any more, since the guest's own tables have changed.
 */
static bool find_address(struct vcpu *v, u64 esr, gpaddr_t *gpa)
{
	*gpa = fault_address();
	if (!is_permission(esr) || esr & ESR_ABT_S1PTW)
		return true;
	return guest_stage1(v, read_sysreg(far_el2), false, gpa);
}

/*
 * Of the walks of a CPU that writes accessed and dirty bits by itself, the one that may not write comes
 * as a permission fault; any other only reads (D8.5.5).
 */
static bool is_write(u64 esr)
{
	if (esr & ESR_ABT_S1PTW)
		return is_permission(esr);
	return esr & ESR_ABT_WNR && (is_permission(esr) || !(esr & ESR_ABT_CM));
}

/* Sign- and zero-extend as the load would have: ISS SSE and SF, D19.2.37. */
static u64 extend(u64 esr, u32 bytes, u64 val)
{
	u32 unused = 64 - 8 * bytes;

	if (!(esr & ESR_DABT_SSE))
		return val << unused >> unused;
	val = (u64)((s64)(val << unused) >> unused);
	return esr & ESR_DABT_SF ? val : (u32)val;
}

/* Why the access can't be done, in words. */
static const char *complaint(struct vcpu *v, u64 esr, gpaddr_t gpa)
{
	const struct mem_slot *s = vm_find_slot(v->vm, gpa);

	if (esr & ESR_ABT_S1PTW)
		return "page-table walk to";
	if (s && (s->flags & SLOT_READONLY) && is_write(esr))
		return "write to read-only memory at";
	if (s)
		return "access to memory that is not mapped, at";
	if (!(esr & ESR_DABT_ISV))
		return "access by an instruction that can't be emulated, at";
	return esr & ESR_ABT_WNR ? "write to nothing, at" : "read of nothing, at";
}

/* Whether a slot could be what this is about: nothing else is lifted by mapping memory. */
static bool is_missing(u64 esr)
{
	u64 type = FSC_TYPE(esr);

	return type == FSC_TRANSLATION || type == FSC_PERMISSION || type == FSC_ACCESS_FLAG;
}

/* True: the guest is to try again. *gpa is where it was in any case. */
static bool memory_fault(struct vcpu *v, u64 esr, gpaddr_t *gpa)
{
	bool found = find_address(v, esr, gpa);

	return is_missing(esr) && (!found || vm_fault(v, *gpa, is_write(esr)));
}

static __noinline int no_register(struct vcpu *v, u64 esr)
{
	gpaddr_t gpa;

	if (memory_fault(v, esr, &gpa))
		return guest_resume(v);
	return guest_crash(v, "%s 0x%lx, %s", complaint(v, esr, gpa), gpa, esr_fault_name(esr));
}

/* Emulation needs a syndrome, and a miss: all else is no register window. */
static inline bool is_mmio(u64 esr)
{
	u64 mask = ESR_DABT_ISV | ESR_ABT_S1PTW | FSC_TYPE(~0UL);

	return (esr & mask) == (ESR_DABT_ISV | FSC_TRANSLATION);
}

static inline u32 access_bytes(u64 esr)
{
	return 1U << ESR_DABT_SAS(esr);
}

/* The access was done. */
static inline int finish_mmio(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	if (unlikely(v->arch.retry)) {
		v->arch.retry = false;
		return guest_resume(v);
	}
	if (!(esr & ESR_ABT_WNR))
		guest_set_reg(ctx, ESR_DABT_SRT(esr),
			      extend(esr, access_bytes(esr), v->arch.scratch));
	guest_skip_insn();
	return guest_resume(v);
}

int exit_data_abort(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	u64 *val = &v->arch.scratch;

	v->exits[EXIT_MMIO]++;
	if (unlikely(!is_mmio(esr)))
		return no_register(v, esr);
	*val = 0;
	if (esr & ESR_ABT_WNR)
		*val = extend(0, access_bytes(esr), guest_get_reg(ctx, ESR_DABT_SRT(esr)));
	if (unlikely(!vm_mmio(v, fault_address(), access_bytes(esr), esr & ESR_ABT_WNR, val)))
		return no_register(v, esr);
	return finish_mmio(v, ctx, esr);
}

int exit_insn_abort(struct vcpu *v, struct guest_ctx *ctx, u64 esr)
{
	gpaddr_t gpa;

	if (memory_fault(v, esr, &gpa))
		return guest_resume(v);
	return guest_crash(v, "%s 0x%lx, %s",
			   esr & ESR_ABT_S1PTW ? "page-table walk to" : "instruction fetch from",
			   gpa, esr_fault_name(esr));
}

/* Offsets of synchronous exceptions in a vector table, D1.3.1.5 */
#define VECTOR_CURRENT_SP0 0x000
#define VECTOR_CURRENT_SPX 0x200
#define VECTOR_LOWER_64	   0x400
#define VECTOR_LOWER_32	   0x600

static u64 vector_offset(u64 pstate)
{
	if (pstate & PSR_AARCH32)
		return VECTOR_LOWER_32;
	switch (pstate & PSR_MODE_MASK) {
	case PSR_EL1T: return VECTOR_CURRENT_SP0;
	case PSR_EL1H: return VECTOR_CURRENT_SPX;
	default: return VECTOR_LOWER_64;
	}
}

void guest_inject_undef(void)
{
	u64 pstate = read_sysreg(spsr_el2);
	u64 vbar = world_raise((u64)ESR_EC_UNKNOWN << ESR_EC_SHIFT | ESR_IL, read_sysreg(elr_el2),
			       pstate);

	write_sysreg(vbar + vector_offset(pstate), elr_el2);
	write_sysreg(PSR_EL1H | PSR_D | PSR_A | PSR_I | PSR_F, spsr_el2);
}
