/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest side of x86 among itself: what a backend (AMD SVM now) does for the vendor-neutral half in
 * arch/x86/vcpu*.c, and what that half does for it. The hot path never goes through the table of
 * operations: a backend handles its own exits and calls the functions below directly.
 */
#ifndef ASM_VIRT_H
#define ASM_VIRT_H

#include <asm/cpu.h>
#include <asm/decode.h>
#include <asm/vcpu.h>
#include <cupel/types.h>
#include <cupel/vcpu.h>

struct vm;

/* How a vCPU begins: in flat 32-bit protected mode, or in real mode at a SIPI's page. */
struct vcpu_start {
	bool real_mode;
	u8 sipi_vector;
	u32 rip, eax, ebx;
};

/* What a walk through the guest's page tables depends on. */
struct guest_paging {
	u64 cr0, cr3, cr4, efer, rflags;
	u8 cpl;
};

/* Where the next instruction is, and how it is to be read. */
struct guest_fetch {
	u64 rip, cs_base, cs_bits, cr3;
	enum insn_mode mode;
};

struct vcpu_backend {
	const char *name;
	int (*vcpu_init)(struct vcpu *v);
	void (*vcpu_destroy)(struct vcpu *v);
	void (*start)(struct vcpu *v, const struct vcpu_start *s);
	void (*load)(struct vcpu *v);
	void (*put)(struct vcpu *v);
	enum vcpu_exit (*enter)(struct vcpu *v);
	/* Look at what is pending, and inject it or ask for the moment when that is possible. */
	void (*deliver)(struct vcpu *v);
	/* RFLAGS.IF: an interrupt would end a HLT. */
	bool (*interrupts_on)(const struct vcpu *v);
	/* Queue an exception for the next entry, merged with one whose delivery was cut short. */
	void (*exception)(struct vcpu *v, u8 vector, bool has_error, u32 error);
	void (*paging)(const struct vcpu *v, struct guest_paging *p);
	void (*fetch_at)(const struct vcpu *v, struct guest_fetch *f);
	void (*set_cr2)(struct vcpu *v, u64 cr2);
	void (*dump)(const struct vcpu *v);
	/* The second stage of a VM: root 0. Under vm->lock. */
	int (*stage2_create)(struct vm *vm);
	int (*stage2_map)(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size, u32 slot_flags);
	void (*stage2_unmap)(struct vm *vm, gpaddr_t gpa, u64 size);
	void (*stage2_destroy)(struct vm *vm);
	/* This vCPU's translations may be stale: flush before the next entry. Owner. */
	void (*flush)(struct vcpu *v);
};

extern const struct vcpu_backend svm_backend;

#define X86_RFLAGS_DF BIT(10)
#define X86_RFLAGS_AC BIT(18)

/* Exit counters: v->exits[], named in arch_exit_names[]. */
enum exit_counter {
	EXITS_CPUID,
	EXITS_HYPERCALL,
	EXITS_MSR,
	EXITS_IO,
	EXITS_APIC,
	EXITS_MMIO,
	EXITS_HLT,
	EXITS_HOST_IRQ,
	EXITS_WINDOW,
	EXITS_EXCEPTION,
	EXITS_CONTROL_REG,
	EXITS_DEBUG_REG,
	EXITS_XSETBV,
	EXITS_OTHER,
	NR_EXIT_COUNTERS
};

static inline u64 gpr_get(const struct vcpu *v, u8 n)
{
	return *v->arch.gpr_ptr[n];
}

static inline void gpr_set(struct vcpu *v, u8 n, u64 value)
{
	*v->arch.gpr_ptr[n] = value;
}

/* Write `size` bytes of a register as an instruction does: 4 clear the upper half, less keep it. */
void gpr_write_sized(struct vcpu *v, u8 n, u32 size, u64 value);

/* vcpu_cpuid.c */
void guest_cpuid_init(void);
struct cpuid_regs guest_cpuid(const struct vcpu *v, u64 cr4, u32 leaf, u32 sub);
u64 guest_cr4_mask(void); /* bits a guest may set */
u64 guest_efer_mask(void);
u64 guest_xcr0_mask(void); /* 0 = no XSAVE */

