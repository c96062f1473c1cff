/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Injection: interrupts, NMIs and exceptions into EVENTINJ, and the moment at which that is possible.
 * At most one event is queued for an entry; what cannot go in yet opens a window (V_IRQ, a CR8
 * intercept, a step over IRET). Owner only. (AMD APM vol. 2, 15.20 and 15.21)
 */
#include "internal.h"
#include <asm/trap.h>
#include <asm/vlapic.h>

#define RFLAGS_TF BIT(8)
#define RFLAGS_RF BIT(16)
#define DR6_BS	  BIT(14)

void svm_window_close(struct vmcb *b)
{
	b->int_ctl &= ~SVM_V_IRQ;
	b->icpt3 &= ~SVM_ICPT_VINTR;
}

/*
 * Exit as soon as the guest could take an interrupt of the highest priority. CR8 is watched meanwhile:
 * QEMU's TCG aborts when a guest writes it with V_IRQ set (helper_write_crN() raises the interrupt
 * without the lock it needs). The next svm_deliver() decides again.
 */
static void window_open(struct vmcb *b)
{
	b->int_ctl |= SVM_V_IRQ | SVM_V_PRIO_MAX | SVM_V_IGN_TPR;
	b->icpt3 |= SVM_ICPT_VINTR;
	b->icpt_cr |= SVM_CR_WRITE(8);
}

static void inject(struct vcpu *v, struct vmcb *b, u64 event)
{
	b->event_inj = event | SVM_EVENT_VALID;
	v->arch.halted = false;
}

/* True when it took the place in EVENTINJ, or needs a window of its own. */
static bool deliver_nmi(struct vcpu *v, struct vmcb *b)
{
	if (v->arch.nmi_blocked)
		return false; /* IRET ends that, and is intercepted */
	if (b->event_inj & SVM_EVENT_VALID || b->int_state & SVM_SHADOW) {
		window_open(b);
		return true;
	}
	v->arch.nmi_pending = false;
	v->arch.nmi_blocked = true;
	b->icpt3 |= SVM_ICPT_IRET;
	inject(v, b, SVM_EVENT_NMI | X86_EXC_NMI);
	return false;
}

/*
 * Xen's callback vector: not the APIC's business, and above all that is. True when it has to wait, and
 * what the APIC has with it.
 */
static bool deliver_callback(struct vcpu *v, struct vmcb *b)
{
	int vector = xen_callback_pending(v);

	if (vector < 0)
		return false;
	if (b->event_inj & SVM_EVENT_VALID || !(b->save.rflags & X86_RFLAGS_IF) ||
	    b->int_state & SVM_SHADOW) {
		window_open(b);
		return true;
	}
	inject(v, b, SVM_EVENT_INTR | (u32)vector);
	return false;
}

/* An interrupt that was to be injected, and something else goes first: back to where it came from. */
static void take_back(struct vcpu *v, u8 vector)
{
	if (vlapic_in_service(v->arch.lapic, vector))
		vlapic_unaccept(v->arch.lapic, vector);
	else
		vcpu_request_quiet(v, VCPU_REQ_EVENT); /* a callback: it is as pending as before */
}

/* A vector that TPR holds back: hear of it when the guest lowers CR8. */
static void watch_cr8(struct vmcb *b, bool on)
{
	if (on)
		b->icpt_cr |= SVM_CR_WRITE(8);
	else
		b->icpt_cr &= ~SVM_CR_WRITE(8);
}

void svm_deliver(struct vcpu *v)
{
	struct vmcb *b = vmcb_of(v);
	int vector;

	svm_tpr_from_guest(v, b);
	if (v->arch.nmi_pending && deliver_nmi(v, b))
		return;
	if (unlikely(v->xen) && deliver_callback(v, b))
		return;
	vector = vlapic_pending(v->arch.lapic);
	watch_cr8(b, vector == VLAPIC_HELD);
	if (vector < 0) {
		svm_window_close(b);
	} else if (b->event_inj & SVM_EVENT_VALID || !(b->save.rflags & X86_RFLAGS_IF) ||
		   b->int_state & SVM_SHADOW) {
		window_open(b);
	} else {
		svm_window_close(b);
		vlapic_accept(v->arch.lapic, vector);
		inject(v, b, SVM_EVENT_INTR | (u32)vector);
	}
}

