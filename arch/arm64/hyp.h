/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the guest half of arch/arm64 say to each other. Also read by world_switch.S.
 *
 * While a vCPU is loaded its EL1 system registers, timers and list registers are in the CPU. Its
 * general registers are in guest_ctx from exit to entry; PC and PSTATE stay in ELR_EL2 and SPSR_EL2
 * while an exit is served within arch_vcpu_enter(), and are in guest_ctx outside of it.
 */
#ifndef ARM64_HYP_H
#define ARM64_HYP_H

/* Offsets into struct guest_ctx, checked in world.c */
#define CTX_HOST_SP 248
#define CTX_PC	    256
#define CTX_VCPU    272

#ifndef __ASSEMBLY__
#include <asm/host.h>
#include <asm/sysreg.h>
#include <cupel/vcpu.h>
#include <cupel/vm.h>

#include "../../drivers/gic/vgic.h"

/* Exception classes that only a guest's AArch32 EL0 causes: D19.2.37 */
#define ESR_EC_CP15_32 0x03
#define ESR_EC_CP15_64 0x04
#define ESR_EC_CP14_32 0x05
#define ESR_EC_CP14_LS 0x06
#define ESR_EC_CP14_64 0x0c

/* v->exits[], named in arch_exit_names[] in the same order. */
#define GUEST_EXITS(X)      \
	X(HVC, "hvc")       \
	X(SMC, "smc")       \
	X(SYSREG, "sysreg") \
	X(MMIO, "mmio")     \
	X(WFI, "wfi")       \
	X(IRQ, "irq")       \
	X(FP, "fp")         \
	X(UNDEF, "undef")   \
	X(FAULT, "fault")

enum guest_exit {
#define X(name, text) EXIT_##name,
	GUEST_EXITS(X)
#undef X
		NR_GUEST_EXITS
};

/* What an exit handler returns: an enum vcpu_exit, or this to enter the guest at once. */
#define REENTER (-1)

/* world_switch.S. Enter the guest with the state of ctx; back when a handler returns >= 0. Interrupts off. */
int world_enter(struct guest_ctx *ctx);
void fp_save(struct fp_state *fp);
void fp_restore(const struct fp_state *fp);

/* world.c. Registers of ctx->sys[], to and from the CPU. */
void world_load(const struct guest_ctx *ctx);
void world_put(struct guest_ctx *ctx);
void world_reset(struct guest_ctx *ctx, u64 pc, u64 x0);
/* An exception to EL1 of the loaded vCPU, as far as EL1's registers go; returns its VBAR_EL1. */
u64 world_raise(u64 esr, u64 elr, u64 spsr);
const char *guest_reg_name(enum guest_reg reg);

/* hyp_cpu.c. Traps that are the same for every guest. */
extern u64 hyp_hcr; /* HCR_EL2 of every guest, without WFI and the virtual lines */
void hyp_fp_trap(bool on);

/* hyp_exit.c, called from world_switch.S with interrupts off: synchronous exits by exception class. */
typedef int (*guest_exit_fn)(struct vcpu *v, struct guest_ctx *ctx, u64 esr);
extern const guest_exit_fn guest_exit_table[64];
int guest_exit_irq(struct vcpu *v);
int guest_exit_fiq(struct vcpu *v);
int guest_exit_serror(struct vcpu *v);
/* Stop the VM for something its guest did; `what` and where it stands. */
int guest_crash(struct vcpu *v, const char *fmt, ...) __printf(2, 3);

/* The end of every exit that wants to go on in the guest. Enum vcpu_exit, or REENTER. */
int guest_resume_slow(struct vcpu *v);
static inline int guest_resume(struct vcpu *v)
{
	/* Own posts have marked it dirty; those of others come as a request, and with a kick. */
	if (unlikely(READ_ONCE(v->requests) | v->arch.vgic.dirty))
		return guest_resume_slow(v);
	return REENTER;
}

static inline void guest_skip_insn(void)
{
	write_sysreg(read_sysreg(elr_el2) + 4, elr_el2);
}

/* Register `n` of an instruction; 31 is the zero register. */
static inline u64 guest_get_reg(const struct guest_ctx *ctx, u32 n)
{
	return n < 31 ? ctx->regs[n] : 0;
}

