/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the world switch finds things in struct arch_vcpu; checked against it in svm/run.c. */
#ifndef SVM_OFFSETS_H
#define SVM_OFFSETS_H

#define VCPU_RCX	   8
#define VCPU_RDX	   16
#define VCPU_RBX	   24
#define VCPU_RBP	   40
#define VCPU_RSI	   48
#define VCPU_RDI	   56
#define VCPU_R8		   64
#define VCPU_R9		   72
#define VCPU_R10	   80
#define VCPU_R11	   88
#define VCPU_R12	   96
#define VCPU_R13	   104
#define VCPU_R14	   112
#define VCPU_R15	   120
#define VCPU_CONTROL_PA	   128
#define VCPU_GUEST_GS_BASE 136
#define VCPU_HOST_GS_BASE  144
#define VCPU_HOST_SAVE_PA  152

#endif
