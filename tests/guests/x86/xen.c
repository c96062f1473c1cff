/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Xen's ABI has on x86 alone: leaves, the hypercall page and its MSR, calls from user mode, callbacks
 * that a VM without the chips for them can't have.
 */
#include <xen.h>

#define SLOTS (4096 / XEN_HYPERCALL_SLOT)

static u8 page[4096] __aligned(4096);
static u8 outside[2 * 4096] __aligned(4096);
static u32 base;

static void write_msr(void *value)
{
	wrmsr(XEN_MSR_HYPERCALL, *(u64 *)value);
}

static bool refused(u64 value)
{
	struct fault f;

	return try_call(write_msr, &value, &f) && f.cause == VEC_GP;
}

static void test_leaves(void)
{
	struct cpuid time = cpuid(base + 3, 1), id = cpuid(base + 4, 0);

	report(base == 0x40000000 && cpuid(base, 0).a == base + XEN_CPUID_MAX, "leaves at %x to %x",
	       base, cpuid(base, 0).a);
	report(cpuid(base + 1, 0).a >> 16 == 4, "version %x", cpuid(base + 1, 0).a);
	report(cpuid(base + 2, 0).a == 1 && cpuid(base + 2, 0).b == XEN_MSR_HYPERCALL,
	       "one hypercall page, MSR %x", cpuid(base + 2, 0).b);
	report(cpuid(base + 3, 0).c && cpuid(base + 3, 0).c == cpuid(base + 3, 2).a && time.c,
	       "TSC of %u kHz", cpuid(base + 3, 0).c);
	report((id.a & XEN_CPUID_HVM_VCPU_ID) && id.b == 0, "vCPU id %u", id.b);
	report((id.a & XEN_CPUID_HVM_DOMID) && id.c, "domain id %u", id.c);
	report(cpuid_hv_base(0x65707543) == base + 0x100, "Cupel's leaves come next");
}

static void test_page(void)
{
	static const u8 call[] = { 0xb8, 0, 0, 0, 0, 0x0f, 0x01, 0xd9, 0xc3 };
	u32 good = 0;

	report(rdmsr(XEN_MSR_HYPERCALL) == 0, "the MSR reads as zero");
	memset(outside, 0x11, sizeof(outside));
	wrmsr(XEN_MSR_HYPERCALL, (u64)outside);
	for (u32 n = 0; n < SLOTS; n++) {
		const u8 *slot = outside + n * XEN_HYPERCALL_SLOT;

		good += slot[0] == call[0] && slot[1] == n && !slot[2] && !slot[3] && !slot[4] &&
			!memcmp(slot + 5, call + 5, 4) && slot[9] == 0xcc && slot[31] == 0xcc;
	}
	report(good == SLOTS, "%u calls of %u", good, SLOTS);
	report(outside[4096] == 0x11, "and no more than a page");
	report(refused((u64)page | 1), "a second page refused");
	report(refused(0xfee00000) && refused(GUEST_X86_ROM) && refused(1UL << 51),
	       "what is no memory of ours to write refused");
}

static s64 user_answer[3];

static void user(void)
{
	user_answer[0] = xen_call_raw(XEN_version, XENVER_version, 0, 0, 0);
	user_answer[1] = xen_call_raw(XEN_event_channel_op, EVTCHNOP_send, (u64)user_answer, 0, 0);
	user_answer[2] = xen_call_raw(63, 0, 0, 0, 0);
	__asm__ volatile("ud2");
}

static void enter_user(void *arg)
{
	user_enter(user);
}

static void test_user(void)
{
	struct fault f;

	report(try_call(enter_user, NULL, &f) && f.cause == VEC_UD, "user mode is back");
	report(user_answer[0] == -XEN_EPERM && user_answer[1] == -XEN_EPERM &&
		       user_answer[2] == -XEN_EPERM,
	       "calls from there: %ld %ld %ld", user_answer[0], user_answer[1], user_answer[2]);
}

/* --- An argument whose page is another one now ------------------------------------------------------- */

#define WINDOW	   0x80000000UL /* mapped, with nothing behind it */
#define PDE_LARGE  0x87 /* present, writable, user, 2 MiB */
#define PTE_TABLE  0x000ffffffffff000UL
#define SPARE_MEM1 0x400000UL /* 2 MiB each, of a RAM of 8 */
#define SPARE_MEM2 0x600000UL

static u64 *window_entry(void)
{
	u64 cr3, *pml4, *pdpt;

	__asm__ volatile("mov %%cr3, %0" : "=r"(cr3));
	pml4 = (u64 *)(cr3 & PTE_TABLE);
	pdpt = (u64 *)(pml4[0] & PTE_TABLE);
	return (u64 *)(pdpt[WINDOW >> 30] & PTE_TABLE) + (WINDOW >> 21) % 512;
}

static void point_window(u64 to)
{
	WRITE_ONCE(*window_entry(), to | PDE_LARGE);
	__asm__ volatile("invlpg (%0)" : : "r"(WINDOW) : "memory");
}

static bool sent(u32 port)
{
	s64 err = xen_call(XEN_event_channel_op, EVTCHNOP_send, WINDOW + 64, 0, 0);
	bool pending = evtchn_is_pending(port);

	evtchn_clear(port);
	return !err && pending;
}

