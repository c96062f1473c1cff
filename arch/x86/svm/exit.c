/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exits that leave the world switch's loop: here the host's state is back, GIF is set, interrupts are
 * off and the vCPU is marked as outside. One function per reason, in a table by exit code. Whatever a
 * guest does that has no answer stops its VM with a report; nothing here may do more than that.
 * (AMD APM vol. 2, 15.7 to 15.14, appendix C)
 */
#include "internal.h"
#include <asm/trap.h>
#include <asm/vlapic.h>
#include <cupel/printk.h>
#include <cupel/xen.h>

typedef enum vcpu_exit (*heavy_fn)(struct vcpu *v, struct vmcb *b);

static __noinline const struct insn *fetch_slowly(struct vcpu *v)
{
	struct guest_fetch f;

	svm_fetch_at(v, &f);
	return insn_fetch(v, &f);
}

/* The instruction that exited; NULL: a fault is queued, or the VM is stopped. */
static const struct insn *fetch(struct vcpu *v)
{
	const struct insn *i = svm_current_insn(v, vmcb_of(v));

	return likely(i) ? i : fetch_slowly(v);
}

/* The same for looking only: NULL when it can't be read. */
static const struct insn *peek(struct vcpu *v)
{
	struct guest_fetch f;

	svm_fetch_at(v, &f);
	return insn_peek(v, &f);
}

static enum vcpu_exit inject_ud(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_OTHER]++;
	guest_exception(v, X86_EXC_UD);
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit inject_gp(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_OTHER]++;
	guest_exception_error(v, X86_EXC_GP, 0);
	return VCPU_EXIT_RESUME;
}

/* GIF is set again by now: an NMI has been taken through the IDT, an interrupt waits for IF. */
static enum vcpu_exit host_irq(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_HOST_IRQ]++;
	v->host_irqs++;
	x86_take_host_irq();
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit nothing(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_OTHER]++;
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit skip_insn(struct vcpu *v, struct vmcb *b)
{
	const struct insn *i = fetch(v);

	v->exits[EXITS_OTHER]++;
	if (i)
		svm_skip(v, b, i->len);
	return VCPU_EXIT_RESUME;
}

/* The light path knows what to do, but not the instruction: fetch it, then ask again. */
static enum vcpu_exit retry_light(struct vcpu *v, struct vmcb *b)
{
	if (fetch(v) && svm_light_exit(&v->arch) == SVM_HEAVY)
		guest_crash(v, "exit %lx is beyond emulation", b->exit_code);
	return VCPU_EXIT_RESUME;
}

/* Xen's hypercalls are numbered below this, with their argument registers as here. */
#define XEN_HYPERCALLS 64

static s64 xen_call(struct vcpu *v, struct vmcb *b, enum vcpu_exit *exit)
{
	const u64 *gpr = v->arch.gpr;
	u64 arg[5] = { gpr[GPR_RDI], gpr[GPR_RSI], gpr[GPR_RDX], gpr[GPR_R10], gpr[GPR_R8] };

	if (b->save.cpl)
		return -XEN_EPERM;
	if (!svm_long_mode(b))
		return -XEN_ENOSYS; /* what it shares has the layout of 64-bit guests */
	return xen_hypercall(v, b->save.rax, arg, exit);
}

static enum vcpu_exit vmmcall(struct vcpu *v, struct vmcb *b)
{
	bool xen = v->xen && b->save.rax < XEN_HYPERCALLS;
	enum vcpu_exit exit = VCPU_EXIT_RESUME;
	const struct insn *i;
	u64 *gpr = v->arch.gpr;

	if (b->save.cpl && !xen)
		return inject_ud(v, b);
	i = fetch(v);
	if (!i)
		return VCPU_EXIT_RESUME;
	v->exits[EXITS_HYPERCALL]++;
	svm_skip(v, b, i->len);
	b->save.rax = xen ? (u64)xen_call(v, b, &exit) :
			    (u64)hypercall(v, b->save.rax, gpr[GPR_RDI], gpr[GPR_RSI], gpr[GPR_RDX],
					   &exit);
	return exit;
}

static enum vcpu_exit msr(struct vcpu *v, struct vmcb *b)
{
	u32 n = v->arch.gpr[GPR_RCX];
	u64 value = (u32)b->save.rax | v->arch.gpr[GPR_RDX] << 32;
	const struct insn *i;

