/* SPDX-License-Identifier: GPL-2.0-only */
/* Xen's guest ABI for the host build: the layout of x86-64, which has room for 32 vCPUs in shared_info. */
#ifndef ASM_XEN_H
#define ASM_XEN_H

#define XEN_SHARED_INFO_SIZE 0xc40
#define XEN_LEGACY_VCPUS     32
#define XEN_EVTCHN_PENDING   0x800
#define XEN_EVTCHN_MASK	     0xa00
#define XEN_WC_VERSION	     0xc00
#define XEN_WC_SEC	     0xc04
#define XEN_WC_NSEC	     0xc08
#define XEN_WC_SEC_HI	     0xc0c

#define XEN_VCPU_INFO_SIZE 64
#define XEN_VCPU_TIME	   32

#define XEN_FEATURES	 (1U << 0 | 1U << 2 | 1U << 8 | 1U << 9)
#define XEN_CAPABILITIES "xen-3.0-x86_64 hvm-3.0-x86_64"

#define XEN_CALLBACK_TYPE_SHIFT 56

#endif
