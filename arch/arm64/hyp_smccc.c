/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HVC of a guest: Cupel's hypercalls, PSCI (Arm DEN 0022) and stolen time by the SMC calling convention
 * (DEN 0028). Whatever is not known returns NOT_SUPPORTED. A guest starts and stops its own vCPUs only.
 */
#include "hyp.h"

#include <cupel/abi.h>

#include "../../drivers/gic/vgic_ids.h"

#define SMCCC_VERSION	    0x80000000
#define SMCCC_ARCH_FEATURES 0x80000001
#define SMCCC_1_2	    0x10002
#define SMCCC_64	    BIT32(30) /* arguments are 64 bits wide */

#define PSCI_VERSION	       0x84000000
#define PSCI_CPU_SUSPEND       0x84000001
#define PSCI_CPU_OFF	       0x84000002
#define PSCI_CPU_ON	       0x84000003
#define PSCI_AFFINITY_INFO     0x84000004
#define PSCI_MIGRATE_INFO_TYPE 0x84000006
#define PSCI_SYSTEM_OFF	       0x84000008
#define PSCI_SYSTEM_RESET      0x84000009
#define PSCI_FEATURES	       0x8400000a
#define PSCI_1_1	       0x10001
#define PSCI_NO_MIGRATION      2

enum {
	SUCCESS = 0,
	NOT_SUPPORTED = SMCCC_NOT_SUPPORTED,
	INVALID_PARAMETERS = -2,
	ALREADY_ON = -4,
	ON_PENDING = -5,
	INVALID_ADDRESS = -9,
};
enum { AFFINITY_ON, AFFINITY_OFF, AFFINITY_ON_PENDING };

static struct vcpu *find_vcpu(struct vm *vm, u64 mpidr)
{
	u32 id = vcpu_id_of(mpidr & MPIDR_AFFINITY_MASK);

	return id < vm->nr_vcpus ? vm->vcpu[id] : NULL;
}

static s64 power_on(struct vcpu *target, u64 entry, u64 context)
{
	if (READ_ONCE(target->run_state) != VCPU_OFF)
		return READ_ONCE(target->requests) & VCPU_REQ_RESET ? ON_PENDING : ALREADY_ON;
	target->arch.reset = (struct vcpu_reset){ entry, context };
	/* Release: the owner that takes the bit sees the mailbox. */
	vcpu_request_quiet(target, VCPU_REQ_RESET);
	vcpu_power_on(target);
	return SUCCESS;
}

static s64 cpu_on(struct vcpu *v, u64 mpidr, u64 entry, u64 context)
{
	struct vcpu *target = find_vcpu(v->vm, mpidr);
	s64 ret;

	if (!target)
		return INVALID_PARAMETERS;
	if ((entry & 3) || !vm_gpa_to_va(v->vm, entry, 4, false))
		return INVALID_ADDRESS;
	/* One at a time: of several that start one vCPU, one succeeds. */
	spin_lock(&v->vm->arch.psci_lock);
	ret = power_on(target, entry, context);
	spin_unlock(&v->vm->arch.psci_lock);
	return ret;
}

static s64 state_of(struct vcpu *v)
{
	if (READ_ONCE(v->requests) & VCPU_REQ_RESET)
		return AFFINITY_ON_PENDING;
	return READ_ONCE(v->run_state) == VCPU_OFF ? AFFINITY_OFF : AFFINITY_ON;
}

/* ON if any vCPU of the affinity instance is on (DEN 0022 5.7). */
static s64 affinity_info(struct vm *vm, u64 mpidr, u64 level)
{
	u64 mask = MPIDR_AFFINITY_MASK;
	s64 best = INVALID_PARAMETERS;

	if (level > 3)
		return INVALID_PARAMETERS;
	mask &= level == 3 ? ~0xffffffUL : ~(BIT(8 * level) - 1);
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		s64 state = state_of(vm->vcpu[i]);

		if ((vcpu_affinity(vm->vcpu[i]) ^ mpidr) & mask)
			continue;
		if (state == AFFINITY_ON)
			return AFFINITY_ON;
		best = max(best, state);
	}
	return best;
}

