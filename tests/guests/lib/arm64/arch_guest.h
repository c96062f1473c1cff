/* SPDX-License-Identifier: GPL-2.0-only */
/* The arm64 half of guest.h: what has to be inline. */
#ifndef ARCH_GUEST_H
#define ARCH_GUEST_H

#include <arm64_regs.h>
#include <cupel/types.h>

#define HAVE_PHYS_TIMER 1

#define read_sysreg(r)                                      \
	({                                                  \
		u64 v_;                                     \
		__asm__ volatile("mrs %0, " #r : "=r"(v_)); \
		v_;                                         \
	})
#define write_sysreg(r, v) __asm__ volatile("msr " #r ", %x0" : : "rZ"((u64)(v)) : "memory")
#define isb()		   __asm__ volatile("isb" : : : "memory")
#define dsb()		   __asm__ volatile("dsb sy" : : : "memory")

/* GICv3 CPU interface by encoding: assemblers want an extension named for the names. */
#define ICC_PMR_EL1	 S3_0_C4_C6_0
#define ICC_DIR_EL1	 S3_0_C12_C11_1
#define ICC_RPR_EL1	 S3_0_C12_C11_3
#define ICC_SGI1R_EL1	 S3_0_C12_C11_5
#define ICC_AP1R0_EL1	 S3_0_C12_C9_0
#define ICC_IAR1_EL1	 S3_0_C12_C12_0
#define ICC_EOIR1_EL1	 S3_0_C12_C12_1
#define ICC_HPPIR1_EL1	 S3_0_C12_C12_2
#define ICC_BPR1_EL1	 S3_0_C12_C12_3
#define ICC_CTLR_EL1	 S3_0_C12_C12_4
#define ICC_SRE_EL1	 S3_0_C12_C12_5
#define ICC_IGRPEN1_EL1	 S3_0_C12_C12_7
#define ICC_CTLR_EOIMODE 2

/* read_sysreg() of a name that is itself a macro. */
#define read_icc(r)	     read_sysreg_x(r)
#define read_sysreg_x(r)     read_sysreg(r)
#define write_icc(r, v)	     write_sysreg_x(r, v)
#define write_sysreg_x(r, v) write_sysreg(r, v)

static inline u32 cpu_id(void)
{
	return read_sysreg(tpidr_el1);
}

static inline void irq_enable(void)
{
	__asm__ volatile("msr daifclr, #2; isb" : : : "memory");
}

static inline void irq_disable(void)
{
	__asm__ volatile("msr daifset, #2" : : : "memory");
}

/* Interrupts off: sleep until one is pending, take it. */
static inline void cpu_sleep(void)
{
	__asm__ volatile("wfi; msr daifclr, #2; isb; msr daifset, #2" : : : "memory");
}

static inline void cpu_pause(void)
{
	__asm__ volatile("yield" : : : "memory");
}

static inline u64 hypercall(u64 id, u64 a, u64 b, u64 c)
{
	register u64 x0 __asm__("x0") = id;
	register u64 x1 __asm__("x1") = a;
	register u64 x2 __asm__("x2") = b;
	register u64 x3 __asm__("x3") = c;

	__asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3) : : "memory");
	return x0;
}

static inline u32 mmio_read(u64 addr)
{
	u32 v;

	__asm__ volatile("ldr %w0, [%1]" : "=r"(v) : "r"(addr) : "memory");
	return v;
}

static inline void mmio_write(u64 addr, u32 v)
{
	__asm__ volatile("str %w0, [%1]" : : "rZ"(v), "r"(addr) : "memory");
}

bool try_call_asm(void (*fn)(void *arg), void *arg, u64 *sp);
void try_resume(void);

/* The GIC of the calling vCPU. */
extern bool gic_v2;
u64 gicr_base(u32 cpu); /* RD frame; GICv3 only */
u64 gic_ppi_regs(u32 cpu); /* registers of SGIs and PPIs, at GICD offsets */
u32 gic_ack(void);
void gic_end(u32 iar);
void gic_enable(u32 intid);
void gic_disable(u32 intid);
void gic_send_sgi(u32 cpu, u32 intid);
u64 cpu_mpidr(u32 cpu);

extern u32 xen_intid; /* of Xen's upcalls, as the device tree has it; 0: no Xen */

#endif
