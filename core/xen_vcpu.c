/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vcpu_op: a guest's vCPUs up and down, their timers, and the records they register. An operation on
 * another vCPU never touches what only that one's owner may: it is posted, or refused.
 */
#include "xen.h"

#define PERIOD_MIN 1000000UL /* ns: a shorter period is refused, a longer than 2^62 as well */
#define PERIOD_MAX (~0UL >> 2)

static s64 up(struct vcpu *v)
{
	if (READ_ONCE(v->run_state) != VCPU_OFF)
		return READ_ONCE(v->xen->down) ? -XEN_EBUSY : 0;
	if (!READ_ONCE(v->xen->down))
		return -XEN_EINVAL; /* it has never run: local APIC or PSCI start it */
	vcpu_power_on(v); /* who is too late finds it on */
	return 0;
}

static s64 down(struct vcpu *self, struct vcpu *v, enum vcpu_exit *exit)
{
	if (v != self)
		return -XEN_EINVAL;
	WRITE_ONCE(v->xen->down, true);
	*exit = VCPU_EXIT_OFF;
	return 0;
}

static s64 get_runstate(struct vcpu *self, struct vcpu *v, u64 arg)
{
	struct vcpu_runstate_info info;

	xen_runstate_get(v, &info);
	return arch_guest_write(self, arg, &info, sizeof(info)) ? -XEN_EFAULT : 0;
}

/* --- Timers ------------------------------------------------------------------------------------- */

static void give_period(struct vcpu *self, struct vcpu *v, u64 ticks)
{
	if (v == self) {
		xen_set_periodic(v, ticks);
		return;
	}
	WRITE_ONCE(v->xen->period_posted, ticks);
	vcpu_request(v, VCPU_REQ_PREEMPT); /* its owner takes it at the next load */
}

static s64 set_periodic(struct vcpu *self, struct vcpu *v, u64 arg)
{
	u64 ns;

	if (arch_guest_read(self, &ns, arg, sizeof(ns)))
		return -XEN_EFAULT;
	if (ns < PERIOD_MIN || ns > PERIOD_MAX)
		return -XEN_EINVAL;
	give_period(self, v, ns_to_ticks(ns));
	return 0;
}

static s64 set_singleshot(struct vcpu *self, struct vcpu *v, u64 arg)
{
	struct vcpu_set_singleshot_timer set;

	if (v != self)
		return -XEN_EINVAL;
	if (arch_guest_read(self, &set, arg, sizeof(set)))
		return -XEN_EFAULT;
	if ((set.flags & VCPU_SSHOTTMR_future) && set.timeout < xen_system_time(v->vm))
		return -XEN_ETIME;
	xen_set_singleshot(v, xen_time_to_counter(v->vm, set.timeout));
	return 0;
}

static s64 stop_singleshot(struct vcpu *self, struct vcpu *v)
{
	if (v != self)
		return -XEN_EINVAL;
	xen_set_singleshot(v, ~0UL);
	return 0;
}

/* --- Records ------------------------------------------------------------------------------------ */

static s64 register_info(struct vcpu *self, struct vcpu *v, u64 arg)
{
	struct vcpu_register_vcpu_info r;
	s64 err;

	if (arch_guest_read(self, &r, arg, sizeof(r)))
		return -XEN_EFAULT;
	err = xen_register_vcpu_info(v, r.mfn, r.offset);
	if (!err && v == self)
		xen_time_changed(v);
	return err;
}

static s64 register_runstate(struct vcpu *self, struct vcpu *v, u64 arg)
{
	u32 size = sizeof(struct vcpu_runstate_info), first;
	gpaddr_t gpa, second = INVALID_GPA;
	u64 va;

	if (arch_guest_read(self, &va, arg, sizeof(va)))
		return -XEN_EFAULT;
	if (!va) /* none any more */
		return xen_register_runstate(v, INVALID_GPA, INVALID_GPA, 0);
	first = min(size, (u32)(PAGE_SIZE - (va & ~PAGE_MASK)));
	if (arch_guest_translate(self, va, &gpa) ||
	    (first < size && arch_guest_translate(self, va + first, &second)))
		return -XEN_EFAULT;
	return xen_register_runstate(v, gpa, second, first);
}

