/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest ABI of Xen, as far as Cupel speaks it: numbers and layouts (public headers of Xen 4.x: xen.h,
 * event_channel.h, sched.h, vcpu.h, memory.h, version.h, hvm/params.h; arch layouts in <asm/xen.h>).
 * Both sides include it: hypervisor and test guests.
 */
#ifndef CUPEL_XEN_ABI_H
#define CUPEL_XEN_ABI_H

#include <cupel/types.h>

#define XEN_memory_op	     12
#define XEN_set_timer_op     15
#define XEN_version	     17
#define XEN_console_io	     18
#define XEN_grant_table_op   20
#define XEN_vm_assist	     21
#define XEN_vcpu_op	     24
#define XEN_sched_op	     29
#define XEN_event_channel_op 32
#define XEN_physdev_op	     33
#define XEN_hvm_op	     34

/* Errors are Xen's (the numbers of errno.h on Linux), negative in the result. */
#define XEN_EPERM      1
#define XEN_ENOENT     2
#define XEN_ESRCH      3
#define XEN_ENXIO      6
#define XEN_E2BIG      7
#define XEN_EAGAIN     11
#define XEN_ENOMEM     12
#define XEN_EFAULT     14
#define XEN_EBUSY      16
#define XEN_EEXIST     17
#define XEN_EINVAL     22
#define XEN_ENOSPC     28
#define XEN_ENOSYS     38
#define XEN_ETIME      62
#define XEN_EOPNOTSUPP 95
#define XEN_ENOTCONN   107

#define EVTCHNOP_bind_interdomain 0
#define EVTCHNOP_bind_virq	  1
#define EVTCHNOP_bind_pirq	  2
#define EVTCHNOP_close		  3
#define EVTCHNOP_send		  4
#define EVTCHNOP_status		  5
#define EVTCHNOP_alloc_unbound	  6
#define EVTCHNOP_bind_ipi	  7
#define EVTCHNOP_bind_vcpu	  8
#define EVTCHNOP_unmask		  9
#define EVTCHNOP_reset		  10
#define EVTCHNOP_init_control	  11
#define EVTCHNOP_expand_array	  12
#define EVTCHNOP_set_priority	  13

#define DOMID_SELF 0x7ff0

struct evtchn_bind_interdomain {
	u16 remote_dom;
	u32 remote_port;
	u32 local_port; /* out */
};
struct evtchn_bind_virq {
	u32 virq, vcpu;
	u32 port; /* out */
};
struct evtchn_bind_pirq {
	u32 pirq, flags;
	u32 port; /* out */
};
struct evtchn_close {
	u32 port;
};
struct evtchn_send {
	u32 port;
};
struct evtchn_status {
	u16 dom;
	u32 port;
	u32 status; /* out: EVTCHNSTAT_* */
	u32 vcpu; /* out */
	union {
		struct {
			u16 dom;
		} unbound;
		struct {
			u16 dom;
			u32 port;
		} interdomain;
		u32 pirq;
		u32 virq;
	} u; /* out */
};
struct evtchn_alloc_unbound {
	u16 dom, remote_dom;
	u32 port; /* out */
};
struct evtchn_bind_ipi {
	u32 vcpu;
	u32 port; /* out */
};
struct evtchn_bind_vcpu {
	u32 port, vcpu;
};
struct evtchn_unmask {
	u32 port;
};
struct evtchn_reset {
	u16 dom;
};
struct evtchn_init_control {
	u64 control_gfn;
	u32 offset, vcpu;
	u8 link_bits; /* out */
	u8 pad[7];
};
struct evtchn_expand_array {
	u64 array_gfn;
};
struct evtchn_set_priority {
	u32 port, priority;
};

#define EVTCHNSTAT_closed      0
#define EVTCHNSTAT_unbound     1
#define EVTCHNSTAT_interdomain 2
#define EVTCHNSTAT_pirq	       3
#define EVTCHNSTAT_virq	       4
#define EVTCHNSTAT_ipi	       5

#define VIRQ_TIMER   0
#define VIRQ_DEBUG   1
#define VIRQ_CONSOLE 2
#define VIRQ_DOM_EXC 3
#define NR_VIRQS     24

