/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hypercalls of Xen's ABI, any of them with any arguments, between moves of the memory they talk about. Bytes
 * are read as a list of deeds; the VM is made for each list, and afterwards nothing of it is left and its
 * neighbour's memory is as it was.
 */
#include "fuzz.h"

#include <string.h>

#include <cupel/gpc.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/smp.h>
#include <cupel/vm.h>
#include <cupel/xen.h>

#include "../../host/machine.h"

#define VCPUS	 3
#define MEMORY	 KIB(64)
#define PATTERN	 0x3c
#define MAX_DEED 64

/* What the linker script gives to an image. */
__asm__(".section .rodata\n"
	".globl __build_id_start, __build_id_end, __image_start, __image_end, __bss_start\n"
	"__build_id_start: .fill 36, 1, 0\n"
	"__build_id_end: .byte 0\n"
	"__image_start: .byte 0\n"
	"__image_end: .byte 0\n"
	"__bss_start: .byte 0\n"
	".previous\n");

const char *arch_cpu_model(void)
{
	return "fuzzer";
}

void arch_machine_exit(int code)
{
	fuzz_fail("the hypervisor goes on");
}

void arch_machine_reboot(void)
{
	fuzz_fail("the hypervisor goes on");
}

/* --- Bytes -------------------------------------------------------------------------------------- */

static const u8 *bytes;
static size_t left;

static u8 byte(void)
{
	if (!left)
		return 0;
	left--;
	return *bytes++;
}

static u64 word(void)
{
	u64 value = 0;

	for (u32 i = 0; i < sizeof(value); i++)
		value = value << 8 | byte();
	return value;
}

/* Small numbers, addresses in memory and at its edges, and now and then anything. */
static u64 number(void)
{
	static const u64 corner[] = { 0,       ~0UL,	   MEMORY,	 MEMORY - 1, MEMORY - 4,
				      BIT(63), DOMID_SELF, BIT(47),	 BIT(40),    0xffffffff,
				      131071,  131072,	   MEMORY >> 12, 4096,	     4095,
				      BIT(52) };
	u8 kind = byte();

	switch (kind & 3) {
	case 0: return kind >> 2;
	case 1: return (u64)(kind >> 2) << 8 | byte();
	case 2: return (u64)byte() << 8 | (byte() & 0xf8);
	default: return kind & 4 ? corner[kind >> 4] : word();
	}
}

/* --- Deeds -------------------------------------------------------------------------------------- */

static struct vm *vm, *neighbour;
static u64 now = NSEC_PER_SEC;

static int no_guest(struct vcpu *v)
{
	return VCPU_EXIT_BLOCK;
}

static struct vm *make(u64 kind, bool xen)
{
	struct vm_config c = { .name = "fuzz",
			       .memory = MEMORY,
			       .vcpus = VCPUS,
			       .gpc = (enum gpc_kind)(kind % NR_GPC_KINDS),
			       .layout = kind & 64 ? EVTCHN_SPREAD : EVTCHN_PACKED,
			       .xen = xen };
	const char *why;
	int err;
	struct vm *made;

	host_guest = no_guest;
	made = vm_create(&c, NULL, 0, &err, &why);
	FUZZ_CHECK(made);
	return made;
}

static void hypercall_deed(struct vcpu *v)
{
	static const u8 nr[] = { XEN_memory_op,	       XEN_set_timer_op,     XEN_version,
				 XEN_console_io,       XEN_vm_assist,	     XEN_vcpu_op,
				 XEN_vcpu_op,	       XEN_sched_op,	     XEN_hvm_op,
				 XEN_event_channel_op, XEN_event_channel_op, 63 };
	u64 which = nr[byte() % ARRAY_SIZE(nr)];
	u64 arg[5] = { byte() & 31, number(), number(), number(), number() };
	enum vcpu_exit exit = VCPU_EXIT_RESUME;
	s64 ret;

	if (which == XEN_set_timer_op)
		arg[0] = number();
	arch_irq_disable();
	ret = xen_hypercall(v, which, arg, &exit);
	arch_irq_enable();
	FUZZ_CHECK(ret >= -200 && ret <= (s64)UINT32_MAX);
	FUZZ_CHECK(exit <= VCPU_EXIT_STOP);
}

static void memory_deed(void)
{
	gpaddr_t from = (u64)(byte() % 32) << PAGE_SHIFT, to = (u64)(byte() % 64) << PAGE_SHIFT;
	u64 value = number();

	switch (byte() % 4) {
	case 0: vm_move_page(vm, from); break;
	case 1: vm_move_slot(vm, from, to); break;
	case 2: vm_set_slot_flags(vm, from, (u32)value & (SLOT_READONLY | SLOT_DIRTY_LOG)); break;
	default: vm_copy_to(vm, from + (u64)byte() * 8, &value, sizeof(value)); break;
	}
}

static void vcpu_deed(struct vcpu *v)
{
	u8 what = byte();

	if (what & 1) {
		xen_vcpu_load(v);
		arch_irq_disable();
		evtchn_serve(v);
		arch_irq_enable();
		xen_vcpu_put(v, what >> 1 & 3);
	} else if (what & 2) {
		xen_vcpu_reset(v);
	} else {
		(void)xen_vcpu_wakeable(v);
		(void)xen_vcpu_deadline(v);
		now += 1UL << (what >> 3);
		host_set_time(now);
	}
}

static void deed(void)
{
	struct vcpu *v = vm->vcpu[byte() % VCPUS];

	switch (byte() & 7) {
	case 0: memory_deed(); break;
	case 1: vcpu_deed(v); break;
	default: hypercall_deed(v); break;
	}
}

/* --- A run -------------------------------------------------------------------------------------- */

static bool is_whole(void)
{
	static u8 expected[MEMORY], found[MEMORY];

	memset(expected, PATTERN, sizeof(expected));
	return !vm_copy_from(neighbour, found, 0, MEMORY) && !memcmp(expected, found, MEMORY);
}

static void set_up(void)
{
	static u8 pattern[MEMORY];

	host_machine(2, MIB(64));
	host_set_time(now);
	platform.cpus[1].enabled = false;
	smp_start_all();
	FUZZ_CHECK(!gpc_setup());
	arch_irq_enable();
	neighbour = make(0, true);
	memset(pattern, PATTERN, sizeof(pattern));
	FUZZ_CHECK(!vm_copy_to(neighbour, 0, pattern, sizeof(pattern)));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u64 pages;

	if (!neighbour)
		set_up();
	bytes = data;
	left = size;
	pages = mm_stats().free_pages;
	vm = make(byte(), true);
	for (u32 i = 0; i < MAX_DEED && left && vm->state == VM_NEW; i++)
		deed();
	for (u32 i = 0; i < VCPUS; i++)
		xen_vcpu_reset(vm->vcpu[i]);
	vm_destroy(vm);
	FUZZ_CHECK(mm_stats().free_pages == pages);
	FUZZ_CHECK(is_whole());
	return 0;
}