	if (!guest_msr_is_pv(n))
		return retry_light(v, b);
	i = fetch(v);
	if (!i)
		return VCPU_EXIT_RESUME;
	v->exits[EXITS_MSR]++;
	if (b->exit_info1 ? !guest_pv_msr_write(v, n, value) : !guest_pv_msr_read(v, n, &value))
		return inject_gp(v, b);
	if (!b->exit_info1) {
		b->save.rax = (u32)value;
		v->arch.gpr[GPR_RDX] = value >> 32;
	}
	svm_skip(v, b, i->len);
	return VCPU_EXIT_RESUME;
}

/*
 * Base of a string instruction's operand in memory: the source is in DS or where a prefix says, the
 * destination always in ES. 64-bit mode knows the bases of FS and GS alone (APM 4.5.3).
 */
static u64 string_base(const struct vmcb *b, const struct insn *i, bool source)
{
	u8 prefix = source ? i->segment : 0x26;

	if (prefix == 0x64)
		return b->save.fs.base;
	if (prefix == 0x65)
		return b->save.gs.base;
	if (svm_long_mode(b))
		return 0;
	switch (prefix) {
	case 0x26: return b->save.es.base;
	case 0x2e: return b->save.cs.base;
	case 0x36: return b->save.ss.base;
	default: return b->save.ds.base;
	}
}

static enum emulate string_io(struct vcpu *v, struct vmcb *b)
{
	const struct insn *i = fetch(v);
	u64 info = b->exit_info1;
	bool out = !(info & SVM_IO_IN);
	struct string_io s;

	if (!i)
		return EMULATE_AGAIN;
	s = (struct string_io){
		.port = SVM_IO_PORT(info),
		.size = SVM_IO_SIZE(info),
		.addr_size = i->addr_size,
		.write = out,
		.rep = info & SVM_IO_REP,
		.backward = b->save.rflags & X86_RFLAGS_DF,
		.seg_base = string_base(b, i, out),
	};
	return guest_pio_string(v, &s);
}

static enum vcpu_exit ioio(struct vcpu *v, struct vmcb *b)
{
	u64 info = b->exit_info1;
	u64 next = b->exit_info2;
	enum emulate e;

	v->exits[EXITS_IO]++;
	if (info & SVM_IO_STRING)
		e = string_io(v, b);
	else
		e = guest_pio(v, SVM_IO_PORT(info), SVM_IO_SIZE(info), !(info & SVM_IO_IN));
	if (e == EMULATE_DONE)
		svm_skip(v, b, next - b->save.rip);
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit hlt(struct vcpu *v, struct vmcb *b)
{
	const struct insn *i = fetch(v);

	if (!i)
		return VCPU_EXIT_RESUME;
	v->exits[EXITS_HLT]++;
	svm_skip(v, b, i->len);
	v->arch.halted = !(b->event_inj & SVM_EVENT_VALID);
	svm_deliver(v); /* takes it out of HLT if there is something to take */
	if (!v->arch.halted || READ_ONCE(v->requests))
		return VCPU_EXIT_RESUME;
	return VCPU_EXIT_BLOCK;
}

static enum vcpu_exit cr_write(struct vcpu *v, struct vmcb *b)
{
	const struct insn *i = fetch(v);
	u64 value;
	bool ok;

