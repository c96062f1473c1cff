/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Xen's guest ABI beside event channels, as a guest sees it: a host guest whose virtual addresses are its
 * physical ones, on a clock that stands still but for what the test lets pass.
 */
#include "host.h"

#include <asm/xen.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include <cupel/errno.h>
#include <cupel/gpc.h>
#include <cupel/platform.h>
#include <cupel/sched.h>
#include <cupel/smp.h>
#include <cupel/vm.h>
#include <cupel/xen.h>

#include "../../core/xen.h"

#define MEMORY	MIB(1)
#define NOWHERE MIB(16) /* no memory there */
#define ARG	0x1000UL /* arguments of hypercalls */
#define PORTS	0x1800UL
#define RECORD	0x2000UL
#define INFO	0x3000UL
#define SHARED	0x5UL /* a frame for shared_info */
#define MSEC	1000000UL

static struct vm *vm;
static u64 now, begin; /* the clock never goes back; `begin`: when the VM was made */
static enum vcpu_exit last_exit;
static enum gpc_kind kind;

static void pass(u64 ns)
{
	now += ns;
	host_set_time(now);
}

/* --- Guests that do what the test says, a stay at a time ---------------------------------------- */

static int (*script)(struct vcpu *v);

static int follow_script(struct vcpu *v)
{
	return script(v);
}

static void make(u32 vcpus, int (*fn)(struct vcpu *v))
{
	struct vm_config c = {
		.name = "dom", .memory = MEMORY, .vcpus = vcpus, .nr_pin = 1, .xen = true, .gpc = kind
	};
	const char *why;
	int err;

	begin = now += 1000 * MSEC;
	host_set_time(now);
	script = fn;
	host_guest = follow_script;
	vm = vm_create(&c, NULL, 0, &err, &why);
	assert_non_null(vm);
}

static void start(void)
{
	vm_start(vm);
	for (u32 i = 1; i < vm->nr_vcpus; i++)
		assert_int_equal(vcpu_power_on(vm->vcpu[i]), 0);
}

static void turns(u32 n)
{
	while (n--)
		sched_turn();
}

static int end(void **state)
{
	if (!vm)
		return 0;
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		sched_remove(vm->vcpu[i]);
	vm_destroy(vm);
	vm = NULL;
	return 0;
}

static void put(gpaddr_t gpa, const void *from, u64 len)
{
	assert_int_equal(vm_copy_to(vm, gpa, from, len), 0);
}

static void get(gpaddr_t gpa, void *to, u64 len)
{
	assert_int_equal(vm_copy_from(vm, to, gpa, len), 0);
}

#define PUT(x) put(ARG, &(x), sizeof(x))

static s64 call_of(struct vcpu *v, u64 nr, u64 a, u64 b, u64 c)
{
	const u64 arg[5] = { a, b, c };
	unsigned long flags = arch_irq_save();
	s64 ret;

	last_exit = VCPU_EXIT_RESUME;
	ret = xen_hypercall(v, nr, arg, &last_exit);
	arch_irq_restore(flags);
	return ret;
}

static s64 call(u64 nr, u64 a, u64 b, u64 c)
{
	return call_of(vm->vcpu[0], nr, a, b, c);
}

static s64 vcpu_op(u32 cmd, u32 vcpu, u64 arg)
{
	return call(XEN_vcpu_op, cmd, vcpu, arg);
}

/* A per-vCPU VIRQ of vCPU `vcpu`, bound to the port that is returned. */
static u32 bind_timer(u32 vcpu)
{
	struct evtchn_bind_virq b = { .virq = VIRQ_TIMER, .vcpu = vcpu };

	PUT(b);
	assert_int_equal(call(XEN_event_channel_op, EVTCHNOP_bind_virq, ARG, 0), 0);
	get(ARG, &b, sizeof(b));
	return b.port;
}

static u32 bind_ipi(u32 vcpu)
{
	struct evtchn_bind_ipi b = { .vcpu = vcpu };

	PUT(b);
	assert_int_equal(call(XEN_event_channel_op, EVTCHNOP_bind_ipi, ARG, 0), 0);
	get(ARG, &b, sizeof(b));
	return b.port;
}

static s64 send(u32 port)
{
	PUT(port);
	return call(XEN_event_channel_op, EVTCHNOP_send, ARG, 0);
}

static s64 put_shared_info(u64 gfn)
{
	struct xen_add_to_physmap a = { .domid = DOMID_SELF, .gpfn = gfn };

	PUT(a);
	return call(XEN_memory_op, XENMEM_add_to_physmap, ARG, 0);
}

static bool is_pending(u64 gfn, u32 port)
{
	u64 word;

	get((gfn << PAGE_SHIFT) + XEN_EVTCHN_PENDING + port / 64 * 8, &word, sizeof(word));
	return word & BIT(port % 64);
}

static void clear_pending(u64 gfn, u32 port)
{
	u64 *word =
		vm_gpa_to_va(vm, (gfn << PAGE_SHIFT) + XEN_EVTCHN_PENDING + port / 64 * 8, 8, true);

	atomic_fetch_and_relaxed(word, ~BIT(port % 64));
}

static struct xen_vcpu_info *info_at(gpaddr_t gpa)
{
	return vm_gpa_to_va(vm, gpa, XEN_VCPU_INFO_SIZE, true);
}

/* --- Layouts (public headers of Xen, x86-64) ---------------------------------------------------- */

static void structures_are_xens(void **state)
{
	assert_int_equal(XEN_SHARED_INFO_SIZE, 3136);
	assert_int_equal(sizeof(struct sched_poll), 24);
	assert_int_equal(offsetof(struct sched_poll, nr_ports), 8);
	assert_int_equal(offsetof(struct sched_poll, timeout), 16);
	assert_int_equal(sizeof(struct vcpu_register_vcpu_info), 16);
	assert_int_equal(offsetof(struct vcpu_register_vcpu_info, offset), 8);
	assert_int_equal(offsetof(struct vcpu_set_singleshot_timer, flags), 8);
	assert_int_equal(sizeof(struct vcpu_runstate_info), 48);
	assert_int_equal(offsetof(struct vcpu_runstate_info, state_entry_time), 8);
	assert_int_equal(offsetof(struct vcpu_runstate_info, time), 16);
	assert_int_equal(sizeof(struct vcpu_time_info), 32);
	assert_int_equal(offsetof(struct vcpu_time_info, tsc_timestamp), 8);
	assert_int_equal(offsetof(struct vcpu_time_info, tsc_to_system_mul), 24);
	assert_int_equal(offsetof(struct vcpu_time_info, tsc_shift), 28);
	assert_int_equal(offsetof(struct vcpu_time_info, flags), 29);
	assert_int_equal(offsetof(struct xen_add_to_physmap, space), 4);
	assert_int_equal(offsetof(struct xen_add_to_physmap, idx), 8);
	assert_int_equal(offsetof(struct xen_add_to_physmap, gpfn), 16);
	assert_int_equal(offsetof(struct xen_vcpu_info, evtchn_pending_sel), 8);
}

/* --- What a guest asks first -------------------------------------------------------------------- */

static void version_and_features(void **state)
{
	u32 features[2] = { 0 };
	char text[32];
	u64 virt = 1;

	make(1, NULL);
	assert_int_equal(call(XEN_version, XENVER_version, 0, 0),
			 XEN_VERSION_MAJOR << 16 | XEN_VERSION_MINOR);
	PUT(features);
	assert_int_equal(call(XEN_version, XENVER_get_features, ARG, 0), 0);
	get(ARG, features, sizeof(features));
	assert_true(features[1] & BIT32(XENFEAT_auto_translated_physmap));
	assert_true(features[1] & BIT32(XENFEAT_hvm_callback_vector));
	assert_true(features[1] & BIT32(XENFEAT_hvm_safe_pvclock));
	assert_false(features[1] & BIT32(10)); /* hvm_pirqs */
	features[0] = 1;
	PUT(features);
	assert_int_equal(call(XEN_version, XENVER_get_features, ARG, 0), -XEN_EINVAL);
	assert_int_equal(call(XEN_version, XENVER_capabilities, ARG, 0), 0);
	get(ARG, text, sizeof(text));
	assert_string_equal(text, XEN_CAPABILITIES);
	assert_int_equal(call(XEN_version, XENVER_extraversion, ARG, 0), 0);
	assert_int_equal(call(XEN_version, XENVER_platform_parameters, ARG, 0), 0);
	get(ARG, &virt, sizeof(virt));
	assert_int_equal(virt, 0);
	for (u32 cmd = 1; cmd <= 6; cmd++)
		assert_true(call(XEN_version, cmd, NOWHERE, 0) < 0);
	assert_int_equal(call(XEN_version, 99, ARG, 0), -XEN_ENOSYS);
}

