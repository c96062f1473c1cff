/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why SVM can't be used on a CPU (AMD APM vol. 2, 15.4): asked by the EFI application while firmware's
 * console is still there, and by each CPU as it comes up. Inline, since the application may call nothing.
 */
#ifndef SVM_CHECK_H
#define SVM_CHECK_H

#include "svm.h"

#include <asm/cpu.h>
#include <asm/msr.h>

#define CPUID_SVM 0x8000000a

/* NULL: it is there, and so is VM_CR; locked or not. */
static inline const char *svm_lacks(void)
{
	if (!(cpuid_checked(0x80000001, 0).ecx & CPUID_8000_0001_ECX_SVM))
		return "this CPU has no AMD SVM";
	if (!(cpuid_checked(CPUID_SVM, 0).edx & SVM_CPUID_NPT))
		return "this CPU has SVM, but no nested paging";
	return NULL;
}

/* Firmware may have switched SVM off, and may have made that final. NULL: not so. */
static inline const char *svm_locked(u64 vm_cr)
{
	if ((vm_cr & VM_CR_SVMDIS) && (vm_cr & VM_CR_LOCK))
		return "firmware has disabled SVM and locked it: enable virtualisation in its setup";
	return NULL;
}

#endif