/* A guest-physical address as the newer calls want it: aligned, in one page, all ones for none. */
static s64 read_area(struct vcpu *self, u64 arg, u32 size, gpaddr_t *gpa)
{
	if (arch_guest_read(self, gpa, arg, sizeof(*gpa)))
		return -XEN_EFAULT;
	if (*gpa == INVALID_GPA)
		return 0;
	if (!IS_ALIGNED(*gpa, sizeof(u64)) || (*gpa & ~PAGE_MASK) > PAGE_SIZE - size)
		return -XEN_ENXIO;
	return 0;
}

static s64 register_runstate_phys(struct vcpu *self, struct vcpu *v, u64 arg)
{
	u32 size = sizeof(struct vcpu_runstate_info);
	gpaddr_t gpa;
	s64 err = read_area(self, arg, size, &gpa);

	return err ?: xen_register_runstate(v, gpa, INVALID_GPA, gpa == INVALID_GPA ? 0 : size);
}

static s64 give_time(struct vcpu *self, struct vcpu *v, gpaddr_t gpa)
{
	s64 err = xen_register_time(v, gpa);

	if (!err && v == self)
		xen_time_changed(v);
	return err;
}

static s64 register_time(struct vcpu *self, struct vcpu *v, u64 arg)
{
	gpaddr_t gpa;
	u64 va;

	if (!XEN_HAS_TIME)
		return -XEN_ENOSYS;
	if (arch_guest_read(self, &va, arg, sizeof(va)))
		return -XEN_EFAULT;
	if (!va)
		return give_time(self, v, INVALID_GPA);
	if (!IS_ALIGNED(va, sizeof(u64)) ||
	    (va & ~PAGE_MASK) > PAGE_SIZE - sizeof(struct vcpu_time_info))
		return -XEN_EINVAL;
	return arch_guest_translate(self, va, &gpa) ? -XEN_EFAULT : give_time(self, v, gpa);
}

static s64 register_time_phys(struct vcpu *self, struct vcpu *v, u64 arg)
{
	gpaddr_t gpa;
	s64 err;

	if (!XEN_HAS_TIME)
		return -XEN_ENOSYS;
	err = read_area(self, arg, sizeof(struct vcpu_time_info), &gpa);
	return err ?: give_time(self, v, gpa);
}

s64 xen_vcpu_op(struct vcpu *self, u32 cmd, u32 id, u64 arg, enum vcpu_exit *exit)
{
	struct vcpu *v = id < self->vm->nr_vcpus ? self->vm->vcpu[id] : NULL;

	if (!v)
		return -XEN_ENOENT;
	switch (cmd) {
	case VCPUOP_up: return up(v);
	case VCPUOP_down: return down(self, v, exit);
	case VCPUOP_is_up: return READ_ONCE(v->run_state) != VCPU_OFF;
	case VCPUOP_get_runstate_info: return get_runstate(self, v, arg);
	case VCPUOP_register_runstate_area: return register_runstate(self, v, arg);
	case VCPUOP_register_runstate_phys_area: return register_runstate_phys(self, v, arg);
	case VCPUOP_set_periodic_timer: return set_periodic(self, v, arg);
	case VCPUOP_stop_periodic_timer: give_period(self, v, 0); return 0;
	case VCPUOP_set_singleshot_timer: return set_singleshot(self, v, arg);
	case VCPUOP_stop_singleshot_timer: return stop_singleshot(self, v);
	case VCPUOP_register_vcpu_info: return register_info(self, v, arg);
	case VCPUOP_register_vcpu_time_area: return register_time(self, v, arg);
	case VCPUOP_register_vcpu_time_phys_area: return register_time_phys(self, v, arg);
	default: return -XEN_ENOSYS;
	}
}
