/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen's guest ABI, the half that is the same on both architectures (public headers xen.h,
 * event_channel.h). The upcall runs in interrupt context and must not wait.
 */
#include <xen.h>

#define PVCLOCK_FEATURE 9

/* What shared_info can be in before it is anywhere: nothing. */
u8 *xen_shared;
struct xen_vcpu_info *xen_info[MAX_VCPUS];
evtchn_fn evtchn_handler;
bool evtchn_fifo;

/* --- Pages --------------------------------------------------------------------------------------- */

s64 xen_map_shared(void *page)
{
	struct xen_add_to_physmap a = {
		.domid = DOMID_SELF,
		.space = XENMAPSPACE_shared_info,
		.gpfn = (u64)page >> 12,
	};
	s64 err = xen_call(XEN_memory_op, XENMEM_add_to_physmap, (u64)&a, 0, 0);
	u8 *before = xen_shared;

	if (err)
		return err;
	xen_shared = page;
	for (u32 cpu = 0; cpu < min(nr_vcpus, (u32)XEN_LEGACY_VCPUS); cpu++) {
		u8 *legacy = before + cpu * XEN_VCPU_INFO_SIZE;

		if (!xen_info[cpu] || (u8 *)xen_info[cpu] == legacy)
			WRITE_ONCE(xen_info[cpu], (void *)(xen_shared + cpu * XEN_VCPU_INFO_SIZE));
	}
	return 0;
}

s64 xen_register_vcpu_info(u32 cpu, void *at)
{
	struct vcpu_register_vcpu_info r = { .mfn = (u64)at >> 12, .offset = (u64)at & 4095 };
	s64 err = xen_call(XEN_vcpu_op, VCPUOP_register_vcpu_info, cpu, (u64)&r, 0);

	if (!err)
		WRITE_ONCE(xen_info[cpu], at);
	return err;
}

static u64 pvclock(const struct vcpu_time_info *t)
{
	u64 ns, ticks;
	u32 version;

	do {
		/* Pairs with the hypervisor's write barriers: an even version, what belongs to it, and it again. */
		version = load_acquire(&t->version) & ~1U;
		ticks = timer_now(TIMER_VIRT) - READ_ONCE(t->tsc_timestamp);
		ticks = t->tsc_shift < 0 ? ticks >> -t->tsc_shift : ticks << t->tsc_shift;
		ns = READ_ONCE(t->system_time) +
		     (u64)((unsigned __int128)ticks * READ_ONCE(t->tsc_to_system_mul) >> 32);
		smp_rmb();
	} while (READ_ONCE(t->version) != version);
	return ns;
}

/* Where the ABI has no time info, the states of a vCPU since time began are as good a clock. */
u64 xen_now(void)
{
	struct vcpu_runstate_info r;

	if (XEN_FEATURES & 1U << PVCLOCK_FEATURE)
		return pvclock((void *)((u8 *)xen_info[cpu_id()] + XEN_VCPU_TIME));
	xen_runstate(xen_id(), &r);
	return r.time[0] + r.time[1] + r.time[2] + r.time[3];
}

s64 xen_runstate(u32 cpu, struct vcpu_runstate_info *out)
{
	return xen_call(XEN_vcpu_op, VCPUOP_get_runstate_info, cpu, (u64)out, 0);
}

void xen_read_runstate(const struct vcpu_runstate_info *r, struct vcpu_runstate_info *out)
{
	u64 entry;

	do {
		/* Pairs with the hypervisor's barriers around the update flag. */
		entry = load_acquire(&r->state_entry_time);
		memcpy(out, r, sizeof(*out));
		smp_rmb();
	} while (entry & XEN_RUNSTATE_UPDATE || READ_ONCE(r->state_entry_time) != entry);
}

/* --- Ports --------------------------------------------------------------------------------------- */

#define WORDS_2L 64

/* 2-level: a word of pending bits is everybody's, and each vCPU takes those of its own ports only. */
static u64 mine[MAX_VCPUS][WORDS_2L];

static void own(s64 port, u32 owner)
{
	for (u32 cpu = 0; port > 0 && port < WORDS_2L * 64 && cpu < nr_vcpus; cpu++) {
		if (cpu == owner)
			atomic_fetch_or_full(&mine[cpu][port / 64], BIT(port % 64));
		else
			atomic_fetch_and_full(&mine[cpu][port / 64], ~BIT(port % 64));
	}
}

static s64 op(u32 cmd, void *arg)
{
	return xen_call(XEN_event_channel_op, cmd, (u64)arg, 0, 0);
}

s64 evtchn_ipi(u32 cpu)
{
	struct evtchn_bind_ipi a = { .vcpu = cpu };
	s64 err = op(EVTCHNOP_bind_ipi, &a);

	own(a.port, cpu);
	return err ? err : a.port;
}

