/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Cupel and its own guests agree on; included by both. Also read by assembly.
 *
 * Hypercalls. arm64: HVC #0 with the SMCCC calling convention, function id in w0, arguments in
 * x1..x3, result in x0. x86: VMMCALL with the id in EAX, arguments in RDI, RSI, RDX, result in RAX.
 * An unknown id returns -1 (SMCCC NOT_SUPPORTED) on both.
 */
#ifndef CUPEL_ABI_H
#define CUPEL_ABI_H

/* Vendor-specific hypervisor service range, 64-bit fast calls. */
#define HC_BASE	   0xc6000000
#define HC_NULL	   (HC_BASE + 0x00) /* does nothing: 0 */
#define HC_EXIT	   (HC_BASE + 0x01) /* (code): stop this VM; does not return */
#define HC_REPORT  (HC_BASE + 0x02) /* (ok, gpa of text, length <= 200): one test result */
#define HC_SAMPLE  (HC_BASE + 0x03) /* (series < 32, gpa of u64[], count <= 4096): measured values */
#define HC_LEAVE   (HC_BASE + 0x04) /* leave all the way out of vcpu_run() and come back */
#define HC_YIELD   (HC_BASE + 0x05)
#define HC_MIGRATE (HC_BASE + 0x06) /* (n): move this vCPU to the n-th next online CPU */
#define HC_STAT	   (HC_BASE + 0x07) /* (which): a counter of this vCPU, HC_STAT_* */
#define HC_SERIES  (HC_BASE + 0x08) /* (index < 32, gpa of name, length <= 31): name a series */
#define HC_MEMORY \
	(HC_BASE + 0x09) /* (what, gpa, arg): have the caller's own memory moved, HC_MEMORY_* */
#define HC_EVTCHN \
	(HC_BASE + 0x0a) /* (port, delay in ns): raise a port of this VM from an interrupt */
#define HC_LIMIT (HC_BASE + 0x0b)

#define HC_MEMORY_MOVE_PAGE 0 /* gpa's page to another frame; arg unused */
#define HC_MEMORY_MOVE_SLOT 1 /* the slot that begins at gpa to guest address arg */
#define HC_MEMORY_FLAGS	    2 /* arg: 1 read-only, 2 dirty log */
#define HC_MEMORY_DIRTY	    3 /* fetch and clear: how many pages are in the log of the slot at gpa */
/*
 * arg page moves of gpa's page, as fast as it goes, by another CPU while the guest runs (by this one, and
 * over when it comes back, if there is no other): 0, or -EBUSY while one is under way. arg 0: moves left.
 */
#define HC_MEMORY_STORM 4

#define HC_STAT_LOADS	      0
#define HC_STAT_HOST_IRQS     1
#define HC_STAT_ACTIVE_WRITES 2
#define HC_STAT_TICKS	      3
#define HC_STAT_CPU	      4 /* logical number of the CPU it runs on */
#define HC_STAT_VCPUS	      5 /* vCPUs of this VM; an x86 guest has no other table to learn it from */

/* Guest-physical map, arm64. The same addresses are in the device tree the guest gets in x0. */
#define GUEST_ARM64_GICD 0x08000000
#define GUEST_ARM64_GICR 0x080a0000 /* 128 KiB a vCPU */
#define GUEST_ARM64_UART 0x09000000 /* PL011 */
#define GUEST_ARM64_ROM \
	0x0a000000 /* one read-only page (SLOT_READONLY) that begins with GUEST_ROM_MAGIC */
#define GUEST_ARM64_STEAL     0x0a010000 /* 64 bytes a vCPU, read-only: DEN 0057 */
#define GUEST_ARM64_XEN	      0x0b000000 /* where a grant table would go: nothing is there */
#define GUEST_ARM64_XEN_SIZE  0x00020000
#define GUEST_ARM64_XEN_INTID 31 /* upcalls of event channels */
#define GUEST_ARM64_RAM	      0x40000000
#define GUEST_ARM64_ENTRY     0x40080000 /* where a flat image is put */

/* Guest-physical map, x86: RAM from 0; local APIC at the architectural place; UART at port 0x3f8. */
#define GUEST_X86_ENTRY 0x00100000
#define GUEST_X86_ROM	0xf0000000 /* as GUEST_ARM64_ROM */

/* "CUPELROM", little endian. A guest may read the page; a write stops the VM with a report. */
#define GUEST_ROM_MAGIC 0x4d4f524c45505543

#endif
