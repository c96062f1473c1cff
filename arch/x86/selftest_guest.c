/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self-tests of the x86 guest side that need a guest to run: each makes a VM of a few instructions,
 * runs its vCPU here and now, without the scheduler, and looks at what came of it. Nothing stays.
 */
#include "svm/internal.h"
#include <asm/apic.h>
#include <asm/timer.h>
#include <asm/vlapic.h>
#include <cupel/abi.h>
#include <cupel/clock.h>
#include <cupel/irq.h>
#include <cupel/ktap.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/vm.h>
#include <string.h>

#define DEVICE	    0xd0000000UL
#define DEVICE_REGS 16
#define LEAVES	    40 /* more than a CPU of any emulator has ASIDs */

/* Code of a guest, 32-bit protected mode, put at GUEST_X86_ENTRY. */
#define GUEST_CODE(name, code)                                                                     \
	extern const u8 name[], name##_end[];                                                      \
	__asm__(".pushsection .rodata." #name ", \"a\"\n\t.code32\n" #name ":\n\t" code "\n" #name \
		"_end:\n\t.code64\n\t.popsection")
#define VALUE(x)	VALUE_(x)
#define VALUE_(x)	#x
#define CALL(id)	"mov $" VALUE(id) ", %eax\n\tvmmcall\n\t"
#define WANT(cond_jump) cond_jump " 9f\n\t"
#define EXIT(code)	"mov $" VALUE(code) ", %edi\n\t" CALL(HC_EXIT)

static struct vm *make_vm(struct selftest_ctx *t, const u8 *code, const u8 *end)
{
	struct vm_config c = { .name = "selftest", .memory = MIB(2), .vcpus = 1 };
	const char *why = "";
	int err;
	struct vm *vm = vm_create(&c, code, (u64)(end - code), &err, &why);

	CHECK(t, vm);
	if (!vm)
		printk("# no VM: %s (%d)\n", why, err);
	return vm;
}

/* Until it leaves for a reason that the scheduler would see. */
static enum vcpu_exit run(struct vm *vm)
{
	enum vcpu_exit e;

	vcpu_load(vm->vcpu[0]);
	e = vcpu_run(vm->vcpu[0]);
	vcpu_put(vm->vcpu[0]);
	return e;
}

/* Run to its end; true when it ended by itself with code 0. */
static bool runs_well(struct vm *vm)
{
	enum vcpu_exit e;

	do
		e = run(vm);
	while (e == VCPU_EXIT_LEAVE);
	if (e == VCPU_EXIT_STOP && vm->state == VM_STOPPED && !vm->exit_code)
		return true;
	printk("# exit %d, state %d, code %d: %s\n", e, vm->state, vm->exit_code, vm->stop_reason);
	return false;
}

GUEST_CODE(leave_code, "1: " CALL(HC_LEAVE) "jmp 1b");

SELFTEST(guest_asid_generations)
{
	struct vm *vm = make_vm(t, leave_code, leave_code_end);
	struct arch_vcpu *a;
	u64 before, asks;

	if (!vm)
		return;
	a = &vm->vcpu[0]->arch;
	before = this_cpu(svm_cpu).asid_generation;
	for (u32 n = 0; n < LEAVES; n++) {
		vcpu_request_quiet(vm->vcpu[0], VCPU_REQ_TLB);
		CHECK(t, run(vm) == VCPU_EXIT_LEAVE);
	}
	asks = a->flushes_owed;
	CHECK(t, asks >= LEAVES);
	CHECK(t, a->flushes_done == asks);
	CHECK(t, this_cpu(svm_cpu).flushes_done == this_cpu(svm_cpu).flushes_owed);
	if (!svm_features.flush_asid)
		CHECK(t, this_cpu(svm_cpu).asid_generation - before ==
					 LEAVES / (svm_features.nr_asids - 1) ||
				 this_cpu(svm_cpu).asid_generation - before ==
					 LEAVES / (svm_features.nr_asids - 1) + 1);
	vm_destroy(vm);
}

