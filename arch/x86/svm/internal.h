/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the SVM backend say to each other. */
#ifndef SVM_INTERNAL_H
#define SVM_INTERNAL_H

#include "svm.h"
#include <asm/cpu.h>
#include <asm/virt.h>
#include <asm/vlapic.h>
#include <cupel/percpu.h>
#include <cupel/vm.h>

/* What svm_light_exit() found; anything but SVM_AGAIN ends the loop of entry.S. */
enum svm_light { SVM_AGAIN = 0, SVM_HEAVY, SVM_LEAVE };

/* Of each CPU; written by that CPU only. */
struct svm_cpu {
	paddr_t host_save_pa; /* the host's VMLOAD state, as it was when the CPU came up */
	u64 asid_generation; /* 0 = none handed out yet */
	u32 next_asid;
	u64 flushes_owed, flushes_done; /* whole-TLB flushes that new generations ask for */
};
DECLARE_PER_CPU(struct svm_cpu, svm_cpu);

/* The same on every CPU; set up by the boot CPU. */
struct svm_features {
	bool nrips, flush_asid, fsgsbase, pages_1g;
	u32 nr_asids;
};
extern struct svm_features svm_features;

extern paddr_t svm_iopm_pa, svm_msrpm_pa;

static inline struct vmcb *vmcb_of(const struct vcpu *v)
{
	return v->arch.cur->control;
}

/* Selector, attributes and limit in one word: what tells one code segment from another. */
static inline u64 svm_cs_bits(const struct vmcb *b)
{
	u64 bits;

	__builtin_memcpy(&bits, &b->save.cs, sizeof(bits));
	return bits;
}

/* The instruction that exited, where it has been before; NULL: it has to be fetched. */
static inline const struct insn *svm_current_insn(const struct vcpu *v, const struct vmcb *b)
{
	return insn_lookup(v, b->save.rip, b->save.cs.base, svm_cs_bits(b), b->save.cr3);
}

static inline bool svm_long_mode(const struct vmcb *b)
{
	return b->save.efer & EFER_LMA && b->save.cs.attrib & SVM_ATTR_L;
}

/* MOV to CR8 writes V_TPR only; the low half of TPR lives in the APIC alone. */
static inline void svm_tpr_from_guest(struct vcpu *v, const struct vmcb *b)
{
	u32 tpr = b->int_ctl & SVM_V_TPR_MASK;

	if (tpr != v->arch.lapic->tpr >> 4)
		v->arch.lapic->tpr = tpr << 4;
}

static inline void svm_tpr_to_guest(const struct vcpu *v, struct vmcb *b)
{
	b->int_ctl = (b->int_ctl & ~SVM_V_TPR_MASK) | v->arch.lapic->tpr >> 4;
}

static inline void vmsave(paddr_t pa)
{
	__asm__ volatile("vmsave %0" ::"a"(pa) : "memory");
}

/* entry.S */
u32 svm_run_gsbase(struct arch_vcpu *a);
u32 svm_run_vmload(struct arch_vcpu *a);
/* run.c, called from entry.S with GIF clear */
u32 svm_light_exit(struct arch_vcpu *a);

/* asid.c */
void svm_flush(struct vcpu *v);
/* Before an entry, when v->arch.check_flush is set: carry out what is owed, and account for it. */
void svm_flush_commit(struct vcpu *v, struct vmcb *b);

/* npt.c */
int npt_create(struct vm *vm);
int npt_map(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size, u32 slot_flags);
void npt_unmap(struct vm *vm, gpaddr_t gpa, u64 size);
void npt_destroy(struct vm *vm);
/* Entry that maps gpa, 0 = none. For reports. */
u64 npt_lookup(const struct vm *vm, gpaddr_t gpa);

/* event.c */
void svm_deliver(struct vcpu *v);
void svm_exception(struct vcpu *v, u8 vector, bool has_error, u32 error);
/* An event whose delivery was cut short by this exit goes back into the queue. */
void svm_requeue(struct vcpu *v, struct vmcb *b);
void svm_window_close(struct vmcb *b);
void svm_iret(struct vcpu *v, struct vmcb *b);
bool svm_nmi_stepped(struct vcpu *v, struct vmcb *b);
/* An emulated instruction is over: RF goes, and TF makes its trap. */
void svm_end_step(struct vcpu *v, struct vmcb *b);

/* state.c */
void svm_start(struct vcpu *v, const struct vcpu_start *s);
/* Exceptions go to the guest without an exit: it has an IDT now. */
void svm_own_exceptions(struct vmcb *b);
bool svm_no_idt(const struct vmcb *b);
void svm_dump(const struct vcpu *v);
void svm_paging(const struct vcpu *v, struct guest_paging *p);
void svm_fetch_at(const struct vcpu *v, struct guest_fetch *f);

/* run.c */
enum vcpu_exit svm_enter(struct vcpu *v);
void svm_skip(struct vcpu *v, struct vmcb *b, u32 len);

/* exit.c */
enum vcpu_exit svm_heavy_exit(struct vcpu *v, struct vmcb *b);
void svm_early_exception(struct vcpu *v, u32 vector, u64 error, u64 address);
void svm_triple_fault(struct vcpu *v, const struct vmcb *b);

/* control.c: CR, DR, EFER and XSETBV */
bool svm_efer_write(struct vcpu *v, struct vmcb *b, u64 value);
/* False: #GP. */
bool svm_cr4_write(struct vcpu *v, struct vmcb *b, u64 value);
bool svm_cr8_write(struct vcpu *v, struct vmcb *b, u64 value);
void svm_dr_give(struct vcpu *v, struct vmcb *b);
void svm_dr_load(struct vcpu *v, struct vmcb *b);
void svm_dr_put(struct vcpu *v, struct vmcb *b);

#endif