	v->exits[EXITS_CONTROL_REG]++;
	if (!i)
		return VCPU_EXIT_RESUME;
	if (i->op != INSN_CR_WRITE) {
		guest_crash(v, "control register written by opcode %02x", i->opcode);
		return VCPU_EXIT_RESUME;
	}
	value = gpr_get(v, i->rm);
	if (!svm_long_mode(b))
		value = (u32)value;
	ok = b->exit_code == SVM_EXIT_CR_WRITE(8) ? svm_cr8_write(v, b, value) :
						    svm_cr4_write(v, b, value);
	if (!ok)
		return inject_gp(v, b);
	svm_skip(v, b, i->len);
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit dr_access(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_DEBUG_REG]++;
	svm_dr_give(v, b); /* and let the guest run the instruction itself */
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit xsetbv(struct vcpu *v, struct vmcb *b)
{
	const struct insn *i = fetch(v);
	u64 value = (u32)b->save.rax | v->arch.gpr[GPR_RDX] << 32;

	v->exits[EXITS_XSETBV]++;
	if (!i)
		return VCPU_EXIT_RESUME;
	if ((u32)v->arch.gpr[GPR_RCX] || !fpu_set_xcr0(v, value))
		return inject_gp(v, b);
	svm_skip(v, b, i->len);
	return VCPU_EXIT_RESUME;
}

/* The guest is about to load its first IDT: from here on its exceptions are its own. */
static enum vcpu_exit idtr_write(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_OTHER]++;
	svm_own_exceptions(b);
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit iret(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_OTHER]++;
	svm_iret(v, b);
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit debug_exception(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_EXCEPTION]++;
	if (!svm_nmi_stepped(v, b))
		svm_exception(v, X86_EXC_DB, false, 0);
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit alignment_check(struct vcpu *v, struct vmcb *b)
{
	v->exits[EXITS_EXCEPTION]++;
	svm_exception(v, X86_EXC_AC, true, 0);
	return VCPU_EXIT_RESUME;
}

void svm_early_exception(struct vcpu *v, u32 vector, u64 error, u64 address)
{
	guest_crash(v, "exception %u with no IDT to take it, error %lx, address %lx", vector, error,
		    address);
}

static enum vcpu_exit early_exception(struct vcpu *v, struct vmcb *b)
{
	u32 vector = b->exit_code - SVM_EXIT_EXC(0);

	svm_early_exception(v, vector, b->exit_info1, vector == X86_EXC_PF ? b->exit_info2 : 0);
	return VCPU_EXIT_RESUME;
}

/*
 * A guest without SVM is to find its instructions undefined, but EFER.SVME, which VMRUN demands, makes
 * a bad RAX come first (#GP, before the intercept: APM vol. 3, VMRUN). Any other #GP is the guest's own.
 */
static bool svm_instruction(const struct insn *i)
{
	return i->map == INSN_MAP_0F && i->opcode == 0x01 && i->modrm >= 0xd8 && i->modrm <= 0xdf;
}

static enum vcpu_exit general_protection(struct vcpu *v, struct vmcb *b)
{
	const struct insn *i;

	v->exits[EXITS_EXCEPTION]++;
	i = b->event_inj & SVM_EVENT_VALID ? NULL : peek(v);
	if (i && svm_instruction(i))
		svm_exception(v, X86_EXC_UD, false, 0);
	else
		svm_exception(v, X86_EXC_GP, true, b->exit_info1);
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit machine_check(struct vcpu *v, struct vmcb *b)
{
	__asm__ volatile("int %0" ::"i"(X86_EXC_MC)); /* the host's handler has the last word */
	return VCPU_EXIT_RESUME;
}

/* What began it is gone; but an instruction that never could have run tells. */
void svm_triple_fault(struct vcpu *v, const struct vmcb *b)
{
	const struct insn *i = peek(v);
	bool undefined = !i || (i->map == INSN_MAP_0F && i->opcode == 0x0b); /* UD2 */

	guest_crash(v, "triple fault%s; last page fault at %lx",
		    undefined ? " on an undefined instruction" : "", b->save.cr2);
}

static enum vcpu_exit shutdown(struct vcpu *v, struct vmcb *b)
{
	svm_triple_fault(v, b);
	return VCPU_EXIT_RESUME;
}

static enum vcpu_exit task_switch(struct vcpu *v, struct vmcb *b)
{
	guest_crash(v, "task switch to %lx, which is not emulated", b->exit_info1 & 0xffff);
	return VCPU_EXIT_RESUME;
}

/* A fault on memory that a slot names: read-only, or the second stage has fallen behind. */
static void slot_fault(struct vcpu *v, const struct mem_slot *s, gpaddr_t gpa, u64 info)
{
	if (info & SVM_NPF_WRITE && s->flags & SLOT_READONLY)
		guest_crash(v, "write to read-only memory at %lx", gpa);
	else
		guest_crash(v, "nested page fault %lx at %lx, mapped by %lx", info, gpa,
			    npt_lookup(v->vm, gpa));
}

static void mmio(struct vcpu *v, struct vmcb *b, gpaddr_t gpa, bool write)
{
	const struct insn *i = fetch(v);
	u64 base = 0;

	if (!i)
		return;
	if (svm_light_exit(&v->arch) != SVM_HEAVY)
		return; /* the APIC page, now that the instruction is known */
	v->exits[EXITS_MMIO]++;
	svm_tpr_from_guest(v, b);
	if (i->op == INSN_MOVS)
		base = string_base(b, i, write);
	if (guest_mmio(v, i, gpa, write, base, &b->save.rflags) == EMULATE_DONE)
		svm_skip(v, b, i->len);
	svm_tpr_to_guest(v, b);
	svm_deliver(v);
}

static enum vcpu_exit nested_fault(struct vcpu *v, struct vmcb *b)
{
	gpaddr_t gpa = b->exit_info2;
	u64 info = b->exit_info1;
	const struct mem_slot *s = vm_find_slot(v->vm, gpa);

