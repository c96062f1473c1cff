/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that a guest must not do with Xen's ABI, done: each misuse gets the ABI's error, and afterwards the
 * ABI works as before. Beside another VM (vm=hostile+pingpong) that one must not notice. rounds=N of the
 * storms, in which vCPUs work against each other.
 */
#include <arch_fault.h>
#include <hostile.h>
#include <xen.h>

#define PATIENCE_S 20
#define PORTS	   16
#define COMPLAINTS 4 /* of one test */

static u8 shared[4096] __aligned(4096), other[4096] __aligned(4096);
static u32 words[1024] __aligned(4096);
static struct evtchn_fifo_control control __aligned(4096);

static u32 wrong, events;
static bool stop;
static u32 ports[PORTS];

static void expect(const char *what, s64 got, s64 want)
{
	if (got == want)
		return;
	if (atomic_fetch_add_relaxed(&wrong, 1) < COMPLAINTS)
		print("# %s: %ld instead of %ld\n", what, (long)got, (long)want);
}

static void done(const char *what)
{
	report(!wrong, "%s", what);
	wrong = 0;
}

static s64 op(u32 cmd, void *arg)
{
	return xen_call(XEN_event_channel_op, cmd, (u64)arg, 0, 0);
}

static void on_upcall(u32 irq)
{
	evtchn_upcall(irq);
}

static void on_event(u32 port)
{
	atomic_fetch_add_relaxed(&events, 1);
}

static bool soon(const u32 *what, u32 least)
{
	u64 start = timer_now(TIMER_VIRT);

	while (READ_ONCE(*what) < least) {
		if (timer_now(TIMER_VIRT) - start > PATIENCE_S * timer_hz())
			return false;
		relax();
	}
	return true;
}

/* An event still goes all the way from a hypercall to the handler. */
static void still_works(const char *after)
{
	s64 port = evtchn_ipi(0);

	events = 0;
	irq_enable();
	expect("a port", port > 0, true);
	evtchn_unmask((u32)port);
	expect("send", evtchn_send((u32)port), 0);
	expect("the event comes", soon(&events, 1), true);
	irq_disable();
	expect("close", evtchn_close((u32)port), 0);
	done(after);
}

/* --- Arguments ------------------------------------------------------------------------------------ */

static void bad_numbers(void)
{
	static const u32 calls[] = { XEN_memory_op, XEN_version,	  XEN_console_io,
				     XEN_sched_op,  XEN_event_channel_op, XEN_hvm_op };

	for (u32 nr = 48; nr < 56; nr++) /* an architecture's own, which none has here */
		expect("hypercall 48 to 55", xen_call_raw(nr, 0, 0, 0, 0), -XEN_ENOSYS);
	for (u32 i = 0; i < ARRAY_SIZE(calls); i++)
		expect("command 99", xen_call(calls[i], 99, (u64)other, (u64)other, 0), -XEN_ENOSYS);
	expect("vcpu_op 99", xen_call(XEN_vcpu_op, 99, 0, 0, 0), -XEN_ENOSYS);
	expect("vCPU 999", xen_call(XEN_vcpu_op, VCPUOP_is_up, 999, 0, 0), -XEN_ENOENT);
	done("numbers that mean nothing");
}

/* Every call that takes a pointer, with a bad one. */
static void bad_pointer(u64 p)
{
	static const u32 cmds[] = { EVTCHNOP_send,  EVTCHNOP_status, EVTCHNOP_bind_ipi,
				    EVTCHNOP_close, EVTCHNOP_reset,  EVTCHNOP_init_control };
	struct sched_poll poll = { .ports = p, .nr_ports = 4 };

	for (u32 i = 0; i < ARRAY_SIZE(cmds); i++)
		expect("event channel", op(cmds[i], (void *)p), -XEN_EFAULT);
	expect("memory", xen_call(XEN_memory_op, XENMEM_add_to_physmap, p, 0, 0), -XEN_EFAULT);
	expect("version", xen_call(XEN_version, XENVER_get_features, p, 0, 0), -XEN_EFAULT);
	expect("hvm", xen_call(XEN_hvm_op, HVMOP_set_param, p, 0, 0), -XEN_EFAULT);
	expect("poll", xen_call(XEN_sched_op, SCHEDOP_poll, p, 0, 0), -XEN_EFAULT);
	expect("polled ports", xen_call(XEN_sched_op, SCHEDOP_poll, (u64)&poll, 0, 0), -XEN_EFAULT);
	expect("console", xen_call(XEN_console_io, 0, 8, p, 0), -XEN_EFAULT);
	for (u32 cmd = VCPUOP_get_runstate_info; cmd <= VCPUOP_register_vcpu_info; cmd++) {
		if (cmd != VCPUOP_stop_periodic_timer && cmd != VCPUOP_stop_singleshot_timer)
			expect("vCPU", xen_call(XEN_vcpu_op, cmd, xen_id(), p, 0), -XEN_EFAULT);
	}
}

