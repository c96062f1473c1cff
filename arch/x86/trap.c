/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Descriptor tables, exceptions of the hypervisor itself, and the way from an interrupt vector to its
 * handler. An exception nobody asked for ends in panic() with the registers printed; nothing here may
 * depend on the state that an exception could have found broken.
 */
#include <asm/apic.h>
#include <asm/cpu.h>
#include <asm/msr.h>
#include <asm/trap.h>
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/irq.h>
#include <cupel/printk.h>

#include "boot.h"

#define IDT_ENTRIES		   256
#define IDT_STUB_SIZE		   16
#define IDT_PRESENT_INTERRUPT_GATE 0x8e /* APM vol. 2, 4.8.4: DPL 0, interrupts off inside */

struct idt_gate {
	u16 offset_low;
	u16 selector;
	u8 ist;
	u8 type;
	u16 offset_mid;
	u32 offset_high;
	u32 reserved;
};

/* APM vol. 2, 12.2.5 */
struct tss {
	u32 reserved0;
	u64 rsp[3];
	u64 reserved1;
	u64 ist[7]; /* IST 1 is ist[0] */
	u64 reserved2;
	u16 reserved3;
	u16 iomap_base;
} __packed __aligned(4);

#define GDT_WORDS  6
#define GDT_CODE64 0x00af9b000000ffff
#define GDT_DATA   0x00cf93000000ffff
#define GDT_CODE32 0x00cf9b000000ffff
#define GDT_TSS	   0x0000890000000000 /* available 64-bit TSS, APM vol. 2, 4.8.3 */

struct cpu_tables {
	u64 gdt[GDT_WORDS];
	struct tss tss;
};

struct x86_try_regs {
	u64 rbx, rbp, rsp, r12, r13, r14, r15;
	struct x86_trap_info *info;
};

extern const char x86_idt_stubs[], x86_try_resume[];
bool x86_try_call(void (*fn)(void *arg), void *arg, struct x86_try_regs *regs);

static struct idt_gate idt[IDT_ENTRIES];
static DEFINE_PER_CPU(struct cpu_tables, cpu_tables);
static DEFINE_PER_CPU(struct x86_try_regs *, try_regs);
static DEFINE_PER_CPU(u32, unwanted_irqs);

/* Read by NMI handlers; a plain flag: the NMI itself comes after the store. */
bool x86_stopping;

static void set_gate(u32 vector, u8 ist)
{
	u64 stub = (u64)x86_idt_stubs + vector * IDT_STUB_SIZE;

	idt[vector] = (struct idt_gate){
		.offset_low = (u16)stub,
		.selector = X86_SEL_CODE64,
		.ist = ist,
		.type = IDT_PRESENT_INTERRUPT_GATE,
		.offset_mid = (u16)(stub >> 16),
		.offset_high = (u32)(stub >> 32),
	};
}

static void load_idt(void)
{
	struct x86_desc_ptr p = { sizeof(idt) - 1, (u64)idt };

	__asm__ volatile("lidt %0" ::"m"(p));
}

/* On the boot stack: no stack to switch to yet, but an exception already tells its story. */
void x86_trap_early_init(void)
{
	for (u32 v = 0; v < IDT_ENTRIES; v++)
		set_gate(v, 0);
	load_idt();
}

void x86_trap_init(void)
{
	set_gate(X86_EXC_DF, IST_DF);
	set_gate(X86_EXC_NMI, IST_NMI);
	set_gate(X86_EXC_MC, IST_MC);
}

static void fill_tss(struct tss *tss, u32 cpu)
{
	u64 slot = STACK_WINDOW + (u64)cpu * STACK_SLOT;

	*tss = (struct tss){ .iomap_base = sizeof(*tss) };
	tss->ist[IST_DF - 1] = slot + STACK_DF_TOP;
	tss->ist[IST_NMI - 1] = slot + STACK_NMI_TOP;
	tss->ist[IST_MC - 1] = slot + STACK_MC_TOP;
}

/* The CPU's own GDT and TSS; its stack slot is mapped, its per-CPU area in use. */
void x86_trap_cpu_init(u32 cpu)
{
	struct cpu_tables *t = this_cpu_ptr(cpu_tables);
	struct x86_desc_ptr p = { sizeof(t->gdt) - 1, (u64)t->gdt };
	u64 base = (u64)&t->tss;

	fill_tss(&t->tss, cpu);
	t->gdt[X86_SEL_CODE64 / 8] = GDT_CODE64;
	t->gdt[X86_SEL_DATA / 8] = GDT_DATA;
	t->gdt[X86_SEL_CODE32 / 8] = GDT_CODE32;
	t->gdt[X86_SEL_TSS / 8] = GDT_TSS | (sizeof(t->tss) - 1) | (base & 0xffffff) << 16 |
				  (base >> 24 & 0xff) << 56;
	t->gdt[X86_SEL_TSS / 8 + 1] = base >> 32;
	/* CS and the data selectors keep their values, and mean the same in the new table. */
	__asm__ volatile("lgdt %0; ltr %w1" ::"m"(p), "r"(X86_SEL_TSS));
	load_idt();
}

