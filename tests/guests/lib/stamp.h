/* SPDX-License-Identifier: GPL-2.0-only */
/* When an upcall came: the clock as the first instructions of the handler find it. */
#ifndef GUEST_STAMP_H
#define GUEST_STAMP_H

#include <cupel/types.h>

/* timer_now(TIMER_VIRT) at the last upcall, of any vCPU that stamps them; two instructions in. */
extern u64 upcall_stamp;

/* Have the upcalls of the calling vCPU stamped from now on. After xen_route_upcalls(). */
void stamp_upcalls(void);

#endif
