/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen's guest ABI where it differs by architecture, arm64 half (public headers arch-arm.h and xen.h). Read
 * by the hypervisor and by its guests: layout and numbers only.
 */
#ifndef ASM_XEN_H
#define ASM_XEN_H

/* struct shared_info: offsets and sizes in bytes. One vcpu_info at its start, the others are registered. */
#define XEN_SHARED_INFO_SIZE 0x440
#define XEN_LEGACY_VCPUS     1
#define XEN_EVTCHN_PENDING   0x030 /* u64[64] */
#define XEN_EVTCHN_MASK	     0x230 /* u64[64] */
#define XEN_WC_VERSION	     0x430 /* u32 each, wall clock at system time 0 */
#define XEN_WC_SEC	     0x434
#define XEN_WC_NSEC	     0x438
#define XEN_WC_SEC_HI	     0x43c

/* struct vcpu_info: its head is struct xen_vcpu_info; struct vcpu_time_info in it. */
#define XEN_VCPU_INFO_SIZE 48
#define XEN_VCPU_TIME	   16

/* xen_version: get_features 0 (writable_page_tables, auto_translated_physmap, not_direct_mapped). */
#define XEN_FEATURES	 (1U << 0 | 1U << 2 | 1U << 16)
#define XEN_CAPABILITIES "xen-3.0-aarch64"

/* The immediate of HVC. The number is in x16, arguments in x0 to x4, the result in x0. */
#define XEN_HVC 0xea1

/* Types of HVM_PARAM_CALLBACK_IRQ, bits 63:56. Type 2 is a PPI here: [7:0] its INTID. */
#define XEN_CALLBACK_TYPE_SHIFT 56
#define XEN_CALLBACK_PPI	2

#endif