/* Each removal is a flush that the vCPU owes until it has entered again. */
SELFTEST(guest_unmap_is_flushed)
{
	struct vm *vm = make_vm(t, leave_code, leave_code_end);
	struct arch_vcpu *a;
	const struct mem_slot *s;
	u64 owed;

	if (!vm)
		return;
	a = &vm->vcpu[0]->arch;
	s = vm_find_slot(vm, 0x40000);
	CHECK(t, run(vm) == VCPU_EXIT_LEAVE);
	owed = a->flushes_owed;
	CHECK(t, a->flushes_done == owed);
	for (u32 n = 0; n < 3; n++) {
		arch_stage2_unmap(vm, 0x40000 + n * PAGE_SIZE, PAGE_SIZE);
		vm_quiesce(vm);
	}
	CHECK(t, vm->arch.unmaps == 3);
	CHECK(t, !(npt_lookup(vm, 0x40000) & 1) && npt_lookup(vm, 0x43000) & 1);
	CHECK(t, READ_ONCE(vm->vcpu[0]->requests) & VCPU_REQ_TLB);
	CHECK(t, run(vm) == VCPU_EXIT_LEAVE);
	CHECK(t, a->flushes_owed == owed + 1); /* requests of one kind fold into one */
	CHECK(t, a->flushes_done == a->flushes_owed);
	CHECK(t, !arch_stage2_map(vm, 0x40000, s->pa + 0x40000 - s->gpa, 3 * PAGE_SIZE, 0));
	CHECK(t, (npt_lookup(vm, 0x41000) & ~0xfffUL) == s->pa + 0x41000 - s->gpa);
	vm_destroy(vm);
}

/* The same address, other bytes: 0F A2 90 first, 66 0F A2 the second time round. */
/* clang-format off */
GUEST_CODE(patch_code,
	   "xor %esi, %esi\n"
	   "1:	xor %eax, %eax\n"
	   "2:	cpuid\n	nop\n"
	   "inc %esi\n	cmp $2, %esi\n	je 3f\n"
	   "movl $0x46a20f66, 2b-patch_code+" VALUE(GUEST_X86_ENTRY) "\n"
	   "jmp 1b\n"
	   "3:	" EXIT(0));
/* clang-format on */

SELFTEST(guest_patched_instruction)
{
	struct vm *vm = make_vm(t, patch_code, patch_code_end);

	if (!vm)
		return;
	CHECK(t, runs_well(vm));
	CHECK(t, vm->vcpu[0]->exits[EXITS_CPUID] == 2);
	vm_destroy(vm);
}

/* Flags, memory and its map as Multiboot says, for an image that carries its header. */
/* clang-format off */
GUEST_CODE(multiboot_code,
	   "jmp 1f\n	.balign 4\n	.long 0x1badb002, 0, -0x1badb002\n"
	   "1:	cmp $0x2badb002, %eax\n" WANT("jne")
	   "cmpl $0x45, (%ebx)\n" WANT("jne")
	   "cmpl $1024, 8(%ebx)\n" WANT("jne")
	   "mov 48(%ebx), %esi\n	cmpl $0x100000, 48+4(%esi)\n" WANT("jne")
	   EXIT(0) "9:	" EXIT(1));
/* clang-format on */

SELFTEST(guest_multiboot)
{
	struct vm *vm = make_vm(t, multiboot_code, multiboot_code_end);

	if (!vm)
		return;
	CHECK(t, runs_well(vm));
	vm_destroy(vm);
}

/* --- Devices ------------------------------------------------------------------------------------ */

static u32 device[DEVICE_REGS];

static bool device_access(struct vcpu *v, void *dev, struct mmio_access *a)
{
	u8 *at = (u8 *)device + a->offset;

	if (a->write)
		memcpy(at, &a->value, a->size);
	else
		memcpy(&a->value, at, a->size);
	return true;
}

#define AT(reg) VALUE(0xd0000000) " + 4 * " VALUE(reg)

