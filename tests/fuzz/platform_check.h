/* SPDX-License-Identifier: GPL-2.0-only */
/* What a struct platform must be like after a parser said it is good. */
#ifndef FUZZ_PLATFORM_CHECK_H
#define FUZZ_PLATFORM_CHECK_H

#include "fuzz.h"

#include <cupel/platform.h>

void check_platform(const struct platform *p);

#endif