static void what_is_not_there_is_refused(void **state)
{
	static const u32 absent[] = { 0,  1,  14, XEN_grant_table_op, XEN_physdev_op,
				      35, 63, 64, 0xffffffff };

	make(1, NULL);
	for (u32 i = 0; i < ARRAY_SIZE(absent); i++)
		assert_int_equal(call(absent[i], 0, ARG, 1), -XEN_ENOSYS);
	assert_int_equal(call(XEN_sched_op, 9, ARG, 0), -XEN_ENOSYS);
	assert_int_equal(call(XEN_memory_op, 3, ARG, 0), -XEN_ENOSYS);
	assert_int_equal(call(XEN_hvm_op, HVMOP_pagetable_dying, ARG, 0), -XEN_ENOSYS);
	assert_int_equal(call(XEN_event_channel_op, 77, ARG, 0), -XEN_ENOSYS);
	assert_int_equal(vcpu_op(VCPUOP_initialise, 0, ARG), -XEN_ENOSYS);
	assert_int_equal(vcpu_op(99, 0, ARG), -XEN_ENOSYS);
	assert_int_equal(vcpu_op(VCPUOP_is_up, 1, ARG), -XEN_ENOENT);
	assert_int_equal(last_exit, VCPU_EXIT_RESUME);
}

static void arguments_outside_memory_are_faults(void **state)
{
	static const struct {
		u32 nr, cmd;
	} op[] = {
		{ XEN_version, XENVER_get_features },
		{ XEN_version, XENVER_capabilities },
		{ XEN_version, XENVER_extraversion },
		{ XEN_version, XENVER_platform_parameters },
		{ XEN_memory_op, XENMEM_add_to_physmap },
		{ XEN_memory_op, XENMEM_memory_map },
		{ XEN_sched_op, SCHEDOP_shutdown },
		{ XEN_sched_op, SCHEDOP_poll },
		{ XEN_hvm_op, HVMOP_set_param },
		{ XEN_hvm_op, HVMOP_get_param },
		{ XEN_hvm_op, HVMOP_set_evtchn_upcall_vector },
		{ XEN_event_channel_op, EVTCHNOP_send },
		{ XEN_event_channel_op, EVTCHNOP_bind_ipi },
	};
	static const u32 vcpu_cmd[] = {
		VCPUOP_get_runstate_info,	    VCPUOP_register_runstate_area,
		VCPUOP_set_periodic_timer,	    VCPUOP_set_singleshot_timer,
		VCPUOP_register_vcpu_info,	    VCPUOP_register_vcpu_time_area,
		VCPUOP_register_runstate_phys_area, VCPUOP_register_vcpu_time_phys_area,
	};
	static const u64 bad[] = { NOWHERE, MEMORY - 2, ~0UL, ~0UL - 3, BIT(47) };

	make(1, NULL);
	for (u32 b = 0; b < ARRAY_SIZE(bad); b++) {
		for (u32 i = 0; i < ARRAY_SIZE(op); i++)
			assert_int_equal(call(op[i].nr, op[i].cmd, bad[b], 0), -XEN_EFAULT);
		for (u32 i = 0; i < ARRAY_SIZE(vcpu_cmd); i++)
			assert_int_equal(vcpu_op(vcpu_cmd[i], 0, bad[b]), -XEN_EFAULT);
	}
	assert_int_equal(last_exit, VCPU_EXIT_RESUME);
	assert_int_equal(vm->state, VM_NEW);
}

static void memory_is_told_by_the_slot(void **state)
{
	struct {
		u32 entries, pad;
		u64 buffer;
	} map = { .entries = 8, .buffer = PORTS };
	struct __packed {
		u64 addr, size;
		u32 type;
	} e;

	make(1, NULL);
	PUT(map);
	assert_int_equal(call(XEN_memory_op, XENMEM_memory_map, ARG, 0), 0);
	get(ARG, &map, sizeof(map));
	assert_int_equal(map.entries, 1);
	get(PORTS, &e, sizeof(e));
	assert_int_equal(e.addr, 0);
	assert_int_equal(e.size, MEMORY);
	assert_int_equal(e.type, 1);
	map.entries = 0;
	map.buffer = NOWHERE;
	PUT(map);
	assert_int_equal(call(XEN_memory_op, XENMEM_memory_map, ARG, 0), 0);
	map.entries = 1;
	PUT(map);
	assert_int_equal(call(XEN_memory_op, XENMEM_memory_map, ARG, 0), -XEN_EFAULT);
}

static void console_comes_out_by_the_line(void **state)
{
	char text[PAGE_SIZE];

	make(1, NULL);
	host_console_clear();
	strcpy(text, "hel");
	PUT(text);
	assert_int_equal(call(XEN_console_io, 0, 3, ARG), 0);
	assert_string_equal(host_console(), "");
	strcpy(text, "lo\r\nto\001day");
	PUT(text);
	assert_int_equal(call(XEN_console_io, 0, 10, ARG), 0);
	assert_non_null(strstr(host_console(), "[dom] hello\n"));
	assert_null(strstr(host_console(), "day"));
	memset(text, 'x', sizeof(text));
	PUT(text);
	assert_int_equal(call(XEN_console_io, 0, PAGE_SIZE, ARG), 0);
	assert_non_null(strstr(host_console(), "[dom] to?dayxxx"));
	assert_int_equal(call(XEN_console_io, 0, PAGE_SIZE + 1, ARG), -XEN_E2BIG);
	assert_int_equal(call(XEN_console_io, 0, 1, NOWHERE), -XEN_EFAULT);
	assert_int_equal(call(XEN_console_io, 1, 100, ARG), 0);
	assert_int_equal(call(XEN_console_io, 2, 1, ARG), -XEN_ENOSYS);
}

/* --- HVM ---------------------------------------------------------------------------------------- */

struct param {
	u16 domid, pad;
	u32 index;
	u64 value;
};

static s64 param_op(u32 cmd, u16 domid, u32 index, u64 value)
{
	struct param p = { .domid = domid, .index = index, .value = value };

	PUT(p);
	return call(XEN_hvm_op, cmd, ARG, 0);
}

static u64 param_value(void)
{
	struct param p;

	get(ARG, &p, sizeof(p));
	return p.value;
}

static void parameters(void **state)
{
	u64 by_vector = 2UL << XEN_CALLBACK_TYPE_SHIFT | 0xf3;

	make(1, NULL);
	assert_int_equal(param_op(HVMOP_get_param, DOMID_SELF, HVM_PARAM_CALLBACK_IRQ, 1), 0);
	assert_int_equal(param_value(), 0);
	assert_int_equal(param_op(HVMOP_set_param, DOMID_SELF, HVM_PARAM_CALLBACK_IRQ, by_vector), 0);
	assert_int_equal(xen_callback(vm), by_vector);
	assert_int_equal(param_op(HVMOP_get_param, DOMID_SELF, HVM_PARAM_CALLBACK_IRQ, 1), 0);
	assert_int_equal(param_value(), by_vector);
	/* No such type, no such vector: what was set stays. */
	assert_int_equal(param_op(HVMOP_set_param, DOMID_SELF, HVM_PARAM_CALLBACK_IRQ, 9UL << 56),
			 -XEN_EINVAL);
	assert_int_equal(param_op(HVMOP_set_param, DOMID_SELF, HVM_PARAM_CALLBACK_IRQ, 2UL << 56),
			 -XEN_EINVAL);
	assert_int_equal(xen_callback(vm), by_vector);
	assert_int_equal(param_op(HVMOP_set_param, DOMID_SELF, HVM_PARAM_STORE_PFN, 1), -XEN_EPERM);
	assert_int_equal(param_op(HVMOP_get_param, DOMID_SELF, HVM_PARAM_STORE_EVTCHN, 1), 0);
	assert_int_equal(param_value(), 0);
	assert_int_equal(param_op(HVMOP_set_param, DOMID_SELF, 3, 1), -XEN_EINVAL);
	assert_int_equal(param_op(HVMOP_get_param, DOMID_SELF, 1000000, 1), -XEN_EINVAL);
	assert_int_equal(param_op(HVMOP_set_param, 12345, HVM_PARAM_CALLBACK_IRQ, 0), -XEN_ESRCH);
}

