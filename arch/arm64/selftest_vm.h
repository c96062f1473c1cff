/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM for self-tests of the guest half: vCPUs, stage 2, interrupt controller and timers, but no RAM
 * and no image, so that it can be loaded and looked at but never entered.
 */
#ifndef ARM64_SELFTEST_VM_H
#define ARM64_SELFTEST_VM_H

#include <cupel/ktap.h>
#include <cupel/vm.h>

struct vm *selftest_vm_create(u32 vcpus, enum irqchip_kind irqchip);
void selftest_vm_destroy(struct vm *vm);

/* On the calling CPU, interrupts off from load to put. */
void selftest_load(struct vcpu *v);
void selftest_put(struct vcpu *v);

#endif
