/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self-tests of the x86 host side: rights of the address space, exceptions, the tick, IPIs, and the
 * interrupt chips' states. They run on a live machine: each puts back what it changes.
 */
#include <asm/apic.h>
#include <asm/cpu.h>
#include <asm/io.h>
#include <asm/msr.h>
#include <asm/timer.h>
#include <asm/trap.h>
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/clock.h>
#include <cupel/irq.h>
#include <cupel/ktap.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/smp.h>

#include "../../drivers/uart/ns16550.h"
#include "boot.h"

#define OPCODE_RET 0xc3
#define COM1_PORT  0x3f8
#define COM1_GSI   4
#define WAIT_NS	   NSEC_PER_SEC /* for what takes microseconds on an idle machine */

static u8 data_code[] __aligned(16) = { OPCODE_RET };
static const u8 rodata_code[] __aligned(16) = { OPCODE_RET };

static void read_byte(void *p)
{
	(void)READ_ONCE(*(volatile u8 *)p);
}

static void write_byte(void *p)
{
	WRITE_ONCE(*(volatile u8 *)p, OPCODE_RET);
}

static void run_code(void *p)
{
	((void (*)(void))p)();
}

static void run_ud2(void *p)
{
	__asm__ volatile("ud2");
}

/* A push with the stack pointer at `top`: what running off the end of a stack does. */
static void push_at(void *top)
{
	__asm__ volatile("movq %%rsp, %%rbx; movq %0, %%rsp; pushq $0; movq %%rbx, %%rsp"
			 :
			 : "r"(top)
			 : "rbx", "memory");
}

/* True when fn(p) ends in a page fault at p with exactly these error code bits. */
static bool faults(void (*fn)(void *), const void *p, u64 error)
{
	struct x86_trap_info info;

	return !x86_try(fn, (void *)p, &info) && info.vector == X86_EXC_PF && info.error == error &&
	       info.cr2 == (u64)p;
}

static void *stack_slot(u32 cpu)
{
	return (void *)(STACK_WINDOW + (u64)cpu * STACK_SLOT);
}

/* Spin until *word is no longer `old`; false after a second. */
static bool changes(const u64 *word, u64 old)
{
	u64 end = arch_counter() + ns_to_ticks(WAIT_NS);

	while (READ_ONCE(*word) == old) {
		if (arch_counter() > end)
			return false;
		cpu_relax();
	}
	return true;
}

SELFTEST(x86_text_is_readonly)
{
	CHECK(t, faults(write_byte, __image_start, X86_PF_PRESENT | X86_PF_WRITE));
}

SELFTEST(x86_rodata_is_readonly_and_no_code)
{
	CHECK(t, faults(write_byte, rodata_code, X86_PF_PRESENT | X86_PF_WRITE));
	CHECK(t, faults(run_code, rodata_code, X86_PF_PRESENT | X86_PF_FETCH));
}

SELFTEST(x86_data_and_ram_are_no_code)
{
	u8 *page = page_alloc();

	CHECK(t, faults(run_code, data_code, X86_PF_PRESENT | X86_PF_FETCH));
	CHECK(t, page != NULL);
	if (!page)
		return;
	page[0] = OPCODE_RET;
	CHECK(t, faults(run_code, page, X86_PF_PRESENT | X86_PF_FETCH));
	page_free(page);
}

SELFTEST(x86_null_page_is_unmapped)
{
	CHECK(t, faults(read_byte, NULL, 0));
	CHECK(t, faults(write_byte, (void *)(PAGE_SIZE - 1), X86_PF_WRITE));
}

