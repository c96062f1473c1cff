/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen's shared pages and event channels as a guest sees them: the steps of KVM's xen_shinfo_test, as far as
 * a guest can take them by itself. What user space does there through ioctls is done here by the hypervisor
 * on request (HC_EVTCHN, HC_MEMORY), or by the nearest call of the ABI; the step says so.
 *
 * Words: abi=fifo (default 2l), route=own (a vector a vCPU, x86), info=legacy (vcpu_info in shared_info),
 * wfi=native (as the VM has it).
 */
#include <xen.h>

#define PORTS				 4096
#define PATIENCE_MS			 10000
#define VMASST_enable			 0
#define VMASST_TYPE_runstate_update_flag 5

struct cpu {
	u32 ipi, timer; /* ports of this vCPU */
	u32 near, far; /* a channel to ourselves: what is sent into `far` comes out of `near` */
	u32 upcalls;
	u32 once_more; /* sent to at the end of the next upcall, before that is over; 0 = none */
	bool timed_out;
} __cacheline_aligned;

static struct cpu cpus[MAX_VCPUS];
static u32 count[PORTS], taken_by[PORTS];
static u8 page_a[4096] __aligned(4096), page_b[4096] __aligned(4096);
static u8 infos[MAX_VCPUS][XEN_VCPU_INFO_SIZE] __aligned(4096);
static struct vcpu_runstate_info run[MAX_VCPUS] __aligned(64);
static bool legacy, fifo;
static enum xen_route route;
static u32 bad; /* of the step that runs */