	if (s && vm_fault(v, gpa, info & SVM_NPF_WRITE))
		return VCPU_EXIT_RESUME;
	if (s)
		slot_fault(v, s, gpa, info);
	else if (info & SVM_NPF_FETCH)
		guest_crash(v, "runs outside its memory, at %lx", gpa);
	else if (info & SVM_NPF_WALK)
		guest_crash(v, "page tables outside its memory, at %lx", gpa);
	else
		mmio(v, b, gpa, info & SVM_NPF_WRITE);
	return VCPU_EXIT_RESUME;
}

#define HEAVY_TABLE (SVM_EXIT_RDPRU + 1)

static const heavy_fn heavy[HEAVY_TABLE] = {
	[SVM_EXIT_CR_WRITE(4)] = cr_write,
	[SVM_EXIT_CR_WRITE(8)] = cr_write,
	[SVM_EXIT_DR_READ(0)... SVM_EXIT_DR_WRITE(15)] = dr_access,
	[SVM_EXIT_EXC(X86_EXC_DE)] = early_exception,
	[SVM_EXIT_EXC(X86_EXC_DB)] = debug_exception,
	[SVM_EXIT_EXC(X86_EXC_BP)] = early_exception,
	[SVM_EXIT_EXC(X86_EXC_UD)... SVM_EXIT_EXC(X86_EXC_SS)] = early_exception,
	[SVM_EXIT_EXC(X86_EXC_PF)] = early_exception,
	[SVM_EXIT_EXC(X86_EXC_GP)] = general_protection,
	[SVM_EXIT_EXC(X86_EXC_AC)] = alignment_check,
	[SVM_EXIT_EXC(X86_EXC_MC)] = machine_check,
	[SVM_EXIT_INTR] = host_irq,
	[SVM_EXIT_NMI] = nothing,
	[SVM_EXIT_INIT] = nothing,
	[SVM_EXIT_IDTR_WRITE] = idtr_write,
	[SVM_EXIT_RDPMC] = inject_gp,
	[SVM_EXIT_CPUID] = retry_light,
	[SVM_EXIT_RSM] = inject_ud,
	[SVM_EXIT_IRET] = iret,
	[SVM_EXIT_INVD] = skip_insn,
	[SVM_EXIT_HLT] = hlt,
	[SVM_EXIT_INVLPGA] = inject_ud,
	[SVM_EXIT_IOIO] = ioio,
	[SVM_EXIT_MSR] = msr,
	[SVM_EXIT_TASK] = task_switch,
	[SVM_EXIT_SHUTDOWN] = shutdown,
	[SVM_EXIT_VMRUN] = inject_ud,
	[SVM_EXIT_VMMCALL] = vmmcall,
	[SVM_EXIT_VMMCALL + 1 ... SVM_EXIT_SKINIT] = inject_ud, /* VMLOAD, VMSAVE, STGI, CLGI */
	[SVM_EXIT_WBINVD] = skip_insn,
	[SVM_EXIT_MONITOR... SVM_EXIT_MWAIT_IF] = inject_ud,
	[SVM_EXIT_XSETBV] = xsetbv,
	[SVM_EXIT_RDPRU] = inject_ud,
};

enum vcpu_exit svm_heavy_exit(struct vcpu *v, struct vmcb *b)
{
	enum vcpu_exit e;

	svm_requeue(v, b);
	if (b->exit_code == SVM_EXIT_NPF) {
		e = nested_fault(v, b);
	} else if (b->exit_code < HEAVY_TABLE && heavy[b->exit_code]) {
		e = heavy[b->exit_code](v, b);
	} else {
		guest_crash(v,
			    (u32)b->exit_code == SVM_EXIT_INVALID32 ?
				    "the CPU refused the guest's state (exit %lx)" :
				    "unexpected exit %lx",
			    b->exit_code);
		e = VCPU_EXIT_RESUME;
	}
	insn_cache_settle(v);
	return e;
}