SELFTEST(x86_stacks_have_guards)
{
	char *slot = stack_slot(cpu_id());

	CHECK(t, faults(read_byte, slot + STACK_MAIN_BASE - 1, 0));
	CHECK(t, faults(write_byte, slot + STACK_MAIN_TOP, X86_PF_WRITE));
	CHECK(t, faults(read_byte, slot + STACK_DF_BASE - 1, 0));
	CHECK(t, faults(read_byte, slot + STACK_NMI_BASE - 1, 0));
	CHECK(t, faults(read_byte, slot + STACK_MC_BASE - 1, 0));
	CHECK(t, x86_is_stack((unsigned long)__builtin_frame_address(0)));
	CHECK(t, !x86_is_stack((unsigned long)slot));
}

SELFTEST(x86_stack_overflow_is_caught_on_another_stack)
{
	struct x86_trap_info info;
	char *guard_end = (char *)stack_slot(cpu_id()) + STACK_MAIN_BASE;

	CHECK(t, !x86_try(push_at, guard_end, &info) && info.vector == X86_EXC_DF);
}

SELFTEST(x86_exception_is_reported)
{
	struct x86_trap_info info;

	CHECK(t, !x86_try(run_ud2, NULL, &info) && info.vector == X86_EXC_UD);
	CHECK(t, x86_try(read_byte, data_code, &info));
}

SELFTEST(x86_counter_goes_on)
{
	u64 last = arch_counter();

	CHECK(t, arch_counter_hz() > 1000000);
	CHECK(t, arch_boot_counter() < last);
	for (u32 i = 0; i < 1000; i++) {
		u64 now = arch_counter();

		CHECK(t, now >= last);
		last = now;
	}
}

struct timed {
	struct soft_timer timer;
	u64 fired_at; /* 0: not yet */
};

static void note_time(struct soft_timer *timer)
{
	WRITE_ONCE(container_of(timer, struct timed, timer)->fired_at, arch_counter());
}

/* A soft timer of this CPU, a millisecond from now: true when it fires, and not early. */
static bool tick_fires(void)
{
	struct timed x = { .timer.fn = note_time };
	u64 deadline = arch_counter() + ns_to_ticks(1000000);

	soft_timer_arm(&x.timer, deadline);
	if (!changes(&x.fired_at, 0)) {
		soft_timer_cancel(&x.timer);
		return false;
	}
	return x.fired_at >= deadline;
}

static void call_tick_fires(void *arg)
{
	*(bool *)arg = tick_fires();
}

SELFTEST(x86_tick_fires_on_every_cpu)
{
	for_each_online_cpu(cpu) {
		bool ok = false;

		CHECK(t, !smp_call((u32)cpu, call_tick_fires, &ok));
		CHECK(t, ok);
	}
}

SELFTEST(x86_kick_reaches_every_cpu)
{
	for_each_online_cpu(cpu) {
		u64 *count = per_cpu_ptr(irq_count, cpu);
		u64 old = READ_ONCE(*count);

		arch_cpu_kick((u32)cpu);
		CHECK(t, changes(count, old));
	}
}

static void count_up(struct irq_desc *d, void *arg)
{
	WRITE_ONCE(*(u64 *)arg, *(u64 *)arg + 1);
}

SELFTEST(x86_ipi_waits_while_masked)
{
	u64 count = 0;
	unsigned long flags;

	CHECK(t, !irq_request(X86_VEC_TEST, count_up, &count));
	flags = arch_irq_save();
	lapic_send(lapic_id(), APIC_ICR_FIXED | X86_VEC_TEST);
	CHECK(t, READ_ONCE(count) == 0);
	x86_take_host_irq();
	CHECK(t, READ_ONCE(count) == 1);
	arch_irq_restore(flags);
	irq_free(X86_VEC_TEST);
}

