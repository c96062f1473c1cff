/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest CPU's state as the VMCB holds it: after reset or SIPI, for a walk through its page tables,
 * for fetching an instruction, and as a report. Never runs anything. (AMD APM vol. 2, 14.1.3 and
 * appendix B)
 */
#include "internal.h"
#include <asm/trap.h>
#include <cupel/printk.h>

#define FLAT_CODE 0x08
#define FLAT_DATA 0x10

#define RFLAGS_FIXED 0x2
#define RFLAGS_VM    BIT(17)
#define DR6_RESET    0xffff0ff0
#define DR7_RESET    0x400
#define PAT_RESET    0x0007040600070406UL

/* Always: the rest of the host, firmware and other guests depend on these. */
#define ICPT3_ALWAYS                                                                      \
	(SVM_ICPT_INTR | SVM_ICPT_NMI | SVM_ICPT_INIT | SVM_ICPT_RDPMC | SVM_ICPT_CPUID | \
	 SVM_ICPT_RSM | SVM_ICPT_INVD | SVM_ICPT_INVLPGA | SVM_ICPT_IOIO | SVM_ICPT_MSR | \
	 SVM_ICPT_TASK | SVM_ICPT_SHUTDOWN)
#define ICPT4_ALWAYS                                                                             \
	(SVM_ICPT_VMRUN | SVM_ICPT_VMMCALL | SVM_ICPT_VMLOAD | SVM_ICPT_VMSAVE | SVM_ICPT_STGI | \
	 SVM_ICPT_CLGI | SVM_ICPT_SKINIT | SVM_ICPT_WBINVD | SVM_ICPT_MONITOR | SVM_ICPT_MWAIT | \
	 SVM_ICPT_XSETBV | SVM_ICPT_RDPRU)
/*
 * #DB and #AC can be raised without end by delivering them: the CPU must come up for air. #GP may be the
 * answer of an SVM instruction that the guest should not have.
 */
#define EXC_ALWAYS (BIT32(X86_EXC_DB) | BIT32(X86_EXC_AC) | BIT32(X86_EXC_MC) | BIT32(X86_EXC_GP))
/* Without an IDT every one of these ends in a shutdown: catch it while its cause can be named. */
#define EXC_NO_IDT                                                                       \
	(BIT32(X86_EXC_DE) | BIT32(X86_EXC_BP) | BIT32(X86_EXC_UD) | BIT32(X86_EXC_NM) | \
	 BIT32(X86_EXC_DF) | BIT32(X86_EXC_TS) | BIT32(X86_EXC_NP) | BIT32(X86_EXC_SS) | \
	 BIT32(X86_EXC_GP) | BIT32(X86_EXC_PF))

static struct vmcb_seg seg(u16 selector, u16 attrib, u32 limit, u64 base)
{
	return (struct vmcb_seg){ selector, attrib, limit, base };
}

static void set_data_segments(struct vmcb *b, struct vmcb_seg s)
{
	b->save.ss = b->save.ds = b->save.es = b->save.fs = b->save.gs = s;
}

static void set_controls(const struct vcpu *v, struct vmcb *b)
{
	b->icpt_cr = SVM_CR_WRITE(4);
	b->icpt_dr = SVM_DR_ALL;
	b->icpt_exc = EXC_ALWAYS;
	b->icpt3 = ICPT3_ALWAYS | (v->vm->config.wfi == WFI_NATIVE ? 0 : SVM_ICPT_HLT);
	b->icpt4 = ICPT4_ALWAYS;
	b->iopm_pa = svm_iopm_pa;
	b->msrpm_pa = svm_msrpm_pa;
	b->tsc_offset = v->arch.tsc_offset;
	b->int_ctl = SVM_V_INTR_MASKING;
	b->np_control = SVM_NP_ENABLE;
	b->ncr3 = va_to_pa(v->vm->arch.root[v->arch.cur->root].table);
	b->event_inj = 0;
	b->int_state = 0;
}

static void start_real_mode(struct vmcb *b, u8 page)
{
	b->save.cs = seg(page << 8, SVM_ATTR_CODE16, 0xffff, (u64)page << 12);
	set_data_segments(b, seg(0, SVM_ATTR_DATA16, 0xffff, 0));
	b->save.rip = 0;
	b->save.cr0 = CR0_ET | CR0_NW | CR0_CD;
	b->save.idtr = seg(0, 0, 0xffff, 0);
}

