/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an exit costs, from inside: each operation between two reads of the virtual counter, or from a
 * deadline to the first instruction of the handler. Two instructions of timing are included.
 */
#include <guest.h>
#include <measure.h>

#define SMCCC_VERSION 0x80000000
#define UART_FR	      (GUEST_ARM64_UART + 0x18)
#define SPIN_TICKS    us_to_ticks(20)
#define WFI_TICKS     ms_to_ticks(2)
#define SGI	      1

extern const u8 measure_vectors[], measure_vectors_v2[];
u64 measure_sgi(u64 sgi1r);
u64 measure_sgi_v2(u64 val, u64 gicd_sgir);
u64 measure_timer(u64 deadline);
u64 measure_timer_wfi(u64 deadline);

/* Ticks around one instruction. */
#define TIMED(insn, inputs...)                                                                        \
	({                                                                                            \
		u64 t0_, t1_;                                                                         \
		__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\t" insn "\n\tisb\n\tmrs %1, cntvct_el0" \
				 : "=&r"(t0_), "=&r"(t1_)                                             \
				 : inputs                                                             \
				 : "x0", "x1", "x2", "x3", "memory");                                 \
		t1_ - t0_;                                                                            \
	})

static u64 op_hvc(void)
{
	register u64 x0 __asm__("x0") = SMCCC_VERSION;
	u64 t0, t1;

	__asm__ volatile("isb; mrs %0, cntvct_el0; hvc #0; isb; mrs %1, cntvct_el0"
			 : "=&r"(t0), "=&r"(t1), "+r"(x0)
			 :
			 : "x1", "x2", "x3", "memory");
	return t1 - t0;
}

static u64 op_sysreg(void)
{
	return TIMED("mrs x0, id_aa64pfr0_el1");
}

static u64 op_gicd_read(void)
{
	return TIMED("ldr w0, [%2]", "r"((u64)GUEST_ARM64_GICD + GICD_IIDR));
}

static u64 op_gicd_enable(void)
{
	return TIMED("ldr w0, [%2]", "r"((u64)GUEST_ARM64_GICD + GICD_ISENABLER + 4));
}

static u64 op_uart_read(void)
{
	return TIMED("ldr w0, [%2]", "r"((u64)UART_FR));
}

static u64 op_sgi_self(void)
{
	u64 aff0 = cpu_mpidr(0) & 15;

	if (gic_v2)
		return measure_sgi_v2(1UL << 16 | SGI, GUEST_ARM64_GICD + GICD_SGIR);
	return measure_sgi((u64)SGI << 24 | 1UL << aff0);
}

static u64 op_timer_late(void)
{
	return measure_timer(timer_now(TIMER_VIRT) + SPIN_TICKS);
}

static u64 op_wfi_late(void)
{
	return measure_timer_wfi(timer_now(TIMER_VIRT) + WFI_TICKS);
}

int guest_main(void)
{
	static const struct op ops[] = {
		{ "hvc", op_hvc },
		{ "sysreg", op_sysreg },
		{ "gicd-read", op_gicd_read },
		{ "gicd-enable", op_gicd_enable },
		{ "uart-read", op_uart_read },
		{ "sgi-self", op_sgi_self },
		{ "timer-late", op_timer_late },
		{ "wfi-late", op_wfi_late },
	};

	gic_enable(INTID_VTIMER);
	write_sysreg(vbar_el1, (u64)(gic_v2 ? measure_vectors_v2 : measure_vectors));
	isb();
	measure(ops, ARRAY_SIZE(ops));
	return 0;
}
