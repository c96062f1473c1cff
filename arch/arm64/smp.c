/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Secondary CPUs: started one at a time, through PSCI or a spin table, each with a stack and per-CPU area
 * of its own.
 * One that is late finds out that nobody waits any more and switches itself off again: it never joins
 * behind core's back.
 */
#include "../../drivers/firmware/psci.h"
#include "../../drivers/gic/gic.h"
#include "../../drivers/timer/arm_timer.h"

#include <asm/boot.h>
#include <asm/host.h>
#include <asm/io.h>
#include <asm/mm.h>
#include <asm/trap.h>
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/clock.h>
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <cupel/smp.h>

#define START_TIMEOUT_NS (10 * NSEC_PER_SEC) /* emulators share their processors */

enum secondary_state { SECONDARY_STARTING, SECONDARY_RUNNING, SECONDARY_GIVEN_UP };

_Static_assert(offsetof(struct secondary_boot, mmu) == SECONDARY_MMU, "SECONDARY_MMU");
_Static_assert(offsetof(struct secondary_boot, stack_top) == SECONDARY_STACK, "SECONDARY_STACK");
_Static_assert(offsetof(struct secondary_boot, hwid) == SECONDARY_HWID, "SECONDARY_HWID");
_Static_assert(offsetof(struct secondary_boot, next) == SECONDARY_NEXT, "SECONDARY_NEXT");

struct secondary_boot *secondary_list;

/* To the point of coherency: it is read with the MMU off. No line is shorter than 16 bytes. */
static void clean_to_memory(const void *p, size_t size)
{
	for (u64 at = (u64)p; at < (u64)p + size; at += 16)
		__asm__ volatile("dc cvac, %0" : : "r"(at) : "memory");
	dsb(sy);
}

static bool claim(struct secondary_boot *b, enum secondary_state to)
{
	u32 starting = SECONDARY_STARTING;

	/* The other side's exchange is the partner: exactly one of RUNNING and GIVEN_UP happens. */
	return atomic_cmpxchg_full(&b->state, &starting, to);
}

/* Once one has not come the others are given less: there may be hundreds. */
static int wait_online(u32 cpu, struct secondary_boot *b)
{
	static u64 patience_ns = START_TIMEOUT_NS;
	u64 deadline = arch_counter() + ns_to_ticks(patience_ns);

	while (!cpu_online(cpu)) {
		cpu_relax();
		if (arch_counter() <= deadline || !claim(b, SECONDARY_GIVEN_UP))
			continue;
		patience_ns = START_TIMEOUT_NS / 10;
		return -ETIMEDOUT;
	}
	return 0;
}

/* `word` is 8-byte aligned, and so is the image. */
static bool is_ours(paddr_t word)
{
	bool ours = word - (paddr_t)__image_start < (u64)(__image_end - __image_start);

	for (u32 i = 0; i < platform.nr_modules; i++) {
		const struct module *m = &platform.modules[i];

		ours |= word + sizeof(u64) > m->base && word < m->base + m->size;
	}
	return ours;
}

static void read_word(void *word)
{
	(void)mmio_read64(word);
}

/* A word that can't be where it is said to be is not written to: -EFAULT. */
static int find_release(u32 cpu, volatile u64 **release)
{
	paddr_t pa = platform.cpus[cpu].release_addr;
	struct trap_info info;

	if (is_ours(pa) || pa >= BIT(arm64_pa_bits()))
		return -EFAULT;
	*release = mm_map_release(cpu, pa);
	if (!*release)
		return -ENOMEM;
	return arm64_try(read_word, (void *)*release, &info) ? 0 : -EFAULT;
}

/*
 * Listed before it is told where to go (the DSB in clean_to_memory() is between the two), and for good:
 * it may come when nobody waits any more, unless it can still be stopped.
 */
static int spin_table_start(u32 cpu, struct secondary_boot *b)
{
	volatile u64 *release;
	int r = find_release(cpu, &release);

	if (r)
		return r;
	b->next = secondary_list;
	clean_to_memory(b, sizeof(*b));
	secondary_list = b;
	clean_to_memory(&secondary_list, sizeof(secondary_list));
	*release = va_to_pa(secondary_spin_entry);
	dsb(sy);
	__asm__ volatile("sev" : : : "memory");
	r = wait_online(cpu, b);
	if (r)
		*release = 0;
	return r;
}

static int psci_start(u32 cpu, struct secondary_boot *b)
{
	int r;

	clean_to_memory(b, sizeof(*b));
	r = psci_cpu_on(platform.cpus[cpu].hwid, va_to_pa(secondary_entry), va_to_pa(b));
	return r ? r : wait_online(cpu, b);
}

int arch_cpu_start(u32 cpu)
{
	struct secondary_boot *b;
	void *stack;
	u64 top;
	int r = gic_check_cpu(cpu);

	if (r)
		return r;
	top = mm_map_stack(cpu, &stack);
	if (!top)
		return -ENOMEM;
	b = stack;
	b->mmu = host_mmu;
	b->stack_top = top;
	b->cpu = cpu;
	b->state = SECONDARY_STARTING;
	b->hwid = platform.cpus[cpu].hwid;
	return platform.cpus[cpu].method == CPU_METHOD_SPIN_TABLE ? spin_table_start(cpu, b) :
								    psci_start(cpu, b);
}

void secondary_main(struct secondary_boot *b)
{
	set_this_cpu_offset(percpu_offset[b->cpu]);
	trap_cpu_init();
	if (!claim(b, SECONDARY_RUNNING)) {
		psci_cpu_off();
		boot_halt();
	}
	gic_cpu_init();
	arm_timer_cpu_init();
	arm64_guest_cpu_init();
	cpu_main(b->cpu);
}

void arch_cpu_kick(u32 cpu)
{
	gic_send_sgi(cpu, GIC_SGI_KICK);
}

void arch_cpu_idle(void)
{
	/* Earlier stores are out before this CPU sleeps; a pending interrupt ends the wait, masked or not. */
	dsb(sy);
	__asm__ volatile("wfi" : : : "memory");
}