/* vcpu_hv.c: the leaves from 0x40000000 on. */
struct cpuid_regs guest_hv_leaf(const struct vcpu *v, u32 leaf, u32 sub);

/* vcpu_msr.c: false = #GP. EFER and the segment and system-call MSRs are the backend's. */
bool guest_msr_read(struct vcpu *v, u32 msr, u64 *value);
bool guest_msr_write(struct vcpu *v, u32 msr, u64 value);
void guest_msr_reset(struct vcpu *v);
/*
 * MSRs that belong to no CPU: their accesses may take long, and wait for other CPUs. Outside of the light
 * exits only; false = #GP.
 */
bool guest_msr_is_pv(u32 msr);
bool guest_pv_msr_read(struct vcpu *v, u32 msr, u64 *value);
bool guest_pv_msr_write(struct vcpu *v, u32 msr, u64 value);
bool guest_msr_range(u32 n, u32 *first, u32 *last); /* the n-th that a guest can reach */

/* vcpu_walk.c: the guest's own page tables. */
enum walk_access { WALK_READ = 0, WALK_WRITE = 1, WALK_FETCH = 2, WALK_SYSTEM = 4 };
/*
 * 0 and *gpa; -EFAULT and the error code of the #PF that the access deserves; -ERANGE: not a canonical
 * address; -ENXIO: tables outside the guest's writable memory.
 */
int guest_walk(struct vcpu *v, const struct guest_paging *p, u64 linear, u32 access, gpaddr_t *gpa,
	       u32 *error);
/* Copy to or from guest memory; errors as above (*linear is where), -ENXIO: no memory there either. */
int guest_copy(struct vcpu *v, u64 *linear, void *buf, u32 len, u32 access, u32 *error);
void walk_cache_flush(struct vcpu *v);
/* Walk anew, for reading by the kernel. Where the page of `linear` is; NULL: the long way is to be taken. */
const u8 *walk_cache_fill(struct vcpu *v, u64 linear);

/* CR4 and AC decide whether the kernel may read a user's page. The rest is the same in all of long mode. */
static inline u64 walk_mode(u64 cr4, u64 rflags)
{
	return cr4 | (rflags & X86_RFLAGS_AC) << 32;
}

static inline const u8 *walk_lookup(const struct vcpu *v, u64 linear, u64 cr3, u64 mode)
{
	const struct walk_cache *k = &v->arch.walk;

	if (k->page != (linear & ~(u64)(PAGE_SIZE - 1)) || k->cr3 != cr3 || k->mode != mode)
		return NULL;
	for (u32 n = 0; n < k->levels; n++) {
		if (READ_ONCE(*k->entry[n]) != k->value[n])
			return NULL;
	}
	return k->va;
}

/* An instruction's operand could not be copied: give the guest its fault, or stop the VM. */
enum emulate guest_copy_failed(struct vcpu *v, int err, u64 linear, u32 error, const char *what);

/* vcpu_insn.c: the instruction at a place, from a small cache that is checked against memory. */
#define INSN_CACHE_ENTRIES 32
struct insn_cache_entry {
	u64 rip, cs_base, cs_bits, cr3;
	const u8 *bytes; /* where it was read; 16 bytes from here are inside the guest's memory */
	u64 lo, hi, lo_mask, hi_mask; /* what was read there */
	struct insn insn;
} __aligned(128); /* a power of two, to be found by a shift */
struct insn_cache {
	struct insn_cache_entry entry[INSN_CACHE_ENTRIES];
};
/* NULL: a fault is queued, or the VM is stopped. */
const struct insn *insn_fetch(struct vcpu *v, const struct guest_fetch *f);
/* NULL: it can't be read; nothing has happened. */
const struct insn *insn_peek(struct vcpu *v, const struct guest_fetch *f);
void insn_cache_flush(struct vcpu *v);
/* The exit is over: forget what insn_fetch() could not keep. */
void insn_cache_settle(struct vcpu *v);

