/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From an event's send to the first instruction of the guest's handler. vCPU 0 sends; what its target does
 * meanwhile is the operation: vCPU 0 itself runs, on the send's own CPU; vCPU 1, on another CPU, runs or
 * sleeps; vCPU 2, on the sender's CPU, is ready to run but does not. The clock is read before the hypercall
 * is called, and in the vector; where the target has to be waited for, the sender gives its CPU up.
 */
#include <guest.h>
#include <measure.h>
#include <stamp.h>
#include <xen.h>

#define VCPUS	 3
#define SENDER	 0
#define REMOTE	 1
#define LOCAL	 2
#define DELAY_US 50 /* of what the hypervisor raises by itself */

enum deed { NOTHING, RUN, SLEEP, BE_READY };

static u8 shared[4096] __aligned(4096);
static u8 infos[VCPUS][256] __aligned(4096);
static u32 port[VCPUS], host_cpu[VCPUS];
static u32 deed; /* enum deed: what the target is to do */
static u32 target; /* who does it */
static bool begun, taken;

static void took(u32 which)
{
	/* Pairs with the acquire in await(): after it, the stamp is this event's. */
	store_release(&taken, true);
}

static void must(s64 err, const char *what)
{
	if (err < 0)
		guest_die("evlat: %s: %ld", what, (long)err);
}

static void set_up_cpu(u32 cpu)
{
	host_cpu[cpu] = (u32)stat(HC_STAT_CPU);
	must(xen_register_vcpu_info(cpu, infos[cpu]), "register_vcpu_info");
	must(xen_route_upcalls(XEN_ROUTE_OWN, evtchn_upcall), "route");
	port[cpu] = (u32)evtchn_ipi(cpu);
	must((s32)port[cpu], "bind_ipi");
	stamp_upcalls();
}

/* --- What a target does ----------------------------------------------------------------------------- */

static bool still(enum deed what)
{
	return READ_ONCE(deed) == what;
}

static void run(u32 cpu)
{
	WRITE_ONCE(begun, true);
	while (still(RUN))
		cpu_pause();
}

static void sleep(u32 cpu)
{
	WRITE_ONCE(begun, true);
	sleep_until(!still(SLEEP));
}

static void be_ready(u32 cpu)
{
	WRITE_ONCE(begun, true);
	while (still(BE_READY))
		relax();
}

static void let_others_run(u32 cpu)
{
	if (cpu != SENDER && host_cpu[cpu] == host_cpu[SENDER])
		relax();
	else
		cpu_pause();
}

static void await(const bool *what, u32 cpu)
{
	while (!load_acquire(what)) /* pairs with the release in took() */
		let_others_run(cpu);
}

static void await_state(u32 cpu, u32 state)
{
	struct vcpu_runstate_info r;

	for (;;) {
		must(xen_runstate(cpu, &r), "get_runstate_info");
		if (r.state == state)
			break;
		let_others_run(cpu);
	}
	/* Its CPU has put it, and goes to sleep only now. */
	if (state == RUNSTATE_blocked)
		spin_ticks(us_to_ticks(DELAY_US));
}

static void have(u32 cpu, enum deed what, void (*fn)(u32 cpu))
{
	if (target == cpu && still(what))
		return;
	if (target) {
		WRITE_ONCE(deed, NOTHING);
		must(evtchn_send(port[target]), "send");
		smp_wait(target);
	}
	target = cpu;
	WRITE_ONCE(deed, what);
	WRITE_ONCE(begun, false);
	if (!cpu)
		return;
	smp_post(cpu, fn);
	await(&begun, cpu);
}

/* --- Operations ------------------------------------------------------------------------------------- */

static u64 send_to(u32 cpu)
{
	u64 start;

	WRITE_ONCE(taken, false);
	start = timer_now(TIMER_VIRT);
	must(evtchn_send(port[cpu]), "send");
	if (!READ_ONCE(taken))
		let_others_run(cpu);
	await(&taken, cpu);
	return upcall_stamp - start;
}

static u64 op_self(void)
{
	have(SENDER, NOTHING, NULL);
	irq_enable();
	return send_to(SENDER);
}

static u64 op_interrupt(void)
{
	u64 start;

	have(SENDER, NOTHING, NULL);
	irq_enable();
	WRITE_ONCE(taken, false);
	start = timer_now(TIMER_VIRT);
	must((s64)hc(HC_EVTCHN, port[SENDER], DELAY_US * 1000, 0), "HC_EVTCHN");
	await(&taken, SENDER);
	return upcall_stamp - start - us_to_ticks(DELAY_US);
}

static u64 op_running(void)
{
	have(REMOTE, RUN, run);
	await_state(REMOTE, RUNSTATE_running);
	return send_to(REMOTE);
}

static u64 op_idle(void)
{
	have(REMOTE, SLEEP, sleep);
	await_state(REMOTE, RUNSTATE_blocked);
	return send_to(REMOTE);
}

static u64 op_preempted(void)
{
	have(LOCAL, BE_READY, be_ready);
	await_state(LOCAL, RUNSTATE_runnable);
	return send_to(LOCAL);
}

int guest_main(void)
{
	static const struct op ops[] = {
		{ "self", op_self }, { "interrupt", op_interrupt }, { "preempted", op_preempted },
		{ "idle", op_idle }, { "running", op_running }, /* needs a second CPU */
	};

	if (bare)
		return 0; /* nobody to send through */
	if (!xen_find() || nr_vcpus != VCPUS)
		guest_die("evlat: needs xen=on and %u vCPUs", VCPUS);
	must(xen_map_shared(shared), "add_to_physmap");
	evtchn_handler = took;
	smp_start();
	smp_run(set_up_cpu);
	measure(ops, ARRAY_SIZE(ops) - (host_cpu[REMOTE] == host_cpu[SENDER]));
	have(SENDER, NOTHING, NULL);
	return 0;
}
