/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a VM and a vCPU hold on arm64. Layout only: who may touch a field is said beside it, and what
 * acts on it lives in arch/arm64/ (world switch, stage 2, traps), drivers/gic/vgic*.c and
 * drivers/timer/arm_vtimer.c.
 */
#ifndef ASM_VCPU_H
#define ASM_VCPU_H

#include <asm/guest_regs.h>
#include <cupel/clock.h>
#include <cupel/lock.h>
#include <cupel/percpu.h>
#include <cupel/types.h>

struct gpc;
struct vcpu;
struct vgic;
struct vpl011;
struct irq_desc;

struct fp_state {
	u64 v[32][2];
	u64 fpsr;
	u64 fpcr;
} __aligned(16);

/*
 * One register context. A vCPU runs on one of them; a nested guest has one per level. The world
 * switch knows the first members by offset (world_switch.S, checked in world.c).
 */
struct guest_ctx {
	u64 regs[31];
	u64 host_sp; /* where an exit finds the hypervisor's stack */
	u64 pc; /* valid while out of guest mode: see world.h */
	u64 pstate;
	struct vcpu *vcpu; /* whose context it is */
	u64 sys[NR_GUEST_REGS]; /* valid while not loaded */
	struct fp_state fp; /* valid while !fp_live */
} __aligned(16);

#define NR_GUEST_CONTEXTS 1

/* Stage-2 roots of a VM: [0] is its own memory; a nested guest's shadow roots come after. */
#define NR_STAGE2_ROOTS 1

struct stage2 {
	u64 *table; /* level 1; entries change under s2_lock of stage2.c */
	u64 vttbr; /* table and VMID, as VTTBR_EL2 wants them */
	u64 pages; /* table pages below the root */
};

struct arch_vm {
	struct stage2 s2[NR_STAGE2_ROOTS];
	u16 *last_ran; /* per CPU, written by it: 1 + id of the vCPU of this VM it ran last */
	struct vgic *vgic;
	struct vpl011 *uart;
	struct gpc *steal; /* records of stolen time, one a vCPU; NULL without steal=on */
	u64 cntvoff; /* guest's virtual counter = arch_counter() - this */
	spinlock_t psci_lock; /* guards power-on of this VM's vCPUs and their `reset` mailboxes */
};

/*
 * Interrupt state of one vCPU: see drivers/gic/vgic.h. `posted`, `irq`, `sgi_source` and `peek` are
 * written by anyone (atomics); all else by the owner only.
 */
#define VGIC_NR_INTIDS	256
#define VGIC_WORDS	(VGIC_NR_INTIDS / 64)
#define VGIC_MAX_LRS	16
#define VGIC_NR_SGIS	16
#define VGIC_NR_PRIVATE 32

/* The CPU interface in software: irqchip=external. */
struct vgic_soft {
	u32 grpen; /* bit 0: group 0, bit 1: group 1 */
	u32 pmr;
	u32 bpr;
	u32 apr; /* bit n: priority level n (of 32) is being served */
	bool eoimode; /* end of interrupt only drops the priority */
	bool irq, fiq; /* lines to the vCPU, as HCR_EL2.VI and VF have them */
};

/* An access to distributor registers: there once a vCPU, so that it need not be made on the stack. */
struct vgic_frame {
	struct vgic *g;
	struct vcpu *self; /* who accesses */
	struct vcpu *owner; /* whose private interrupts these are; NULL: none here */
};

struct vgic_cpu {
	u64 posted[VGIC_WORDS] __cacheline_aligned; /* INTIDs whose word the owner has to look at */
	u32 irq[VGIC_NR_PRIVATE]; /* state words of SGIs and PPIs */
	u8 sgi_source[VGIC_NR_SGIS]; /* GICv2 guests: bitmap of vCPUs that ask for it */
	u32 peek; /* somebody waits for the list registers to be folded back */

	u64 queue[VGIC_WORDS] __cacheline_aligned; /* INTIDs that may need a list register */
	bool dirty; /* `queue` changed since the last refill */
	bool overflow; /* more in flight than list registers */
	bool asleep; /* GICR_WAKER.ProcessorSleep */
	u32 enabled; /* what GICR_ISENABLER0 reads */
	u32 lr_used; /* list registers that hold an interrupt, or did when last looked at */
	u16 lr_intid[VGIC_MAX_LRS];
	u16 hw_intid[VGIC_NR_PRIVATE]; /* host interrupt behind a VIRQ_HW word */
	u64 hcr; /* ICH_HCR_EL2 as last written */
	u64 vmcr; /* while not loaded */
	u64 apr[2][4]; /* ICH_AP0Rn, ICH_AP1Rn while not loaded */
	u64 syncs; /* times the list registers were folded back; others read it */
	u8 sgi_active[VGIC_NR_SGIS]; /* GICv2 guests: source of the one being served */
	struct vcpu *peek_at; /* whose list registers this vCPU waits for, and from when on */
	u64 peek_syncs;
	u64 peek_done[2]; /* vCPUs that the trapped instruction has waited for */
	struct vgic_soft soft;
	struct vgic_frame frame;
};

enum { TIMER_VIRT, TIMER_PHYS, NR_TIMERS };

struct vtimer {
	u64 ctl; /* while not loaded, or while emulated */
	u64 cval;
	u64 offset; /* its counter = arch_counter() - offset */
	u32 intid; /* guest's PPI */
	bool direct; /* drives the hardware's timer while loaded */
	bool active; /* host's state as last written in this load */
	u8 host_state; /* enum irq_state: what keeps the host's interrupt from coming again */
	struct irq_desc *desc; /* host PPI of a direct timer */
};

struct vcpu_reset {
	u64 pc;
	u64 x0;
};

struct arch_vcpu {
	struct guest_ctx ctx[NR_GUEST_CONTEXTS];
	struct guest_ctx *cur;
	struct stage2 *s2; /* root it runs on */
	u64 hcr; /* HCR_EL2 while loaded */
	u64 vmpidr;
	bool fp_live; /* FP registers hold this vCPU's state (only while loaded) */
	struct vgic_cpu vgic;
	struct vtimer timer[NR_TIMERS];
	struct soft_timer emul_timer; /* expiry of an emulated timer, while loaded */
	u64 scratch; /* value of an access that no general register takes */
	bool retry; /* the trapped instruction is to run again */
	struct vcpu_reset reset; /* written under psci_lock before VCPU_REQ_RESET, read after it */
};

#endif