s64 evtchn_virq(u32 virq, u32 cpu)
{
	struct evtchn_bind_virq a = { .virq = virq, .vcpu = cpu };
	s64 err = op(EVTCHNOP_bind_virq, &a);

	own(a.port, cpu);
	return err ? err : a.port;
}

s64 evtchn_loop(u32 *other)
{
	struct evtchn_alloc_unbound a = { .dom = DOMID_SELF, .remote_dom = DOMID_SELF };
	s64 err = op(EVTCHNOP_alloc_unbound, &a);
	struct evtchn_bind_interdomain b = { .remote_dom = DOMID_SELF, .remote_port = a.port };

	if (err)
		return err;
	*other = a.port;
	err = op(EVTCHNOP_bind_interdomain, &b);
	own(a.port, 0);
	own(b.local_port, 0);
	return err ? err : b.local_port;
}

s64 evtchn_close(u32 port)
{
	struct evtchn_close a = { port };

	return op(EVTCHNOP_close, &a);
}

s64 evtchn_send(u32 port)
{
	struct evtchn_send a = { port };

	return op(EVTCHNOP_send, &a);
}

s64 evtchn_move(u32 port, u32 cpu)
{
	struct evtchn_bind_vcpu a = { port, cpu };
	s64 err = op(EVTCHNOP_bind_vcpu, &a);

	if (!err)
		own(port, cpu);
	return err;
}

s64 evtchn_hyp_unmask(u32 port)
{
	struct evtchn_unmask a = { port };

	return op(EVTCHNOP_unmask, &a);
}

s64 evtchn_reset(void)
{
	struct evtchn_reset a = { DOMID_SELF };
	s64 err = op(EVTCHNOP_reset, &a);

	if (!err)
		evtchn_fifo = false;
	return err;
}

/* --- Words of the two ABIs ------------------------------------------------------------------------ */

#define WORDS_A_PAGE 1024
#define ARRAY_PAGES  8

static u32 array[ARRAY_PAGES * WORDS_A_PAGE] __aligned(4096);
static u8 controls[MAX_VCPUS][4096] __aligned(4096);
static u32 heads[MAX_VCPUS][EVTCHN_FIFO_PRIORITIES];
static u32 array_pages;

static struct evtchn_fifo_control *control_of(u32 cpu)
{
	return (void *)(controls[cpu] + 128 * (cpu % 8));
}

s64 evtchn_fifo_cpu(u32 cpu)
{
	struct evtchn_init_control a = {
		.control_gfn = (u64)control_of(cpu) >> 12,
		.offset = (u64)control_of(cpu) & 4095,
		.vcpu = cpu,
	};
	s64 err = op(EVTCHNOP_init_control, &a);

	if (!err)
		evtchn_fifo = true;
	return err ? err : a.link_bits == EVTCHN_FIFO_LINK_BITS ? 0 : -XEN_EINVAL;
}

s64 evtchn_fifo_pages(u32 ports)
{
	s64 err = 0;

	while (!err && array_pages * WORDS_A_PAGE < ports && array_pages < ARRAY_PAGES) {
		struct evtchn_expand_array a = { (u64)&array[array_pages * WORDS_A_PAGE] >> 12 };

		/* Masked until somebody wants them, as the 2-level words are. */
		for (u32 n = 0; n < WORDS_A_PAGE; n++)
			array[array_pages * WORDS_A_PAGE + n] = 1U << EVTCHN_FIFO_MASKED;
		err = op(EVTCHNOP_expand_array, &a);
		array_pages++;
	}
	return err;
}

void evtchn_move_pages(void (*move)(void *page))
{
	if (!evtchn_fifo)
		return;
	move(array);
	for (u32 cpu = 0; cpu < nr_vcpus; cpu++)
		move(controls[cpu]);
}

static u64 *pending_word(u32 port)
{
	return (u64 *)(xen_shared + XEN_EVTCHN_PENDING) + port / 64;
}

static u64 *mask_word(u32 port)
{
	return (u64 *)(xen_shared + XEN_EVTCHN_MASK) + port / 64;
}

void evtchn_mask(u32 port)
{
	if (evtchn_fifo)
		atomic_fetch_or_full(&array[port], 1U << EVTCHN_FIFO_MASKED);
	else
		atomic_fetch_or_full(mask_word(port), BIT(port % 64));
}

bool evtchn_is_masked(u32 port)
{
	return evtchn_fifo ? READ_ONCE(array[port]) >> EVTCHN_FIFO_MASKED & 1 :
			     READ_ONCE(*mask_word(port)) >> port % 64 & 1;
}

