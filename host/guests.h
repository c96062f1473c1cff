/* SPDX-License-Identifier: GPL-2.0-only */
/* The guests of the host program: functions, found by the names that the image's archive has for files. */
#ifndef HOST_GUESTS_H
#define HOST_GUESTS_H

/* Make them platform.modules[0], as a loader would have done with guests.cpio. */
void host_guests_publish(void);

#endif