static void bad_pointers(void)
{
	u64 end = ram_base + ram_size;
	const u64 bad[] = { end,      end - 1,	FAULT_WILD, FAULT_HOLE, FAULT_UNMAPPED,
			    ~0UL - 2, 1UL << 63 };

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++)
		bad_pointer(bad[i]);
	expect("an answer into a ROM",
	       xen_call(XEN_vcpu_op, VCPUOP_get_runstate_info, 0, FAULT_ROM, 0), -XEN_EFAULT);
	done("arguments outside memory, at its end, around the end of all addresses");
}

/* --- Ports ---------------------------------------------------------------------------------------- */

static void bad_ports(void)
{
	static const u32 bad[] = { 0, 4095, 4096, 131071, 131072, 0x7fffffff, 0xffffffff };

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		struct evtchn_bind_vcpu move = { bad[i], 0 };

		expect("send", evtchn_send(bad[i]), -XEN_EINVAL);
		expect("close", evtchn_close(bad[i]), -XEN_EINVAL);
		expect("unmask", evtchn_hyp_unmask(bad[i]), -XEN_EINVAL);
		expect("move", op(EVTCHNOP_bind_vcpu, &move), -XEN_EINVAL);
	}
	expect("IPI of vCPU 999", evtchn_ipi(999), -XEN_ENOENT);
	expect("VIRQ of vCPU 999", evtchn_virq(VIRQ_TIMER, 999), -XEN_ENOENT);
	expect("VIRQ 99", evtchn_virq(99, 0), -XEN_EINVAL);
	expect("global VIRQ of vCPU 1", evtchn_virq(VIRQ_CONSOLE, 1), -XEN_EINVAL);
	done("ports, vCPUs and VIRQs that are not there");
}

static void others_ports(void)
{
	static const u16 doms[] = { 0, 999, 0x7ff1, 0xffff };

	for (u32 i = 0; i < ARRAY_SIZE(doms); i++) {
		struct evtchn_bind_interdomain bind = { .remote_dom = doms[i], .remote_port = 1 };
		struct evtchn_status status = { .dom = doms[i], .port = 1 };
		struct evtchn_reset reset = { doms[i] };

		expect("bind to another", op(EVTCHNOP_bind_interdomain, &bind), -XEN_ESRCH);
		expect("status of another", op(EVTCHNOP_status, &status), -XEN_ESRCH);
		expect("reset of another", op(EVTCHNOP_reset, &reset), -XEN_ESRCH);
	}
	done("ports of others");
}

/* A port that exists, used in ways that its kind does not have. */
static void misused_ports(void)
{
	s64 ipi = evtchn_ipi(0), timer = evtchn_virq(VIRQ_TIMER, 0);
	struct evtchn_bind_interdomain bind = { .remote_dom = DOMID_SELF, .remote_port = (u32)ipi };
	struct evtchn_set_priority prio = { (u32)ipi, 99 };

	expect("an IPI moves", evtchn_move((u32)ipi, 1), -XEN_EINVAL);
	expect("a timer moves", evtchn_move((u32)timer, 1), -XEN_EINVAL);
	expect("a timer is sent", evtchn_send((u32)timer), -XEN_EINVAL);
	expect("a second timer", evtchn_virq(VIRQ_TIMER, 0), -XEN_EEXIST);
	expect("an IPI is bound to", op(EVTCHNOP_bind_interdomain, &bind), -XEN_EINVAL);
	expect("priority 99", op(EVTCHNOP_set_priority, &prio), -XEN_EINVAL);
	expect("close", evtchn_close((u32)timer), 0);
	expect("close", evtchn_close((u32)ipi), 0);
	expect("close again", evtchn_close((u32)ipi), -XEN_EINVAL);
	done("ports misused");
}

