/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The local APIC: xAPIC through its page, x2APIC through MSRs, chosen once for all CPUs. Its registers
 * belong to the CPU that accesses them, which is why its chip is lockless. Must not be used from
 * another CPU for anything but lapic_send().
 */
#include <asm/apic.h>
#include <asm/arch.h>
#include <asm/cpu.h>
#include <asm/io.h>
#include <asm/msr.h>
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/config.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <string.h>

static bool x2apic; /* written once, before any other CPU runs */
static volatile u8 *xapic_page;

bool lapic_is_x2apic(void)
{
	return x2apic;
}

u32 lapic_read(u32 reg)
{
	if (x2apic)
		return (u32)rdmsr(MSR_X2APIC_BASE + (reg >> 4));
	return mmio_read32(xapic_page + reg);
}

void lapic_write(u32 reg, u32 value)
{
	if (x2apic)
		wrmsr(MSR_X2APIC_BASE + (reg >> 4), value);
	else
		mmio_write32(xapic_page + reg, value);
}

void lapic_eoi(void)
{
	lapic_write(APIC_EOI, 0);
}

u32 lapic_id(void)
{
	u32 id = lapic_read(APIC_ID);

	return x2apic ? id : id >> APIC_ICR_DEST_SHIFT;
}

static void xapic_send(u32 apic_id, u32 mode)
{
	unsigned long flags = arch_irq_save(); /* the two halves of ICR belong together */

	while (mmio_read32(xapic_page + APIC_ICR) & APIC_ICR_BUSY)
		cpu_relax();
	mmio_write32(xapic_page + APIC_ICR2, apic_id << APIC_ICR_DEST_SHIFT);
	mmio_write32(xapic_page + APIC_ICR, mode);
	arch_irq_restore(flags);
}

/*
 * A WRMSR to the x2APIC doesn't wait for earlier stores (SDM vol. 3A, 11.12.3): MFENCE makes what the
 * receiver is told to look at visible first, LFENCE keeps the WRMSR behind it.
 */
static void x2apic_send(u32 apic_id, u32 mode)
{
	__asm__ volatile("mfence; lfence" ::: "memory");
	wrmsr(MSR_X2APIC_BASE + (APIC_ICR >> 4), (u64)apic_id << 32 | mode);
}

void lapic_send(u32 apic_id, u32 mode)
{
	if (x2apic)
		x2apic_send(apic_id, mode | APIC_ICR_ASSERT);
	else
		xapic_send(apic_id, mode | APIC_ICR_ASSERT);
}

void lapic_send_others(u32 mode)
{
	lapic_send(0, mode | APIC_ICR_OTHERS);
}

static bool is_lvt_timer(const struct irq_desc *d)
{
	return d->irq == X86_VEC_TIMER;
}

static DEFINE_PER_CPU(bool, timer_masked);

static void set_timer_mask(bool masked)
{
	u32 lvt = lapic_read(APIC_LVT_TIMER);

	this_cpu(timer_masked) = masked;
	lapic_write(APIC_LVT_TIMER, masked ? lvt | APIC_LVT_MASKED : lvt & ~APIC_LVT_MASKED);
}

void lapic_timer_unmask(void)
{
	if (unlikely(this_cpu(timer_masked)))
		set_timer_mask(false);
}

/* An IPI has no mask: whoever doesn't want it doesn't send it. */
static void chip_mask(struct irq_desc *d)
{
	if (is_lvt_timer(d))
		set_timer_mask(true);
}

static void chip_unmask(struct irq_desc *d)
{
	if (is_lvt_timer(d))
		set_timer_mask(false);
}

/* Bit of a vector in one of the 256-bit registers ISR, TMR, IRR: APM vol. 2, 16.6. */
static bool vector_bit(u32 reg, u32 vector)
{
	return lapic_read(reg + (vector / 32) * 0x10) & BIT32(vector % 32);
}

/*
 * MASKED is the LVT's mask; PENDING can be set, by an IPI to self, but IRR can't be cleared; ACTIVE
 * (the ISR) can't be written at all.
 */
static int chip_set_state(struct irq_desc *d, enum irq_state which, bool on)
{
	if (which == IRQ_STATE_MASKED && is_lvt_timer(d)) {
		set_timer_mask(on);
		return 0;
	}
	if (which == IRQ_STATE_PENDING && on) {
		lapic_send(0, APIC_ICR_SELF | APIC_ICR_FIXED | d->irq);
		return 0;
	}
	return -EINVAL;
}

static int chip_get_state(struct irq_desc *d, enum irq_state which, bool *on)
{
	if (which == IRQ_STATE_MASKED)
		*on = is_lvt_timer(d) && (lapic_read(APIC_LVT_TIMER) & APIC_LVT_MASKED);
	else
		*on = vector_bit(which == IRQ_STATE_ACTIVE ? APIC_ISR : APIC_IRR, d->irq);
	return 0;
}

const struct irq_chip lapic_chip = {
	.name = "lapic",
	.flags = IRQ_CHIP_PERCPU_STATE_LOCKLESS,
	.mask = chip_mask,
	.unmask = chip_unmask,
	.set_state = chip_set_state,
	.get_state = chip_get_state,
};

