/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an exit costs, from inside: each operation between two reads of the TSC, or from a deadline to
 * the first instruction of the handler. Two instructions of timing are included.
 */
#include <guest.h>
#include <measure.h>

#define PIC_MASK   0x21
#define UART_LSR   0x3fd
#define SPIN_TICKS us_to_ticks(20)

void measure_eoi_first(void);
void measure_time_first(void);
u32 measure_self_ipi(u64 lapic, u32 icr);
u32 measure_wait(u64 lapic);

/* Ticks around one instruction; EAX, ECX, EDX and EBX are its own. */
#define TIMED(insn, ecx)                                                                              \
	({                                                                                            \
		u32 t_, c_ = (ecx);                                                                   \
		__asm__ volatile("rdtsc\n\tmov %%eax, %%r8d\n\t" insn "\n\trdtsc\n\tsub %%r8d, %%eax" \
				 : "=a"(t_), "+c"(c_)                                                 \
				 :                                                                    \
				 : "rbx", "rdx", "rdi", "rsi", "r8", "memory");                       \
		t_;                                                                                   \
	})

static u64 op_cpuid(void)
{
	return TIMED("cpuid", 0);
}

static u64 op_vmmcall(void)
{
	return TIMED("mov %%ecx, %%eax; vmmcall", HC_NULL);
}

static u64 op_rdmsr(void)
{
	return TIMED("rdmsr", MSR_APIC_BASE);
}

static u64 op_pic_in(void)
{
	return TIMED("in $0x21, %%al", 0);
}

static u64 op_uart_in(void)
{
	u32 t;

	__asm__ volatile("rdtsc; mov %%eax, %%r8d; mov %1, %%edx; in %%dx, %%al; rdtsc; sub %%r8d, %%eax"
			 : "=a"(t)
			 : "i"(UART_LSR)
			 : "rdx", "r8", "memory");
	return t;
}

static u64 op_lapic_read(void)
{
	return TIMED("mov (%%rcx), %%eax", LAPIC_BASE + LAPIC_ID);
}

static u64 op_self_ipi(void)
{
	return measure_self_ipi(LAPIC_BASE, ICR_SELF | VEC_IPI);
}

static u64 op_timer_late(void)
{
	u64 deadline = rdtsc() + SPIN_TICKS;

	timer_set(TIMER_VIRT, deadline);
	return measure_wait(LAPIC_BASE) - (u32)deadline;
}

int guest_main(void)
{
	static const struct op ops[] = {
		{ "cpuid", op_cpuid },	     { "vmmcall", op_vmmcall },
		{ "rdmsr", op_rdmsr },	     { "pic-in", op_pic_in },
		{ "uart-in", op_uart_in },   { "lapic-read", op_lapic_read },
		{ "self-ipi", op_self_ipi }, { "timer-late", op_timer_late },
	};

	timer_request(TIMER_VIRT, NULL);
	idt_set(VEC_IPI, measure_eoi_first);
	idt_set(VEC_TIMER, measure_time_first);
	measure(ops, ARRAY_SIZE(ops));
	return 0;
}
