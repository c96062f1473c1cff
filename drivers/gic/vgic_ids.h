/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest's interrupt controller says it is, and how its CPUs are numbered. Layout only. */
#ifndef DRIVERS_GIC_VGIC_IDS_H
#define DRIVERS_GIC_VGIC_IDS_H

#include "vgic.h"

/* GICD_IIDR, GICR_IIDR (IHI 0069 12.9.16): product 'C', implementer Arm, as every model reads. */
#define VGIC_IIDR     0x4300043bUL
#define VGIC_PIDR2_V3 0x3bUL
#define VGIC_PIDR2_V2 0x2bUL
/* GICC_IIDR (IHI 0048 4.4.17): architecture version 2 */
#define VGIC_CPU_IIDR 0x4302043bUL

/* Affinity fields of a vCPU, as MPIDR_EL1 has them. */
static inline u64 vcpu_affinity(const struct vcpu *v)
{
	return v->arch.vmpidr & 0xff00ffffffUL;
}

/*
 * vCPUs are numbered in clusters of 16, so that ICC_SGI1R_EL1 reaches each without a range selector:
 * vcpu_affinity_of() and vcpu_id_of() undo each other; the id of an affinity nobody has is large.
 */
static inline u64 vcpu_affinity_of(u32 id)
{
	return (id & 15) | (u64)(id >> 4 & 0xff) << 8 | (u64)(id >> 12 & 0xff) << 16;
}

#define NO_VCPU_ID BIT32(30)
static inline u32 vcpu_id_of(u64 aff)
{
	if ((aff & 0xff) > 15 || aff >> 24)
		return NO_VCPU_ID;
	return (aff & 15) | (aff >> 8 & 0xff) << 4 | (aff >> 16 & 0xff) << 12;
}

#endif
