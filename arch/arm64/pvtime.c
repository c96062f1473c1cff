/* SPDX-License-Identifier: GPL-2.0-only */
/* Paravirtualised time (Arm DEN 0057): a vCPU's stolen time in a page that its guest can only read. */
#include <cupel/steal.h>

bool arch_steal_publish(struct vcpu *v, u64 ns)
{
	return true;
}

void arch_steal_preempted(struct vcpu *v)
{
}
