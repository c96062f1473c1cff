/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a VM and a vCPU hold on x86, whichever vendor's extension runs them. Layout only: who may
 * touch a field is said beside it, and everything that acts on it lives in arch/x86/vcpu*.c and in
 * the backend (arch/x86/svm/). Nothing here may name a register of one vendor's control block.
 */
#ifndef ASM_VCPU_H
#define ASM_VCPU_H

#include <cupel/types.h>

struct vcpu;
struct vlapic;
struct v16550;
struct vcpu_backend;
struct insn_cache;
struct insn_cache_entry;
struct fpu_state;
struct guest_steal;

/* Register numbers as instructions encode them. */
enum gpr {
	GPR_RAX,
	GPR_RCX,
	GPR_RDX,
	GPR_RBX,
	GPR_RSP,
	GPR_RBP,
	GPR_RSI,
	GPR_RDI,
	GPR_R8,
	GPR_R9,
	GPR_R10,
	GPR_R11,
	GPR_R12,
	GPR_R13,
	GPR_R14,
	GPR_R15,
	NR_GPRS
};

/* Nested-paging roots of a VM: [0] is its own memory; a nested guest's shadow roots come after. */
#define NR_STAGE2_ROOTS 1

struct stage2_root {
	u64 *table; /* top level; written under vm->lock */
	u64 pages; /* table pages below it */
};

struct arch_vm {
	const struct vcpu_backend *backend;
	struct stage2_root root[NR_STAGE2_ROOTS];
	struct v16550 *uart;
	gpaddr_t entry; /* where vCPU 0 starts, in 32-bit protected mode */
	gpaddr_t boot_info; /* what EBX points to there */
	u32 boot_eax; /* the loader's magic number, where the protocol has one */
	u64 unmaps; /* second-stage removals: each is a flush owed by every vCPU */
};

/*
 * Register contexts: one per nesting level, [0] is the guest itself. General-purpose registers are
 * not part of it: entering a nested guest does not change them.
 */
#define NR_VCPU_CONTEXTS 1

struct vcpu_context {
	void *control; /* the backend's control block (a VMCB) */
	paddr_t control_pa;
	u32 asid; /* valid on CPU `asid_cpu` while that CPU's generation is `asid_generation` */
	int asid_cpu;
	u64 asid_generation;
	u32 root; /* index into arch_vm.root[] */
};

/*
 * The last walk through the guest's page tables that was kept: it holds while every entry on the way is as
 * it was read, until the second stage changes. Reads of a 64-bit guest's kernel only.
 */
#define WALK_LEVELS 5
struct walk_cache {
	u64 page; /* linear address; ~0 = nothing is kept */
	u64 cr3, mode; /* with what it was walked */
	u32 levels;
	const u64 *entry[WALK_LEVELS];
	u64 value[WALK_LEVELS];
	const u8 *va; /* where the page is */
};

/* Only the owner CPU touches any of it; what others post goes through the vlapic's posted words. */
struct arch_vcpu {
	/* The world switch knows these by offset: svm/entry.S, checked in svm/run.c. */
	u64 gpr[NR_GPRS]; /* the backend may keep RAX and RSP elsewhere: use gpr_ptr[] */
	u64 control_pa; /* of the context that runs */
	u64 guest_gs_base; /* while a light exit is served */
	u64 host_gs_base; /* of the CPU it is loaded on */
	u64 host_save_pa; /* what VMLOAD brings the host's state back from, on that CPU */

	u64 *gpr_ptr[NR_GPRS]; /* where each register is */
	struct vcpu_context *cur;
	struct vcpu_context context[NR_VCPU_CONTEXTS];
	struct vlapic *lapic;
	struct insn_cache *insns;
	struct insn_cache_entry *transient_insn; /* its bytes are insn_copy: for one exit only */
	u8 insn_copy[16];
	u64 scratch; /* a value on its way in or out of the exit that is served */
	struct fpu_state *fpu;
	u64 tsc_offset; /* guest TSC = host counter + this */
	u64 xcr0;
	int fpu_cpu; /* the CPU whose registers last held its FP state; -1 = none */
	u64 tsc_aux;
	u64 dr[4];
	bool dr_loaded; /* DR0-3 are in the CPU's registers */
	bool halted; /* in HLT: an interrupt ends it */
	bool wait_sipi; /* after INIT, or an AP after reset: nothing runs until a SIPI */
	bool nmi_pending;
	bool nmi_blocked; /* until IRET */
	bool nmi_step; /* on the step over that IRET */
	u64 pat;
	u64 mtrr_def;
	u64 mtrr_var[16]; /* base, mask */
	u64 mtrr_fixed[11];
	u64 misc_msr[9]; /* MSRs that only remember what was written: K7 counters, HWCR */
	struct walk_cache walk;
	struct guest_steal *steal; /* NULL without steal=on */
	bool upcall_unknown; /* vcpu_info could not be read: look again after a refresh */
	bool upcall_blind; /* and that found no memory */
	bool check_flush; /* look at the account, and at the ASID, before the next entry */
	u64 flushes_owed; /* debug account: second-stage and ASID flushes asked for … */
	u64 flushes_done; /* … and those that an entry has carried out */
};

#endif
