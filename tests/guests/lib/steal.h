/* SPDX-License-Identifier: GPL-2.0-only */
/* Stolen time as the architecture tells it. Each call is about the calling vCPU. */
#ifndef STEAL_H
#define STEAL_H

#include <cupel/types.h>

/* Ask to be told; false: this hypervisor tells no stolen time. */
bool steal_begin(void);
/* So far, in ns. */
u64 steal_told(void);
/* Guest-physical address of the record. */
u64 steal_record(void);

#endif