/* The three states of a per-CPU vector, through either setter. */
static void check_states(struct selftest_ctx *t, irq_set_state_t set)
{
	struct irq_desc *timer = irq_to_desc(X86_VEC_TIMER), *test = irq_to_desc(X86_VEC_TEST);
	unsigned long flags = arch_irq_save();
	bool on;
	u64 count = 0;

	CHECK(t, !set(timer, IRQ_STATE_MASKED, true));
	CHECK(t, !irq_get_state(timer, IRQ_STATE_MASKED, &on) && on);
	CHECK(t, !set(timer, IRQ_STATE_MASKED, false));
	CHECK(t, !irq_get_state(timer, IRQ_STATE_MASKED, &on) && !on);
	x86_tick_lvt_written();
	CHECK(t, set(timer, IRQ_STATE_ACTIVE, true) == -EINVAL);
	CHECK(t, !irq_request(X86_VEC_TEST, count_up, &count));
	CHECK(t, !irq_get_state(test, IRQ_STATE_PENDING, &on) && !on);
	CHECK(t, !set(test, IRQ_STATE_PENDING, true));
	CHECK(t, !irq_get_state(test, IRQ_STATE_PENDING, &on) && on);
	CHECK(t, set(test, IRQ_STATE_PENDING, false) == -EINVAL);
	x86_take_host_irq();
	CHECK(t, count == 1);
	CHECK(t, !irq_get_state(test, IRQ_STATE_PENDING, &on) && !on);
	irq_free(X86_VEC_TEST);
	arch_irq_restore(flags);
}

SELFTEST(x86_lapic_states_locked)
{
	check_states(t, irq_set_state);
}

SELFTEST(x86_lapic_states_percpu)
{
	CHECK(t, lapic_chip.flags & IRQ_CHIP_PERCPU_STATE_LOCKLESS);
	check_states(t, irq_set_percpu_state);
}

static void note_active(struct irq_desc *d, void *arg)
{
	bool on = false;

	if (!irq_get_state(d, IRQ_STATE_ACTIVE, &on) && on)
		*(bool *)arg = true;
}

SELFTEST(x86_lapic_active_in_handler)
{
	bool was_active = false, on = true;

	CHECK(t, !irq_request(X86_VEC_TEST, note_active, &was_active));
	CHECK(t, !irq_set_percpu_state(irq_to_desc(X86_VEC_TEST), IRQ_STATE_PENDING, true));
	CHECK(t, was_active);
	CHECK(t, !irq_get_state(irq_to_desc(X86_VEC_TEST), IRQ_STATE_ACTIVE, &on) && !on);
	irq_free(X86_VEC_TEST);
}

/* The console's "may send" interrupt, which it raises at once when asked to. */
SELFTEST(x86_ioapic_delivers)
{
	u64 count = 0;
	u32 vector;
	bool on;

	if (platform.uart.base != COM1_PORT || !platform.x86.nr_ioapics || lapic_id() > 0xff) {
		t->skipped = "needs COM1, an IOAPIC and an 8-bit APIC id";
		return;
	}
	CHECK(t, !ioapic_route(COM1_GSI, lapic_id(), false, false, &vector));
	CHECK(t, !irq_request(vector, count_up, &count));
	CHECK(t, !irq_get_state(irq_to_desc(vector), IRQ_STATE_MASKED, &on) && on);
	irq_enable(vector);
	outb(NS16550_MCR_DTR | NS16550_MCR_RTS | NS16550_MCR_OUT2, COM1_PORT + NS16550_MCR);
	outb(NS16550_IER_THRI, COM1_PORT + NS16550_IER);
	CHECK(t, changes(&count, 0));
	outb(0, COM1_PORT + NS16550_IER);
	outb(NS16550_MCR_DTR | NS16550_MCR_RTS, COM1_PORT + NS16550_MCR);
	irq_disable(vector);
	CHECK(t, !irq_get_state(irq_to_desc(vector), IRQ_STATE_MASKED, &on) && on);
	irq_free(vector);
}

SELFTEST(x86_backtrace_reaches_the_bottom)
{
	unsigned long pc[32];
	unsigned int n = arch_backtrace(pc, ARRAY_SIZE(pc));

	CHECK(t, n >= 3 && n < ARRAY_SIZE(pc));
	for (unsigned int i = 0; i < n; i++)
		CHECK(t, pc[i] >= (u64)__image_start && pc[i] < (u64)__rodata_start);
}
