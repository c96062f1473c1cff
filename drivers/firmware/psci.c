/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls into firmware through the conduit that the platform names. Nothing here waits or retries. */
#include "psci.h"

#include <cupel/errno.h>
#include <cupel/platform.h>

static s64 psci_call(u64 function, u64 a, u64 b, u64 c)
{
	register u64 x0 __asm__("x0") = function;
	register u64 x1 __asm__("x1") = a;
	register u64 x2 __asm__("x2") = b;
	register u64 x3 __asm__("x3") = c;

	/* An HVC from EL2 would come back to EL2: nobody answers it. */
	if (platform.psci != PSCI_SMC)
		return PSCI_NOT_SUPPORTED;
	/* SMCCC (Arm DEN 0028) 2.6: x0-x17 are the callee's. */
	__asm__ volatile("smc #0"
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
			 :
			 : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
			   "x15", "x16", "x17", "memory");
	return (s64)x0;
}

int psci_cpu_on(u64 hwid, paddr_t entry, u64 context)
{
	switch ((int)psci_call(PSCI_CPU_ON, hwid, entry, context)) {
	case PSCI_SUCCESS: return 0;
	case PSCI_NOT_SUPPORTED: return -EOPNOTSUPP;
	case PSCI_INVALID_PARAMETERS:
	case PSCI_INVALID_ADDRESS: return -EINVAL;
	case PSCI_DENIED:
	case PSCI_DISABLED: return -EACCES;
	case PSCI_ALREADY_ON:
	case PSCI_ON_PENDING: return -EBUSY;
	case PSCI_NOT_PRESENT: return -ENODEV;
	}
	return -EIO;
}

void psci_system_off(void)
{
	psci_call(PSCI_SYSTEM_OFF, 0, 0, 0);
}

void psci_system_reset(void)
{
	psci_call(PSCI_SYSTEM_RESET, 0, 0, 0);
}

void psci_cpu_off(void)
{
	psci_call(PSCI_CPU_OFF, 0, 0, 0);
}
