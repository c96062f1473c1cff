/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vCPU and a VM on x86: what <cupel/vcpu.h> and <cupel/vm.h> ask of the architecture, and what the
 * backend does not need to know. Must not name a vendor's control block.
 */
#include <asm/apic.h>
#include <asm/timer.h>
#include <asm/trap.h>
#include <asm/virt.h>
#include <asm/vlapic.h>
#include <asm/v16550.h>
#include <cupel/abi.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>
#include <cupel/vm.h>
#include <cupel/xen.h>
#include <string.h>

#define LOW_RAM_MAX   0xc0000000UL /* devices and the ROM lie between here and 4 GiB */
#define HIGH_RAM_BASE 0x100000000UL
#define MAX_ORDER     18

/* The one backend that is built in; a second one makes this a choice by CPUID at boot. */
static const struct vcpu_backend *const backend = &svm_backend;

static DEFINE_PER_CPU(u64, tsc_aux_loaded);

const char *const arch_exit_names[] = {
	[EXITS_CPUID] = "cpuid",
	[EXITS_HYPERCALL] = "hypercall",
	[EXITS_MSR] = "msr",
	[EXITS_IO] = "io",
	[EXITS_APIC] = "apic",
	[EXITS_MMIO] = "mmio",
	[EXITS_HLT] = "hlt",
	[EXITS_HOST_IRQ] = "host-irq",
	[EXITS_WINDOW] = "window",
	[EXITS_EXCEPTION] = "exception",
	[EXITS_CONTROL_REG] = "control-reg",
	[EXITS_DEBUG_REG] = "debug-reg",
	[EXITS_XSETBV] = "xsetbv",
	[EXITS_OTHER] = "other",
	[NR_EXIT_COUNTERS] = NULL,
};
_Static_assert(NR_EXIT_COUNTERS < EXIT_COUNTERS, "room in struct vcpu");

void guest_cpu_init(void)
{
	guest_cpuid_init();
	fpu_cpu_init();
}

/* --- vCPUs -------------------------------------------------------------------------------------- */

static int make_insn_cache(struct vcpu *v)
{
	v->arch.insns = pages_alloc(size_to_order(sizeof(*v->arch.insns)));
	if (!v->arch.insns)
		return -ENOMEM;
	insn_cache_flush(v);
	return 0;
}

int arch_vcpu_init(struct vcpu *v)
{
	int err = backend->vcpu_init(v);

	if (!err)
		err = make_insn_cache(v);
	if (!err)
		err = fpu_vcpu_init(v);
	if (!err)
		err = vlapic_create(v);
	if (!err)
		err = guest_steal_init(v);
	if (err) {
		arch_vcpu_destroy(v);
		return err;
	}
	v->arch.wait_sipi = true;
	return 0;
}

void arch_vcpu_destroy(struct vcpu *v)
{
	guest_steal_destroy(v);
	vlapic_destroy(v);
	fpu_vcpu_destroy(v);
	if (v->arch.insns)
		pages_free(v->arch.insns, size_to_order(sizeof(*v->arch.insns)));
	v->arch.insns = NULL;
	backend->vcpu_destroy(v);
}

/*
 * The host timer's state, once per load: its LVT entry is masked on a CPU where no deadline of host or
 * guest is armed, so that not even a stray count reaches a guest, and unmasked otherwise. Arming a
 * deadline later unmasks it again (arch_tick_arm()): the host's own tick can't be stopped by this.
 */
static void load_timer_state(struct vcpu *v)
{
	v->vm->set_active(irq_to_desc(X86_VEC_TIMER), IRQ_STATE_MASKED, !x86_tick_is_armed());
	x86_tick_lvt_written();
	v->active_writes++;
}

void guest_tsc_aux_load(u64 value)
{
	if (this_cpu(tsc_aux_loaded) == value)
		return;
	this_cpu(tsc_aux_loaded) = value;
	wrmsr(MSR_TSC_AUX, value);
}

void arch_vcpu_load(struct vcpu *v)
{
	vlapic_load(v->arch.lapic);
	load_timer_state(v);
	guest_tsc_aux_load(v->arch.tsc_aux);
	fpu_load(v);
	backend->load(v);
}

void arch_vcpu_put(struct vcpu *v)
{
	backend->put(v);
	fpu_put(v);
	vlapic_put(v->arch.lapic);
}

enum vcpu_exit arch_vcpu_enter(struct vcpu *v)
{
	if (unlikely(v->arch.wait_sipi))
		return VCPU_EXIT_BLOCK;
	return backend->enter(v);
}

/* After RESET, INIT and SIPI alike; only the APIC tells them apart. */
static void reset(struct vcpu *v, bool init)
{
	v->arch.halted = false;
	v->arch.nmi_pending = v->arch.nmi_blocked = v->arch.nmi_step = false;
	v->arch.wait_sipi = true;
	vlapic_reset(v->arch.lapic, init);
	guest_msr_reset(v);
	fpu_vcpu_reset(v);
	memset(v->arch.dr, 0, sizeof(v->arch.dr));
	insn_cache_flush(v);
	walk_cache_flush(v);
	backend->flush(v);
	guest_steal_reset(v);
	if (v->xen)
		xen_vcpu_reset(v);
}