static void a_vector_of_ones_own(void **state)
{
	struct {
		u32 vcpu;
		u8 vector, pad[3];
	} a = { .vcpu = 1, .vector = 0x40 };
	u32 before;

	make(2, NULL);
	PUT(a);
	assert_int_equal(call(XEN_hvm_op, HVMOP_set_evtchn_upcall_vector, ARG, 0), 0);
	assert_int_equal(xen_upcall_vector(vm->vcpu[1]), 0x40);
	assert_int_equal(xen_upcall_vector(vm->vcpu[0]), 0);
	/* What was pending when it was set is heard of by it. */
	assert_int_equal(send(bind_ipi(1)), 0);
	before = vm->vcpu[1]->arch.upcalls;
	PUT(a);
	assert_int_equal(call(XEN_hvm_op, HVMOP_set_evtchn_upcall_vector, ARG, 0), 0);
	assert_int_equal(vm->vcpu[1]->arch.upcalls, before + 1);
	a.vector = 0xf;
	PUT(a);
	assert_int_equal(call(XEN_hvm_op, HVMOP_set_evtchn_upcall_vector, ARG, 0), -XEN_EINVAL);
	a.vector = 0x40;
	a.vcpu = 2;
	PUT(a);
	assert_int_equal(call(XEN_hvm_op, HVMOP_set_evtchn_upcall_vector, ARG, 0), -XEN_ENOENT);
}

static void assists(void **state)
{
	make(1, NULL);
	assert_int_equal(call(XEN_vm_assist, 0, 5, 0), 0);
	assert_int_equal(call(XEN_vm_assist, 1, 5, 0), 0);
	assert_int_equal(call(XEN_vm_assist, 2, 5, 0), -XEN_ENOSYS);
	assert_int_equal(call(XEN_vm_assist, 0, 4, 0), -XEN_EINVAL);
}

/* --- Shared pages ------------------------------------------------------------------------------- */

static void shared_info_takes_along_what_is_pending(void **state)
{
	u32 early, later;

	make(2, NULL);
	early = bind_ipi(1);
	later = bind_ipi(0);
	assert_int_equal(send(early), 0); /* before the guest has put it anywhere */
	assert_int_equal(put_shared_info(SHARED), 0);
	assert_true(is_pending(SHARED, early));
	assert_int_equal(info_at(SHARED << PAGE_SHIFT)[0].evtchn_upcall_pending, 0);
	assert_int_equal(info_at((SHARED << PAGE_SHIFT) + XEN_VCPU_INFO_SIZE)->evtchn_upcall_pending,
			 1);
	assert_int_equal(send(later), 0);
	assert_true(is_pending(SHARED, later));
	assert_int_equal(info_at(SHARED << PAGE_SHIFT)->evtchn_upcall_pending, 1);
	/* Elsewhere, and what is delivered then goes there alone. */
	assert_int_equal(put_shared_info(SHARED + 1), 0);
	assert_true(is_pending(SHARED + 1, early) && is_pending(SHARED + 1, later));
	clear_pending(SHARED, later);
	clear_pending(SHARED + 1, later);
	assert_int_equal(send(later), 0);
	assert_true(is_pending(SHARED + 1, later));
	assert_false(is_pending(SHARED, later));
	assert_int_equal(put_shared_info(SHARED + 1), 0); /* where it is */
}

static void shared_info_where_there_is_no_memory(void **state)
{
	struct mem_slot rom = { .gpa = NOWHERE + 9 * PAGE_SIZE,
				.size = PAGE_SIZE,
				.flags = SLOT_READONLY };
	u64 hole = NOWHERE >> PAGE_SHIFT;
	u32 port;

	make(1, NULL);
	rom.pa = vm->slots->slot[0].pa;
	port = bind_ipi(0);
	assert_int_equal(send(port), 0);
	assert_int_equal(put_shared_info(hole), 0);
	assert_true(vm_is_memory(vm, NOWHERE, PAGE_SIZE, true));
	/* Nor what others had in it, for a guest that looks past its caches. */
	assert_ptr_equal(host_given, vm_gpa_to_va(vm, NOWHERE, PAGE_SIZE, false));
	assert_true(is_pending(hole, port));
	/* One page at most, as the hypervisor's memory is not for the asking: it moves. */
	assert_int_equal(put_shared_info(hole + 1), 0);
	assert_false(vm_is_memory(vm, NOWHERE, 1, false));
	assert_true(is_pending(hole + 1, port));
	clear_pending(hole + 1, port);
	assert_int_equal(send(port), 0);
	assert_true(is_pending(hole + 1, port));
	assert_int_equal(put_shared_info(SHARED), 0);
	assert_int_equal(put_shared_info(hole + 5), 0);
	assert_true(is_pending(hole + 5, port));
	assert_int_equal(vm->slots->count, 2);
	assert_int_equal(vm_add_slot(vm, &rom), 0);
	assert_int_equal(put_shared_info(hole + 9), -XEN_ENOMEM);
	assert_true(vm_is_memory(vm, NOWHERE + 5 * PAGE_SIZE, PAGE_SIZE, true));
}

static void shared_info_refused(void **state)
{
	struct xen_add_to_physmap a = { .domid = 12345, .gpfn = SHARED };

	make(1, NULL);
	PUT(a);
	assert_int_equal(call(XEN_memory_op, XENMEM_add_to_physmap, ARG, 0), -XEN_ESRCH);
	a.domid = DOMID_SELF;
	for (a.space = 1; a.space < 6; a.space++) {
		PUT(a);
		assert_int_equal(call(XEN_memory_op, XENMEM_add_to_physmap, ARG, 0), -XEN_EINVAL);
	}
	a.space = XENMAPSPACE_shared_info;
	a.idx = 1;
	PUT(a);
	assert_int_equal(call(XEN_memory_op, XENMEM_add_to_physmap, ARG, 0), -XEN_EINVAL);
	assert_int_equal(put_shared_info(~0UL), -XEN_EINVAL);
	assert_int_equal(put_shared_info(BIT(52)), -XEN_EINVAL);
	/* By the number the guest has. */
	a = (struct xen_add_to_physmap){ .domid = (u16)evtchn_domid(vm), .gpfn = SHARED };
	PUT(a);
	assert_int_equal(call(XEN_memory_op, XENMEM_add_to_physmap, ARG, 0), 0);
}

static bool no_register(struct vcpu *v, void *dev, struct mmio_access *a)
{
	return false;
}

static void shared_info_is_not_put_over_a_device(void **state)
{
	struct mmio_window w = {
		.name = "dev", .base = NOWHERE + 0x800, .size = 8, .access = no_register
	};

	make(1, NULL);
	assert_int_equal(vm_add_mmio(vm, &w), 0);
	assert_int_equal(put_shared_info(NOWHERE >> PAGE_SHIFT), -XEN_EINVAL);
	assert_false(vm_is_memory(vm, NOWHERE, 1, false));
}

static s64 register_info(u32 vcpu, u64 mfn, u32 offset)
{
	struct vcpu_register_vcpu_info r = { .mfn = mfn, .offset = offset };

	PUT(r);
	return vcpu_op(VCPUOP_register_vcpu_info, vcpu, ARG);
}