static s64 features(u32 fn)
{
	switch (fn) {
	case SMCCC_VERSION:
	case PSCI_VERSION:
	case PSCI_CPU_SUSPEND:
	case PSCI_CPU_SUSPEND | SMCCC_64:
	case PSCI_CPU_OFF:
	case PSCI_CPU_ON:
	case PSCI_CPU_ON | SMCCC_64:
	case PSCI_AFFINITY_INFO:
	case PSCI_AFFINITY_INFO | SMCCC_64:
	case PSCI_MIGRATE_INFO_TYPE:
	case PSCI_SYSTEM_OFF:
	case PSCI_SYSTEM_RESET:
	case PSCI_FEATURES: return SUCCESS;
	}
	return NOT_SUPPORTED;
}

static s64 arch_features(const struct vm *vm, u32 fn)
{
	switch (fn) {
	case SMCCC_VERSION:
	case SMCCC_ARCH_FEATURES: return SUCCESS;
	case PV_TIME_FEATURES: return vm->arch.steal ? SUCCESS : NOT_SUPPORTED;
	}
	return NOT_SUPPORTED;
}

static s64 psci(struct vcpu *v, u32 fn, u64 a, u64 b, u64 c, enum vcpu_exit *exit)
{
	switch (fn & ~SMCCC_64) {
	case PSCI_CPU_ON: return cpu_on(v, a, b, c);
	case PSCI_AFFINITY_INFO: return affinity_info(v->vm, a, b);
	case PSCI_CPU_SUSPEND: *exit = VCPU_EXIT_BLOCK; return SUCCESS;
	}
	switch (fn) {
	case PSCI_VERSION: return PSCI_1_1;
	case PSCI_MIGRATE_INFO_TYPE: return PSCI_NO_MIGRATION;
	case PSCI_FEATURES: return features((u32)a);
	case SMCCC_ARCH_FEATURES: return arch_features(v->vm, (u32)a);
	case PV_TIME_FEATURES:
	case PV_TIME_ST: return pvtime_call(v, fn, a);
	case PSCI_CPU_OFF: *exit = VCPU_EXIT_OFF; return SUCCESS;
	case PSCI_SYSTEM_OFF:
		vm_stop(v->vm, 0, "powered off");
		*exit = VCPU_EXIT_STOP;
		return SUCCESS;
	case PSCI_SYSTEM_RESET:
		vm_stop(v->vm, 0, "asked for a reset");
		*exit = VCPU_EXIT_STOP;
		return SUCCESS;
	}
	return NOT_SUPPORTED;
}

static __noinline int slow_call(struct vcpu *v, struct guest_ctx *ctx, u32 fn)
{
	enum vcpu_exit exit = VCPU_EXIT_RESUME;
	u64 a = ctx->regs[1], b = ctx->regs[2], c = ctx->regs[3];

	if (fn >= HC_BASE && fn < HC_LIMIT) {
		ctx->regs[0] = (u64)hypercall(v, fn, a, b, c, &exit);
	} else if (fn & SMCCC_64) {
		ctx->regs[0] = (u64)psci(v, fn, a, b, c, &exit);
	} else {
		ctx->regs[0] = (u64)psci(v, fn, (u32)a, (u32)b, (u32)c, &exit);
	}
	return exit == VCPU_EXIT_RESUME ? guest_resume(v) : (int)exit;
}

int guest_smccc(struct vcpu *v, struct guest_ctx *ctx)
{
	u32 fn = (u32)ctx->regs[0];

	if (likely(fn == HC_NULL)) {
		ctx->regs[0] = 0;
		return guest_resume(v);
	}
	if (fn == SMCCC_VERSION) {
		ctx->regs[0] = SMCCC_1_2;
		return guest_resume(v);
	}
	return slow_call(v, ctx, fn);
}