static void start(struct vcpu *v, const struct vcpu_start *s)
{
	backend->start(v, s);
	v->arch.wait_sipi = false;
}

/* INIT before SIPI, whatever the order they came in: a SIPI counts only after an INIT. */
static __noinline void take_events(struct vcpu *v)
{
	struct vlapic *l = v->arch.lapic;
	u32 events = atomic_xchg_acquire(&l->events, 0); /* pairs with vlapic_post_event() */

	if (events & VLAPIC_EVENT_NMI)
		v->arch.nmi_pending = true;
	if (events & VLAPIC_EVENT_INIT) {
		if (!v->id)
			vm_stop(v->vm, -1,
				"vCPU 0 was sent INIT: there is no firmware to go back to");
		reset(v, true);
	}
	if (events & VLAPIC_EVENT_SIPI && v->arch.wait_sipi) {
		struct vcpu_start s = { .real_mode = true, .sipi_vector = READ_ONCE(l->sipi_vector) };

		start(v, &s);
	}
}

void arch_vcpu_requests(struct vcpu *v, u32 bits)
{
	if (bits & VCPU_REQ_TLB) {
		insn_cache_flush(v);
		walk_cache_flush(v);
		backend->flush(v);
	}
	if (!(bits & VCPU_REQ_EVENT))
		return;
	if (READ_ONCE(v->arch.lapic->events))
		take_events(v);
	if (unlikely(v->arch.upcall_unknown))
		xen_upcall_refresh(v);
	vlapic_fold(v->arch.lapic);
	if (!v->arch.wait_sipi)
		backend->deliver(v);
}

bool arch_vcpu_wakeable(struct vcpu *v)
{
	struct vlapic *l = v->arch.lapic;

	if (READ_ONCE(l->events))
		return true;
	if (v->arch.wait_sipi)
		return false;
	if (v->arch.nmi_pending)
		return true;
	return backend->interrupts_on(v) &&
	       (vlapic_wakeable(l) || (v->xen && xen_upcall_wakeable(v)));
}

u64 arch_vcpu_next_deadline(struct vcpu *v)
{
	if (v->arch.wait_sipi || !backend->interrupts_on(v))
		return ~0UL;
	return vlapic_next_wake(v->arch.lapic);
}

void arch_vcpu_dump(struct vcpu *v)
{
	static const char *const names[NR_GPRS] = { "RAX", "RCX", "RDX", "RBX", "RSP", "RBP",
						    "RSI", "RDI", "R8",	 "R9",	"R10", "R11",
						    "R12", "R13", "R14", "R15" };

	printk("vCPU %u of %s:\n", v->id, v->vm->config.name);
	for (u32 n = 0; n < NR_GPRS; n += 4)
		printk("  %-3s %016lx %-3s %016lx %-3s %016lx %-3s %016lx\n", names[n],
		       gpr_get(v, n), names[n + 1], gpr_get(v, n + 1), names[n + 2],
		       gpr_get(v, n + 2), names[n + 3], gpr_get(v, n + 3));
	backend->dump(v);
}

/* --- Faults of the guest ------------------------------------------------------------------------ */

void guest_exception(struct vcpu *v, u8 vector)
{
	backend->exception(v, vector, false, 0);
}

void guest_exception_error(struct vcpu *v, u8 vector, u32 error)
{
	backend->exception(v, vector, true, error);
}

void guest_page_fault(struct vcpu *v, u64 linear, u32 error)
{
	backend->set_cr2(v, linear);
	backend->exception(v, X86_EXC_PF, true, error);
}

/* The bytes at RIP, as far as they can be read. */
static void code_bytes(struct vcpu *v, const struct guest_fetch *f, char *text, size_t size)
{
	u64 linear = f->cs_base + f->rip;
	u32 error;

	*text = '\0';
	for (u32 n = 0; n < 8; n++) {
		u64 at = linear + n;
		u8 byte;

		if (guest_copy(v, &at, &byte, 1, WALK_FETCH | WALK_SYSTEM, &error))
			return;
		snprintf(text + 3 * n, size - 3 * n, " %02x", byte);
	}
}

void guest_crash(struct vcpu *v, const char *fmt, ...)
{
	char what[96], code[32];
	struct guest_fetch f;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	backend->fetch_at(v, &f);
	code_bytes(v, &f, code, sizeof(code));
	vm_stop(v->vm, -1, "vCPU %u: %s; RIP %lx, code%s", v->id, what, f.rip,
		*code ? code : " unreadable");
}

