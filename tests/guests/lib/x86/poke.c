/* SPDX-License-Identifier: GPL-2.0-only */
/* The x86 half of poke.c: local APIC, MSRs, ports, control registers. Leaves paging alone. */
#include <guest.h>
#include <poke.h>

const struct poke_window *poke_window(u64 r)
{
	static const struct poke_window windows[] = {
		{ LAPIC_BASE, 0x400, 2, true },
		{ GUEST_X86_ROM, 0x1000, 3, false },
	};

	return &windows[r % ARRAY_SIZE(windows)];
}

/* An ICR write that would reset this vCPU is its own business. */
static u64 harmless(u64 reg, u64 v)
{
	return reg == LAPIC_ICR ? v & ~(7UL << 8) : v;
}

void poke_write(u64 addr, u32 width, u64 v)
{
	if (addr >= LAPIC_BASE)
		v = harmless((addr - LAPIC_BASE) & ~15UL, v);
	switch (width) {
	case 1: __asm__ volatile("movb %b0, (%1)" : : "q"(v), "r"(addr) : "memory"); break;
	case 2: __asm__ volatile("movw %w0, (%1)" : : "r"(v), "r"(addr) : "memory"); break;
	case 4: __asm__ volatile("movl %k0, (%1)" : : "r"(v), "r"(addr) : "memory"); break;
	default: __asm__ volatile("movq %0, (%1)" : : "r"(v), "r"(addr) : "memory"); break;
	}
}

void poke_read(u64 addr, u32 width)
{
	u64 v;

	switch (width) {
	case 1: __asm__ volatile("movzbl (%1), %k0" : "=r"(v) : "r"(addr) : "memory"); break;
	case 2: __asm__ volatile("movswq (%1), %0" : "=r"(v) : "r"(addr) : "memory"); break;
	case 4:
		__asm__ volatile("andl (%1), %k0" : "=r"(v) : "r"(addr), "0"(0UL) : "memory");
		break;
	default: __asm__ volatile("movq (%1), %0" : "=r"(v) : "r"(addr) : "memory"); break;
	}
}

static void poke_msr(void)
{
	static const u32 known[] = { 0x10,	 0x1b,	     0x8b,	 0xfe,	     0x174,
				     0x175,	 0x176,	     0x179,	 0x17a,	     0x1a0,
				     0x1d9,	 0x200,	     0x250,	 0x277,	     0x2ff,
				     0x400,	 0x6e0,	     0x803,	 0x808,	     0x80b,
				     0x80f,	 0x830,	     0x83f,	 0x838,	     0xc0000080,
				     0xc0000081, 0xc0000082, 0xc0000084, 0xc0000102, 0xc0000103,
				     0xc0010010, 0xc0010015, 0xc0010114, 0xc0010117, 0xc0010140 };
	u64 r = poke_random(), v = poke_value();
	u32 msr = r & 1 ? known[(r >> 8) % ARRAY_SIZE(known)] : (u32)poke_value();

	if (msr == MSR_GS_BASE)
		return;
	if (msr == MSR_X2APIC + LAPIC_ICR / 16)
		v = harmless(LAPIC_ICR, v);
	if (r >> 62 == 0)
		wrmsr(msr, v);
	else
		rdmsr(msr);
}

static void poke_port(void)
{
	static const u16 known[] = { 0x20,  0x21,  0xa0,  0xa1,	 0x3f9, 0x3fa,
				     0x3fb, 0x3fc, 0x3fd, 0x3fe, 0x3ff };
	u64 r = poke_random();
	u16 port = known[(r >> 8) % ARRAY_SIZE(known)];

	if (r & 1)
		outb(port, r >> 16);
	else
		inb(port);
}

/* Instructions that are intercepted, with any operands. */
static void poke_insn(void)
{
	u64 v = poke_value();

	switch (poke_random() % 8) {
	case 0: cpuid(v, poke_value()); break;
	case 1: __asm__ volatile("mov %0, %%cr8" : : "r"(v) : "memory"); break;
	case 2: __asm__ volatile("xsetbv" : : "a"((u32)v), "d"((u32)(v >> 32)), "c"(0)); break;
	case 3: __asm__ volatile("mov %0, %%cr4" : : "r"(CR4_VALUE | (v & 1UL << 40))); break;
	case 4: __asm__ volatile("mov %0, %%cr0" : : "r"(CR0_VALUE | (v & 0xffff00000000))); break;
	case 5: __asm__ volatile("wbinvd" : : : "memory"); break;
	case 6: __asm__ volatile("invlpg (%0)" : : "r"(v) : "memory"); break;
	default: __asm__ volatile("rdpmc" : : "c"((u32)v) : "eax", "edx"); break;
	}
}

void poke_arch(void)
{
	switch (poke_random() % 4) {
	case 0: poke_port(); break;
	case 1: poke_insn(); break;
	default: poke_msr(); break;
	}
}