/* --- Pages ---------------------------------------------------------------------------------------- */

static s64 map_shared(u32 space, u64 gfn)
{
	struct xen_add_to_physmap a = { .domid = DOMID_SELF, .space = space, .gpfn = gfn };

	return xen_call(XEN_memory_op, XENMEM_add_to_physmap, (u64)&a, 0, 0);
}

static s64 info_at(u64 gfn, u32 offset)
{
	struct vcpu_register_vcpu_info r = { .mfn = gfn, .offset = offset };

	return xen_call(XEN_vcpu_op, VCPUOP_register_vcpu_info, 0, (u64)&r, 0);
}

static s64 control_at(u64 gfn, u32 offset)
{
	struct evtchn_init_control a = { .control_gfn = gfn, .offset = offset, .vcpu = 0 };

	return op(EVTCHNOP_init_control, &a);
}

static void bad_pages(void)
{
	struct evtchn_expand_array early = { (u64)words >> 12 };
	u64 good = (u64)other >> 12;

	expect("space 99", map_shared(99, good), -XEN_EINVAL);
	expect("shared_info nowhere", map_shared(XENMAPSPACE_shared_info, ~0UL), -XEN_EINVAL);
	expect("shared_info in a device", map_shared(XENMAPSPACE_shared_info, FAULT_DEVICE >> 12),
	       -XEN_EINVAL);
	expect("vcpu_info over a page's end", info_at(good, 4096 - 8), -XEN_EINVAL);
	expect("vcpu_info misaligned", info_at(good, 3), -XEN_EINVAL);
	expect("vcpu_info nowhere", info_at(FAULT_WILD >> 12, 0), -XEN_EINVAL);
	expect("vcpu_info beyond all", info_at(~0UL, 0), -XEN_EINVAL);
	expect("vcpu_info in a ROM", info_at(FAULT_ROM >> 12, 64), -XEN_EINVAL);
	expect("control over a page's end", control_at(good, 4096 - 64), -XEN_EINVAL);
	expect("control misaligned", control_at(good, 4), -XEN_EINVAL);
	expect("control nowhere", control_at(FAULT_WILD >> 12, 0), -XEN_EINVAL);
	expect("control in a ROM", control_at(FAULT_ROM >> 12, 0), -XEN_EINVAL);
	expect("array without control", op(EVTCHNOP_expand_array, &early), -XEN_EOPNOTSUPP);
	done("pages that can't be shared");
}

/* --- Against each other --------------------------------------------------------------------------- */

static u64 random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void until_stopped(u32 cpu, void (*fn)(u64 r))
{
	u64 state = cpu * 0x9e3779b97f4a7c15;

	/* Pairs with the release in storm(). */
	while (!load_acquire(&stop))
		fn(random(&state));
}

static void storm(void (*them)(u32 cpu), void (*me)(u32 round))
{
	u32 rounds = cmdline_u64("rounds", 200);

	WRITE_ONCE(stop, false);
	for (u32 cpu = 1; cpu < nr_vcpus; cpu++)
		smp_post(cpu, them);
	for (u32 i = 0; i < rounds; i++)
		me(i);
	store_release(&stop, true); /* pairs with the acquire in until_stopped() */
	for (u32 cpu = 1; cpu < nr_vcpus; cpu++)
		smp_wait(cpu);
	irq_disable();
}

static void send_any(u64 r)
{
	s64 err = evtchn_send(READ_ONCE(ports[r % PORTS]));

	if (err && err != -XEN_EINVAL)
		expect("send", err, 0);
}

static void send_all_the_time(u32 cpu)
{
	until_stopped(cpu, send_any);
}

