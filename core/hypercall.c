/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hypercalls of <cupel/abi.h>. Every argument comes from a guest: a bad one is answered with a
 * negative errno, and guest memory is read by vm_copy_from() only.
 */
#include <cupel/abi.h>
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/evtchn.h>
#include <cupel/printk.h>
#include <cupel/sched.h>
#include <cupel/smp.h>
#include <cupel/vm.h>
#include <string.h>

#include "core.h"

#define NOT_SUPPORTED (-1) /* SMCCC 5.2, NOT_SUPPORTED */

#define REPORT_MAX  200
#define NAME_MAX    31
#define SERIES_MAX  32
#define SAMPLES_MAX 4096

/* Guest text into buf[max + 1], fit for a line of its own. */
static int copy_text(struct vm *vm, char *buf, gpaddr_t gpa, u64 len, u64 max)
{
	if (len > max)
		return -EINVAL;
	if (vm_copy_from(vm, buf, gpa, len))
		return -EFAULT;
	for (u64 i = 0; i < len; i++)
		buf[i] = buf[i] >= ' ' && buf[i] <= '~' ? buf[i] : '?';
	buf[len] = '\0';
	return 0;
}

static __noinline s64 do_exit(struct vcpu *v, u64 code, enum vcpu_exit *exit)
{
	int status = (int)(code & INT32_MAX);

	*exit = VCPU_EXIT_STOP;
	vm_stop(v->vm, status, "exit %d", status);
	return 0;
}

static __noinline s64 do_report(struct vcpu *v, u64 ok, gpaddr_t gpa, u64 len)
{
	char text[REPORT_MAX + 1];
	struct vm *vm = v->vm;
	int err = copy_text(vm, text, gpa, len, REPORT_MAX);

	if (err)
		return err;
	if (vm->on_report)
		vm->on_report(vm, v->id, ok != 0, text);
	else
		printk("[%s] %s: %s\n", vm->config.name, ok ? "ok" : "not ok", text);
	return 0;
}

static __noinline s64 do_sample(struct vcpu *v, u64 series, gpaddr_t gpa, u64 count)
{
	if (series >= SERIES_MAX || count > SAMPLES_MAX || !IS_ALIGNED(gpa, sizeof(u64)))
		return -EINVAL;
	if (!vm_is_memory(v->vm, gpa, count * sizeof(u64), false))
		return -EFAULT;
	for (u64 i = 0; v->vm->on_sample && i < count; i++) {
		u64 value;

		if (vm_copy_from(v->vm, &value, gpa + i * sizeof(u64), sizeof(u64)))
			return -EFAULT;
		v->vm->on_sample(v->vm, v->id, (u32)series, value);
	}
	return 0;
}

static __noinline s64 do_series(struct vcpu *v, u64 series, gpaddr_t gpa, u64 len)
{
	char name[NAME_MAX + 1];
	int err;

	if (series >= SERIES_MAX)
		return -EINVAL;
	err = copy_text(v->vm, name, gpa, len, NAME_MAX);
	if (!err && v->vm->on_series)
		v->vm->on_series(v->vm, (u32)series, name);
	return err;
}

/* The n-th online CPU after this one, around the end. */
static __noinline s64 do_migrate(struct vcpu *v, u64 n, enum vcpu_exit *exit)
{
	int cpu = (int)cpu_id();

	if (READ_ONCE(v->sched_cpu) < 0)
		return -EINVAL;
	for (n %= nr_cpus_online; n; n--) {
		cpu = cpu_next_online(cpu);
		if (cpu < 0)
			cpu = cpu_next_online(-1);
	}
	sched_migrate(v, (u32)cpu);
	*exit = VCPU_EXIT_PREEMPT;
	return 0;
}

static s64 do_stat(const struct vcpu *v, u64 which)
{
	switch (which) {
	case HC_STAT_LOADS: return (s64)v->loads;
	case HC_STAT_HOST_IRQS: return (s64)v->host_irqs;
	case HC_STAT_ACTIVE_WRITES: return (s64)v->active_writes;
	case HC_STAT_TICKS: return (s64)v->guest_ticks;
	case HC_STAT_CPU: return (s64)cpu_id();
	case HC_STAT_VCPUS: return (s64)v->vm->nr_vcpus;
	default: return -EINVAL;
	}
}

/* As a device of the host's would: from interrupt context, if the port exists now. */
static s64 do_evtchn(struct vcpu *v, u64 port, u64 delay)
{
	if (!v->vm->evtchn || !port || port >= EVTCHN_FIFO_PORTS)
		return -EINVAL;
	return evtchn_raise_later(v->vm, (u32)port, delay);
}

/* What works on buffers is called and not built in: a leave is measured, and has no room for a guard. */
s64 hypercall(struct vcpu *v, u32 nr, u64 a, u64 b, u64 c, enum vcpu_exit *exit)
{
	switch (nr) {
	case HC_NULL: return 0;
	case HC_LEAVE: *exit = VCPU_EXIT_LEAVE; return 0;
	case HC_YIELD: *exit = VCPU_EXIT_YIELD; return 0;
	case HC_EXIT: return do_exit(v, a, exit);
	case HC_REPORT: return do_report(v, a, b, c);
	case HC_SAMPLE: return do_sample(v, a, b, c);
	case HC_MIGRATE: return do_migrate(v, a, exit);
	case HC_STAT: return do_stat(v, a);
	case HC_SERIES: return do_series(v, a, b, c);
	case HC_MEMORY: return memory_call(v, a, b, c);
	case HC_EVTCHN: return do_evtchn(v, a, b);
	default: return NOT_SUPPORTED;
	}
}
