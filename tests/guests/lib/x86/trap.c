/* SPDX-License-Identifier: GPL-2.0-only */
/* The IDT: interrupts go to their handlers, faults to the try_call() in progress. */
#include <guest.h>
#include <runtime.h>

#define FIRST_IRQ      0x20
#define GATE_INTERRUPT 0x8e00
#define GATE_DPL3      0x6000
#define VEC_USER_EXIT  0x80 /* INT 0x80 from user mode */

struct regs { /* as start.S stacks them */
	u64 r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
	u64 vector, error;
	u64 rip, cs, rflags, rsp, ss;
};

struct gate {
	u16 offset0, selector, type, offset1;
	u32 offset2, reserved;
};

struct tss {
	u32 reserved0;
	u64 rsp0, rsp1, rsp2;
	u64 rest[10];
} __packed;

void x86_trap(struct regs *r);
extern const u8 vector_stubs[256][16];
extern u64 gdt[];

struct gate idt[256] __aligned(16);
static struct tss tss;

void idt_set(u32 vector, void (*entry)(void))
{
	u64 a = entry ? (u64)entry : (u64)vector_stubs[vector];

	idt[vector] = (struct gate){
		.offset0 = a,
		.selector = SEL_CODE64,
		.type = GATE_INTERRUPT | (vector == VEC_USER_EXIT ? GATE_DPL3 : 0),
		.offset1 = a >> 16,
		.offset2 = a >> 32,
	};
}

static void take_irq(u32 vector)
{
	if (irq_raw) {
		irq_raw(vector);
		return;
	}
	irq_deliver(vector);
	if (vector != VEC_SPURIOUS)
		lapic_write(LAPIC_EOI, 0);
}

static void take_fault(struct regs *r)
{
	u64 cr2, sp;

	__asm__ volatile("mov %%cr2, %0" : "=r"(cr2));
	sp = try_fault(r->vector, r->error, cr2, r->rip);
	if (!sp)
		guest_die("vCPU %u: vector %lu, error %lx CR2 %lx RIP %lx", cpu_id(), r->vector,
			  r->error, cr2, r->rip);
	r->rip = (u64)try_resume;
	r->rsp = sp;
	r->cs = SEL_CODE64;
	r->ss = SEL_DATA;
}

void x86_trap(struct regs *r)
{
	if (r->vector == VEC_NMI)
		irq_deliver(VEC_NMI);
	else if (r->vector >= FIRST_IRQ && r->vector != VEC_USER_EXIT)
		take_irq(r->vector);
	else
		take_fault(r);
}

bool fault_is_undefined(const struct fault *f)
{
	return f->cause == VEC_UD || f->cause == VEC_GP;
}

static u8 user_stack[4096] __aligned(16);

static void load_tss(void)
{
	u64 base = (u64)&tss;
	u64 *d = &gdt[SEL_TSS / 8];

	/* APM volume 2, 4.8.3: available 64-bit TSS. */
	d[0] = (sizeof(tss) - 1) | (base & 0xffffff) << 16 | 0x89UL << 40 | (base >> 24 & 0xff) << 56;
	d[1] = base >> 32;
	__asm__ volatile("ltr %w0" : : "r"(SEL_TSS));
}

void user_enter(void (*fn)(void))
{
	u64 sp = (u64)user_stack + sizeof(user_stack) - 8;

	load_tss();
	tss.rsp0 = ((u64)__builtin_frame_address(0) - 512) & ~15UL;
	__asm__ volatile("push %0; push %1; push $2; push %2; push %3; iretq"
			 :
			 : "r"((u64)SEL_USER_DATA), "r"(sp), "r"((u64)SEL_USER_CODE), "r"(fn)
			 : "memory");
	__builtin_unreachable();
}