static void test_argument(void)
{
	u32 first = evtchn_ipi(0), second = evtchn_ipi(0);
	u64 *entry = window_entry(), before = *entry;

	*(u32 *)(SPARE_MEM1 + 64) = first;
	*(u32 *)(SPARE_MEM2 + 64) = second;
	point_window(SPARE_MEM1);
	report(sent(first), "an argument through a mapping");
	report(sent(first), "and again");
	point_window(SPARE_MEM2);
	report(sent(second) && !evtchn_is_pending(first), "that was changed");
	*entry = 0;
	__asm__ volatile("invlpg (%0)" : : "r"(WINDOW) : "memory");
	report(xen_call(XEN_event_channel_op, EVTCHNOP_send, WINDOW + 64, 0, 0) == -XEN_EFAULT,
	       "that is gone");
	point_window(SPARE_MEM1);
	report(sent(first), "that is back");
	*(u32 *)(SPARE_MEM1 + 4094) = second;
	report(!xen_call(XEN_event_channel_op, EVTCHNOP_send, WINDOW + 4094, 0, 0) &&
		       evtchn_is_pending(second),
	       "and one across two pages");
	*entry = before;
	evtchn_reset();
}

/* --- How upcalls come --------------------------------------------------------------------------------- */

#define IPI_OTHER 3

static u32 order, upcall_at, ipi_at, upcalls;
static bool in_service;

static void upcall(u32 vector)
{
	upcalls++;
	upcall_at = ++order;
	in_service = rdmsr(MSR_APIC_BASE) & APIC_BASE_ENABLE && lapic_bit(LAPIC_ISR, vector);
	evtchn_upcall(vector);
}

static void other_interrupt(u32 vector)
{
	ipi_at = ++order;
}

/* Interrupts on for a moment: what can come has come. */
static void let_in(void)
{
	irq_enable();
	hc(HC_NULL, 0, 0, 0);
	irq_disable();
}

static bool upcall_by(u32 port)
{
	u32 before = upcalls, early;

	evtchn_send(port);
	hc(HC_NULL, 0, 0, 0);
	early = upcalls - before; /* interrupts are off */
	let_in();
	return !early && upcalls == before + 1;
}

static void test_callback_vector(u32 port)
{
	report(!xen_route_upcalls(XEN_ROUTE_SHARED, upcall), "callback vector");
	report(upcall_by(port) && !in_service, "it comes, and not through the APIC");
	lapic_write(LAPIC_TPR, 0xf0);
	report(upcall_by(port), "TPR does not hold it back");
	lapic_write(LAPIC_TPR, 0);
	ipi_send(0, IPI_OTHER);
	report(upcall_by(port) && upcall_at && ipi_at > upcall_at,
	       "it comes before what the APIC has");
	wrmsr(MSR_APIC_BASE, rdmsr(MSR_APIC_BASE) & ~(u64)APIC_BASE_ENABLE);
	report(upcall_by(port), "nor does it need an APIC that is on");
	wrmsr(MSR_APIC_BASE, rdmsr(MSR_APIC_BASE) | APIC_BASE_ENABLE);
	arch_cpu_init(0);
}

static void test_own_vector(u32 port)
{
	u32 before;

	report(!xen_route_upcalls(XEN_ROUTE_OWN, upcall), "a vector of its own");
	report(upcall_by(port) && in_service, "it comes through the APIC");
	lapic_write(LAPIC_TPR, 0xf0);
	before = upcalls;
	report(!upcall_by(port) && upcalls == before, "TPR holds it back");
	lapic_write(LAPIC_TPR, 0);
	let_in();
	report(upcalls == before + 1, "until it is lowered");
}

static void test_delivery(void)
{
	u32 port = evtchn_ipi(0);

	memset(xen_shared + XEN_EVTCHN_MASK, 0, 8);
	ipi_request(IPI_OTHER, other_interrupt);
	test_callback_vector(port);
	test_own_vector(port);
}

static s64 set_callback(u64 value)
{
	struct {
		u16 domid, pad;
		u32 index;
		u64 value;
	} p = { DOMID_SELF, 0, HVM_PARAM_CALLBACK_IRQ, value };

	return xen_call(XEN_hvm_op, HVMOP_set_param, (u64)&p, 0, 0);
}

static s64 set_vector(u32 vcpu, u8 vector)
{
	struct {
		u32 vcpu;
		u8 vector;
	} p = { vcpu, vector };

	return xen_call(XEN_hvm_op, HVMOP_set_evtchn_upcall_vector, (u64)&p, 0, 0);
}

static void test_callbacks(void)
{
	report(set_callback(5) < 0 && set_callback(1UL << 56 | 3 << 11) < 0, "GSI and INTx refused");
	report(set_callback(2UL << 56 | 14) < 0 && set_vector(0, 14) == -XEN_EINVAL,
	       "vectors of exceptions refused");
	report(set_vector(99, 0x80) == -XEN_ENOENT, "a vCPU that is not there refused");
	report(!set_callback(2UL << 56 | 0x80) && !set_callback(0), "a vector, and off again");
	report(xen_call_raw(63, 0, 0, 0, 0) == -XEN_ENOSYS, "a call that is none refused");
	report(xen_call_raw(XEN_grant_table_op, 0, 0, 0, 0) == -XEN_ENOSYS, "grant tables refused");
}

int guest_main(void)
{
	if (cmdline_get("absent")) {
		report(!xen_find() && refused((u64)page), "no leaves, no MSR");
		report(xen_call_raw(XEN_version, 0, 0, 0, 0) == -1, "no calls");
		return 0;
	}
	base = cpuid_hv_base(XEN_CPUID_EBX);
	report(xen_find(), "found");
	test_leaves();
	test_page();
	test_user();
	report(!xen_map_shared(page), "shared_info mapped");
	test_argument();
	test_delivery();
	test_callbacks();
	return 0;
}