void gpr_write_sized(struct vcpu *v, u8 n, u32 size, u64 value)
{
	u64 keep = size >= 4 ? 0 : ~0UL << (8 * size);

	if (size < 8)
		value &= ~0UL >> (64 - 8 * size);
	gpr_set(v, n, (gpr_get(v, n) & keep) | value);
}

/* --- VMs ---------------------------------------------------------------------------------------- */

/* Memory in as few slots as powers of two give, the largest at the bottom, where images go. */
static int add_ram(struct vm *vm, gpaddr_t gpa, u64 size)
{
	int err = 0;

	while (size && !err) {
		u32 order = min(63U - (u32)__builtin_clzl(size >> PAGE_SHIFT), (u32)MAX_ORDER);
		void *ram = vm_memory_alloc(vm, order);
		struct mem_slot s = { .gpa = gpa, .size = PAGE_SIZE << order };

		if (!ram)
			return -ENOMEM;
		s.pa = va_to_pa(ram);
		err = vm_add_slot(vm, &s);
		gpa += s.size;
		size -= s.size;
	}
	return err;
}

static int add_rom(struct vm *vm)
{
	u64 *rom = vm_memory_alloc(vm, 0);
	struct mem_slot s = { .gpa = GUEST_X86_ROM, .size = PAGE_SIZE, .flags = SLOT_READONLY };

	if (!rom)
		return -ENOMEM;
	rom[0] = GUEST_ROM_MAGIC;
	s.pa = va_to_pa(rom);
	return vm_add_slot(vm, &s);
}

static int add_memory(struct vm *vm)
{
	u64 low = min(vm->config.memory, LOW_RAM_MAX);
	int err = add_ram(vm, 0, low);

	if (!err)
		err = add_ram(vm, HIGH_RAM_BASE, vm->config.memory - low);
	if (!err)
		err = add_rom(vm);
	return err;
}

static int add_devices(struct vm *vm)
{
	struct mmio_window apic = { "local APIC", VLAPIC_PAGE, PAGE_SIZE, vlapic_mmio, NULL };
	int err = vm_add_mmio(vm, &apic);

	return err ? err : v16550_create(vm);
}

/* arch_vcpu_init() came before there was a VM to belong to: begin again with all in place. */
static void start_boot_vcpu(struct vm *vm)
{
	struct vcpu_start s = { .rip = vm->arch.entry,
				.eax = vm->arch.boot_eax,
				.ebx = vm->arch.boot_info };

	for (u32 n = 0; n < vm->nr_vcpus; n++) {
		vm->vcpu[n]->arch.tsc_offset = -arch_counter();
		reset(vm->vcpu[n], false);
	}
	for (u32 n = 1; n < vm->nr_vcpus; n++)
		vm->vcpu[n]->arch.tsc_offset = vm->vcpu[0]->arch.tsc_offset;
	start(vm->vcpu[0], &s);
}

/* 255 is the broadcast address (APM 16.3.1). */
#define MAX_APIC_IDS 255

const char *arch_timer_state(void)
{
	return "masked";
}

/* The guest's local APIC is always ours: nothing outside could take its timer's interrupt. */
bool arch_has_irqchip(enum irqchip_kind kind)
{
	return kind == IRQCHIP_FULL;
}

int arch_vm_init(struct vm *vm, const void *image, u64 image_size, const char **why)
{
	int err;

	*why = "more vCPUs than 8-bit APIC ids";
	if (vm->nr_vcpus > MAX_APIC_IDS)
		return -EINVAL;
	vm->arch.backend = backend;
	*why = "no memory for nested page tables";
	err = backend->stage2_create(vm);
	if (err)
		return err;
	*why = "no memory for the guest";
	err = add_memory(vm);
	if (err)
		return err;
	*why = "no room for its devices";
	err = add_devices(vm);
	if (err)
		return err;
	err = guest_boot_setup(vm, image, image_size, why);
	if (!err)
		start_boot_vcpu(vm);
	return err;
}

void arch_vm_destroy(struct vm *vm)
{
	v16550_destroy(vm);
	backend->stage2_destroy(vm);
}

int arch_stage2_map(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size, u32 slot_flags)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&vm->lock, flags);
	err = backend->stage2_map(vm, gpa, pa, size, slot_flags);
	spin_unlock_irqrestore(&vm->lock, flags);
	return err;
}

/* Every vCPU owes a flush now, before it enters again: whoever called asks for it (slots_quiesce()). */
void arch_stage2_unmap(struct vm *vm, gpaddr_t gpa, u64 size)
{
	unsigned long flags;

	spin_lock_irqsave(&vm->lock, flags);
	backend->stage2_unmap(vm, gpa, size);
	vm->arch.unmaps++;
	spin_unlock_irqrestore(&vm->lock, flags);
}

/* Caches are coherent with instruction fetch, and VMRUN serializes. */
void arch_page_copy(void *to, const void *from)
{
	memcpy(to, from, PAGE_SIZE);
}

void arch_page_give(const void *page)
{
}
