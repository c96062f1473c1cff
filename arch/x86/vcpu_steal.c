/* SPDX-License-Identifier: GPL-2.0-only */
/* A vCPU's stolen time, as its guest has asked for it. */
#include <cupel/steal.h>

/* No guest can ask yet. */
bool arch_steal_publish(struct vcpu *v, u64 ns)
{
	return true;
}

void arch_steal_preempted(struct vcpu *v)
{
}