/* FIFO event word and control block. */
#define EVTCHN_FIFO_PENDING	     31
#define EVTCHN_FIFO_MASKED	     30
#define EVTCHN_FIFO_LINKED	     29
#define EVTCHN_FIFO_BUSY	     28
#define EVTCHN_FIFO_LINK_BITS	     17
#define EVTCHN_FIFO_LINK_MASK	     ((1U << EVTCHN_FIFO_LINK_BITS) - 1)
#define EVTCHN_FIFO_PRIORITIES	     16
#define EVTCHN_FIFO_DEFAULT_PRIORITY 7

struct evtchn_fifo_control {
	u32 ready;
	u32 reserved;
	u32 head[EVTCHN_FIFO_PRIORITIES];
};

#define SCHEDOP_yield	 0
#define SCHEDOP_block	 1
#define SCHEDOP_shutdown 2
#define SCHEDOP_poll	 3

struct sched_poll {
	u64 ports; /* guest pointer to u32[] */
	u32 nr_ports;
	u32 pad;
	u64 timeout; /* absolute, ns; 0 = none */
};

#define VCPUOP_initialise		    0
#define VCPUOP_up			    1
#define VCPUOP_down			    2
#define VCPUOP_is_up			    3
#define VCPUOP_get_runstate_info	    4
#define VCPUOP_register_runstate_area	    5
#define VCPUOP_set_periodic_timer	    6
#define VCPUOP_stop_periodic_timer	    7
#define VCPUOP_set_singleshot_timer	    8
#define VCPUOP_stop_singleshot_timer	    9
#define VCPUOP_register_vcpu_info	    10
#define VCPUOP_register_vcpu_time_area	    13
#define VCPUOP_register_runstate_phys_area  14
#define VCPUOP_register_vcpu_time_phys_area 15

struct vcpu_register_vcpu_info {
	u64 mfn;
	u32 offset, rsvd;
};
struct vcpu_set_singleshot_timer {
	u64 timeout;
	u32 flags;
	u32 pad;
};
#define VCPU_SSHOTTMR_future 1U

enum { RUNSTATE_running, RUNSTATE_runnable, RUNSTATE_blocked, RUNSTATE_offline };
#define XEN_RUNSTATE_UPDATE BIT(63)
struct vcpu_runstate_info {
	u32 state;
	u32 pad;
	u64 state_entry_time;
	u64 time[4];
};

struct vcpu_time_info {
	u32 version;
	u32 pad0;
	u64 tsc_timestamp;
	u64 system_time;
	u32 tsc_to_system_mul;
	signed char tsc_shift;
	u8 flags;
	u8 pad1[2];
};

#define XENMEM_add_to_physmap	7
#define XENMEM_memory_map	9
#define XENMAPSPACE_shared_info 0
struct xen_add_to_physmap {
	u16 domid;
	u16 size;
	u32 space;
	u64 idx;
	u64 gpfn;
};

#define XENVER_version		   0
#define XENVER_extraversion	   1
#define XENVER_capabilities	   3
#define XENVER_platform_parameters 5
#define XENVER_get_features	   6

/* Bits of submap 0 of get_features. */
#define XENFEAT_auto_translated_physmap 2
#define XENFEAT_hvm_callback_vector	8
#define XENFEAT_hvm_safe_pvclock	9
#define XENFEAT_runstate_phys_area	18
#define XENFEAT_vcpu_time_phys_area	19

#define HVMOP_set_param		       0
#define HVMOP_get_param		       1
#define HVMOP_pagetable_dying	       9
#define HVMOP_set_evtchn_upcall_vector 23
#define HVM_PARAM_CALLBACK_IRQ	       0
#define HVM_PARAM_STORE_PFN	       1
#define HVM_PARAM_STORE_EVTCHN	       2
#define HVM_PARAM_CONSOLE_PFN	       17
#define HVM_PARAM_CONSOLE_EVTCHN       18

/* vcpu_info is 64 bytes on x86, 48 on arm64; the first half is the same. */
struct xen_vcpu_info {
	u8 evtchn_upcall_pending;
	u8 evtchn_upcall_mask;
	u8 pad[6];
	u64 evtchn_pending_sel;
};

#endif
