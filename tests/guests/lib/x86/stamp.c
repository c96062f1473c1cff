/* SPDX-License-Identifier: GPL-2.0-only */
/* The gates of upcalls, for all vCPUs: they share the IDT. */
#include <guest.h>
#include <stamp.h>

void stamp_own(void);
void stamp_callback(void);

void stamp_upcalls(void)
{
	idt_set(VEC_UPCALL, stamp_own);
	idt_set(VEC_CALLBACK, stamp_callback);
}
