/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen's guest ABI on arm64: the hypercall by HVC #0xEA1, guest memory by the guest's own addresses, and
 * the interrupt that announces an event.
 *
 * The upcall interrupt is posted once for each 0 -> 1 of evtchn_upcall_pending and stays latched until the
 * guest acknowledges it. A line that follows the byte would have to be looked at at every end of interrupt,
 * an exit each, since guests clear the byte by a store. A latch loses nothing: who sets the byte after the
 * guest has cleared it posts again, whatever the guest has acknowledged by then, and a byte that nobody
 * clears announces what it did before. The price is a spurious interrupt for a guest that polls the byte.
 */
#include "hyp.h"

#include <asm/xen.h>
#include <cupel/abi.h>
#include <cupel/errno.h>
#include <cupel/xen.h>
#include <string.h>

/* --- Guest memory by its own addresses ---------------------------------------------------------- */

/* Host pointer to [va, va + len), which lies in one page; NULL. */
static inline void *host_pointer(struct vcpu *v, u64 va, u32 len, bool write)
{
	gpaddr_t gpa;

	if (unlikely(!guest_stage1(v, va, write, &gpa)))
		return NULL;
	if (write)
		vm_mark_dirty(v->vm, gpa);
	return vm_gpa_to_va(v->vm, gpa, len, write);
}

static inline u32 in_page(u64 va, u32 len)
{
	return min(len, (u32)(PAGE_SIZE - (va & (PAGE_SIZE - 1))));
}

/* An address that wraps round is none. */
static inline bool wraps(u64 va, u32 len)
{
	return va + len < va;
}

/* Most arguments are a word. */
static inline void copy(void *to, const void *from, u32 len)
{
	if (likely(len == 4 && IS_ALIGNED((u64)to | (u64)from, 4)))
		WRITE_ONCE(*(u32 *)to, READ_ONCE(*(const u32 *)from));
	else
		memcpy(to, from, len);
}

int arch_guest_read(struct vcpu *v, void *to, u64 va, u32 len)
{
	if (unlikely(wraps(va, len)))
		return -EFAULT;
	for (u32 part; len; len -= part, va += part, to = (u8 *)to + part) {
		const void *from;

		part = in_page(va, len);
		from = host_pointer(v, va, part, false);
		if (unlikely(!from))
			return -EFAULT;
		copy(to, from, part);
	}
	return 0;
}

int arch_guest_write(struct vcpu *v, u64 va, const void *from, u32 len)
{
	if (unlikely(wraps(va, len)))
		return -EFAULT;
	for (u32 part; len; len -= part, va += part, from = (const u8 *)from + part) {
		void *to;

		part = in_page(va, len);
		to = host_pointer(v, va, part, true);
		if (unlikely(!to))
			return -EFAULT;
		copy(to, from, part);
	}
	return 0;
}

int arch_guest_translate(struct vcpu *v, u64 va, gpaddr_t *gpa)
{
	return guest_stage1(v, va, true, gpa) ? 0 : -EFAULT;
}

/* --- The hypercall ------------------------------------------------------------------------------ */

/*
 * An aligned word that its guest's kernel can read; NULL: not here, or not at all. RAM is above all else a
 * guest has (abi.h), so that the last slot is it; moved pages are looked up the long way.
 */
static inline const u32 *ram_word(struct vcpu *v, u64 va)
{
	/* Pairs with the release in publish() of slots_change.c. */
	const struct mem_slots *slots = load_acquire(&v->vm->slots);
	const struct mem_slot *ram = &slots->slot[slots->count - 1];
	gpaddr_t gpa;

	if (unlikely(!IS_ALIGNED(va, 4) || !slots->count || !guest_stage1(v, va, false, &gpa)))
		return NULL;
	/* Pairs with the release in frames_make(). */
	if (unlikely(gpa - ram->gpa >= ram->size || load_acquire(&ram->frame)))
		return NULL;
	return pa_to_va(ram->pa + (gpa - ram->gpa));
}

static __noinline int any_call(struct vcpu *v, struct guest_ctx *ctx)
{
	enum vcpu_exit exit = VCPU_EXIT_RESUME;

	ctx->regs[0] = (u64)xen_hypercall(v, ctx->regs[16], ctx->regs, &exit);
	return exit == VCPU_EXIT_RESUME ? guest_resume(v) : (int)exit;
}

/* Numbers and commands are ints to the guest. */
static inline bool is_send(const u64 *regs)
{
	return (u32)regs[16] == XEN_event_channel_op && (u32)regs[0] == EVTCHNOP_send;
}

/* What is called all the time has a way of its own: evtchn_send() with nothing around it. */
int guest_xen_call(struct vcpu *v, struct guest_ctx *ctx)
{
	const u32 *port = likely(is_send(ctx->regs)) ? ram_word(v, ctx->regs[1]) : NULL;

	if (unlikely(!port))
		return any_call(v, ctx);
	ctx->regs[0] = (u64)evtchn_send(v->vm, READ_ONCE(*port));
	return guest_resume(v);
}

/* --- Upcalls ------------------------------------------------------------------------------------ */

/* To the vCPU that is loaded here, as a host interrupt may do as well: one at a time. */
static __noinline void upcall_here(struct vcpu *v)
{
	unsigned long flags = arch_irq_save();

	vgic_pend(v->vm, v, GUEST_ARM64_XEN_INTID);
	arch_irq_restore(flags);
}

void arch_evtchn_upcall(struct vcpu *v)
{
	if (unlikely(v == this_cpu(guest_current)))
		upcall_here(v);
	else
		vgic_post(v->vm->arch.vgic, v, GUEST_ARM64_XEN_INTID, VIRQ_PENDING);
}

/* The PPI of the device tree and no other; its flags are the vGIC's business. */
bool arch_xen_callback_valid(u64 param)
{
	return param >> XEN_CALLBACK_TYPE_SHIFT == XEN_CALLBACK_PPI &&
	       (param & 0xff) == GUEST_ARM64_XEN_INTID;
}

bool arch_xen_vector_valid(u8 vector)
{
	return false;
}

/* --- Time --------------------------------------------------------------------------------------- */

/* Guests here count by the virtual timer's counter. */
void arch_xen_time(const struct vcpu *v, u64 now, struct vcpu_time_info *t)
{
	struct time_scale s = guest_time_scale();

	t->tsc_timestamp = now - v->vm->arch.cntvoff;
	t->tsc_to_system_mul = s.mul;
	t->tsc_shift = s.shift;
}
