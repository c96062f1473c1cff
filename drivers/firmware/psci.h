/* SPDX-License-Identifier: GPL-2.0-only */
/* PSCI as its user: Arm DEN 0022 (issue E). Function ids and results serve the virtual PSCI as well. */
#ifndef DRIVERS_FIRMWARE_PSCI_H
#define DRIVERS_FIRMWARE_PSCI_H

#include <cupel/types.h>

/* 5.1, 64-bit calling convention where there is one */
#define PSCI_VERSION	       0x84000000
#define PSCI_CPU_SUSPEND       0xc4000001
#define PSCI_CPU_OFF	       0x84000002
#define PSCI_CPU_ON	       0xc4000003
#define PSCI_AFFINITY_INFO     0xc4000004
#define PSCI_MIGRATE_INFO_TYPE 0x84000006
#define PSCI_SYSTEM_OFF	       0x84000008
#define PSCI_SYSTEM_RESET      0x84000009
#define PSCI_FEATURES	       0x8400000a

/* 5.2.2 */
#define PSCI_SUCCESS		0
#define PSCI_NOT_SUPPORTED	-1
#define PSCI_INVALID_PARAMETERS -2
#define PSCI_DENIED		-3
#define PSCI_ALREADY_ON		-4
#define PSCI_ON_PENDING		-5
#define PSCI_INTERNAL_FAILURE	-6
#define PSCI_NOT_PRESENT	-7
#define PSCI_DISABLED		-8
#define PSCI_INVALID_ADDRESS	-9

/* 0, or -errno: -EINVAL for a CPU that firmware does not know, -EBUSY for one that is on. */
int psci_cpu_on(u64 hwid, paddr_t entry, u64 context);
/* Both return only when firmware can't do it. */
void psci_system_off(void);
void psci_system_reset(void);
/* The calling CPU; returns only when firmware refuses. */
void psci_cpu_off(void);

#endif