/* clang-format off */
GUEST_CODE(mmio_code,
	   "movl $0x11223344, " AT(0) "\n	movw $0x5566, " AT(1) "\n	movb $0x77, " AT(1) " + 3\n"
	   "orl $0x80, " AT(0) "\n	andb $0x0f, " AT(0) " + 3\n"
	   "mov $0x100, %eax\n	xchg %eax, " AT(2) "\n	mov %eax, " AT(3) "\n"
	   "addl $-1, " AT(2) "\n" WANT("jnc")
	   "cmpl $0xff, " AT(2) "\n" WANT("jne")
	   "testb $0x80, " AT(0) "\n" WANT("jz")
	   "subw $0x5567, " AT(1) "\n" WANT("jnc")
	   "movzbl " AT(1) " + 3, %ecx\n	cmp $0x77, %ecx\n" WANT("jne")
	   "movswl " AT(1) ", %ecx\n	cmp $-1, %ecx\n" WANT("jne")
	   "mov $0xaabbccdd, %edx\n	mov %dh, " AT(4) "\n	mov " AT(4) ", %ah\n"
	   "cmp $0xcc, %ah\n" WANT("jne")
	   "mov $0xd0000014, %edi\n	mov $3, %ecx\n	mov $0x0badcafe, %eax\n	rep stosl\n"
	   "mov $0xd0000014, %esi\n	mov $0x80000, %edi\n	mov $2, %ecx\n	rep movsl\n"
	   "cmpl $0x0badcafe, 0x80004\n" WANT("jne")
	   "movl $0x12345678, 0x80004\n	mov $0x80004, %esi\n	mov $0xd0000020, %edi\n	movsl\n"
	   "std\n	mov $0xd0000020, %esi\n	lodsl\n	cld\n"
	   "cmp $0x12345678, %eax\n" WANT("jne")
	   "cmp $0xd000001c, %esi\n" WANT("jne")
	   /* FS at 0x1000: the source of MOVS is where its segment says */
	   "mov $0xc0000100, %ecx\n	mov $0x1000, %eax\n	xor %edx, %edx\n	wrmsr\n"
	   "movl $0x600dc0de, 0x80010\n	mov $0x7f010, %esi\n	mov $0xd0000024, %edi\n	fs movsl\n"
	   EXIT(0) "9:	" EXIT(1));
/* clang-format on */

SELFTEST(guest_mmio_instructions)
{
	struct mmio_window w = { "test", DEVICE, sizeof(device), device_access, NULL };
	struct vm *vm = make_vm(t, mmio_code, mmio_code_end);

	if (!vm)
		return;
	memset(device, 0, sizeof(device));
	CHECK(t, !vm_add_mmio(vm, &w));
	CHECK(t, runs_well(vm));
	CHECK(t, device[0] == 0x012233c4);
	CHECK(t, device[1] == 0x7700ffff);
	CHECK(t, device[2] == 0xff && device[3] == 0);
	CHECK(t, device[5] == 0x0badcafe && device[7] == 0x0badcafe);
	CHECK(t, device[8] == 0x12345678);
	CHECK(t, device[9] == 0x600dc0de);
	vm_destroy(vm);
}

static char port_text[16];
static u32 port_count;

static bool port_access(struct vcpu *v, void *dev, struct mmio_access *a)
{
	if (a->write && port_count < sizeof(port_text))
		port_text[port_count++] = (char)a->value;
	a->value = 0x5a;
	return true;
}

/* clang-format off */
GUEST_CODE(string_io_code,
	   "mov $0x1230, %edx\n	mov $1f-string_io_code+" VALUE(GUEST_X86_ENTRY) ", %esi\n"
	   "mov $5, %ecx\n	rep outsb\n"
	   "test %ecx, %ecx\n" WANT("jnz")
	   "mov $0x80000, %edi\n	mov $100, %ecx\n	rep insb\n"
	   "cmpb $0x5a, 0x80000 + 99\n" WANT("jne")
	   "cmpb $0, 0x80000 + 100\n" WANT("jne")
	   "cmp $0x80000 + 100, %edi\n" WANT("jne")
	   EXIT(0) "9:	" EXIT(1) "1:	.ascii \"cupel\"");
/* clang-format on */

SELFTEST(guest_string_io)
{
	struct mmio_window w = { "test", 0x1230, 4, port_access, NULL };
	struct vm *vm = make_vm(t, string_io_code, string_io_code_end);

	if (!vm)
		return;
	port_count = 0;
	CHECK(t, !vm_add_pio(vm, &w));
	CHECK(t, runs_well(vm));
	CHECK(t, port_count == 5 && !memcmp(port_text, "cupel", 5));
	vm_destroy(vm);
}

/* --- Misbehaviour: stopped, with the cause in the report ------------------------------------------ */

static void must_crash(struct selftest_ctx *t, const u8 *code, const u8 *end, const char *cause)
{
	struct vm *vm = make_vm(t, code, end);

	if (!vm)
		return;
	CHECK(t, run(vm) == VCPU_EXIT_STOP);
	CHECK(t, vm->state == VM_CRASHED);
	if (!strstr(vm->stop_reason, cause)) {
		printk("# '%s' instead of '%s'\n", vm->stop_reason, cause);
		CHECK(t, !"the report names the cause");
	}
	vm_destroy(vm);
}