static inline u64 insn_bytes(const u8 *p)
{
	u64 v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * An entry counts only while the bytes in memory are those it was decoded from. What it trusts is the
 * translation, as a TLB would: a guest that remaps its code in place without a CR3 write must not put
 * the same bytes with other prefixes around them at the same address. It can harm only itself.
 */
static inline const struct insn *insn_lookup(const struct vcpu *v, u64 rip, u64 cs_base,
					     u64 cs_bits, u64 cr3)
{
	const struct insn_cache_entry *e = &v->arch.insns->entry[rip % INSN_CACHE_ENTRIES];

	if (e->rip != rip || e->cr3 != cr3 || e->cs_bits != cs_bits || e->cs_base != cs_base)
		return NULL;
	if ((insn_bytes(e->bytes) ^ e->lo) & e->lo_mask)
		return NULL;
	if (e->hi_mask && (insn_bytes(e->bytes + 8) ^ e->hi) & e->hi_mask)
		return NULL;
	return &e->insn;
}

/* vcpu_mmio.c. What an emulated access came to. */
enum emulate {
	EMULATE_DONE, /* skip the instruction */
	EMULATE_AGAIN, /* more of the same instruction is left, or an exception is queued */
	EMULATE_STOPPED, /* the VM is stopped */
};
/* `base` is that of the segment in which MOVS has its other operand. */
enum emulate guest_mmio(struct vcpu *v, const struct insn *i, gpaddr_t gpa, bool write, u64 base,
			u64 *rflags);

/* vcpu_io.c. `write` is OUT. */
enum emulate guest_pio(struct vcpu *v, u16 port, u32 size, bool write);
struct string_io {
	u16 port;
	u32 size, addr_size;
	bool write, rep, backward;
	u64 seg_base; /* of DS or the override for OUTS, of ES for INS */
};
enum emulate guest_pio_string(struct vcpu *v, const struct string_io *s);

/* vcpu_xen.c; all for a VM with xen=on. The callback vector that is to be injected now, -1 = none. */
int xen_callback_pending(struct vcpu *v);
/* An upcall through the callback vector would end a HLT. Not loaded. */
bool xen_upcall_wakeable(struct vcpu *v);
/* Serve upcall_unknown. Owner, outside every read section. */
void xen_upcall_refresh(struct vcpu *v);
bool xen_hypercall_page(struct vcpu *v, u64 value); /* write of XEN_MSR_HYPERCALL; false = #GP */

/* vcpu_steal.c: MSR_KVM_STEAL, with steal=on. */
int guest_steal_init(struct vcpu *v);
void guest_steal_destroy(struct vcpu *v);
void guest_steal_reset(struct vcpu *v);
u64 guest_steal_msr(const struct vcpu *v);
bool guest_steal_set_msr(struct vcpu *v, u64 value); /* false = #GP */

/* vcpu_fpu.c */
void fpu_cpu_init(void);
int fpu_vcpu_init(struct vcpu *v);
void fpu_vcpu_destroy(struct vcpu *v);
void fpu_vcpu_reset(struct vcpu *v);
void fpu_load(struct vcpu *v);
void fpu_put(struct vcpu *v);
/* XSETBV by the guest; false = #GP. */
bool fpu_set_xcr0(struct vcpu *v, u64 value);

/* vcpu_boot.c: what the guest finds in memory, and where it begins. */
int guest_boot_setup(struct vm *vm, const void *image, u64 size, const char **why);

/* vcpu.c */
void guest_tsc_aux_load(u64 value);
void guest_cpu_init(void); /* on each CPU, once virtualisation is on */
/* Stop the VM for a fault of its own, and say where it was. */
__cold void guest_crash(struct vcpu *v, const char *fmt, ...) __printf(2, 3);
void guest_exception(struct vcpu *v, u8 vector);
void guest_exception_error(struct vcpu *v, u8 vector, u32 error);
void guest_page_fault(struct vcpu *v, u64 linear, u32 error);

#endif
