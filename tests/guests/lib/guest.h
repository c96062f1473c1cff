/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a test guest may use, the same on both architectures. A guest is one C file with guest_main();
 * the runtime brings vCPU 0 there with paging, caches, vectors and the console ready, interrupts off.
 *
 * A guest never trusts the hypervisor to be there: with the word "bare" on its command line (or when
 * HC_NULL is not answered) it reports in KTAP on its own console and ends the machine by itself.
 */
#ifndef GUEST_H
#define GUEST_H

#include <arch_guest.h>
#include <cupel/abi.h>
#include <cupel/atomic.h>
#include <cupel/types.h>
#include <string.h>

#define MAX_VCPUS  128
#define STACK_SIZE 16384

/* The guest itself: returns its exit code, to which a failed report() adds 1. */
int guest_main(void);

extern bool bare; /* no hypervisor underneath */
extern u32 nr_vcpus;
extern u64 ram_base, ram_size;

/* Value of a word of the command line ("" for a bare word), or NULL; or a number with a default. */
const char *cmdline_get(const char *key);
u64 cmdline_u64(const char *key, u64 missing);
bool cmdline_is(const char *key, const char *value);
void cmdline_set(const char *text);

/* Console; %c %s %d %u %x %p %l* with width, '-' and '0'. Lines of two vCPUs may mix. */
void print(const char *fmt, ...) __printf(1, 2);

/* One test result. Any vCPU. */
void report(bool ok, const char *fmt, ...) __printf(2, 3);
/* A result that this machine can't give, and why. */
void skip(const char *fmt, ...) __printf(1, 2);
__noreturn void guest_exit(int code);
/* Complain on the console and exit with 125. */
__noreturn void guest_die(const char *fmt, ...) __printf(1, 2);

/* Measured values: name a series once, then hand over samples; bare, they are summed up and printed. */
void series_name(u32 series, const char *name);
void samples(u32 series, u64 *v, u32 n);

/* A hypercall, or -1 when there is no hypervisor. */
u64 hc(u64 id, u64 a, u64 b, u64 c);
static inline u64 stat(u64 which)
{
	return hc(HC_STAT, which, 0, 0);
}
/* Let someone else have the CPU: for every loop that waits for another vCPU. */
void relax(void);

/* --- Faults ---------------------------------------------------------------------------------- */
struct fault {
	u64 cause; /* ESR_EL1, or vector */
	u64 code; /* error code (x86) */
	u64 addr; /* FAR_EL1, or CR2 */
	u64 pc;
};

/*
 * Call fn(arg); true when it was ended by an exception, which is described in *f. fn may not hold
 * anything that has to be undone.
 */
bool try_call(void (*fn)(void *arg), void *arg, struct fault *f);
/* Run fn in user mode (EL0, CPL 3) on its own stack until it faults. Inside try_call() only. */
__noreturn void user_enter(void (*fn)(void));
bool fault_is_undefined(const struct fault *f);

/* --- Interrupts ------------------------------------------------------------------------------ */
typedef void (*irq_fn)(u32 irq);

/* INTID or vector. The runtime acknowledges before fn and signals end of interrupt after it. */
void irq_request(u32 irq, irq_fn fn);
/* Take over a whole interrupt, acknowledge and end included (NULL = give it back). */
extern irq_fn irq_raw;
/* Interrupts that had no handler, or that were gone when acknowledged. Per vCPU. */
extern u32 irq_unexpected[MAX_VCPUS];

/* IPIs have numbers 0..NR_IPIS-1 on both architectures. */
#define NR_IPIS	 7
#define IPI_WORK 7 /* the runtime's own */
void ipi_request(u32 ipi, irq_fn fn);
void ipi_send(u32 cpu, u32 ipi);

/* Sleep with interrupts off until `cond`, which an interrupt handler makes true; they are on after. */
#define sleep_until(cond)            \
	do {                         \
		irq_disable();       \
		while (!(cond))      \
			cpu_sleep(); \
		irq_enable();        \
	} while (0)

/* --- Timers: deadlines are absolute values of timer_now() ------------------------------------- */
enum timer { TIMER_VIRT, TIMER_PHYS }; /* x86 has one, the local APIC's: TIMER_VIRT */

const char *timer_name(enum timer t);
u64 timer_now(enum timer t);
u64 timer_hz(void);
u64 ms_to_ticks(u64 ms);
u64 us_to_ticks(u64 us);
/* Route the timer of the calling vCPU to fn, and leave it stopped. */
void timer_request(enum timer t, irq_fn fn);
void timer_set(enum timer t, u64 deadline);
void timer_stop(enum timer t);
/* Keep the deadline but mask the interrupt at the timer. */
void timer_mask(enum timer t, bool masked);
/* The timer's condition is met and it is neither stopped nor masked: its interrupt is due. */
bool timer_due(enum timer t);
/* How much earlier than its deadline a handler may see the counter, for rounding. */
u64 timer_slack(void);

/* Wait without touching a timer; with interrupts as they are. */
void spin_ticks(u64 ticks);

/* --- vCPUs ----------------------------------------------------------------------------------- */
/* Start all others; they sleep until given work. Complains and exits if one does not come. */
void smp_start(void);
/* Run fn on every vCPU, this one too, interrupts on; returns when all are done. */
void smp_run(void (*fn)(u32 cpu));
/* Run fn on one other vCPU without waiting, and wait for it (vCPU 0 only; interrupts are on after). */
void smp_post(u32 cpu, void (*fn)(u32 cpu));
void smp_wait(u32 cpu);

/* All `n` callers meet here. */
struct rendezvous {
	u32 arrived, round;
};
void meet(struct rendezvous *r, u32 n);

/* --- Code as data ---------------------------------------------------------------------------- */
/* The loop of leave.c: (rounds, word to read); position independent. */
extern const u8 leave_loop[], leave_loop_end[];
/* Make code that was written at [p, p + size) visible to instruction fetch. */
void sync_code(void *p, u64 size);
/* Where the page table of the calling vCPU begins. */
u64 page_table_root(void);
/* Have the calling vCPU set accessed flags by itself; false: it leaves that to software. */
bool access_by_hardware(void);
/* When all do: clear the flag in the entry that maps p, to be set at the next walk. The entry, and the flag. */
const volatile u64 *forget_access(const volatile void *p, u64 *flag);

/* --- FP and SIMD registers -------------------------------------------------------------------- */
#define FP_STATE_MAX 1024
/* All FP/SIMD registers from and to a buffer; returns how many bytes of it are comparable. */
u32 fp_state_size(void);
void fp_fill(u8 *state, u32 seed);
void fp_load(const u8 *state);
void fp_store(u8 *state);

/* --- What the architecture does for the runtime ---------------------------------------------- */
void arch_console_putc(char c);
__noreturn void arch_exit(int code);
/* Firmware's tables -> ram_base, ram_size, nr_vcpus (0 = unknown), command line. */
void arch_read_firmware(void *boot);
void arch_cpu_init(u32 cpu);
/* True when HC_NULL is answered. */
bool arch_hypervisor_present(void);
void arch_start_cpu(u32 cpu);

/* Entry from assembly. */
void runtime_main(void *boot);
void runtime_secondary(u32 cpu);

extern struct try_state {
	u64 sp; /* stack of the try_call() in progress, 0 = none */
	struct fault fault;
} try_state[MAX_VCPUS];

extern u8 stacks[MAX_VCPUS][STACK_SIZE];

#endif