#define CRASH_TEST(name, code, cause)                               \
	GUEST_CODE(name##_code, code);                              \
	SELFTEST(guest_##name)                                      \
	{                                                           \
		must_crash(t, name##_code, name##_code_end, cause); \
	}

CRASH_TEST(undefined, "ud2", "exception 6 with no IDT")
CRASH_TEST(wild_read, "mov 0xc0000000, %eax", "read of 4 bytes at c0000000")
CRASH_TEST(wild_jump, "mov $0xc0000000, %eax\n	jmp *%eax", "runs outside its memory")
CRASH_TEST(rom_write, "movl $0, 0xf0000000", "write to read-only memory at f0000000")
CRASH_TEST(strange_mmio, "fldl 0xc0000000", "read at c0000000")
CRASH_TEST(unknown_port, "mov $0x5000, %edx\n	in %dx, %al", "read of 1 bytes from port 5000")
CRASH_TEST(unknown_msr, "mov $0x1fff, %ecx\n	rdmsr", "exception 13 with no IDT")
CRASH_TEST(svm_insn, "mov $1, %eax\n	vmload", "exception 6 with no IDT")
CRASH_TEST(bad_cr4, "mov $0x80000000, %eax\n	mov %eax, %cr4", "exception 13 with no IDT")
CRASH_TEST(no_page_tables,
	   "mov $0xc0000000, %eax\n	mov %eax, %cr3\n"
	   "mov %cr0, %eax\n	or $0x80000000, %eax\n	mov %eax, %cr0\n	nop",
	   "page tables outside its memory")

/* --- The host's timer ----------------------------------------------------------------------------- */

static void no_op(struct soft_timer *t)
{
}

static bool timer_masked(void)
{
	bool on = false;

	irq_get_state(irq_to_desc(X86_VEC_TIMER), IRQ_STATE_MASKED, &on);
	return on;
}

/* What loading a vCPU does to the LVT entry never stands behind a deadline. */
SELFTEST(guest_load_keeps_tick)
{
	struct soft_timer timer = { .fn = no_op };
	unsigned long flags = arch_irq_save();

	irq_set_percpu_state(irq_to_desc(X86_VEC_TIMER), IRQ_STATE_MASKED, true);
	CHECK(t, timer_masked());
	/* Sooner than whatever is armed: the timer itself is written. */
	soft_timer_arm(&timer, arch_counter() + 1000);
	CHECK(t, x86_tick_is_armed());
	CHECK(t, !timer_masked());
	soft_timer_cancel(&timer);
	arch_irq_restore(flags);
}

SELFTEST(guest_load_writes_once)
{
	struct vm *vm = make_vm(t, leave_code, leave_code_end);

	if (!vm)
		return;
	for (u32 n = 0; n < 10; n++)
		CHECK(t, run(vm) == VCPU_EXIT_LEAVE);
	CHECK(t, vm->vcpu[0]->active_writes == 10 && vm->vcpu[0]->loads == 10);
	vm_destroy(vm);
}

/* --- Tables ------------------------------------------------------------------------------------- */

SELFTEST(guest_msr_table_sorted)
{
	u32 first, last, before = 0;

	for (u32 n = 0; guest_msr_range(n, &first, &last); n++) {
		CHECK(t, first <= last);
		CHECK(t, !n || first > before);
		before = last;
	}
}

SELFTEST(guest_cpuid_coherent)
{
	struct vm *vm = make_vm(t, leave_code, leave_code_end);
	struct cpuid_regs r;

	if (!vm)
		return;
	r = guest_cpuid(vm->vcpu[0], 0, 0x40000000, 0);
	CHECK(t, r.ebx == 0x65707543 && r.ecx == 0x7075436c && r.edx == 0x75436c65);
	r = guest_cpuid(vm->vcpu[0], 0, 1, 0);
	CHECK(t, r.ecx & CPUID_1_ECX_HYPERVISOR && r.ecx & CPUID_1_ECX_X2APIC);
	CHECK(t, !(r.ecx & BIT32(27)));
	r = guest_cpuid(vm->vcpu[0], CR4_OSXSAVE, 1, 0);
	CHECK(t, r.ecx & BIT32(27));
	r = guest_cpuid(vm->vcpu[0], 0, 0x80000001, 0);
	CHECK(t, !(r.ecx & CPUID_8000_0001_ECX_SVM) && r.edx & CPUID_8000_0001_EDX_LM);
	r = guest_cpuid(vm->vcpu[0], 0, 0x8000000a, 0);
	CHECK(t, !r.eax && !r.ebx && !r.ecx && !r.edx);
	vm_destroy(vm);
}
