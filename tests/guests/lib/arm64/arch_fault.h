/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses where an arm64 guest has no business. */
#ifndef ARCH_FAULT_H
#define ARCH_FAULT_H

#include <cupel/abi.h>

#define FAULT_WILD	  0x3f00000000 /* above any RAM */
#define FAULT_HOLE	  0x0b000000 /* among the devices, but none */
#define FAULT_DEVICE	  GUEST_ARM64_UART
#define FAULT_DEVICE_CODE (0x3fc0000000 + GUEST_ARM64_UART) /* mapped by the guest as code */
#define FAULT_ROM	  GUEST_ARM64_ROM
#define FAULT_UNMAPPED	  0xffff000000000000 /* no stage 1 translation: the guest's own fault */

#endif
