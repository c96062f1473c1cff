/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other CPUs: INIT and start-up IPIs one CPU at a time, and the IPIs between running ones. A CPU that
 * doesn't come up is put back into wait-for-SIPI and costs nothing but its stack; one that comes late
 * finds the mailbox made out to somebody else and parks itself (boot_ap.S).
 *
 * APM vol. 2, 14.1 (INIT), 16.5 (IPIs); the classic delays: Intel MultiProcessor Specification 1.4, B.4.
 */
#include <asm/apic.h>
#include <asm/cpu.h>
#include <asm/timer.h>
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/irq.h>
#include <cupel/printk.h>
#include <cupel/smp.h>
#include <string.h>

#include "boot.h"

#define NS_PER_MS	 1000000UL
#define QUICK_WAIT_NS	 (50 * NS_PER_MS)
#define INIT_WAIT_NS	 (10 * NS_PER_MS)
#define LAST_WAIT_NS	 (5000 * NS_PER_MS)
#define LOW_MEMORY_END	 0xa0000
#define ID_LEAF_EXTENDED 0xb /* x2APIC id in EDX */
#define ID_LEAF_FEATURES 1 /* xAPIC id in EBX 31:24 */

extern const char x86_trampoline[], x86_trampoline_end[];

/* The mailbox, in boot_ap.S: written here, then armed with release; the CPU takes it by exchange. */
extern u64 x86_ap_stack;
extern u32 x86_ap_id, x86_ap_id_leaf, x86_ap_cpu, x86_ap_armed;

DEFINE_PER_CPU(unsigned long, x86_percpu_offset);

static paddr_t trampoline_page;

void x86_smp_reserve(const struct mem_range *ram, u32 nr_ram)
{
	for (u32 i = 0; i < nr_ram; i++) {
		paddr_t end = min(ram[i].base + ram[i].size, (paddr_t)LOW_MEMORY_END);

		if (end >= 2 * PAGE_SIZE && end - PAGE_SIZE >= ram[i].base)
			trampoline_page =
				max(trampoline_page, ALIGN_DOWN(end, PAGE_SIZE) - PAGE_SIZE);
	}
}

static void kick(struct irq_desc *d, void *arg)
{
	/* The interrupt itself is the message: it ends guest mode or HLT. */
}

void x86_smp_init(void)
{
	irq_set_chip(X86_VEC_KICK, &lapic_chip, IRQ_PERCPU);
	if (irq_request(X86_VEC_KICK, kick, NULL))
		panic("the reschedule vector is taken");
	x86_ap_id_leaf = lapic_is_x2apic() ? ID_LEAF_EXTENDED : ID_LEAF_FEATURES;
	if (trampoline_page)
		memcpy(pa_to_va(trampoline_page), x86_trampoline,
		       (size_t)(x86_trampoline_end - x86_trampoline));
}

static bool wait_online(u32 cpu, u64 ns)
{
	u64 end = arch_counter() + ns_to_ticks(ns);

	while (!cpu_online(cpu)) {
		if (arch_counter() > end)
			return false;
		cpu_relax();
	}
	return true;
}

static void delay(u64 ns)
{
	u64 end = arch_counter() + ns_to_ticks(ns);

	while (arch_counter() < end)
		cpu_relax();
}

/*
 * Modern CPUs need none of the classic waiting; what didn't answer quickly is asked the classic way. But
 * not what has taken the mailbox and is only slow: INIT would reset it, perhaps just as it is online.
 */
static bool start_sequence(u32 cpu, u32 id)
{
	u32 startup = APIC_ICR_STARTUP | (u32)(trampoline_page >> PAGE_SHIFT);

	lapic_send(id, APIC_ICR_INIT | APIC_ICR_LEVEL);
	lapic_send(id, startup);
	if (wait_online(cpu, QUICK_WAIT_NS))
		return true;
	/* Pairs with the exchange in boot_ap.S: one of the two finds it armed. */
	if (!atomic_xchg_full(&x86_ap_armed, 0))
		return wait_online(cpu, LAST_WAIT_NS);
	lapic_send(id, APIC_ICR_INIT | APIC_ICR_LEVEL);
	delay(INIT_WAIT_NS);
	/* Pairs with the exchange in boot_ap.S. */
	store_release(&x86_ap_armed, 1);
	lapic_send(id, startup);
	lapic_send(id, startup);
	return wait_online(cpu, LAST_WAIT_NS);
}

int arch_cpu_start(u32 cpu)
{
	u32 id = (u32)platform.cpus[cpu].hwid;
	void *stack = x86_stack_map(cpu);
	u32 armed;

	if (!trampoline_page || !stack)
		return -ENOMEM;
	if (!lapic_is_x2apic() && id > XAPIC_MAX_ID)
		return -ERANGE;
	x86_ap_stack = (u64)stack;
	x86_ap_cpu = cpu;
	x86_ap_id = id;
	/* Pairs with the exchange in boot_ap.S. */
	store_release(&x86_ap_armed, 1);
	if (start_sequence(cpu, id))
		return 0;
	/* Taken back in time, or it is on its way into C and only slow: then it is INIT that stops it. */
	armed = atomic_xchg_full(&x86_ap_armed, 0);
	lapic_send(id, APIC_ICR_INIT | APIC_ICR_LEVEL);
	return armed ? -ETIMEDOUT : -EIO;
}

void x86_ap_start(u32 cpu)
{
	const char *why;
	int err;

	set_this_cpu_offset(percpu_offset[cpu]);
	x86_mm_cpu_init();
	x86_trap_cpu_init(cpu);
	lapic_cpu_init();
	x86_timer_cpu_init();
	err = x86_virt_cpu_init(&why);
	if (err) {
		printk("CPU %u: %s: error %d\n", cpu, why, -err);
		for (;;)
			__asm__ volatile("cli; hlt");
	}
	cpu_main(cpu);
}

void arch_cpu_kick(u32 cpu)
{
	lapic_send((u32)platform.cpus[cpu].hwid, APIC_ICR_FIXED | X86_VEC_KICK);
}

void arch_stop_others(void)
{
	WRITE_ONCE(x86_stopping, true);
	/* Before the APIC is up there is nobody to stop. */
	if (READ_ONCE(nr_cpus_online) > 1)
		lapic_send_others(APIC_ICR_NMI);
}
