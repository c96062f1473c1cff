/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Put before every C file by the Makefile: the image is one static object, so what a file declares is
 * reached directly and not through a global offset table, one load less each time. -fvisibility=hidden
 * alone says so only for what the file defines.
 */
#ifndef __ASSEMBLY__
#pragma GCC visibility push(hidden)
#endif
