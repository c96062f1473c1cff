/* SPDX-License-Identifier: GPL-2.0-only */
/* The x86 half of guest.h: what has to be inline, and the local APIC. */
#ifndef ARCH_GUEST_H
#define ARCH_GUEST_H

#include <cupel/types.h>
#include <x86_regs.h>

#define HAVE_PHYS_TIMER 0

static inline u32 cpu_id(void)
{
	u32 v;

	__asm__ volatile("mov %%gs:0, %0" : "=r"(v));
	return v;
}

static inline void irq_enable(void)
{
	__asm__ volatile("sti" : : : "memory");
}

static inline void irq_disable(void)
{
	__asm__ volatile("cli" : : : "memory");
}

/* Interrupts off: sleep until one is pending, take it. */
static inline void cpu_sleep(void)
{
	__asm__ volatile("sti; hlt; cli" : : : "memory");
}

static inline void cpu_pause(void)
{
	__asm__ volatile("pause" : : : "memory");
}

static inline u64 hypercall(u64 id, u64 a, u64 b, u64 c)
{
	u64 ret;

	__asm__ volatile("vmmcall" : "=a"(ret) : "a"(id), "D"(a), "S"(b), "d"(c) : "memory");
	return ret;
}

static inline u64 rdtsc(void)
{
	u32 lo, hi;

	__asm__ volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (u64)hi << 32 | lo;
}

static inline u64 rdmsr(u32 msr)
{
	u32 lo, hi;

	__asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr) : "memory");
	return (u64)hi << 32 | lo;
}

static inline void wrmsr(u32 msr, u64 v)
{
	__asm__ volatile("wrmsr" : : "c"(msr), "a"((u32)v), "d"((u32)(v >> 32)) : "memory");
}

struct cpuid {
	u32 a, b, c, d;
};

static inline struct cpuid cpuid(u32 leaf, u32 sub)
{
	struct cpuid r = { leaf, 0, sub, 0 };

	__asm__ volatile("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
	return r;
}

/* First leaf of the hypervisor interface whose signature begins so, 0 = there is none. */
static inline u32 cpuid_hv_base(u32 signature)
{
	if (!(cpuid(1, 0).c >> 31))
		return 0;
	for (u32 base = 0x40000000; base < 0x40010000; base += 0x100) {
		if (cpuid(base, 0).b == signature)
			return base;
	}
	return 0;
}

static inline u8 inb(u16 port)
{
	u8 v;

	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}

static inline void outb(u16 port, u8 v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port) : "memory");
}

static inline u32 mmio_read(u64 addr)
{
	u32 v;

	__asm__ volatile("movl (%1), %0" : "=r"(v) : "r"(addr) : "memory");
	return v;
}

static inline void mmio_write(u64 addr, u32 v)
{
	__asm__ volatile("movl %0, (%1)" : : "r"(v), "r"(addr) : "memory");
}

bool try_call_asm(void (*fn)(void *arg), void *arg, u64 *sp);
void try_resume(void);

/* Local APIC of the calling vCPU, in whatever mode it is. */
u32 lapic_read(u32 reg);
void lapic_write(u32 reg, u32 v);
void lapic_icr(u32 apic_id, u32 low);
u32 lapic_id(void);
/* Bit of a 256-bit register (LAPIC_ISR, _TMR, _IRR). */
bool lapic_bit(u32 reg, u32 vector);
extern bool lapic_x2; /* all vCPUs are in x2APIC mode */
void lapic_enable_x2(void);
/* Ticks of the local APIC timer at divider 1 in a span of the TSC. */
u64 lapic_ticks(u64 tsc);
bool lapic_has_deadline(void);

/* Entry point of a vector straight into the IDT; NULL = the runtime's own again. */
void idt_set(u32 vector, void (*entry)(void));

#endif