static inline void guest_set_reg(struct guest_ctx *ctx, u32 n, u64 val)
{
	if (n < 31)
		ctx->regs[n] = val;
}

/* guest_walk.c: the same as guest_stage1() in software. */
bool guest_walk(struct vcpu *v, u64 va, bool write, gpaddr_t *gpa);

/* PAR_EL1, D19.2.107: of 4 KiB granules */
#define PAR_F	 BIT(0)
#define PAR_S	 BIT(9) /* the second stage, on the way of the walk */
#define PAR_ADDR 0x000ffffffffff000UL

/*
 * Stage 1 only, as EL1 would go: what the guest's tables say is looked up in the slots, never handed to
 * the hardware. PAR_EL1 is the guest's own. Owner, vCPU loaded. False: the guest can't go there.
 */
static inline bool guest_stage1(struct vcpu *v, u64 va, bool write, gpaddr_t *gpa)
{
	u64 kept = read_sysreg(par_el1), par;

	if (write)
		__asm__ volatile("at s1e1w, %0" : : "r"(va) : "memory");
	else
		__asm__ volatile("at s1e1r, %0" : : "r"(va) : "memory");
	isb();
	par = read_sysreg(par_el1);
	write_sysreg(kept, par_el1);
	*gpa = (par & PAR_ADDR) | (va & (PAGE_SIZE - 1));
	if (likely(!(par & PAR_F)))
		return true;
	return (par & PAR_S) && guest_walk(v, va, write, gpa);
}

/* hyp_abort.c */
int exit_data_abort(struct vcpu *v, struct guest_ctx *ctx, u64 esr);
int exit_insn_abort(struct vcpu *v, struct guest_ctx *ctx, u64 esr);
/* An UNDEFINED exception at EL1, as if the instruction did not exist. */
void guest_inject_undef(void);

/* pvtime.c. Discovered through SMCCC_ARCH_FEATURES of PV_TIME_FEATURES; only with steal=on. */
#define PV_TIME_FEATURES 0xc5000020
#define PV_TIME_ST	 0xc5000021
/* Pages of the VM's slot at GUEST_ARM64_STEAL; it is there when pvtime_init() is called. */
u32 pvtime_order(const struct vm *vm);
int pvtime_init(struct vm *vm);
void pvtime_destroy(struct vm *vm);
s64 pvtime_call(struct vcpu *v, u32 fn, u64 arg);

/* hyp_smccc.c: the SMC calling convention, x0..x3 in and out. Enum vcpu_exit, or REENTER. */
#define SMCCC_NOT_SUPPORTED (-1L)
int guest_smccc(struct vcpu *v, struct guest_ctx *ctx);

/* hyp_xen.c: a hypercall of Xen's ABI. Enum vcpu_exit, or REENTER. */
int guest_xen_call(struct vcpu *v, struct guest_ctx *ctx);

/* sysregs.c */
int exit_sysreg(struct vcpu *v, struct guest_ctx *ctx, u64 esr);
void sysregs_init(void);

/* stage2.c */
void stage2_cpu_init(void);
int stage2_init(struct vm *vm);
void stage2_destroy(struct vm *vm);
/* Owner, interrupts off: the root's translations, and none of another vCPU of the VM. */
void stage2_load(struct vcpu *v);
int stage2_map_device(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size);
/* The leaf descriptor that translates gpa, 0 if none; *level says where it was found. */
u64 stage2_lookup(const struct stage2 *s2, gpaddr_t gpa, u32 *level);
u32 stage2_ipa_bits(void);
/* Forget every stage-2 and stage-1 translation of this VM, on all CPUs. */
void stage2_flush(const struct stage2 *s2);

/*
 * VMIDs. Every flush that a change of translations owes is counted, and counted again when it is
 * done: no emulator here shows a missing one when the VMID changes too.
 */
struct vmid_account {
	u64 owed;
	u64 done;
};
extern struct vmid_account vmid_account;
int vmid_alloc(u16 *vmid);
void vmid_free(u16 vmid);

/* guest_fdt.c: the device tree of a VM, written into `buf`; its size or -errno. */
int guest_fdt_build(struct vm *vm, void *buf, u32 size);

#endif
#endif