#define expect(cond, fmt, ...)                                                   \
	do {                                                                     \
		if (!(cond)) {                                                   \
			atomic_fetch_add_relaxed(&bad, 1);                       \
			report(false, "vCPU %u: " fmt, cpu_id(), ##__VA_ARGS__); \
		}                                                                \
	} while (0)

/* --- Taking events -------------------------------------------------------------------------------- */

static void took(u32 port)
{
	if (port >= PORTS)
		return;
	WRITE_ONCE(taken_by[port], cpu_id());
	WRITE_ONCE(count[port], count[port] + 1);
}

static void upcall(u32 irq)
{
	struct cpu *c = &cpus[cpu_id()];

	WRITE_ONCE(c->upcalls, c->upcalls + 1);
	evtchn_upcall(irq);
	if (c->once_more) {
		u32 port = c->once_more;

		c->once_more = 0;
		evtchn_send(port);
	}
}

static void patience_is_over(u32 irq)
{
	WRITE_ONCE(cpus[cpu_id()].timed_out, true);
}

static u64 patience(void)
{
	return timer_now(TIMER_VIRT) + ms_to_ticks(PATIENCE_MS);
}

/* Spin, without an exit of our own, until `cond`; false: it never came. */
#define await(cond)                                               \
	({                                                        \
		u64 until_ = patience();                          \
		while (!(cond) && timer_now(TIMER_VIRT) < until_) \
			cpu_pause();                              \
		(cond);                                           \
	})

/* The same asleep, and only an interrupt ends that. */
#define await_asleep(cond)                               \
	({                                               \
		bool *late_ = &cpus[cpu_id()].timed_out; \
		timer_set(TIMER_VIRT, patience());       \
		irq_disable();                           \
		while (!(cond) && !READ_ONCE(*late_))    \
			cpu_sleep();                     \
		irq_enable();                            \
		timer_stop(TIMER_VIRT);                  \
		*late_ = false;                          \
		(cond);                                  \
	})

static u32 got(u32 port)
{
	return READ_ONCE(count[port]);
}

static u32 upcalls(void)
{
	return READ_ONCE(cpus[cpu_id()].upcalls);
}

/* Raised by the hypervisor, from an interrupt of its own. */
static void raise(u32 port, u64 ns)
{
	s64 err = (s64)hc(HC_EVTCHN, port, ns, 0);

	expect(!err, "HC_EVTCHN of port %u: %ld", port, err);
}

/* --- Runstate ------------------------------------------------------------------------------------- */

static void check_runstate(u32 cpu)
{
	struct vcpu_runstate_info r, now;
	u64 sum;

	xen_read_runstate(&run[cpu], &r);
	sum = r.time[0] + r.time[1] + r.time[2] + r.time[3];
	expect(sum == (r.state_entry_time & ~XEN_RUNSTATE_UPDATE),
	       "times add up to %lu, not to %lu", sum, r.state_entry_time);
	expect(r.state == RUNSTATE_running, "it runs, and its state is %u", r.state);
	expect(!xen_runstate(xen_id(), &now), "get_runstate_info refused");
	expect(now.time[0] + now.time[1] + now.time[2] + now.time[3] >= sum,
	       "states went back in time");
}

static void (*step_fn)(u32 cpu);

static void run_step(u32 cpu)
{
	step_fn(cpu);
	check_runstate(cpu);
}

/* On every vCPU at once. */
static void step(const char *name, void (*fn)(u32 cpu))
{
	bad = 0;
	step_fn = fn;
	smp_run(run_step);
	report(!READ_ONCE(bad), "%s", name);
}

/* On vCPU 0 only, the others asleep. */
static void step_alone(const char *name, void (*fn)(u32 cpu))
{
	bad = 0;
	irq_enable();
	fn(0);
	check_runstate(0);
	report(!READ_ONCE(bad), "%s", name);
}

/* --- Setting up ----------------------------------------------------------------------------------- */

static void register_runstate(u32 cpu)
{
	u64 at = (u64)&run[cpu];
	s64 err = xen_call(XEN_vcpu_op, VCPUOP_register_runstate_area, cpu, (u64)&at, 0);

	expect(!err, "runstate area of vCPU %u: %ld", cpu, err);
}

static void bind_ports(u32 cpu)
{
	struct cpu *c = &cpus[cpu];
	s64 ipi = evtchn_ipi(cpu), timer = evtchn_virq(VIRQ_TIMER, cpu), near = evtchn_loop(&c->far);
	u32 n = 0;

	expect(ipi > 0 && timer > 0 && near > 0, "ports %ld, %ld, %ld", ipi, timer, near);
	c->ipi = ipi;
	c->timer = timer;
	c->near = near;
	n = got(c->near);
	expect(!evtchn_move(c->near, cpu), "bind_vcpu refused");
	for (u32 i = 0; i < 4; i++) {
		u32 port = (u32[]){ c->ipi, c->timer, c->near, c->far }[i];

		evtchn_unmask(port);
	}
	/* Binding an interdomain channel raises it once, so that no event of before is lost. */
	expect(await(got(c->near) > n), "the new channel was never raised");
}

static void set_up_cpu(u32 cpu)
{
	s64 err;

	timer_request(TIMER_VIRT, patience_is_over);
	expect(xen_id() == cpu, "Xen calls it %u", xen_id());
	register_runstate(cpu);
	if (!legacy || cpu >= XEN_LEGACY_VCPUS) {
		err = xen_register_vcpu_info(cpu, infos[cpu]);
		expect(!err, "register_vcpu_info: %ld", err);
		expect(xen_register_vcpu_info(cpu, infos[cpu]) < 0, "a second vcpu_info was taken");
	}
	if (fifo && cpu) {
		err = evtchn_fifo_cpu(cpu);
		expect(!err, "init_control: %ld", err);
	}
	err = xen_route_upcalls(route, upcall);
	expect(!err, "upcalls can't be routed: %ld", err);
	irq_enable();
}

static struct rendezvous all;

static void set_up(u32 cpu)
{
	set_up_cpu(cpu);
	meet(&all, nr_vcpus);
	bind_ports(cpu);
}

/* A vCPU that was never on. */
static void offline(u32 cpu)
{
	if (nr_vcpus == 1)
		return;
	register_runstate(1);
	expect(await(READ_ONCE(run[1].state) == RUNSTATE_offline), "its state is %u", run[1].state);
}

/* What was raised before the guest had a page for it is there when it has. */
static void map_shared(u32 cpu)
{
	s64 port = evtchn_ipi(0), err;

	expect(port > 0, "bind_ipi: %ld", port);
	expect(!evtchn_send(port), "send refused");
	memset(page_a, 0xff, sizeof(page_a));
	err = xen_map_shared(page_a);
	expect(!err, "add_to_physmap: %ld", err);
	memset(xen_shared + XEN_EVTCHN_MASK, 0xff, PORTS / 8); /* as guests begin */
	expect(evtchn_is_pending(port), "an event of before the page is gone");
	err = xen_map_shared(page_b);
	expect(!err, "add_to_physmap elsewhere: %ld", err);
	expect(evtchn_is_pending(port), "an event was left behind");
	expect(!evtchn_close(port), "close refused");
	err = xen_map_shared(page_a);
	expect(!err && !evtchn_is_pending(port), "close left its port pending");
	err = xen_call(XEN_vm_assist, VMASST_enable, VMASST_TYPE_runstate_update_flag, 0, 0);
	expect(!err, "vm_assist: %ld", err);
}

/* --- Upcalls -------------------------------------------------------------------------------------- */

/* Step 0: the flag alone, set by the guest itself. Where upcalls are edges nobody would see that. */
static void raw_upcall(u32 cpu)
{
	u32 before = upcalls();

	if (!xen_route_is_level() || route != XEN_ROUTE_SHARED)
		return;
	WRITE_ONCE(xen_info[cpu]->evtchn_upcall_pending, 1);
	expect(await_asleep(upcalls() > before), "no upcall");
}

static void masked(u32 cpu)
{
	u32 port = cpus[cpu].ipi, n = got(port), up = upcalls();

	evtchn_mask(port);
	raise(port, 0);
	expect(await(evtchn_is_pending(port)), "a masked port was not marked");
	spin_ticks(us_to_ticks(500));
	hc(HC_NULL, 0, 0, 0);
	expect(upcalls() == up && got(port) == n, "a masked port made an upcall");
	evtchn_unmask(port);
	expect(await(got(port) == n + 1), "an event of before the unmask is lost");
	expect(!evtchn_is_pending(port), "it is still pending");
}

static void unmasked(u32 cpu)
{
	u32 port = cpus[cpu].ipi;

	for (u32 i = 0; i < 8 && !bad; i++) {
		u32 n = got(port);

		raise(port, i * 5000);
		expect(await(got(port) == n + 1), "event %u did not come", i);
	}
	expect(READ_ONCE(taken_by[port]) == cpu, "vCPU %u took it", taken_by[port]);
}

/* What comes when the handler has looked for the last time, and its interrupt is still being served. */
static void upcall_again(u32 cpu)
{
	u32 port = cpus[cpu].ipi, n = got(port);

	cpus[cpu].once_more = port;
	expect(!evtchn_send(port), "send refused");
	expect(await(got(port) == n + 2), "%u of 2 events came", got(port) - n);
}

static void asleep(u32 cpu)
{
	u32 port = cpus[cpu].ipi;

	for (u32 i = 0; i < 8 && !bad; i++) {
		u32 n = got(port);

		raise(port, 20000 + i * 50000);
		expect(await_asleep(got(port) > n), "event %u did not end a sleep", i);
	}
}

/* Nothing comes while interrupts are off, however often the hypervisor is entered; then it comes at once. */
static void interrupts_off(u32 cpu)
{
	u32 port = cpus[cpu].ipi, n = got(port), up;

	irq_disable();
	up = upcalls();
	raise(port, 0);
	expect(await(evtchn_is_pending(port)), "not marked");
	for (u32 i = 0; i < 50; i++)
		hc(HC_NULL, 0, 0, 0);
	hc(HC_LEAVE, 0, 0, 0);
	expect(upcalls() == up, "an upcall with interrupts off");
	irq_enable();
	expect(await(got(port) == n + 1), "no upcall with interrupts on again");
}

/* --- Sending -------------------------------------------------------------------------------------- */

static void send_to_self(u32 cpu)
{
	for (u32 i = 0; i < 30 && !bad; i++) {
		u32 n = got(cpus[cpu].ipi);

		expect(!evtchn_send(cpus[cpu].ipi), "send refused");
		expect(await(got(cpus[cpu].ipi) == n + 1), "event %u did not come", i);
	}
}

/* Step 11: the port is retargeted, and what is sent goes to the new vCPU. */
static void retargeted(u32 cpu)
{
	struct cpu *c = &cpus[cpu];

	for (u32 i = 0; i < nr_vcpus; i++) {
		u32 to = (cpu + i) % nr_vcpus, n = got(c->near);

		expect(!evtchn_move(c->near, to), "bind_vcpu refused");
		expect(!evtchn_send(c->far), "send refused");
		/* Not asleep: its interrupt is another vCPU's. Relaxed: they may share a CPU. */
		for (u64 until = patience(); got(c->near) == n && timer_now(TIMER_VIRT) < until;)
			relax();
		expect(got(c->near) == n + 1 && READ_ONCE(taken_by[c->near]) == to,
		       "sent to vCPU %u: %u events, taken by %u", to, got(c->near) - n,
		       taken_by[c->near]);
	}
	expect(!evtchn_move(c->near, cpu), "bind_vcpu refused");
}

/* Step 12 goes to an eventfd; what comes nearest is the other end of a channel, in both directions. */
static void both_ends(u32 cpu)
{
	struct cpu *c = &cpus[cpu];
	u32 far = got(c->far);

	expect(!evtchn_move(c->far, cpu), "bind_vcpu refused");
	expect(!evtchn_send(c->near), "send refused");
	expect(await(got(c->far) == far + 1), "nothing came out of the far end");
}

static void bad_ports(u32 cpu)
{
	expect(evtchn_send(0) == -XEN_EINVAL, "port 0 may be sent to");
	expect(evtchn_send(PORTS * 64) == -XEN_EINVAL, "a port beyond all is there");
	expect(evtchn_move(cpus[cpu].ipi, 0) == -XEN_EINVAL, "an IPI's port may be moved");
	expect(evtchn_virq(VIRQ_TIMER, cpu) == -XEN_EEXIST, "the timer may be bound twice");
}

/* --- Time ----------------------------------------------------------------------------------------- */

static void timer_fires(u32 cpu)
{
	u32 port = cpus[cpu].timer, n = got(port);
	u64 until = xen_now() + 20000000;

	expect(!xen_timer(cpu, until, 0), "set_singleshot_timer refused");
	expect(await_asleep(got(port) > n), "no tick");
	expect(xen_now() >= until, "it came %lu ns early", until - xen_now());
	until = xen_now() + 3000000;
	expect(!xen_call(XEN_set_timer_op, until, 0, 0, 0), "set_timer_op refused");
	expect(await(got(port) > n + 1), "no second tick");
	expect(xen_now() >= until, "it came %lu ns early", until - xen_now());
}

/* Steps 14 and 15 save and restore it; here its vCPU goes to another CPU meanwhile, and its page too. */
static void timer_moves(u32 cpu)
{
	u32 port = cpus[cpu].timer, n = got(port);

	expect(!xen_timer(cpu, xen_now() + 10000000, 0), "set_singleshot_timer refused");
	hc(HC_MIGRATE, 1, 0, 0);
	hc(HC_MEMORY, HC_MEMORY_MOVE_PAGE, (u64)xen_info[cpu] & ~4095UL, 0);
	expect(await_asleep(got(port) > n), "no tick");
	expect(got(port) == n + 1, "%u ticks", got(port) - n);
}

/* Stopped in time: whoever was off its CPU for so long tries again. */
static void timer_stops(u32 cpu)
{
	u32 port = cpus[cpu].timer, n;
	u64 until;

	for (u32 tries = 0; tries < 20; tries++) {
		until = xen_now() + 10000000;
		n = got(port);
		expect(!xen_timer(cpu, until, 0), "set_singleshot_timer refused");
		expect(!xen_timer_stop(cpu), "stop_singleshot_timer refused");
		if (xen_now() >= until)
			continue;
		while (xen_now() < until + 1000000)
			cpu_pause();
		expect(got(port) == n, "a stopped timer fired");
		return;
	}
}

static void timer_expired(u32 cpu)
{
	u32 port = cpus[cpu].timer, n = got(port);

	expect(!xen_timer(cpu, 1, 0), "a deadline of long ago refused");
	expect(await(got(port) == n + 1), "no tick");
	expect(xen_timer(cpu, 1, VCPU_SSHOTTMR_future) == -XEN_ETIME, "and accepted as future");
	spin_ticks(us_to_ticks(200));
	expect(got(port) == n + 1, "which ticked");
}

static void clock_is_steady(u32 cpu)
{
	u64 t0 = timer_now(TIMER_VIRT), start = xen_now(), last = start, ticks;

	for (u32 i = 0; i < 200; i++) {
		u64 now = xen_now();

		expect(now >= last, "time went back by %lu", last - now);
		last = now;
		if (i % 50 == 25)
			hc(HC_LEAVE, 0, 0, 0);
	}
	spin_ticks(ms_to_ticks(2));
	last = xen_now();
	ticks = timer_now(TIMER_VIRT) - t0;
	expect(last - start <= ticks * 1000 / (timer_hz() / 1000000) + 1000 && last - start >= 2000000,
	       "%lu ns in %lu ticks", last - start, ticks);
}

/* --- Polling -------------------------------------------------------------------------------------- */

static void poll_pending(u32 cpu)
{
	u32 port = cpus[cpu].ipi, n = got(port);

	evtchn_mask(port);
	expect(!evtchn_send(port), "send refused");
	expect(!sched_poll(&port, 1, 0), "poll refused"); /* for ever, if it does not see it */
	expect(evtchn_is_pending(port) && got(port) == n, "poll took the event");
	evtchn_clear(port);
	evtchn_unmask(port);
}

/* Any interrupt ends a poll, and the end of another's step is an IPI: let those of before be taken. */
static void settle(void)
{
	meet(&all, nr_vcpus);
	relax();
}

static void poll_timeout(u32 cpu)
{
	u32 port = cpus[cpu].ipi;
	u64 until;

	settle();
	until = xen_now() + 5000000;
	expect(!sched_poll(&port, 1, until), "poll refused");
	expect(xen_now() >= until, "poll ended %lu ns early", until - xen_now());
	expect(!evtchn_is_pending(port), "pending");
	meet(&all, nr_vcpus);
}

static void poll_masked(u32 cpu)
{
	u32 port = cpus[cpu].timer, n = got(port), up;
	u64 until;

	settle();
	up = upcalls();
	until = xen_now() + 5000000;
	evtchn_mask(port);
	expect(!xen_timer(cpu, until, 0), "set_singleshot_timer refused");
	expect(!sched_poll(&port, 1, 0), "poll refused");
	expect(evtchn_is_pending(port) && xen_now() >= until, "poll ended without its event");
	expect(got(port) == n && upcalls() == up, "a masked port made an upcall");
	evtchn_clear(port);
	evtchn_unmask(port);
	meet(&all, nr_vcpus);
}

/* The port that is polled stays silent; an upcall by another one ends the poll. */
static void poll_other(u32 cpu)
{
	u32 port = cpus[cpu].ipi, n = got(cpus[cpu].timer);

	expect(!xen_timer(cpu, xen_now() + 5000000, 0), "set_singleshot_timer refused");
	expect(!sched_poll(&port, 1, xen_now() + PATIENCE_MS * 1000000UL), "poll refused");
	expect(await(got(cpus[cpu].timer) == n + 1), "poll ended without the other's upcall");
	expect(!evtchn_is_pending(port), "pending");
}

static void poll_bad(u32 cpu)
{
	u32 port = PORTS * 64;

	expect(sched_poll(&port, 1, 0) == -XEN_EINVAL, "a port beyond all may be polled");
}

static void blocks(u32 cpu)
{
	u32 port = cpus[cpu].ipi, n = got(port);

	/* The event may come before it sleeps: then the timer ends that. */
	expect(!xen_timer(cpu, xen_now() + 1000000000, 0), "set_singleshot_timer refused");
	raise(port, 2000000);
	expect(!sched_block(), "block refused");
	expect(await(got(port) > n), "it ended without its event");
	expect(!xen_timer_stop(cpu), "stop_singleshot_timer refused");
}

/* --- Memory that moves ---------------------------------------------------------------------------- */

static void move_page(void *page)
{
	s64 err = (s64)hc(HC_MEMORY, HC_MEMORY_MOVE_PAGE, (u64)page & ~4095UL, 0);

	expect(!err, "page move: %ld", err);
}

static void one_of_each(u32 cpu)
{
	u32 port = cpus[cpu].ipi, n = got(port);

	raise(port, 0);
	expect(await(got(port) == n + 1), "none from the hypervisor");
	expect(!evtchn_send(port), "send refused");
	expect(await(got(port) == n + 2), "none by send");
}

/* Step 9. The whole RAM begins a dirty log and ends it: two generations. */
static void change_slots(u32 cpu)
{
	s64 err = (s64)hc(HC_MEMORY, HC_MEMORY_FLAGS, ram_base, 2);

	expect(!err, "dirty log on: %ld", err);
	one_of_each(cpu);
	expect((s64)hc(HC_MEMORY, HC_MEMORY_DIRTY, ram_base, 0) > 0, "an event left no page dirty");
	err = (s64)hc(HC_MEMORY, HC_MEMORY_FLAGS, ram_base, 0);
	expect(!err, "dirty log off: %ld", err);
	one_of_each(cpu);
}

static void move_pages(u32 cpu)
{
	move_page(xen_shared);
	move_page(infos);
	move_page(run);
	evtchn_move_pages(move_page);
}

/* Step 21 and on: what delivers must never see a page that is no longer the guest's, nor lose an event. */
static bool racing;

static void race_deliveries(u32 cpu)
{
	u32 port = cpus[cpu].ipi, sent = 0;

	while (load_acquire(&racing)) { /* pairs with the release in race() */
		u32 n = got(port);

		if (sent++ % 4)
			expect(!evtchn_send(port), "send refused");
		else
			raise(port, sent % 3 * 1000);
		if (!await(got(port) > n)) {
			expect(false, "event %u is lost", sent);
			return;
		}
	}
}

static void (*race_with)(u32 round);
static u32 race_rounds;

static void race_cpu(u32 cpu)
{
	if (cpu) {
		race_deliveries(cpu);
		return;
	}
	for (u32 i = 0; i < race_rounds && !bad; i++) {
		race_with(i);
		if (i % 8 == 0)
			one_of_each(0);
	}
	store_release(&racing, false); /* pairs with the acquire in race_deliveries() */
}

static void race(const char *name, u32 rounds, void (*with)(u32 round))
{
	race_with = with;
	race_rounds = rounds;
	racing = true;
	step(name, race_cpu);
}

/* Taken away and given back where it is: KVM's test makes its cache inactive and active again. */
static void remap(u32 round)
{
	s64 err = xen_map_shared(xen_shared);

	expect(!err, "add_to_physmap: %ld", err);
}

static void move_round(u32 round)
{
	move_pages(0);
}

static void slots_round(u32 round)
{
	s64 err = (s64)hc(HC_MEMORY, HC_MEMORY_FLAGS, ram_base, round % 2 ? 0 : 2);

	expect(!err, "flags: %ld", err);
}

static void storm_round(u32 round)
{
	void *page = round % 2 ? (void *)infos : (void *)xen_shared;
	s64 err;

	while ((err = (s64)hc(HC_MEMORY, HC_MEMORY_STORM, (u64)page & ~4095UL, 16)) == -XEN_EBUSY)
		relax(); /* the one before is not over */
	expect(err >= 0, "storm: %ld", err);
}

/* --- States of another vCPU ----------------------------------------------------------------------- */

static u32 stage;
static u32 home; /* the CPU of vCPU 0 */

static void asleep_for_0(u32 cpu)
{
	u32 n = got(cpus[cpu].ipi);

	store_release(&stage, 1); /* pairs with the acquire in states_blocked() */
	expect(await_asleep(got(cpus[cpu].ipi) > n), "never woken");
}

/* A WFI that does not leave the guest is running, for all that anybody can see. */
static void states_blocked(u32 cpu)
{
	if (nr_vcpus == 1 || cmdline_is("wfi", "native"))
		return;
	stage = 0;
	smp_post(1, asleep_for_0);
	while (!load_acquire(&stage)) /* pairs with the release in asleep_for_0() */
		relax();
	expect(await(READ_ONCE(run[1].state) == RUNSTATE_blocked), "its state is %u", run[1].state);
	expect(!evtchn_send(cpus[1].ipi), "send refused");
	smp_wait(1);
}

static void share_cpu(u32 cpu)
{
	while (stat(HC_STAT_CPU) != READ_ONCE(home))
		hc(HC_MIGRATE, 1, 0, 0);
	store_release(&stage, 1); /* pairs with the acquire in states_runnable() */
	while (load_acquire(&stage) == 1) /* pairs with the release there */
		cpu_pause();
	check_runstate(cpu);
}

/* Steps 2 and 6: on the CPU of vCPU 0 it waits whenever that one runs. */
static void states_runnable(u32 cpu)
{
	struct vcpu_runstate_info before, after;

	if (nr_vcpus == 1)
		return;
	home = stat(HC_STAT_CPU);
	stage = 0;
	smp_post(1, share_cpu);
	while (!load_acquire(&stage)) /* pairs with the release in share_cpu() */
		relax();
	xen_read_runstate(&run[1], &before);
	expect(await(READ_ONCE(run[1].state) == RUNSTATE_runnable), "its state is %u", run[1].state);
	spin_ticks(ms_to_ticks(20));
	store_release(&stage, 2); /* pairs with the acquire in share_cpu() */
	smp_wait(1);
	xen_runstate(1, &after);
	expect(after.time[RUNSTATE_runnable] - before.time[RUNSTATE_runnable] >= 50000,
	       "%lu ns stolen", after.time[RUNSTATE_runnable] - before.time[RUNSTATE_runnable]);
}

static void run_steps(void)
{
	step("set up", set_up);
	step("0: raw upcall", raw_upcall);
	step_alone("3: state blocked", states_blocked);
	step_alone("2, 6: state runnable, and it is stolen time", states_runnable);
	step("7, 8: masked, then unmasked", masked);
	step("8, 10: raised by the hypervisor", unmasked);
	step("upcall ends a sleep", asleep);
	step("upcall before the last is over", upcall_again);
	step("no upcall with interrupts off", interrupts_off);
	step_alone("9: change of slots", change_slots);
	step_alone("9: pages move", move_pages);
	step("after they moved", one_of_each);
	step("send", send_to_self);
	step("11: send to a port that was retargeted", retargeted);
	step("12: both ends of a channel", both_ends);
	step("bad ports", bad_ports);
	step("clock", clock_is_steady);
	step("13: timer", timer_fires);
	step("14, 15: timer of a vCPU that moves", timer_moves);
	step("stopped timer", timer_stops);
	step("16: poll of a pending port", poll_pending);
	step("17: poll until a timeout", poll_timeout);
	step("18: a masked port ends a poll", poll_masked);
	step("19: an upcall ends a poll", poll_other);
	step("poll of a bad port", poll_bad);
	step("block", blocks);
	step("20: timer that is over", timer_expired);
	race("21: remap while delivering", 40, remap);
	race("22: page moves while delivering", 8, move_round);
	race("23: changes of slots while delivering", 6, slots_round);
	race("24: storms of moves while delivering", 3, storm_round);
	step("and after all that", one_of_each);
}

int guest_main(void)
{
	s64 version;

	fifo = cmdline_is("abi", "fifo");
	legacy = cmdline_is("info", "legacy");
	route = cmdline_is("route", "own") ? XEN_ROUTE_OWN : XEN_ROUTE_SHARED;
	if (!xen_find()) {
		report(false, "no Xen");
		return 1;
	}
	version = xen_call(XEN_version, XENVER_version, 0, 0, 0);
	report(version >= 4 << 16, "Xen %ld.%ld", version >> 16, version & 0xffff);
	evtchn_handler = took;
	bad = 0;
	map_shared(0);
	report(!bad, "remap under the guest's feet, events and all");
	bad = 0;
	offline(0);
	report(!bad, "1: state offline");
	if (fifo)
		report(!evtchn_fifo_cpu(0) && !evtchn_fifo_pages(1024), "FIFO ABI");
	smp_start();
	run_steps();
	return 0;
}