static void bind_all(void)
{
	for (u32 i = 0; i < PORTS; i++) {
		s64 port = evtchn_ipi(i % nr_vcpus);

		expect("a port", port > 0, true);
		WRITE_ONCE(ports[i], (u32)port);
	}
}

static void reset_and_bind(u32 round)
{
	expect("reset", evtchn_reset(), 0);
	bind_all();
}

static void reset_against_send(void)
{
	bind_all();
	storm(send_all_the_time, reset_and_bind);
	expect("reset", evtchn_reset(), 0);
	still_works("reset against send");
}

/* What the hypervisor links through, made anything. */
static void scribble(u64 r)
{
	u32 *at = r & 64 ? &words[ports[r % PORTS]] : &control.head[r % EVTCHN_FIFO_PRIORITIES];

	if (r & 128)
		WRITE_ONCE(control.ready, (u32)(r >> 32));
	WRITE_ONCE(*at, (u32)(r >> 16));
}

static void scribble_or_send(u32 cpu)
{
	until_stopped(cpu, cpu == 1 ? scribble : send_any);
}

static void send_all(u32 round)
{
	for (u32 i = 0; i < PORTS; i++) {
		struct evtchn_set_priority prio = { ports[i], (round + i) % EVTCHN_FIFO_PRIORITIES };

		send_any(i);
		expect("priority", op(EVTCHNOP_set_priority, &prio), 0);
	}
}

static void fifo_scribbled(void)
{
	struct evtchn_expand_array page = { (u64)words >> 12 };

	expect("control", control_at((u64)&control >> 12, 0), 0);
	expect("array", op(EVTCHNOP_expand_array, &page), 0);
	bind_all();
	storm(scribble_or_send, send_all);
	expect("reset", evtchn_reset(), 0);
	memset(words, 0, sizeof(words));
	memset(&control, 0, sizeof(control));
	still_works("event words and heads rewritten while the hypervisor links");
}

/* A port of one's own, masked: it must be pending after every send, wherever the page is just then. */
static void send_and_look(u32 cpu)
{
	u32 port = ports[cpu];

	/* Pairs with the release in storm(). */
	while (!load_acquire(&stop)) {
		u64 start = timer_now(TIMER_VIRT);

		evtchn_clear(port);
		expect("send", evtchn_send(port), 0);
		while (!evtchn_is_pending(port) &&
		       timer_now(TIMER_VIRT) - start < PATIENCE_S * timer_hz())
			relax();
		expect("an event is there", evtchn_is_pending(port), true);
		atomic_fetch_add_relaxed(&events, 1);
	}
}

/* By a CPU of the hypervisor, until there are none left. Each move stops every vCPU: a few will do. */
static void move_pages(u32 round)
{
	u64 page = (u64)xen_shared;
	s64 err;

	if (round % 16)
		return;
	while ((err = (s64)hc(HC_MEMORY, HC_MEMORY_STORM, page, 4)) == -XEN_EBUSY)
		relax(); /* the one before is not quite over */
	expect("page moves", err, 0);
	while ((s64)hc(HC_MEMORY, HC_MEMORY_STORM, page, 0) > 0)
		relax();
	expect("shared_info elsewhere", xen_map_shared(xen_shared == shared ? other : shared), 0);
}

static void pages_move(void)
{
	bind_all();
	for (u32 i = 0; i < PORTS; i++)
		evtchn_mask(ports[i]);
	events = 0;
	storm(send_and_look, move_pages);
	expect("events while pages move", events > 0, true);
	expect("reset", evtchn_reset(), 0);
	still_works("shared_info moves while events are sent");
}

int guest_main(void)
{
	if (bare || !xen_find()) {
		skip("there is no Xen");
		return 0;
	}
	smp_start();
	irq_disable();
	evtchn_handler = on_event;
	expect("shared_info", xen_map_shared(shared), 0);
	expect("upcalls", xen_route_upcalls(XEN_ROUTE_SHARED, on_upcall), 0);
	bad_numbers();
	bad_pointers();
	bad_ports();
	others_ports();
	misused_ports();
	bad_pages();
	report(hostile_user_call(), "user mode's hypercall is refused");
	still_works("after all that");
	reset_against_send();
	fifo_scribbled();
	pages_move();
	return 0;
}