static void start_protected_mode(struct vmcb *b, const struct vcpu_start *s)
{
	b->save.cs = seg(FLAT_CODE, SVM_ATTR_CODE32, ~0U, 0);
	set_data_segments(b, seg(FLAT_DATA, SVM_ATTR_DATA32, ~0U, 0));
	b->save.rip = s->rip;
	b->save.rax = s->eax;
	b->save.cr0 = CR0_ET | CR0_PE;
	b->save.idtr = seg(0, 0, 0, 0);
	b->icpt_exc |= EXC_NO_IDT;
	b->icpt3 |= SVM_ICPT_IDTR_WRITE;
}

void svm_own_exceptions(struct vmcb *b)
{
	b->icpt_exc = EXC_ALWAYS;
	b->icpt3 &= ~SVM_ICPT_IDTR_WRITE;
}

bool svm_no_idt(const struct vmcb *b)
{
	return b->icpt3 & SVM_ICPT_IDTR_WRITE;
}

void svm_start(struct vcpu *v, const struct vcpu_start *s)
{
	struct vmcb *b = vmcb_of(v);

	set_controls(v, b);
	__builtin_memset(&b->save, 0, sizeof(b->save));
	__builtin_memset(v->arch.gpr, 0, sizeof(v->arch.gpr));
	v->arch.gpr[GPR_RBX] = s->ebx;
	b->save.gdtr = seg(0, 0, s->real_mode ? 0xffff : 0, 0);
	b->save.ldtr = seg(0, SVM_ATTR_LDT, 0xffff, 0);
	b->save.tr = seg(0, SVM_ATTR_TSS32, s->real_mode ? 0xffff : 0x67, 0);
	b->save.efer = EFER_SVME; /* VMRUN demands it: APM 15.5.1; the guest does not see it */
	b->save.rflags = RFLAGS_FIXED;
	b->save.dr6 = DR6_RESET;
	b->save.dr7 = DR7_RESET;
	b->save.pat = PAT_RESET;
	if (s->real_mode)
		start_real_mode(b, s->sipi_vector);
	else
		start_protected_mode(b, s);
}

void svm_paging(const struct vcpu *v, struct guest_paging *p)
{
	const struct vmcb *b = vmcb_of(v);

	p->cr0 = b->save.cr0;
	p->cr3 = b->save.cr3;
	p->cr4 = b->save.cr4;
	p->efer = b->save.efer;
	p->rflags = b->save.rflags;
	p->cpl = b->save.cpl;
}

static enum insn_mode code_mode(const struct vmcb *b)
{
	if (svm_long_mode(b))
		return INSN_MODE_64;
	if (!(b->save.cr0 & CR0_PE) || b->save.rflags & RFLAGS_VM)
		return INSN_MODE_16;
	return b->save.cs.attrib & SVM_ATTR_D ? INSN_MODE_32 : INSN_MODE_16;
}

void svm_fetch_at(const struct vcpu *v, struct guest_fetch *f)
{
	const struct vmcb *b = vmcb_of(v);

	f->rip = b->save.rip;
	f->cs_base = b->save.cs.base;
	f->cs_bits = svm_cs_bits(b);
	f->cr3 = b->save.cr3;
	f->mode = code_mode(b);
}

static void dump_segment(const char *name, const struct vmcb_seg *s)
{
	printk("  %s %04x attr %03x limit %08x base %016lx\n", name, s->selector, s->attrib,
	       s->limit, s->base);
}

void svm_dump(const struct vcpu *v)
{
	const struct vmcb *b = vmcb_of(v);

	printk("  RIP %016lx RSP %016lx RFLAGS %08lx CPL %u\n", b->save.rip, b->save.rsp,
	       b->save.rflags, b->save.cpl);
	printk("  CR0 %lx CR2 %lx CR3 %lx CR4 %lx EFER %lx\n", b->save.cr0, b->save.cr2,
	       b->save.cr3, b->save.cr4, b->save.efer & ~EFER_SVME);
	dump_segment("CS", &b->save.cs);
	dump_segment("SS", &b->save.ss);
	dump_segment("DS", &b->save.ds);
	dump_segment("GD", &b->save.gdtr);
	dump_segment("ID", &b->save.idtr);
	printk("  exit %lx info %lx %lx intinfo %lx inject %lx ASID %u\n", b->exit_code,
	       b->exit_info1, b->exit_info2, b->exit_int_info, b->event_inj, b->asid);
}