static void vcpu_info_registers_once(void **state)
{
	u64 frame = INFO >> PAGE_SHIFT;

	make(2, NULL);
	assert_int_equal(register_info(0, frame, PAGE_SIZE - XEN_VCPU_INFO_SIZE + 8), -XEN_EINVAL);
	assert_int_equal(register_info(0, frame, ~0U), -XEN_EINVAL);
	assert_int_equal(register_info(0, frame, 4), -XEN_EINVAL);
	assert_int_equal(register_info(0, NOWHERE >> PAGE_SHIFT, 0), -XEN_EINVAL);
	assert_int_equal(register_info(0, ~0UL, 0), -XEN_EINVAL);
	assert_int_equal(register_info(2, frame, 0), -XEN_ENOENT);
	/* After all that it still has the old one. */
	assert_int_equal(put_shared_info(SHARED), 0);
	assert_int_equal(send(bind_ipi(0)), 0);
	assert_int_equal(info_at(SHARED << PAGE_SHIFT)->evtchn_upcall_pending, 1);
	assert_int_equal(register_info(0, frame, PAGE_SIZE - XEN_VCPU_INFO_SIZE), 0);
	assert_int_equal(register_info(0, frame, 0), -XEN_EINVAL);
	assert_int_equal(register_info(1, frame, 64), 0); /* another's is another's */
}

static void a_registered_vcpu_info_loses_nothing(void **state)
{
	struct xen_vcpu_info *info;
	u32 port, upcalls;

	make(2, NULL);
	assert_int_equal(put_shared_info(SHARED), 0);
	port = bind_ipi(1);
	assert_int_equal(send(port), 0);
	upcalls = vm->vcpu[1]->arch.upcalls;
	assert_int_equal(register_info(1, INFO >> PAGE_SHIFT, 128), 0);
	info = info_at(INFO + 128);
	assert_int_equal(info->evtchn_upcall_pending, 1);
	assert_true(info->evtchn_pending_sel & BIT(port / 64));
	assert_int_equal(vm->vcpu[1]->arch.upcalls, upcalls + 1);
	/* What comes now comes here. */
	info->evtchn_upcall_pending = 0;
	info->evtchn_pending_sel = 0;
	clear_pending(SHARED, port);
	assert_int_equal(send(port), 0);
	assert_int_equal(info->evtchn_upcall_pending, 1);
	assert_int_equal(info->evtchn_pending_sel, BIT(port / 64));
	/* And shared_info moves without it. */
	assert_int_equal(put_shared_info(SHARED + 1), 0);
	info->evtchn_upcall_pending = 0;
	info->evtchn_pending_sel = 0;
	clear_pending(SHARED + 1, port);
	assert_int_equal(send(port), 0);
	assert_int_equal(info->evtchn_upcall_pending, 1);
}

/* shared_info has room for 32; the others' events wait until there is a place. */
static void a_vcpu_without_a_place_in_shared_info(void **state)
{
	u32 port;

	make(XEN_LEGACY_VCPUS + 1, NULL);
	assert_int_equal(put_shared_info(SHARED), 0);
	port = bind_ipi(XEN_LEGACY_VCPUS);
	assert_int_equal(send(port), 0);
	assert_true(is_pending(SHARED, port));
	assert_int_equal(register_info(XEN_LEGACY_VCPUS, INFO >> PAGE_SHIFT, 0), 0);
	assert_int_equal(info_at(INFO)->evtchn_upcall_pending, 1);
	assert_true(info_at(INFO)->evtchn_pending_sel & BIT(port / 64));
}

/*
 * CPU 1 sends and waits until the event was taken; CPU 2 is the guest, which puts shared_info elsewhere all
 * the time. A single event that is lost on the way stops it.
 */
#define SENDS 300

static u32 race_port, race_acks;
static bool race_over, race_registered;

/* Gives up after as long as no event takes. */
static void race_sender(void)
{
	u64 patience = arch_counter() + 12 * NSEC_PER_SEC;

	for (u32 i = 0; i < SENDS; i++) {
		u32 acks = READ_ONCE(race_acks);

		evtchn_send(vm, race_port);
		while (READ_ONCE(race_acks) == acks && arch_counter() < patience)
			cpu_relax();
	}
	store_release(&race_over, true);
}

static void take_events(struct vcpu *v, u64 gfn, struct xen_vcpu_info *info)
{
	u64 *word = vm_gpa_to_va(vm, (gfn << PAGE_SHIFT) + XEN_EVTCHN_PENDING + race_port / 64 * 8,
				 8, true);
	u64 bit = BIT(race_port % 64);

	if (READ_ONCE(v->requests) & VCPU_REQ_EVTCHN) {
		atomic_fetch_and_acquire(&v->requests, ~VCPU_REQ_EVTCHN);
		arch_irq_disable();
		evtchn_serve(v);
		arch_irq_enable();
	}
	if (!atomic_xchg_full(&info->evtchn_upcall_pending, 0) ||
	    !(atomic_xchg_full(&info->evtchn_pending_sel, 0) & BIT(race_port / 64)))
		return;
	if (atomic_fetch_and_full(word, ~bit) & bit)
		WRITE_ONCE(race_acks, race_acks + 1);
}

static void race_guest(void)
{
	u64 gfn = SHARED, hole = NOWHERE >> PAGE_SHIFT;
	struct vcpu *v = vm->vcpu[0];

	for (u32 i = 0; !load_acquire(&race_over); i++) {
		take_events(v, gfn, info_at(race_registered ? INFO : gfn << PAGE_SHIFT));
		if (i % 50)
			continue;
		gfn = i % 3 ? SHARED + i / 50 % 4 : hole + i / 50 % 2;
		assert_int_equal(put_shared_info(gfn), 0);
		if (!race_registered && READ_ONCE(race_acks) > SENDS / 2)
			race_registered = !register_info(0, INFO >> PAGE_SHIFT, 0);
	}
}

static void race(u32 cpu, void *arg)
{
	if (cpu == 1)
		race_sender();
	else
		race_guest();
}

static void nothing_is_lost_while_shared_info_moves(void **state)
{
	race_acks = 0;
	race_over = race_registered = false;
	make(1, NULL);
	assert_int_equal(put_shared_info(SHARED), 0);
	race_port = bind_ipi(0);
	host_set_time(0); /* an expedited grace period waits by the clock */
	host_on_cpus(2, race, NULL);
	host_set_time(now);
	assert_int_equal(race_acks, SENDS);
	assert_true(race_registered);
}

/* CPU 1 is held up half way in a registration that will be refused; an event comes, and its vCPU serves. */
static void refuse_and_send(u32 cpu, void *arg)
{
	struct vcpu *v1 = vm->vcpu[1];
	const struct gpc *g = evtchn_vcpu_info(v1);

	if (cpu == 1) {
		assert_int_equal(xen_register_vcpu_info(v1, NOWHERE >> PAGE_SHIFT, 0), -XEN_EINVAL);
		return;
	}
	while (READ_ONCE(g->valid) == GPC_VALID)
		cpu_relax();
	assert_int_equal(evtchn_raise(vm, race_port), 0);
	atomic_fetch_and_full(&v1->requests, ~VCPU_REQ_EVTCHN);
	assert_true(evtchn_serve(v1));
	WRITE_ONCE(vm->moving, VM_STILL);
}

static void a_refused_registration_loses_nothing(void **state)
{
	struct xen_vcpu_info *i;

	make(2, NULL);
	assert_int_equal(put_shared_info(SHARED), 0);
	race_port = bind_ipi(1);
	vm->vcpu[1]->run_state = VCPU_RUNNABLE;
	WRITE_ONCE(vm->moving, VM_COPYING); /* who copies waits */
	host_set_time(0); /* an expedited grace period waits by the clock */
	host_on_cpus(2, refuse_and_send, NULL);
	host_set_time(now);
	i = vm_gpa_to_va(vm, (SHARED << PAGE_SHIFT) + XEN_VCPU_INFO_SIZE, sizeof(*i), false);
	assert_true(vm->vcpu[1]->requests & VCPU_REQ_EVTCHN);
	assert_true(evtchn_serve(vm->vcpu[1]));
	assert_int_equal(i->evtchn_upcall_pending, 1);
	vm->vcpu[1]->run_state = VCPU_OFF;
}

