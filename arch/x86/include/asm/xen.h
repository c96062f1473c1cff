/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen's guest ABI where it differs by architecture, x86-64 half (public headers arch-x86/xen.h, xen.h and
 * arch-x86/cpuid.h). Read by the hypervisor and by its guests: layout and numbers only. There is no
 * 32-bit variant: a guest that calls from outside 64-bit mode is refused with -XEN_ENOSYS.
 */
#ifndef ASM_XEN_H
#define ASM_XEN_H

/* struct shared_info: offsets and sizes in bytes. 32 vcpu_info at its start. */
#define XEN_SHARED_INFO_SIZE 0xc40
#define XEN_LEGACY_VCPUS     32
#define XEN_EVTCHN_PENDING   0x800 /* u64[64] */
#define XEN_EVTCHN_MASK	     0xa00 /* u64[64] */
#define XEN_WC_VERSION	     0xc00 /* u32 each, wall clock at system time 0 */
#define XEN_WC_SEC	     0xc04
#define XEN_WC_NSEC	     0xc08
#define XEN_WC_SEC_HI	     0xc0c

/* struct vcpu_info: its head is struct xen_vcpu_info; struct vcpu_time_info in it. */
#define XEN_VCPU_INFO_SIZE 64
#define XEN_VCPU_TIME	   32

/*
 * xen_version: get_features 0 (writable_page_tables, auto_translated_physmap, hvm_callback_vector,
 * hvm_safe_pvclock).
 */
#define XEN_FEATURES	 (1U << 0 | 1U << 2 | 1U << 8 | 1U << 9)
#define XEN_CAPABILITIES "xen-3.0-x86_64 hvm-3.0-x86_64"

/* Types of HVM_PARAM_CALLBACK_IRQ, bits 63:56. Type 2 is a vector here, in [7:0]. */
#define XEN_CALLBACK_TYPE_SHIFT 56
#define XEN_CALLBACK_VECTOR	2

/* CPUID leaves from the base on: signature, version, hypercall page, time, vCPU. "XenVMMXenVMM" */
#define XEN_CPUID_EBX		    0x566e6558
#define XEN_CPUID_ECX		    0x65584d4d
#define XEN_CPUID_EDX		    0x4d4d566e
#define XEN_CPUID_MAX		    5
#define XEN_CPUID_HVM_VCPU_ID	    (1U << 3) /* leaf 4: EBX is its number for Xen */
#define XEN_CPUID_HVM_DOMID	    (1U << 4) /* ECX is the domain's */
#define XEN_CPUID_HVM_UPCALL_VECTOR (1U << 6)

#define XEN_MSR_HYPERCALL  0x40000000 /* guest address of a page; it is filled with calls */
#define XEN_HYPERCALL_SLOT 32 /* bytes a call */

#endif
