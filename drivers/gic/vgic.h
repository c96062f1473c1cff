/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interrupt controller a guest sees. One 32-bit word holds all that is known of an interrupt;
 * anyone may post into it with one atomic operation. Injection takes no lock: the poster marks the
 * INTID in the target vCPU's `posted` bitmap and requests VCPU_REQ_EVENT; the vCPU's owner folds the
 * bitmap into its private `queue` and moves what is deliverable into list registers (vgic_lr.c), or
 * into a CPU interface in software (vgic_soft.c: irqchip=external).
 *
 * References are to Arm IHI 0069 (GICv3/v4) unless IHI 0048 (GICv2) is named.
 */
#ifndef DRIVERS_GIC_VGIC_H
#define DRIVERS_GIC_VGIC_H

#include <cupel/percpu.h>
#include <cupel/vcpu.h>
#include <cupel/vm.h>

/* The state word. */
#define VIRQ_PENDING	  BIT32(0) /* latched: an edge, or set by the guest */
#define VIRQ_LINE	  BIT32(1) /* level of the input; level-sensitive interrupts only */
#define VIRQ_ACTIVE	  BIT32(2) /* as of the last fold, when LISTED */
#define VIRQ_ENABLED	  BIT32(3)
#define VIRQ_GROUP1	  BIT32(4)
#define VIRQ_EDGE	  BIT32(5)
#define VIRQ_LISTED	  BIT32(6) /* in a list register of the holder */
#define VIRQ_HW		  BIT32(7) /* stands for a host interrupt, which the guest's EOI deactivates */
#define VIRQ_PRIO_SHIFT	  8 /* 5 bits: the top ones of the priority byte */
#define VIRQ_PRIO_MASK	  0x1f
#define VIRQ_TARGET_SHIFT 13 /* SPI: vCPU it is routed to */
#define VIRQ_HOLDER_SHIFT 22 /* SPI: vCPU that has it LISTED or ACTIVE */
#define VIRQ_VCPU_MASK	  0x1ff
#define VIRQ_LRPEND	  BIT32(31) /* pending copy went into the list register */

#define VGIC_MAX_VCPUS 123 /* redistributors that fit below the UART */
#define VGIC_PRIO_IDLE 32 /* running priority when nothing is active */

enum vgic_model { VGIC_MODEL_V2, VGIC_MODEL_V3 };

struct vgic {
	struct vm *vm;
	enum vgic_model model; /* registers the guest sees */
	bool soft; /* CPU interface in software */
	bool spis; /* an SPI was ever enabled */
	u64 hcr; /* ICH_HCR_EL2 when all is in list registers */
	u32 ctlr; /* GICD_CTLR: bit 0 EnableGrp0, bit 1 EnableGrp1 */
	spinlock_t lock; /* guards configuration: enable, group, priority, trigger, routing */
	u32 enabled[VGIC_NR_INTIDS / 32]; /* what GICD_ISENABLERn reads, n > 0 */
	u64 drop[VGIC_WORDS]; /* SPIs to be deactivated by their holder; atomics */
	u32 spi[VGIC_NR_INTIDS - VGIC_NR_PRIVATE]; /* state words; atomics */
	u64 route[VGIC_NR_INTIDS]; /* GICD_IROUTERn, or the byte of GICD_ITARGETSRn; under lock */
};

/* List registers, in the layout of ICH_LRn_EL2 (12.4.10) whatever the chip. */
#define LR_INTID_MASK	0xffffffffUL
#define LR_PINTID_SHIFT 32
#define LR_EOI		BIT(41)
#define LR_PRIO_SHIFT	51 /* of the 5 bits */
#define LR_GROUP1	BIT(60)
#define LR_HW		BIT(61)
#define LR_PENDING	BIT(62)
#define LR_ACTIVE	BIT(63)
#define LR_CPUID_SHIFT	10 /* GICv2: source of an SGI, within the field of the INTID */

/* ICH_HCR_EL2 (12.4.7); GICH_HCR has the same low bits (IHI 0048 5.3.1). */
#define VGIC_HCR_EN		BIT(0)
#define VGIC_HCR_UIE		BIT(1)
#define VGIC_HCR_LRENPIE	BIT(2)
#define VGIC_HCR_NPIE		BIT(3)
#define VGIC_HCR_TC		BIT(10)
#define VGIC_HCR_TALL0		BIT(11)
#define VGIC_HCR_TALL1		BIT(12)
#define VGIC_HCR_TDIR		BIT(14)
#define VGIC_HCR_EOICOUNT_SHIFT 27

#define SYS_ICH_LR0   S3_4_C12_C12_0
#define SYS_ICH_ELRSR S3_4_C12_C11_5