static void time_is_written_where_it_is_asked_for(void **state)
{
	struct vcpu_time_info *t, *area;
	gpaddr_t gpa = RECORD + 64;

	make(1, NULL);
	assert_int_equal(put_shared_info(SHARED), 0);
	pass(12345);
	assert_int_equal(register_info(0, INFO >> PAGE_SHIFT, 0), 0);
	t = vm_gpa_to_va(vm, INFO + XEN_VCPU_TIME, sizeof(*t), false);
	assert_int_equal(t->system_time, 12345);
	assert_int_equal(t->tsc_timestamp, now);
	assert_true(t->version && !(t->version & 1));
	/* 1 GHz: (ticks << shift) * mul >> 32 is ns. */
	assert_int_equal(((unsigned __int128)1000000 << t->tsc_shift) * t->tsc_to_system_mul >> 32,
			 1000000);
	PUT(gpa);
	assert_int_equal(vcpu_op(VCPUOP_register_vcpu_time_area, 0, ARG), 0);
	area = vm_gpa_to_va(vm, gpa, sizeof(*area), false);
	assert_int_equal(area->system_time, 12345);
	pass(1000);
	xen_time_changed(vm->vcpu[0]);
	assert_int_equal(area->system_time, 13345);
	assert_int_equal(t->system_time, 13345);
	gpa = RECORD + PAGE_SIZE - 8;
	PUT(gpa);
	assert_int_equal(vcpu_op(VCPUOP_register_vcpu_time_area, 0, ARG), -XEN_EINVAL);
	assert_int_equal(vcpu_op(VCPUOP_register_vcpu_time_phys_area, 0, ARG), -XEN_ENXIO);
	gpa = INVALID_GPA;
	PUT(gpa);
	assert_int_equal(vcpu_op(VCPUOP_register_vcpu_time_phys_area, 0, ARG), 0);
	pass(1000);
	xen_time_changed(vm->vcpu[0]);
	assert_int_equal(area->system_time, 13345);
}

/* --- Runstate ----------------------------------------------------------------------------------- */

static struct vcpu_runstate_info runstate_of(u32 vcpu)
{
	struct vcpu_runstate_info r;

	assert_int_equal(vcpu_op(VCPUOP_get_runstate_info, vcpu, ARG), 0);
	get(ARG, &r, sizeof(r));
	return r;
}

static u64 sum(const struct vcpu_runstate_info *r)
{
	return r->time[0] + r->time[1] + r->time[2] + r->time[3];
}

static s64 register_runstate(u32 vcpu, u64 va)
{
	PUT(va);
	return vcpu_op(VCPUOP_register_runstate_area, vcpu, ARG);
}

static struct vcpu_runstate_info in_stay; /* as the guest sees it while it runs */
static gpaddr_t record_at;

static int look_and_yield(struct vcpu *v)
{
	if (!v->id)
		get(record_at, &in_stay, sizeof(in_stay));
	pass(1000);
	return VCPU_EXIT_YIELD;
}

static int look_and_block(struct vcpu *v)
{
	look_and_yield(v);
	atomic_xchg_acquire(&v->arch.posted, 0);
	return VCPU_EXIT_BLOCK;
}

static void check_record(u32 state)
{
	struct vcpu_runstate_info r;

	get(record_at, &r, sizeof(r));
	assert_int_equal(r.state, state);
	assert_int_equal(sum(&r), r.state_entry_time);
	assert_int_equal(in_stay.state, RUNSTATE_running);
	assert_int_equal(sum(&in_stay), in_stay.state_entry_time);
}

static void runstate_adds_up(void **state)
{
	struct vcpu_runstate_info r;

	record_at = RECORD;
	make(2, look_and_yield);
	pass(500);
	assert_int_equal(register_runstate(0, RECORD), 0);
	start();
	turns(1); /* attention */
	for (u32 i = 1; i <= 10; i++) {
		turns(2); /* both */
		check_record(RUNSTATE_runnable);
	}
	r = runstate_of(0);
	assert_int_equal(r.time[RUNSTATE_running], 10 * 1000);
	assert_int_equal(r.time[RUNSTATE_runnable], 10 * 1000); /* the other's, the last one included */
	assert_int_equal(r.time[RUNSTATE_offline], 500);
	assert_int_equal(r.time[RUNSTATE_blocked], 0);
	assert_int_equal(r.state_entry_time, now - begin);
	script = look_and_block;
	turns(2);
	check_record(RUNSTATE_blocked);
	pass(7000);
	r = runstate_of(0);
	assert_int_equal(r.state, RUNSTATE_blocked);
	assert_int_equal(r.time[RUNSTATE_blocked], 1000 + 7000);
}

/* Time from the wake-up on is runnable, not blocked: stolen. */
static void a_sleep_ends_with_the_wake_up(void **state)
{
	struct vcpu_runstate_info before, r;

	record_at = RECORD;
	make(1, look_and_block);
	assert_int_equal(register_runstate(0, RECORD), 0);
	start();
	turns(2);
	before = runstate_of(0);
	pass(3000);
	vm->vcpu[0]->arch.posted = 1;
	vcpu_wake(vm->vcpu[0]);
	pass(400);
	turns(1);
	r = runstate_of(0);
	assert_int_equal(r.time[RUNSTATE_blocked] - before.time[RUNSTATE_blocked], 3000);
	assert_int_equal(r.time[RUNSTATE_runnable] - before.time[RUNSTATE_runnable], 400);
	assert_int_equal(r.time[RUNSTATE_running] - before.time[RUNSTATE_running], 1000);
	assert_int_equal(sum(&r), r.state_entry_time);
}

/* At every distance from a page's end: the two parts make the one record. */
static void a_record_may_lie_across_two_pages(void **state)
{
	u8 around[2 * 64 + sizeof(in_stay)];

	make(1, look_and_yield);
	start();
	turns(1);
	for (u32 n = 0; n <= sizeof(in_stay); n++) {
		record_at = RECORD + PAGE_SIZE - n;
		memset(around, 0x5a, sizeof(around));
		put(record_at - 64, around, sizeof(around));
		assert_int_equal(register_runstate(0, record_at), 0);
		turns(1);
		check_record(RUNSTATE_runnable);
		get(record_at - 64, around, sizeof(around));
		assert_int_equal(around[63], 0x5a);
		assert_int_equal(around[64 + sizeof(in_stay)], 0x5a);
	}
}

static void runstate_areas_refused(void **state)
{
	gpaddr_t gpa = RECORD + PAGE_SIZE - 8;

	record_at = RECORD;
	make(1, look_and_yield);
	assert_int_equal(register_runstate(0, NOWHERE), -XEN_EFAULT);
	assert_int_equal(register_runstate(0, MEMORY - 8), -XEN_EFAULT); /* its other half */
	PUT(gpa);
	assert_int_equal(vcpu_op(VCPUOP_register_runstate_phys_area, 0, ARG), -XEN_ENXIO);
	gpa = RECORD + 4;
	PUT(gpa);
	assert_int_equal(vcpu_op(VCPUOP_register_runstate_phys_area, 0, ARG), -XEN_ENXIO);
	gpa = NOWHERE;
	PUT(gpa);
	assert_int_equal(vcpu_op(VCPUOP_register_runstate_phys_area, 0, ARG), -XEN_EFAULT);
	gpa = RECORD;
	PUT(gpa);
	assert_int_equal(vcpu_op(VCPUOP_register_runstate_phys_area, 0, ARG), 0);
	start();
	turns(2);
	check_record(RUNSTATE_runnable);
	/* And away: the page is the guest's again. */
	gpa = INVALID_GPA;
	PUT(gpa);
	assert_int_equal(vcpu_op(VCPUOP_register_runstate_phys_area, 0, ARG), 0);
	memset(&in_stay, 0, sizeof(in_stay));
	put(RECORD, &in_stay, sizeof(in_stay));
	turns(3);
	assert_int_equal(in_stay.state_entry_time, 0);
}

static bool changed_slots;

