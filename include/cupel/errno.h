/* SPDX-License-Identifier: GPL-2.0-only */
/* Failure is a negative errno; the numbers are those of the Xen and Linux ABIs. */
#ifndef CUPEL_ERRNO_H
#define CUPEL_ERRNO_H

#define EPERM	   1
#define ENOENT	   2
#define ESRCH	   3
#define EINTR	   4
#define EIO	   5
#define ENXIO	   6
#define E2BIG	   7
#define ENOEXEC	   8
#define EAGAIN	   11
#define ENOMEM	   12
#define EACCES	   13
#define EFAULT	   14
#define EBUSY	   16
#define EEXIST	   17
#define ENODEV	   19
#define EINVAL	   22
#define ENOSPC	   28
#define ERANGE	   34
#define ENOSYS	   38
#define ETIME	   62
#define EOPNOTSUPP 95
#define ETIMEDOUT  110

#endif