/* ICH_VMCR_EL2 (12.4.8) */
#define VMCR_VENG0     BIT(0)
#define VMCR_VENG1     BIT(1)
#define VMCR_VEOIM     BIT(9)
#define VMCR_PMR_SHIFT 24

/* How list registers are reached; chosen at boot. */
struct vgic_hw {
	u32 nr_lrs; /* 0: this machine has none */
	bool sysregs; /* they are those of a GICv3 */
	bool tdir; /* writes to ICC_DIR can be trapped */
	u64 (*read_lr)(u32 n);
	void (*write_lr)(u32 n, u64 val);
	u64 (*empty)(void); /* bitmap of empty list registers */
	u64 (*read_hcr)(void);
	void (*write_hcr)(u64 val);
	u64 (*read_vmcr)(void);
	void (*load)(struct vgic_cpu *g); /* VMCR and active priorities to the chip */
	void (*put)(struct vgic_cpu *g); /* and back; delivery off */
};
extern struct vgic_hw vgic_hw;

/* The vCPU loaded on this CPU, or NULL. */
DECLARE_PER_CPU(struct vcpu *, guest_current);

/* Once per CPU, interrupts off. */
void vgic_cpu_init(void);
/* -ENODEV: this machine has no hardware for it; -ENOMEM; -E2BIG. */
int vgic_vm_init(struct vm *vm, const char **why);
void vgic_vm_destroy(struct vm *vm);
void vgic_vcpu_reset(struct vcpu *v);

/* Owner, interrupts off. The timers are loaded first: they drive lines that load then lists. */
void vgic_load(struct vcpu *v);
void vgic_put(struct vcpu *v);
/* Fold what was posted, and refill. Owner, loaded. */
void vgic_fold(struct vcpu *v);

/* The guest's CPU interface is GICV, which the caller maps at GUEST_ARM64_GICC. */
bool vgic_wants_gicv(const struct vm *vm);
/* Where a GICv2 guest finds its CPU interface. */
#define GUEST_ARM64_GICC      0x08010000
#define GUEST_ARM64_GICC_SIZE 0x2000

/* Inputs. Any context, any CPU. `v` is NULL for an SPI. */
void vgic_set_line(struct vm *vm, struct vcpu *v, u32 intid, bool level);
void vgic_pend(struct vm *vm, struct vcpu *v, u32 intid);
/* Make private interrupt `intid` of v stand for a host interrupt. */
void vgic_map_hw(struct vcpu *v, u32 intid, u32 host_intid);

/* An interrupt that would be signalled is pending. Any CPU while v is not loaded, else its owner. */
bool vgic_wakeable(struct vcpu *v);
/* A list register of the loaded vCPU is pending. */
bool vgic_lr_pending(struct vcpu *v);
/* Would a raised line of this PPI be signalled? As vgic_wakeable(). */
bool vgic_would_signal(struct vcpu *v, u32 intid);

/* --- between the files of the vGIC ------------------------------------------------------------- */

static inline u32 *vgic_word(struct vgic *g, struct vcpu *v, u32 intid)
{
	return intid < VGIC_NR_PRIVATE ? &v->arch.vgic.irq[intid] : &g->spi[intid - VGIC_NR_PRIVATE];
}

static inline u32 virq_prio(u32 word)
{
	return word >> VIRQ_PRIO_SHIFT & VIRQ_PRIO_MASK;
}

static inline u32 virq_target(u32 word)
{
	return word >> VIRQ_TARGET_SHIFT & VIRQ_VCPU_MASK;
}

static inline u32 virq_holder(u32 word)
{
	return word >> VIRQ_HOLDER_SHIFT & VIRQ_VCPU_MASK;
}

static inline bool virq_pending(u32 word)
{
	return word & (VIRQ_PENDING | VIRQ_LINE);
}

/* Pending, and both the interrupt and its group are enabled in the distributor. */
static inline bool virq_deliverable(const struct vgic *g, u32 word)
{
	u32 group = !!(word & VIRQ_GROUP1);

	return (word & VIRQ_ENABLED) && virq_pending(word) && (READ_ONCE(g->ctlr) >> group & 1);
}

/* What v has to do with the interrupt: it holds it, or it is free and routed to v. */
static inline bool virq_concerns(u32 intid, u32 word, const struct vcpu *v)
{
	if (intid < VGIC_NR_PRIVATE)
		return true;
	if (word & (VIRQ_LISTED | VIRQ_ACTIVE))
		return virq_holder(word) == v->id;
	return virq_target(word) == v->id;
}

static inline void vgic_queue(struct vcpu *v, u32 intid)
{
	v->arch.vgic.queue[intid / 64] |= BIT(intid % 64);
	v->arch.vgic.dirty = true;
}