/* APM vol. 2, 8.2.9: which pairs of exceptions make a double fault. */
static bool contributory(u8 vector)
{
	return vector == X86_EXC_DE || (vector >= X86_EXC_TS && vector <= X86_EXC_GP);
}

static bool doubles(u8 first, u8 second)
{
	if (first == X86_EXC_PF)
		return second == X86_EXC_PF || contributory(second);
	return contributory(first) && contributory(second);
}

static u64 exception_event(u8 vector, bool has_error, u32 error)
{
	u64 event = SVM_EVENT_EXCEPTION | vector;

	if (has_error)
		event |= SVM_EVENT_HAS_ERROR | (u64)error << SVM_EVENT_ERROR_SHIFT;
	return event;
}

/*
 * An exception while an event is queued: a second one that doubles it becomes #DF, and on top of #DF
 * the guest shuts down. Otherwise the newer goes first: a fault is met again by the restarted
 * instruction, and an interrupt goes back to where it came from.
 */
void svm_exception(struct vcpu *v, u8 vector, bool has_error, u32 error)
{
	struct vmcb *b = vmcb_of(v);
	u64 old = b->event_inj;

	if (svm_no_idt(b)) {
		svm_early_exception(v, vector, error, 0);
		return;
	}
	if (old & SVM_EVENT_VALID && (old & SVM_EVENT_TYPE) == SVM_EVENT_EXCEPTION) {
		u8 first = old & SVM_EVENT_VECTOR;

		if (first == X86_EXC_DF) {
			svm_triple_fault(v, b);
			return;
		}
		if (doubles(first, vector)) {
			inject(v, b, exception_event(X86_EXC_DF, true, 0));
			return;
		}
	} else if (old & SVM_EVENT_VALID && (old & SVM_EVENT_TYPE) == SVM_EVENT_NMI) {
		v->arch.nmi_pending = true;
		v->arch.nmi_blocked = false;
	} else if (old & SVM_EVENT_VALID && (old & SVM_EVENT_TYPE) == SVM_EVENT_INTR) {
		take_back(v, old & SVM_EVENT_VECTOR);
	}
	inject(v, b, exception_event(vector, has_error, error));
}

void svm_requeue(struct vcpu *v, struct vmcb *b)
{
	u64 event = b->exit_int_info;

	if (!(event & SVM_EVENT_VALID))
		return;
	b->exit_int_info = 0;
	/* A software interrupt is met again by running its instruction again. */
	if ((event & SVM_EVENT_TYPE) == SVM_EVENT_SOFT)
		return;
	b->event_inj = event;
}

/*
 * The guest is about to run the IRET that ends NMI blocking. Another NMI must not go in before that
 * instruction is done: step over it.
 */
void svm_iret(struct vcpu *v, struct vmcb *b)
{
	b->icpt3 &= ~SVM_ICPT_IRET;
	v->arch.nmi_step = true;
	b->save.rflags |= RFLAGS_TF | RFLAGS_RF;
}

/* A #DB that is the end of that step; false: it is the guest's own. */
bool svm_nmi_stepped(struct vcpu *v, struct vmcb *b)
{
	if (!v->arch.nmi_step)
		return false;
	v->arch.nmi_step = false;
	v->arch.nmi_blocked = false;
	b->save.dr6 &= ~DR6_BS;
	svm_deliver(v);
	return true;
}

void svm_end_step(struct vcpu *v, struct vmcb *b)
{
	b->save.rflags &= ~RFLAGS_RF;
	if (!(b->save.rflags & RFLAGS_TF))
		return;
	b->save.dr6 |= DR6_BS;
	svm_exception(v, X86_EXC_DB, false, 0);
}
