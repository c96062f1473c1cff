/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a send costs, from inside: EVTCHNOP_send to a port of another vCPU, from one read of the clock to
 * the next, hypercall in and out included. The other vCPU stays off, so that one CPU does all the work
 * and a count of instructions is that of the sender; what it would have done on an event - clear the
 * pending bit, the selector and the upcall - is done here between two samples.
 */
#include <guest.h>
#include <measure.h>
#include <cupel/xen_abi.h>
#include <xen_timed.h>

#define OTHER 1 /* the vCPU that events go to */

static u8 shared[4096] __aligned(4096);
static struct {
	struct xen_vcpu_info info;
	u8 rest[XEN_VCPU_INFO_SIZE - sizeof(struct xen_vcpu_info)];
} vcpu_info[2] __aligned(128);
static struct evtchn_send send;

static u64 call(u64 nr, u64 a, const void *b)
{
	u64 result;

	xen_timed(nr, a, (u64)b, 0, &result);
	return result;
}

static void must(u64 result, const char *what)
{
	if (result)
		guest_die("evsend: %s: %ld", what, (long)result);
}

static u64 timed(u64 nr, u64 a, const void *b)
{
	u64 result, ticks = xen_timed(nr, a, (u64)b, 0, &result);

	if ((s64)result < 0)
		guest_die("evsend: hypercall %lu: %ld", nr, (long)result);
	return ticks;
}

static u64 *word(u32 array)
{
	return (u64 *)(void *)(shared + array) + send.port / 64;
}

static u64 send_bit(void)
{
	return BIT(send.port % 64);
}

static void prepare(bool pending, bool masked)
{
	*word(XEN_EVTCHN_PENDING) = pending ? send_bit() : 0;
	*word(XEN_EVTCHN_MASK) = masked ? send_bit() : 0;
	vcpu_info[OTHER].info.evtchn_pending_sel = 0;
	vcpu_info[OTHER].info.evtchn_upcall_pending = 0;
}

static u64 op_version(void)
{
	return timed(XEN_version, XENVER_version, NULL);
}

static u64 op_send(void)
{
	u64 ticks;

	prepare(false, false);
	ticks = timed(XEN_event_channel_op, EVTCHNOP_send, &send);
	if (!vcpu_info[OTHER].info.evtchn_upcall_pending || !(*word(XEN_EVTCHN_PENDING) & send_bit()))
		guest_die("evsend: the event did not arrive");
	return ticks;
}

static u64 op_send_pending(void)
{
	prepare(true, false);
	return timed(XEN_event_channel_op, EVTCHNOP_send, &send);
}

static u64 op_send_masked(void)
{
	prepare(false, true);
	return timed(XEN_event_channel_op, EVTCHNOP_send, &send);
}

static void set_up(void)
{
	struct xen_add_to_physmap map = {
		.domid = DOMID_SELF,
		.space = XENMAPSPACE_shared_info,
		.gpfn = (u64)shared >> 12,
	};
	struct evtchn_bind_ipi ipi = { .vcpu = OTHER };

	must(call(XEN_memory_op, XENMEM_add_to_physmap, &map), "add_to_physmap");
	must(call(XEN_event_channel_op, EVTCHNOP_bind_ipi, &ipi), "bind_ipi");
	send.port = ipi.port;
}

static void register_info(u32 cpu)
{
	struct vcpu_register_vcpu_info r = {
		.mfn = (u64)&vcpu_info[cpu] >> 12,
		.offset = (u64)&vcpu_info[cpu] & 4095,
	};

	u64 result;

	xen_timed(XEN_vcpu_op, VCPUOP_register_vcpu_info, cpu, (u64)&r, &result);
	must(result, "register_vcpu_info");
}

int guest_main(void)
{
	static const struct op ops[] = {
		{ "xen-version", op_version },
		{ "send", op_send },
		{ "send-pending", op_send_pending },
		{ "send-masked", op_send_masked },
	};

	if (bare)
		return 0; /* nobody to send to */
	set_up();
	register_info(0);
	register_info(OTHER);
	measure(ops, ARRAY_SIZE(ops));
	return 0;
}