static int change_slots_and_yield(struct vcpu *v)
{
	struct mem_slot s = { .gpa = NOWHERE, .size = PAGE_SIZE, .pa = vm->slots->slot[0].pa };

	get(record_at, &in_stay, sizeof(in_stay));
	if (!changed_slots)
		assert_int_equal(vm_add_slot(vm, &s), 0);
	changed_slots = true;
	pass(1000);
	return VCPU_EXIT_YIELD;
}

/* A put can't look a page up: it skips the record, and the next load catches up. */
static void a_record_out_of_reach_is_caught_up(void **state)
{
	struct vcpu_runstate_info r;

	record_at = RECORD;
	changed_slots = false;
	make(1, change_slots_and_yield);
	assert_int_equal(register_runstate(0, RECORD), 0);
	start();
	turns(2);
	get(RECORD, &r, sizeof(r));
	assert_int_equal(r.state, RUNSTATE_running); /* as before the put */
	turns(1);
	check_record(RUNSTATE_runnable);
	r = runstate_of(0);
	assert_int_equal(r.time[RUNSTATE_running], 2000);
}

/* No guest runs with a record that says otherwise, as long as there is a record. */
static void a_record_on_the_move_is_waited_for(void **state)
{
	struct vcpu *v;

	record_at = RECORD;
	make(1, look_and_yield);
	v = vm->vcpu[0];
	assert_int_equal(register_runstate(0, RECORD), 0);
	xen_vcpu_put(v, VCPU_RUNNABLE);
	WRITE_ONCE(vm->generation, vm->generation | GENERATION_BUSY);
	xen_vcpu_load(v);
	assert_true(v->requests & VCPU_REQ_TIME);
	v->requests = 0;
	assert_false(xen_serve(v));
	assert_true(v->requests & VCPU_REQ_TIME); /* it comes again */
	WRITE_ONCE(vm->generation, vm->generation & ~GENERATION_BUSY);
	assert_true(xen_serve(v));
	in_stay = runstate_of(0);
	check_record(RUNSTATE_running);
	xen_vcpu_put(v, VCPU_RUNNABLE);
}

static void a_record_that_comes_back_is_written(void **state)
{
	struct mem_slot ram;
	struct vcpu *v;

	record_at = RECORD;
	make(1, look_and_yield);
	v = vm->vcpu[0];
	assert_int_equal(register_runstate(0, RECORD), 0);
	ram = vm->slots->slot[0];
	xen_vcpu_put(v, VCPU_RUNNABLE);
	assert_int_equal(vm_move_slot(vm, ram.gpa, ram.gpa + GIB(1)), 0);
	v->requests = 0;
	xen_vcpu_load(v);
	assert_false(v->requests & VCPU_REQ_TIME); /* gone is gone: it runs without */
	assert_int_equal(vm_move_slot(vm, ram.gpa + GIB(1), ram.gpa), 0);
	assert_true(v->requests & VCPU_REQ_TIME);
	assert_true(xen_serve(v));
	in_stay = runstate_of(0);
	check_record(RUNSTATE_running);
	xen_vcpu_put(v, VCPU_RUNNABLE);
}

/* Its second page can't be written at first: what is in the first then is what a reader could see. */
static u8 *caught_page;
static const u8 *caught_top; /* top byte of state_entry_time */
static u32 catches, marked;

static void catch_write(int sig)
{
	catches++;
	marked += *caught_top >> 7;
	mprotect(caught_page, PAGE_SIZE, PROT_READ | PROT_WRITE);
}

static void a_record_is_marked_while_it_changes(void **state)
{
	struct sigaction act = { .sa_handler = catch_write }, before;

	record_at = RECORD + PAGE_SIZE - 24;
	catches = marked = 0;
	make(1, look_and_yield);
	assert_int_equal(register_runstate(0, record_at), 0);
	caught_page = vm_gpa_to_va(vm, RECORD + PAGE_SIZE, 1, true);
	caught_top = vm_gpa_to_va(vm, record_at + 15, 1, true);
	assert_int_equal(sigaction(SIGSEGV, &act, &before), 0);
	for (u32 asked = 0; asked < 2; asked++) {
		assert_int_equal(call(XEN_vm_assist, !asked, 5, 0), 0);
		assert_int_equal(mprotect(caught_page, PAGE_SIZE, PROT_READ), 0);
		pass(1000);
		xen_vcpu_load(vm->vcpu[0]);
		assert_int_equal(catches, asked + 1);
		assert_int_equal(marked, asked);
		assert_int_equal(*caught_top >> 7, 0);
		in_stay = runstate_of(0);
		check_record(RUNSTATE_running);
		xen_vcpu_put(vm->vcpu[0], VCPU_RUNNABLE);
	}
	sigaction(SIGSEGV, &before, NULL);
}

/* A reader on another CPU that honours XEN_RUNSTATE_UPDATE never sees a half of it. */
static bool reader_done;
static u64 reader_saw, reader_wrong;

static bool read_consistent(struct vcpu_runstate_info *r, const u8 *at)
{
	u64 entry;

	memset(r, 0, sizeof(*r));
	for (u32 i = 8; i < 16; i++)
		((u8 *)&entry)[i - 8] = READ_ONCE(at[i]);
	if (entry & XEN_RUNSTATE_UPDATE)
		return false;
	smp_rmb();
	for (u32 i = 0; i < sizeof(*r); i++)
		((u8 *)r)[i] = READ_ONCE(at[i]);
	smp_rmb();
	for (u32 i = 8; i < 16; i++) {
		if (READ_ONCE(at[i]) != ((u8 *)r)[i])
			return false;
	}
	return !(r->state_entry_time & XEN_RUNSTATE_UPDATE) && r->state_entry_time == entry;
}

static void read_or_run(u32 cpu, void *arg)
{
	const u8 *at = arg;
	struct vcpu_runstate_info r;

	if (cpu == 1) {
		while (!READ_ONCE(reader_done)) {
			if (!read_consistent(&r, at))
				continue;
			reader_saw++;
			reader_wrong += sum(&r) != r.state_entry_time;
		}
		return;
	}
	for (u32 i = 0; i < 20000; i++) {
		pass(3);
		xen_vcpu_load(vm->vcpu[0]);
		pass(5);
		xen_vcpu_put(vm->vcpu[0], i & 1 ? VCPU_BLOCKED : VCPU_RUNNABLE);
	}
	store_release(&reader_done, true);
}

static void another_cpu_never_sees_half_a_record(void **state)
{
	reader_done = false;
	reader_saw = reader_wrong = 0;
	make(1, look_and_yield);
	assert_int_equal(call(XEN_vm_assist, 0, 5, 0), 0);
	assert_int_equal(register_runstate(0, RECORD), 0);
	host_on_cpus(2, read_or_run, vm_gpa_to_va(vm, RECORD, sizeof(in_stay), false));
	assert_true(reader_saw > 0);
	assert_int_equal(reader_wrong, 0);
}

/* --- Timers ------------------------------------------------------------------------------------- */

static u32 timer_port;
static u64 timeout; /* system time to ask for in the next stay, 0 = none */
static u64 stay; /* how long a stay takes */

static s64 set_singleshot(struct vcpu *v, u64 ns, u32 flags)
{
	struct vcpu_set_singleshot_timer set = { .timeout = ns, .flags = flags };

	PUT(set);
	return call_of(v, XEN_vcpu_op, VCPUOP_set_singleshot_timer, v->id, ARG);
}

static int set_and(struct vcpu *v, enum vcpu_exit e)
{
	if (timeout)
		assert_int_equal(set_singleshot(v, timeout, 0), 0);
	timeout = 0;
	atomic_xchg_acquire(&v->arch.posted, 0);
	pass(stay);
	return e;
}

static int set_and_yield(struct vcpu *v)
{
	return set_and(v, VCPU_EXIT_YIELD);
}

static int set_and_block(struct vcpu *v)
{
	return set_and(v, VCPU_EXIT_BLOCK);
}

static bool take_timer(void)
{
	bool was = is_pending(SHARED, timer_port);

	clear_pending(SHARED, timer_port);
	info_at(SHARED << PAGE_SHIFT)->evtchn_upcall_pending = 0;
	info_at(SHARED << PAGE_SHIFT)->evtchn_pending_sel = 0;
	return was;
}