bool evtchn_is_pending(u32 port)
{
	return evtchn_fifo ? READ_ONCE(array[port]) >> EVTCHN_FIFO_PENDING & 1 :
			     READ_ONCE(*pending_word(port)) >> port % 64 & 1;
}

void evtchn_clear(u32 port)
{
	if (evtchn_fifo)
		atomic_fetch_and_full(&array[port], ~(1U << EVTCHN_FIFO_PENDING));
	else
		atomic_fetch_and_full(pending_word(port), ~BIT(port % 64));
}

/* BUSY: the hypervisor is linking, and counts on the mask to stay. */
static void fifo_clear_mask(u32 port)
{
	u32 old = READ_ONCE(array[port]);

	do {
		old &= ~(1U << EVTCHN_FIFO_BUSY);
	} while (!atomic_cmpxchg_full(&array[port], &old, old & ~(1U << EVTCHN_FIFO_MASKED)));
}

void evtchn_unmask(u32 port)
{
	if (evtchn_fifo)
		fifo_clear_mask(port);
	else
		atomic_fetch_and_full(mask_word(port), ~BIT(port % 64));
	/* An edge that came while it was masked has been lost. */
	if (!evtchn_is_pending(port))
		return;
	evtchn_mask(port);
	evtchn_hyp_unmask(port);
}

/* --- The upcall ----------------------------------------------------------------------------------- */

static void take(u32 port)
{
	evtchn_clear(port);
	if (evtchn_handler)
		evtchn_handler(port);
}

static void scan_word(u32 w)
{
	const u64 *ours = &mine[cpu_id()][w];
	u64 ready;

	while ((ready = READ_ONCE(*pending_word(w * 64)) & ~READ_ONCE(*mask_word(w * 64)) &
			READ_ONCE(*ours)))
		take(w * 64 + (u32)__builtin_ctzl(ready));
}

static void scan_2l(struct xen_vcpu_info *i)
{
	/* Full: pairs with the sender's, which sets pending before the selector. */
	u64 sel = atomic_xchg_full(&i->evtchn_pending_sel, 0UL);

	for (; sel; sel &= sel - 1)
		scan_word((u32)__builtin_ctzl(sel));
}

/* The first port's LINKED and LINK go at once; whoever raises it now appends it again. */
static u32 unlink(u32 port)
{
	u32 keep = ~(1U << EVTCHN_FIFO_LINKED | EVTCHN_FIFO_LINK_MASK), old = READ_ONCE(array[port]);

	while (!atomic_cmpxchg_full(&array[port], &old, old & keep))
		;
	return old & EVTCHN_FIFO_LINK_MASK;
}

/* One event of a queue; false: it is empty now. */
static bool consume(struct evtchn_fifo_control *c, u32 *head, u32 q)
{
	u32 port = head[q] ? head[q] : load_acquire(&c->head[q]); /* pairs with the linker's release */

	if (!port)
		return false;
	head[q] = unlink(port);
	if (!evtchn_is_masked(port) && evtchn_is_pending(port))
		take(port);
	return head[q];
}

static void scan_fifo(u32 cpu)
{
	struct evtchn_fifo_control *c = control_of(cpu);
	/* Full: pairs with the linker's, which links before it sets the bit. */
	u32 ready = atomic_xchg_full(&c->ready, 0U);

	while (ready) {
		u32 q = (u32)__builtin_ctz(ready);

		if (!consume(c, heads[cpu], q))
			ready &= ~(1U << q);
		ready |= atomic_xchg_full(&c->ready, 0U);
	}
}

void evtchn_upcall(u32 irq)
{
	struct xen_vcpu_info *i = xen_info[cpu_id()];

	while (atomic_xchg_full(&i->evtchn_upcall_pending, (u8)0)) {
		if (evtchn_fifo)
			scan_fifo(cpu_id());
		else
			scan_2l(i);
	}
}

/* --- Waiting -------------------------------------------------------------------------------------- */

s64 sched_block(void)
{
	return xen_call(XEN_sched_op, SCHEDOP_block, 0, 0, 0);
}

s64 sched_poll(u32 *ports, u32 count, u64 until)
{
	struct sched_poll p = { .ports = (u64)ports, .nr_ports = count, .timeout = until };

	return xen_call(XEN_sched_op, SCHEDOP_poll, (u64)&p, 0, 0);
}

s64 xen_timer(u32 cpu, u64 until, u32 flags)
{
	struct vcpu_set_singleshot_timer t = { .timeout = until, .flags = flags };

	return xen_call(XEN_vcpu_op, VCPUOP_set_singleshot_timer, cpu, (u64)&t, 0);
}

s64 xen_timer_stop(u32 cpu)
{
	return xen_call(XEN_vcpu_op, VCPUOP_stop_singleshot_timer, cpu, 0, 0);
}