/* Make whoever the interrupt concerns look at its word. */
void vgic_notify(struct vgic *g, struct vcpu *v, u32 intid, u32 word);
/* Set bits in a word; whoever it concerns hears of it when that makes it deliverable. */
void vgic_set_bits(struct vgic *g, struct vcpu *v, u32 intid, u32 bits);
/* The same without a look at who is loaded here. */
void vgic_post(struct vgic *g, struct vcpu *v, u32 intid, u32 bits);
/* Every vCPU looks at all of its interrupts. */
void vgic_rescan(struct vgic *g);
/* Deactivate, wherever it is held; the caller is `self`, loaded. */
void vgic_deactivate(struct vgic *g, struct vcpu *self, struct vcpu *v, u32 intid);
/* The host interrupt behind a VIRQ_HW word. */
void vgic_hw_set_active(struct vcpu *v, u32 intid, bool on);

void vgic_lr_sync(struct vcpu *v);
void vgic_lr_refill(struct vcpu *v);
/* The same when the queue is known to be empty. */
void vgic_lr_none_queued(struct vcpu *v);
/*
 * Set bits of an interrupt of the loaded vCPU, which is the caller's own, and list it at once if that
 * can be: what vgic_set_bits() does for it.
 */
void vgic_lr_post(struct vcpu *v, u32 intid, u32 bits);

/* Raise the line of a private interrupt of the loaded vCPU, which is the caller's own. */
static inline void vgic_raise_own(struct vcpu *v, u32 intid)
{
	struct vgic *g = v->vm->arch.vgic;

	if (unlikely(g->soft))
		vgic_post(g, v, intid, VIRQ_LINE);
	else
		vgic_lr_post(v, intid, VIRQ_LINE);
}

void vgic_v3_cpu_init(void);
void vgic_v2_cpu_init(void);
/* The maintenance interrupt of either chip. */
void vgic_maintenance_init(void);

/* The CPU interface in software: vgic_soft.c. Groups are 0 and 1. */
#define INTID_NONE 1023
void vgic_soft_load(struct vcpu *v);
void vgic_soft_put(struct vcpu *v);
/* Recompute the lines to the vCPU after any change. */
void vgic_soft_update(struct vcpu *v);
/* Acknowledge the best pending interrupt of these groups (bit map), or INTID_NONE. */
u32 vgic_soft_ack(struct vcpu *v, u32 groups);
u32 vgic_soft_highest(struct vcpu *v, u32 groups);
void vgic_soft_eoi(struct vcpu *v, u32 intid);
/* Priority level being served, VGIC_PRIO_IDLE if none. */
u32 vgic_soft_running(struct vcpu *v);

/*
 * Bring the state of v's interrupts into their words, for `self` to read. False: v runs elsewhere and
 * has been asked; the trapped instruction has to be run again (self->arch.retry). An access that got
 * all it wanted ends with vgic_peek_end().
 */
bool vgic_peek(struct vcpu *self, struct vcpu *v);
void vgic_peek_end(struct vcpu *self);

/* Send an SGI; `source` counts for GICv2 guests only. */
void vgic_sgi(struct vgic *g, struct vcpu *target, u32 intid, u32 source);

/* Register windows. */
bool vgicd_v3_access(struct vcpu *v, void *dev, struct mmio_access *a);
bool vgicr_access(struct vcpu *v, void *dev, struct mmio_access *a);
bool vgicd_v2_access(struct vcpu *v, void *dev, struct mmio_access *a);
bool vgicc_access(struct vcpu *v, void *dev, struct mmio_access *a);
/*
 * The registers that all distributor frames share: IGROUPR to ICFGR, at VGIC_COMMON and below
 * VGIC_COMMON_END. The frame has `count` interrupts from `low` on, `owner` the private ones of them.
 * Always true.
 */
#define VGIC_COMMON	0x080
#define VGIC_COMMON_END 0xd00
bool vgic_common_access(struct vcpu *self, struct vcpu *owner, u32 low, u32 count,
			struct mmio_access *a);
static inline bool vgic_is_common(u64 offset)
{
	return offset - VGIC_COMMON < VGIC_COMMON_END - VGIC_COMMON;
}
/* Under g->lock. */
void vgic_spis_in_use(struct vgic *g);
void vgic_set_ctlr(struct vgic *g, u32 enables);
/* Route an SPI; VIRQ_VCPU_MASK: nowhere. Under g->lock. */
void vgic_set_target(struct vgic *g, u32 intid, u32 target);

/*
 * A trapped access to an ICC_* system register; `reg` is ICC_REG() of its encoding. False: UNDEFINED.
 */
#define ICC_REG(crn, crm, op2) ((crn) << 8 | (crm) << 4 | (op2))
bool vgic_icc_access(struct vcpu *v, u32 reg, bool write, u64 *val);
/* ICC_SGI1R_EL1 and ICC_SGI0R_EL1, which no GICv3 guest does without. */
void vgic_icc_sgi(struct vcpu *v, u64 val, bool group1);

#endif