static void make_with_timer(int (*fn)(struct vcpu *v))
{
	make(1, fn);
	assert_int_equal(put_shared_info(SHARED), 0);
	timer_port = bind_timer(0);
	timeout = 0;
	stay = 1000;
	start();
	turns(1);
}

static void take_interrupts(void)
{
	arch_irq_disable();
	arch_irq_enable();
}

static void a_timer_fires_while_its_vcpu_runs(void **state)
{
	make_with_timer(set_and_yield);
	timeout = 500;
	turns(1);
	assert_true(take_timer()); /* the host's timer took it out of the guest, 1000 ns later */
	turns(3);
	assert_false(take_timer()); /* once */
}

static void a_timer_fires_after_the_vcpu_was_put(void **state)
{
	make_with_timer(set_and_yield);
	timeout = 2500;
	turns(1); /* 1000 */
	turns(1); /* 2000 */
	assert_false(take_timer());
	turns(1); /* armed again on the way in, or it would not be seen before the next */
	assert_true(take_timer());
	turns(2);
	assert_false(take_timer());
}

static void a_timer_wakes_its_vcpu(void **state)
{
	make_with_timer(set_and_block);
	timeout = 5000;
	turns(1);
	assert_int_equal(vm->vcpu[0]->run_state, VCPU_BLOCKED);
	pass(3999 - 1000);
	take_interrupts();
	assert_int_equal(vm->vcpu[0]->run_state, VCPU_BLOCKED);
	pass(5000 - 3999);
	take_interrupts();
	assert_int_equal(vm->vcpu[0]->run_state, VCPU_RUNNABLE);
	assert_false(take_timer());
	turns(1);
	assert_true(take_timer());
}

static void a_timer_in_the_past(void **state)
{
	make_with_timer(set_and_block);
	pass(1000);
	assert_int_equal(set_singleshot(vm->vcpu[0], 999, VCPU_SSHOTTMR_future), -XEN_ETIME);
	assert_false(take_timer());
	assert_int_equal(set_singleshot(vm->vcpu[0], 999, 0), 0);
	assert_true(take_timer());
	assert_int_equal(set_singleshot(vm->vcpu[0], 1001, VCPU_SSHOTTMR_future), 0);
	assert_int_equal(vcpu_op(VCPUOP_stop_singleshot_timer, 0, 0), 0);
	pass(5000);
	take_interrupts();
	assert_false(take_timer());
}

static void timers_are_ones_own(void **state)
{
	struct vcpu_set_singleshot_timer set = { .timeout = 1 };

	make(2, set_and_block);
	PUT(set);
	assert_int_equal(vcpu_op(VCPUOP_set_singleshot_timer, 1, ARG), -XEN_EINVAL);
	assert_int_equal(vcpu_op(VCPUOP_stop_singleshot_timer, 1, ARG), -XEN_EINVAL);
}

static void set_timer_op(void **state)
{
	struct vcpu *v;

	make_with_timer(set_and_block);
	v = vm->vcpu[0];
	assert_int_equal(call(XEN_set_timer_op, 4000, 0, 0), 0);
	assert_int_equal(xen_vcpu_deadline(v), begin + 4000);
	assert_int_equal(call(XEN_set_timer_op, 0, 0, 0), 0);
	assert_int_equal(xen_vcpu_deadline(v), ~0UL);
	/* Negative, or further off than 2^50 ns: in 100 ms. */
	assert_int_equal(call(XEN_set_timer_op, (u64)-5, 0, 0), 0);
	assert_int_equal(xen_vcpu_deadline(v), now + 100 * MSEC);
	assert_int_equal(call(XEN_set_timer_op, now - begin + BIT(50), 0, 0), 0);
	assert_int_equal(xen_vcpu_deadline(v), now + BIT(50));
	assert_int_equal(call(XEN_set_timer_op, now - begin + BIT(50) + 1, 0, 0), 0);
	assert_int_equal(xen_vcpu_deadline(v), now + 100 * MSEC);
	assert_int_equal(call(XEN_set_timer_op, 1, 0, 0), 0);
	pass(1);
	assert_int_equal(call(XEN_set_timer_op, 1, 0, 0), 0);
	assert_true(take_timer());
}

static s64 set_periodic(u32 vcpu, u64 ns)
{
	PUT(ns);
	return vcpu_op(VCPUOP_set_periodic_timer, vcpu, ARG);
}

static void periodic_timers(void **state)
{
	make_with_timer(set_and_block);
	assert_int_equal(set_periodic(0, MSEC - 1), -XEN_EINVAL);
	assert_int_equal(set_periodic(0, ~0UL), -XEN_EINVAL);
	assert_int_equal(set_periodic(0, 2 * MSEC), 0);
	pass(2 * MSEC);
	take_interrupts();
	assert_true(take_timer());
	assert_false(take_timer());
	pass(7 * MSEC); /* three went by: one event, and the next on the beat */
	take_interrupts();
	assert_true(take_timer());
	assert_int_equal(xen_vcpu_deadline(vm->vcpu[0]), begin + 10 * MSEC);
	assert_int_equal(vcpu_op(VCPUOP_stop_periodic_timer, 0, 0), 0);
	assert_int_equal(xen_vcpu_deadline(vm->vcpu[0]), ~0UL);
}

/* With a counter above 4 GHz the longest period is longer than it; here it is late instead. */
static void a_period_longer_than_the_counter(void **state)
{
	make_with_timer(set_and_block);
	host_set_time(~0UL - BIT(61));
	assert_int_equal(set_periodic(0, BIT(62) - 1), 0);
	assert_int_equal(xen_vcpu_deadline(vm->vcpu[0]), ~0UL);
	assert_false(take_timer());
	assert_int_equal(vcpu_op(VCPUOP_stop_periodic_timer, 0, 0), 0);
	host_set_time(now);
}

static void a_period_set_by_another(void **state)
{
	make(2, set_and_yield);
	stay = 1000;
	timeout = 0;
	start();
	turns(1);
	assert_int_equal(set_periodic(1, 2 * MSEC), 0);
	assert_int_equal(xen_vcpu_deadline(vm->vcpu[1]), ~0UL); /* its owner's to take */
	turns(2);
	assert_int_not_equal(xen_vcpu_deadline(vm->vcpu[1]), ~0UL);
	assert_int_equal(vcpu_op(VCPUOP_stop_periodic_timer, 1, 0), 0);
	turns(2);
	assert_int_equal(xen_vcpu_deadline(vm->vcpu[1]), ~0UL);
}

static void reset_stops_timers_and_keeps_what_is_registered(void **state)
{
	make_with_timer(set_and_block);
	assert_int_equal(register_info(0, INFO >> PAGE_SHIFT, 0), 0);
	assert_int_equal(set_periodic(0, 2 * MSEC), 0);
	assert_int_equal(set_singleshot(vm->vcpu[0], MSEC, 0), 0);
	xen_vcpu_reset(vm->vcpu[0]);
	assert_int_equal(xen_vcpu_deadline(vm->vcpu[0]), ~0UL);
	assert_int_equal(register_info(0, INFO >> PAGE_SHIFT, 0), -XEN_EINVAL);
}

/* --- Scheduling --------------------------------------------------------------------------------- */

static s64 poll_of(struct vcpu *v, u32 nr, u64 until)
{
	struct sched_poll p = { .ports = PORTS, .nr_ports = nr, .timeout = until };

	PUT(p);
	return call_of(v, XEN_sched_op, SCHEDOP_poll, ARG, 0);
}

static u64 poll_until;
static u32 polls;

static int poll_once(struct vcpu *v)
{
	atomic_xchg_acquire(&v->arch.posted, 0);
	if (polls++)
		return VCPU_EXIT_YIELD;
	assert_int_equal(poll_of(v, 1, poll_until), 0);
	return last_exit;
}

