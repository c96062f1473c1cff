/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interprocessor interrupts between the vCPUs of a VM: who a command names, and what it does there.
 * Targets are only posted to; nothing of theirs is written but the posted words. (APM vol. 2, 16.5,
 * 16.6.1, 16.10)
 */
#include <asm/msr.h>
#include <asm/vlapic.h>
#include <cupel/vm.h>

#define ICR_MODE	0x700
#define ICR_LOWEST	0x100
#define ICR_SMI		0x200
#define ICR_LOGICAL	BIT32(11)
#define ICR_SHORTHAND	(3U << 18)
#define XAPIC_BROADCAST 0xffU

/* One target. A vector of the sender's own goes straight into its IRR. */
static void deliver(struct vlapic *from, struct vcpu *to, u32 icr)
{
	struct vlapic *l = to->arch.lapic;
	u8 vector = icr & APIC_LVT_VECTOR;

	switch (icr & ICR_MODE) {
	case APIC_ICR_FIXED:
	case ICR_LOWEST:
		if (!(READ_ONCE(l->svr) & APIC_SVR_ENABLE))
			return;
		if (l == from)
			vlapic_raise(l, vector);
		else
			vlapic_post(to, vector);
		return;
	case APIC_ICR_NMI: vlapic_post_event(to, VLAPIC_EVENT_NMI); return;
	case APIC_ICR_INIT:
		if ((icr & (APIC_ICR_LEVEL | APIC_ICR_ASSERT)) != APIC_ICR_LEVEL)
			vlapic_post_event(to, VLAPIC_EVENT_INIT);
		return;
	case APIC_ICR_STARTUP:
		WRITE_ONCE(l->sipi_vector, vector);
		vlapic_post_event(to, VLAPIC_EVENT_SIPI);
		vcpu_power_on(to); /* -EBUSY: it is not off, and will look at the event itself */
		return;
	default: return; /* SMI and reserved modes */
	}
}

static bool logical_match(const struct vlapic *l, u32 dest, bool x2apic)
{
	u32 ldr = READ_ONCE(l->ldr);

	if (x2apic)
		return ldr >> 16 == dest >> 16 && ldr & dest & 0xffff;
	ldr >>= 24;
	if (READ_ONCE(l->dfr) == VLAPIC_LOGICAL_FLAT)
		return ldr & dest;
	return (ldr >> 4 == dest >> 4 || dest >> 4 == 0xf) && ldr & dest & 0xf;
}

static bool matches(const struct vlapic *from, const struct vlapic *l, u64 icr)
{
	bool x2apic = vlapic_x2apic(from);
	u32 dest = x2apic ? icr >> 32 : icr >> 56;

	switch (icr & ICR_SHORTHAND) {
	case APIC_ICR_SELF: return l == from;
	case APIC_ICR_ALL: return true;
	case APIC_ICR_OTHERS: return l != from;
	default: break;
	}
	if (dest == (x2apic ? ~0U : XAPIC_BROADCAST))
		return true;
	if (icr & ICR_LOGICAL)
		return logical_match(l, dest, x2apic);
	return l->id == dest;
}

/* Physical destination, no shorthand, not the broadcast id: the id is the vCPU's number. */
static struct vcpu *single_target(const struct vlapic *from, u64 icr)
{
	struct vm *vm = from->vcpu->vm;
	u32 dest = vlapic_x2apic(from) ? icr >> 32 : icr >> 56;

	if ((icr & ICR_SHORTHAND) == APIC_ICR_SELF)
		return from->vcpu;
	if (icr & (ICR_LOGICAL | ICR_SHORTHAND) || dest >= vm->nr_vcpus ||
	    (!vlapic_x2apic(from) && dest == XAPIC_BROADCAST))
		return NULL;
	return vm->vcpu[dest];
}

static void send_many(struct vlapic *from, u64 icr)
{
	struct vm *vm = from->vcpu->vm;

	for (u32 n = 0; n < vm->nr_vcpus; n++) {
		if (!matches(from, vm->vcpu[n]->arch.lapic, icr))
			continue;
		deliver(from, vm->vcpu[n], icr);
		if ((icr & ICR_MODE) == ICR_LOWEST)
			return;
	}
}

bool vlapic_send_icr(struct vlapic *l, u64 icr)
{
	struct vcpu *to = single_target(l, icr);

	l->icr = icr & ~(u64)APIC_ICR_BUSY;
	if ((icr & ICR_MODE & ~ICR_LOWEST) == APIC_ICR_FIXED && (icr & APIC_LVT_VECTOR) < 16)
		vlapic_error(l, VLAPIC_ESR_SEND_VECTOR);
	else if (to)
		deliver(l, to, icr);
	else
		send_many(l, icr);
	return true;
}