static void error_interrupt(struct irq_desc *d, void *arg)
{
	lapic_write(APIC_ESR, 0); /* APM vol. 2, 16.4.6: a write latches what a read then shows */
	printk("CPU %u: local APIC error 0x%x\n", cpu_id(), lapic_read(APIC_ESR));
}

static void add_vector(u32 vector, irq_handler_t handler)
{
	int err;

	irq_set_chip(vector, &lapic_chip, IRQ_PERCPU);
	err = handler ? irq_request(vector, handler, NULL) : 0;
	if (err)
		panic("vector 0x%x is taken: error %d", vector, -err);
}

/*
 * QEMU's TCG under -icount ends with "Bad icount read" when an APIC timer register is reached by MSR,
 * but not when it is reached by its page.
 */
static bool on_tcg(void)
{
	struct cpuid_regs r;

	if (!(cpuid(1, 0).ecx & CPUID_1_ECX_HYPERVISOR))
		return false;
	r = cpuid(CPUID_HYPERVISOR, 0);
	return !memcmp(&r.ebx, "TCGTCGTCGTCG", 12);
}

static bool ids_fit_xapic(void)
{
	for (u32 i = 0; i < platform.nr_cpus; i++) {
		if (platform.cpus[i].hwid > XAPIC_MAX_ID)
			return false;
	}
	return true;
}

/* What must be, then what the command line wants, then what suits the machine. */
static bool choose_x2apic(u64 base)
{
	const char *word = cmdline_get("x86.apic");

	/* Firmware that left x2APIC on had a reason (ids above 254); there is no way straight back. */
	if (base & APIC_BASE_EXTD)
		return true;
	if (!(cpuid(1, 0).ecx & CPUID_1_ECX_X2APIC))
		return false;
	if (word && strcmp(word, "xapic") && strcmp(word, "x2apic"))
		printk("x86.apic=%s is not known: xapic or x2apic\n", word);
	else if (word)
		return !strcmp(word, "x2apic") || !ids_fit_xapic();
	return !on_tcg() || !ids_fit_xapic();
}

void lapic_init(void)
{
	u64 base;

	/* Also what a CPU says whose firmware has switched it off for good: SDM vol. 3A, 11.4.3. */
	if (!(cpuid(1, 0).edx & CPUID_1_EDX_APIC))
		cannot_start("this CPU has no local APIC (CPUID 1 EDX bit 9)");
	base = rdmsr(MSR_APIC_BASE);
	x2apic = choose_x2apic(base);
	if (!x2apic) {
		platform.x86.lapic_base = base & APIC_BASE_ADDR;
		xapic_page = arch_map_device(base & APIC_BASE_ADDR, PAGE_SIZE);
		if (!xapic_page)
			cannot_start("local APIC page 0x%llx: in RAM, or no memory to map it",
				     (unsigned long long)(base & APIC_BASE_ADDR));
	}
	irq_set_chip(X86_VEC_TIMER, &lapic_chip, IRQ_PERCPU);
	add_vector(X86_VEC_ERROR, error_interrupt);
	add_vector(X86_VEC_TEST, NULL);
}

/*
 * xAPIC -> x2APIC only through "enabled" (SDM vol. 3A, 11.12.5). The page is where the boot CPU has
 * it, whatever this CPU's firmware said.
 */
static void enable_apic(void)
{
	u64 base = rdmsr(MSR_APIC_BASE);

	if (!(base & APIC_BASE_EXTD)) {
		base = (base & ~APIC_BASE_ADDR) | platform.x86.lapic_base | APIC_BASE_ENABLE;
		wrmsr(MSR_APIC_BASE, base);
	}
	if (x2apic)
		wrmsr(MSR_APIC_BASE, base | APIC_BASE_ENABLE | APIC_BASE_EXTD);
}

void lapic_cpu_init(void)
{
	static const u16 lvts[] = { APIC_LVT_TIMER, APIC_LVT_THERM, APIC_LVT_PERF, APIC_LVT_LINT0,
				    APIC_LVT_LINT1 };

	enable_apic();
	for (u32 i = 0; i < ARRAY_SIZE(lvts); i++)
		lapic_write(lvts[i], APIC_LVT_MASKED);
	lapic_write(APIC_LVT_ERROR, X86_VEC_ERROR);
	lapic_write(APIC_TPR, 0);
	lapic_write(APIC_SVR, APIC_SVR_ENABLE | X86_VEC_SPURIOUS);
	/* What firmware left in service would block everything below it: at most one per register bit. */
	for (u32 i = 0; i < 256; i++) {
		u32 any = 0;

		for (u32 r = 0; r < 8; r++)
			any |= lapic_read(APIC_ISR + r * 0x10);
		if (!any)
			break;
		lapic_eoi();
	}
	if (!x2apic && lapic_id() > XAPIC_MAX_ID)
		panic("local APIC id %u needs x2APIC", lapic_id());
}