static u32 make_poller(u64 until)
{
	u32 port;

	polls = 0;
	poll_until = until;
	make(1, poll_once);
	assert_int_equal(put_shared_info(SHARED), 0);
	port = bind_ipi(0);
	put(PORTS, &port, sizeof(port));
	start();
	turns(2);
	return port;
}

static void mask(u32 port)
{
	u64 bit = BIT(port % 64);

	put((SHARED << PAGE_SHIFT) + XEN_EVTCHN_MASK + port / 64 * 8, &bit, sizeof(bit));
}

static void a_poll_ends_with_the_port_even_masked(void **state)
{
	u32 port = make_poller(0);

	assert_int_equal(last_exit, VCPU_EXIT_BLOCK);
	assert_int_equal(vm->vcpu[0]->run_state, VCPU_BLOCKED);
	mask(port);
	turns(3);
	assert_int_equal(vm->vcpu[0]->run_state, VCPU_BLOCKED);
	assert_int_equal(polls, 1);
	assert_int_equal(send(port), 0);
	assert_int_equal(vm->vcpu[0]->arch.upcalls, 0);
	assert_int_equal(vm->vcpu[0]->run_state, VCPU_RUNNABLE);
	turns(1);
	assert_int_equal(polls, 2);
	assert_true(is_pending(SHARED, port));
}

static void a_poll_ends_with_its_timeout(void **state)
{
	make_poller(7000);
	assert_int_equal(vm->vcpu[0]->run_state, VCPU_BLOCKED);
	pass(6999);
	take_interrupts();
	turns(2);
	assert_int_equal(polls, 1);
	pass(1);
	take_interrupts();
	assert_int_equal(vm->vcpu[0]->run_state, VCPU_RUNNABLE);
	turns(1);
	assert_int_equal(polls, 2);
	assert_int_equal(xen_vcpu_deadline(vm->vcpu[0]), ~0UL);
}

static void a_poll_of_what_is_pending_goes_on(void **state)
{
	u32 port;

	make(1, NULL);
	port = bind_ipi(0);
	put(PORTS, &port, sizeof(port));
	assert_int_equal(send(port), 0);
	assert_int_equal(poll_of(vm->vcpu[0], 1, 0), 0);
	assert_int_equal(last_exit, VCPU_EXIT_RESUME);
}

static void polls_refused(void **state)
{
	struct sched_poll p = { .ports = NOWHERE, .nr_ports = 1 };
	u32 port = 4000000;

	make(1, NULL);
	assert_int_equal(poll_of(vm->vcpu[0], 129, 0), -XEN_EINVAL);
	assert_int_equal(poll_of(vm->vcpu[0], ~0U, 0), -XEN_EINVAL);
	PUT(p);
	assert_int_equal(call(XEN_sched_op, SCHEDOP_poll, ARG, 0), -XEN_EFAULT);
	put(PORTS, &port, sizeof(port));
	assert_int_equal(poll_of(vm->vcpu[0], 1, 0), -XEN_EINVAL);
	assert_int_equal(last_exit, VCPU_EXIT_RESUME);
}

static void yield_and_block(void **state)
{
	make(1, NULL);
	assert_int_equal(call(XEN_sched_op, SCHEDOP_yield, 0, 0), 0);
	assert_int_equal(last_exit, VCPU_EXIT_YIELD);
	assert_int_equal(call(XEN_sched_op, SCHEDOP_block, 0, 0), 0);
	assert_int_equal(last_exit, VCPU_EXIT_BLOCK);
}

static void shut_down(u32 reason, enum vm_state expected)
{
	make(1, NULL);
	PUT(reason);
	assert_int_equal(call(XEN_sched_op, SCHEDOP_shutdown, ARG, 0), 0);
	assert_int_equal(last_exit, VCPU_EXIT_STOP);
	assert_int_equal(vm->state, expected);
	end(NULL);
}

static void shutdown_has_its_reason(void **state)
{
	shut_down(0, VM_STOPPED);
	shut_down(1, VM_STOPPED);
	shut_down(3, VM_CRASHED);
	shut_down(255, VM_STOPPED);
}

static int go_down_once(struct vcpu *v)
{
	if (v->id == 1 && v->loads == 1) {
		assert_int_equal(call_of(v, XEN_vcpu_op, VCPUOP_down, 1, 0), 0);
		return last_exit;
	}
	return VCPU_EXIT_YIELD;
}

static void down_and_up(void **state)
{
	make(3, go_down_once);
	vm_start(vm);
	assert_int_equal(vcpu_power_on(vm->vcpu[1]), 0);
	turns(4);
	assert_int_equal(vcpu_op(VCPUOP_is_up, 0, 0), 1);
	assert_int_equal(vcpu_op(VCPUOP_is_up, 1, 0), 0);
	assert_int_equal(vcpu_op(VCPUOP_up, 2, 0), -XEN_EINVAL); /* it has never been on */
	assert_int_equal(vcpu_op(VCPUOP_down, 1, 0), -XEN_EINVAL); /* not by another */
	assert_int_equal(vcpu_op(VCPUOP_up, 0, 0), 0); /* it is */
	assert_int_equal(runstate_of(1).state, RUNSTATE_offline);
	assert_int_equal(vcpu_op(VCPUOP_up, 1, 0), 0);
	assert_int_equal(vcpu_op(VCPUOP_is_up, 1, 0), 1);
	turns(4);
	assert_true(vm->vcpu[1]->loads > 1);
}

/* CPU 0 runs all guests; the others are there for threads of the test. */
static void set_up(void)
{
	host_setup(3, MIB(64));
	platform.cpus[1].enabled = platform.cpus[2].enabled = false;
	smp_start_all();
}

#define TEST(fn) cmocka_unit_test_teardown(fn, end)

int main(void)
{
	int failed = 0;
	const struct CMUnitTest tests[] = {
		TEST(structures_are_xens),
		TEST(version_and_features),
		TEST(what_is_not_there_is_refused),
		TEST(arguments_outside_memory_are_faults),
		TEST(memory_is_told_by_the_slot),
		TEST(console_comes_out_by_the_line),
		TEST(parameters),
		TEST(a_vector_of_ones_own),
		TEST(assists),
		TEST(shared_info_takes_along_what_is_pending),
		TEST(shared_info_where_there_is_no_memory),
		TEST(shared_info_refused),
		TEST(shared_info_is_not_put_over_a_device),
		TEST(vcpu_info_registers_once),
		TEST(a_registered_vcpu_info_loses_nothing),
		TEST(a_vcpu_without_a_place_in_shared_info),
		TEST(nothing_is_lost_while_shared_info_moves),
		TEST(a_refused_registration_loses_nothing),
		TEST(time_is_written_where_it_is_asked_for),
		TEST(runstate_adds_up),
		TEST(a_sleep_ends_with_the_wake_up),
		TEST(a_record_may_lie_across_two_pages),
		TEST(runstate_areas_refused),
		TEST(a_record_out_of_reach_is_caught_up),
		TEST(a_record_on_the_move_is_waited_for),
		TEST(a_record_that_comes_back_is_written),
		TEST(a_record_is_marked_while_it_changes),
		TEST(another_cpu_never_sees_half_a_record),
		TEST(a_timer_fires_while_its_vcpu_runs),
		TEST(a_timer_fires_after_the_vcpu_was_put),
		TEST(a_timer_wakes_its_vcpu),
		TEST(a_timer_in_the_past),
		TEST(timers_are_ones_own),
		TEST(set_timer_op),
		TEST(periodic_timers),
		TEST(a_period_longer_than_the_counter),
		TEST(a_period_set_by_another),
		TEST(reset_stops_timers_and_keeps_what_is_registered),
		TEST(a_poll_ends_with_the_port_even_masked),
		TEST(a_poll_ends_with_its_timeout),
		TEST(a_poll_of_what_is_pending_goes_on),
		TEST(polls_refused),
		TEST(yield_and_block),
		TEST(shutdown_has_its_reason),
		TEST(down_and_up),
	};

	set_up();
	for (kind = GPC_RWLOCK; kind < NR_GPC_KINDS; kind++)
		failed += cmocka_run_group_tests_name(gpc_kind_names[kind], tests, NULL, NULL);
	return failed;
}