static const char *const exception_names[32] = {
	"divide error",
	"debug",
	"NMI",
	"breakpoint",
	"overflow",
	"bound range",
	"invalid opcode",
	"device not available",
	"double fault",
	NULL,
	"invalid TSS",
	"segment not present",
	"stack",
	"general protection",
	"page fault",
	NULL,
	"x87",
	"alignment check",
	"machine check",
	"SIMD",
	NULL,
	"control protection",
};

static void print_registers(const struct x86_trap_frame *f)
{
	printk("rip %016lx cs %04lx rflags %08lx ss %04lx rsp %016lx\n", f->rip, f->cs, f->rflags,
	       f->ss, f->rsp);
	printk("rax %016lx rbx %016lx rcx %016lx rdx %016lx\n", f->rax, f->rbx, f->rcx, f->rdx);
	printk("rsi %016lx rdi %016lx rbp %016lx\n", f->rsi, f->rdi, f->rbp);
	printk("r8  %016lx r9  %016lx r10 %016lx r11 %016lx\n", f->r8, f->r9, f->r10, f->r11);
	printk("r12 %016lx r13 %016lx r14 %016lx r15 %016lx\n", f->r12, f->r13, f->r14, f->r15);
	printk("cr0 %08lx cr2 %016lx cr3 %016lx cr4 %08lx efer %08lx gs %016lx\n", read_cr0(),
	       read_cr2(), read_cr3(), read_cr4(), rdmsr(MSR_EFER), rdmsr(MSR_GS_BASE));
}

static __noreturn void halt_for_good(void)
{
	for (;;)
		__asm__ volatile("cli; hlt");
}

/* Resume after x86_try_call(), as if fn had come back with false. */
static void recover(struct x86_trap_frame *f)
{
	struct x86_try_regs *r = this_cpu(try_regs);

	this_cpu(try_regs) = NULL;
	*r->info = (struct x86_trap_info){ (u32)f->vector, f->error, read_cr2(), f->rip };
	f->rbx = r->rbx;
	f->rbp = r->rbp;
	f->rsp = r->rsp;
	f->r12 = r->r12;
	f->r13 = r->r13;
	f->r14 = r->r14;
	f->r15 = r->r15;
	f->rip = (u64)x86_try_resume;
}

void x86_exception(struct x86_trap_frame *f)
{
	const char *name = exception_names[f->vector];

	if (f->vector == X86_EXC_NMI && READ_ONCE(x86_stopping))
		halt_for_good();
	if (this_cpu(try_regs) && f->vector != X86_EXC_NMI && f->vector != X86_EXC_MC) {
		recover(f);
		return;
	}
	console_force_unlock();
	printk("\nexception %lu (%s), error code 0x%lx, on CPU %u\n", f->vector,
	       name ? name : "reserved", f->error, cpu_id());
	print_registers(f);
	panic("%s at 0x%lx, address 0x%lx", name ? name : "exception", f->rip,
	      f->vector == X86_EXC_PF ? read_cr2() : 0);
}

bool x86_try(void (*fn)(void *arg), void *arg, struct x86_trap_info *info)
{
	struct x86_try_regs regs = { .info = info };
	unsigned long flags = arch_irq_save();
	bool ok;

	this_cpu(try_regs) = &regs;
	ok = x86_try_call(fn, arg, &regs);
	this_cpu(try_regs) = NULL;
	arch_irq_restore(flags);
	return ok;
}

struct msr_access {
	u32 msr;
	u64 value;
};

static void try_rdmsr(void *arg)
{
	struct msr_access *m = arg;

	m->value = rdmsr(m->msr);
}

static void try_wrmsr(void *arg)
{
	struct msr_access *m = arg;

	wrmsr(m->msr, m->value);
}

int rdmsr_safe(u32 msr, u64 *value)
{
	struct msr_access m = { .msr = msr };
	struct x86_trap_info info;

	if (!x86_try(try_rdmsr, &m, &info))
		return -EFAULT;
	*value = m.value;
	return 0;
}

int wrmsr_safe(u32 msr, u64 value)
{
	struct msr_access m = { msr, value };
	struct x86_trap_info info;

	return x86_try(try_wrmsr, &m, &info) ? 0 : -EFAULT;
}

void x86_interrupt(u32 vector)
{
	/* APM vol. 2, 16.4.7: a spurious interrupt is in no service register; it gets no EOI. */
	if (unlikely(vector == X86_VEC_SPURIOUS))
		return;
	if (unlikely(!irq_dispatch(vector)) && !this_cpu(unwanted_irqs)++)
		printk("CPU %u: interrupt 0x%x that nobody asked for\n", cpu_id(), vector);
	lapic_eoi();
}

/* Frames are chained through RBP, built with -fno-omit-frame-pointer. */
unsigned int arch_backtrace(unsigned long *pc, unsigned int max)
{
	unsigned long *frame = __builtin_frame_address(0);
	unsigned int n = 0;

	while (n < max && x86_is_stack((unsigned long)frame) && frame[1]) {
		pc[n++] = frame[1];
		if ((unsigned long)frame == frame[0])
			break;
		frame = (unsigned long *)frame[0];
	}
	return n;
}
