/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SVM on a CPU: enabled, or a clear word why not; the permission maps; a vCPU's control block, and
 * where it goes at load and put. (AMD APM vol. 2, 15.4, 15.10, 15.11, 15.30)
 */
#include "check.h"
#include "internal.h"
#include <asm/msr.h>
#include <asm/vlapic.h>
#include <cupel/errno.h>
#include <cupel/mm.h>

#define CPUID_7_EBX_FSGSBASE BIT32(0)

struct svm_features svm_features;
paddr_t svm_iopm_pa, svm_msrpm_pa;

/* Moved by VMLOAD and VMSAVE, so that the guest may have them to itself. */
static const u32 msr_passthrough[] = {
	MSR_SYSENTER_CS, MSR_SYSENTER_ESP, MSR_SYSENTER_EIP, MSR_STAR,	  MSR_LSTAR,
	MSR_CSTAR,	 MSR_SFMASK,	   MSR_FS_BASE,	     MSR_GS_BASE, MSR_KERNEL_GS_BASE,
};

/* Two bits each, read and write; ranges at 0, C000_0000 and C001_0000. */
static void msrpm_clear(u8 *map, u32 msr)
{
	u32 n = msr & 0x1fff;
	u32 range = msr >= 0xc0010000 ? 2 : msr >= 0xc0000000 ? 1 : 0;

	map[range * 0x800 + n / 4] &= ~(3U << (n % 4 * 2));
}

static int make_maps(void)
{
	u8 *io = pages_alloc(SVM_IOPM_ORDER);
	u8 *msr = pages_alloc(SVM_MSRPM_ORDER);

	if (!io || !msr)
		return -ENOMEM;
	__builtin_memset(io, 0xff, PAGE_SIZE << SVM_IOPM_ORDER);
	__builtin_memset(msr, 0xff, PAGE_SIZE << SVM_MSRPM_ORDER);
	for (u32 n = 0; n < ARRAY_SIZE(msr_passthrough); n++)
		msrpm_clear(msr, msr_passthrough[n]);
	svm_msrpm_pa = va_to_pa(msr);
	svm_iopm_pa = va_to_pa(io);
	return 0;
}

static int read_features(const char **why)
{
	struct cpuid_regs r = cpuid_checked(CPUID_SVM, 0);

	svm_features.nrips = r.edx & SVM_CPUID_NRIPS;
	svm_features.flush_asid = r.edx & SVM_CPUID_FLUSH_ASID;
	svm_features.nr_asids = r.ebx;
	svm_features.fsgsbase = cpuid_checked(7, 0).ebx & CPUID_7_EBX_FSGSBASE;
	svm_features.pages_1g = cpuid_checked(0x80000001, 0).edx & CPUID_8000_0001_EDX_1G;
	*why = "no memory for the permission maps";
	return make_maps();
}

/* Some emulator has SVM but no VM_CR: then nothing is switched off. */
static int unlock(const char **why)
{
	u64 vm_cr;

	*why = svm_lacks();
	if (*why)
		return -ENODEV;
	if (rdmsr_safe(MSR_VM_CR, &vm_cr) || !(vm_cr & VM_CR_SVMDIS))
		return 0;
	*why = svm_locked(vm_cr);
	if (*why)
		return -EPERM;
	*why = "firmware has disabled SVM, and it can't be enabled";
	return wrmsr_safe(MSR_VM_CR, vm_cr & ~VM_CR_SVMDIS);
}

int x86_virt_cpu_init(const char **why)
{
	struct svm_cpu *c = this_cpu_ptr(svm_cpu);
	void *host_area, *host_save;
	int err = unlock(why);

	if (!err && !svm_iopm_pa)
		err = read_features(why);
	if (err)
		return err;
	*why = "no memory for the host's save areas";
	host_area = page_alloc();
	host_save = page_alloc();
	if (!host_area || !host_save)
		return -ENOMEM;
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SVME);
	wrmsr(MSR_VM_HSAVE_PA, va_to_pa(host_area));
	if (svm_features.fsgsbase)
		write_cr4(read_cr4() | CR4_FSGSBASE);
	c->host_save_pa = va_to_pa(host_save);
	vmsave(c->host_save_pa);
	guest_cpu_init();
	return 0;
}

static int svm_vcpu_init(struct vcpu *v)
{
	struct vcpu_context *ctx = &v->arch.context[0];
	struct vmcb *b = page_alloc();

	if (!b)
		return -ENOMEM;
	ctx->control = b;
	ctx->control_pa = va_to_pa(b);
	ctx->asid_cpu = -1;
	v->arch.cur = ctx;
	v->arch.control_pa = ctx->control_pa;
	for (u32 n = 0; n < NR_GPRS; n++)
		v->arch.gpr_ptr[n] = &v->arch.gpr[n];
	v->arch.gpr_ptr[GPR_RAX] = &b->save.rax;
	v->arch.gpr_ptr[GPR_RSP] = &b->save.rsp;
	return 0;
}

static void svm_vcpu_destroy(struct vcpu *v)
{
	if (v->arch.context[0].control)
		page_free(v->arch.context[0].control);
	v->arch.context[0].control = NULL;
}

static void svm_load(struct vcpu *v)
{
	v->arch.host_gs_base = this_cpu_offset();
	v->arch.host_save_pa = this_cpu(svm_cpu).host_save_pa;
	v->arch.check_flush = true; /* another CPU, or other vCPUs here meanwhile: look at the ASID */
	svm_dr_load(v, vmcb_of(v));
}

static void svm_put(struct vcpu *v)
{
	struct vmcb *b = vmcb_of(v);

	svm_tpr_from_guest(v, b);
	svm_dr_put(v, b);
}

static bool svm_interrupts_on(const struct vcpu *v)
{
	return vmcb_of(v)->save.rflags & X86_RFLAGS_IF;
}

static void svm_set_cr2(struct vcpu *v, u64 cr2)
{
	vmcb_of(v)->save.cr2 = cr2;
}

const struct vcpu_backend svm_backend = {
	.name = "svm",
	.vcpu_init = svm_vcpu_init,
	.vcpu_destroy = svm_vcpu_destroy,
	.start = svm_start,
	.load = svm_load,
	.put = svm_put,
	.enter = svm_enter,
	.deliver = svm_deliver,
	.interrupts_on = svm_interrupts_on,
	.exception = svm_exception,
	.paging = svm_paging,
	.fetch_at = svm_fetch_at,
	.set_cr2 = svm_set_cr2,
	.dump = svm_dump,
	.stage2_create = npt_create,
	.stage2_map = npt_map,
	.stage2_unmap = npt_unmap,
	.stage2_destroy = npt_destroy,
	.flush = svm_flush,
};
