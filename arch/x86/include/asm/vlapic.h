/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The local APIC that a guest sees: what a VM's CPUs post to, what the backend takes from it, and
 * what guests reach as MMIO page or MSRs. Register layout is <asm/apic.h>. Layout and declarations
 * only; drivers/apic/vlapic*.c holds the rest.
 */
#ifndef ASM_VLAPIC_H
#define ASM_VLAPIC_H

#include <asm/apic.h>
#include <asm/msr.h>
#include <cupel/clock.h>
#include <cupel/types.h>
#include <cupel/vcpu.h>

struct mmio_access;

#define VLAPIC_PAGE	    0xfee00000UL
#define VLAPIC_VERSION	    0x00050014 /* six LVT entries */
#define VLAPIC_WORDS	    4 /* 256 vectors */
#define VLAPIC_LOGICAL_FLAT 0xffffffffU /* DFR */

/* Posted by anyone, taken by the owner. */
#define VLAPIC_EVENT_NMI  BIT32(0)
#define VLAPIC_EVENT_INIT BIT32(1)
#define VLAPIC_EVENT_SIPI BIT32(2)

/* A set of vectors, with a summary of the words that are not zero. */
struct vector_set {
	u64 word[VLAPIC_WORDS];
	u32 used;
};

enum vlapic_lvt {
	VLAPIC_LVT_TIMER,
	VLAPIC_LVT_THERM,
	VLAPIC_LVT_PERF,
	VLAPIC_LVT_LINT0,
	VLAPIC_LVT_LINT1,
	VLAPIC_LVT_ERROR,
	VLAPIC_NR_LVT
};

struct vlapic {
	/* Written by any CPU. */
	u64 posted[VLAPIC_WORDS] __cacheline_aligned;
	u32 events;
	u32 sipi_vector;

	/* Written by the owner; other CPUs read base, id, ldr, dfr and svr to find their target. */
	struct vcpu *vcpu __cacheline_aligned;
	u64 base; /* the APIC_BASE MSR */
	u32 id, ldr, dfr, svr;

	u32 tpr;
	struct vector_set irr, isr;
	u32 esr, esr_pending;
	u64 icr;
	u32 lvt[VLAPIC_NR_LVT];
	u32 timer_count, timer_divider; /* TMICT and TDCR as written */
	u64 timer_deadline; /* host counter; 0 = not armed */
	u64 timer_period; /* 0 = one-shot */
	struct soft_timer timer; /* armed while the vCPU is loaded and timer_deadline is set */
	bool loaded;
};

int vlapic_create(struct vcpu *v); /* -ENOMEM */
void vlapic_destroy(struct vcpu *v);
/* State after RESET; INIT keeps the APIC_BASE MSR. Owner, or before the vCPU first runs. */
void vlapic_reset(struct vlapic *l, bool init);

/* Any context, any CPU: no lock. Wakes or kicks the owner. */
void vlapic_post(struct vcpu *v, u8 vector);
void vlapic_post_event(struct vcpu *v, u32 event);

/* The rest: owner only, interrupts off. */
void vlapic_fold(struct vlapic *l); /* posted vectors into IRR */
void vlapic_raise(struct vlapic *l, u8 vector); /* a vector of its own making */
/* Highest vector that may be taken now, or: */
#define VLAPIC_NONE (-1)
#define VLAPIC_HELD (-2) /* there is one, but TPR or ISR hold it back */
int vlapic_pending(const struct vlapic *l);
void vlapic_accept(struct vlapic *l, u8 vector); /* it is being injected: IRR -> ISR */
void vlapic_unaccept(struct vlapic *l, u8 vector); /* it did not get there after all */
void vlapic_eoi(struct vlapic *l);
bool vlapic_in_service(const struct vlapic *l, u8 vector);
/* An interrupt is there, posted or not, or its timer is due, that would end a HLT. Not loaded. */
bool vlapic_wakeable(struct vlapic *l);
/* Counter value at which its timer makes that true; ~0 = none. Not loaded. */
u64 vlapic_next_wake(const struct vlapic *l);
void vlapic_load(struct vlapic *l);
void vlapic_put(struct vlapic *l);

/* `reg` is an offset in the xAPIC page. False: no such register. */
bool vlapic_read(struct vlapic *l, u32 reg, u64 *value);
bool vlapic_write(struct vlapic *l, u32 reg, u64 value);
bool vlapic_mmio(struct vcpu *v, void *dev, struct mmio_access *a);
/* False: #GP. */
bool vlapic_msr_read(struct vlapic *l, u32 msr, u64 *value);
bool vlapic_msr_write(struct vlapic *l, u32 msr, u64 value);
bool vlapic_base_write(struct vlapic *l, u64 value);

static inline bool vlapic_x2apic(const struct vlapic *l)
{
	return l->base & APIC_BASE_EXTD;
}

static inline bool vlapic_enabled(const struct vlapic *l)
{
	return l->base & APIC_BASE_ENABLE;
}

/* Its registers are in the page, not in MSRs. */
static inline bool vlapic_xapic(const struct vlapic *l)
{
	return (l->base & (APIC_BASE_ENABLE | APIC_BASE_EXTD)) == APIC_BASE_ENABLE;
}

/* Between vlapic.c, vlapic_icr.c and vlapic_timer.c. */
bool vlapic_send_icr(struct vlapic *l, u64 icr);
void vlapic_error(struct vlapic *l, u32 bit);
void vlapic_timer_init(struct vlapic *l);
void vlapic_timer_set_count(struct vlapic *l, u32 count);
void vlapic_timer_set_divider(struct vlapic *l, u32 value);
void vlapic_timer_set_lvt(struct vlapic *l, u32 value);
void vlapic_timer_set_tsc(struct vlapic *l, u64 value);
u64 vlapic_timer_tsc(const struct vlapic *l);
u32 vlapic_timer_count(const struct vlapic *l);
void vlapic_timer_load(struct vlapic *l);
void vlapic_timer_put(struct vlapic *l);
void vlapic_timer_stop(struct vlapic *l);

#define VLAPIC_ESR_SEND_VECTOR	  BIT32(5) /* APM vol. 2, 16.4.6 */
#define VLAPIC_ESR_RECEIVE_VECTOR BIT32(6)
#define VLAPIC_ESR_REGISTER	  BIT32(7)

#endif
