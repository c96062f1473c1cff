/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses where an x86 guest has no business. */
#ifndef ARCH_FAULT_H
#define ARCH_FAULT_H

#include <cupel/abi.h>

#define FAULT_WILD	  0xc0000000 /* above any RAM of a test VM */
#define FAULT_HOLE	  0xfed80000 /* among the devices, but none */
#define FAULT_DEVICE	  0xfee00000
#define FAULT_DEVICE_CODE FAULT_DEVICE
#define FAULT_ROM	  GUEST_X86_ROM
#define FAULT_UNMAPPED	  0x8000000000 /* no first-stage translation: the guest's own fault */

#endif
