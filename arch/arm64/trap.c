/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exceptions of the hypervisor itself: told in words with registers and a backtrace, then the machine
 * ends. None of them is ever survived, but for those that arm64_try() waits for.
 */
#include <asm/boot.h>
#include <asm/mm.h>
#include <asm/sysreg.h>
#include <asm/trap.h>
#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>
#include <cupel/smp.h>

struct try_state {
	u64 regs[TRY_REGS];
	struct trap_info info;
	bool armed;
};
static DEFINE_PER_CPU(struct try_state, try_state);

/* End of the page that a CPU with a bad stack pointer panics on; read by trap_entry.S. */
DEFINE_PER_CPU(u64, trap_overflow_top);

extern char trap_vectors[], boot_stack[], boot_stack_top[];
void try_resume(void);
void trap_sync(struct trap_frame *f);
__noreturn void trap_fiq(struct trap_frame *f);
__noreturn void trap_serror(struct trap_frame *f);
__noreturn void trap_bad_sp0(struct trap_frame *f);
__noreturn void trap_bad_stack(struct trap_frame *f);

_Static_assert(offsetof(struct trap_frame, sp) == FRAME_SP, "FRAME_SP");
_Static_assert(offsetof(struct trap_frame, elr) == FRAME_ELR, "FRAME_ELR");
_Static_assert(offsetof(struct trap_frame, spsr) == FRAME_SPSR, "FRAME_SPSR");
_Static_assert(offsetof(struct trap_frame, esr) == FRAME_ESR, "FRAME_ESR");
_Static_assert(offsetof(struct trap_frame, far) == FRAME_FAR, "FRAME_FAR");
_Static_assert(offsetof(struct trap_frame, link) == FRAME_LINK, "FRAME_LINK");
_Static_assert(sizeof(struct trap_frame) == FRAME_SIZE, "FRAME_SIZE");

static const char *const class_names[64] = {
	[ESR_EC_UNKNOWN] = "undefined instruction",
	[ESR_EC_WFX] = "trapped WFI or WFE",
	[ESR_EC_FP] = "floating point or SIMD access",
	[ESR_EC_PAUTH] = "trapped pointer authentication",
	[ESR_EC_BTI] = "branch target exception",
	[ESR_EC_ILLEGAL] = "illegal execution state",
	[ESR_EC_SVC64] = "SVC",
	[ESR_EC_HVC64] = "HVC",
	[ESR_EC_SMC64] = "trapped SMC",
	[ESR_EC_SYS64] = "trapped system register access",
	[ESR_EC_SVE] = "SVE access",
	[ESR_EC_ERET] = "trapped ERET",
	[ESR_EC_SME] = "SME access",
	[ESR_EC_IABT_LOW] = "instruction abort of a lower level",
	[ESR_EC_IABT_CUR] = "instruction abort",
	[ESR_EC_PC_ALIGN] = "misaligned PC",
	[ESR_EC_DABT_LOW] = "data abort of a lower level",
	[ESR_EC_DABT_CUR] = "data abort",
	[ESR_EC_SP_ALIGN] = "misaligned SP",
	[ESR_EC_FP64] = "floating point exception",
	[ESR_EC_SERROR] = "SError",
	[ESR_EC_BRK64] = "BRK",
};

const char *esr_class_name(u64 esr)
{
	const char *name = class_names[ESR_EC(esr)];

	return name ? name : "exception of an unknown class";
}

static bool is_abort(u64 esr)
{
	u32 ec = ESR_EC(esr);

	return ec == ESR_EC_IABT_LOW || ec == ESR_EC_IABT_CUR || ec == ESR_EC_DABT_LOW ||
	       ec == ESR_EC_DABT_CUR;
}

const char *esr_fault_name(u64 esr)
{
	u32 fsc = ESR_ABT_FSC(esr);

	if (!is_abort(esr))
		return "";
	if (fsc == FSC_ALIGNMENT)
		return "alignment fault";
	if (fsc == FSC_EXTERNAL || FSC_TYPE(fsc) == FSC_EXTERNAL + 4)
		return "external abort";
	switch (FSC_TYPE(fsc)) {
	case 0: return "address size fault";
	case FSC_TRANSLATION: return "translation fault";
	case FSC_ACCESS_FLAG: return "access flag fault";
	case FSC_PERMISSION: return "permission fault";
	}
	return "fault of another kind";
}

static void print_frame(const struct trap_frame *f)
{
	for (u32 i = 0; i < 30; i += 3)
		printk("x%-2u %016lx  x%-2u %016lx  x%-2u %016lx\n", i, (unsigned long)f->x[i],
		       i + 1, (unsigned long)f->x[i + 1], i + 2, (unsigned long)f->x[i + 2]);
	printk("x30 %016lx  sp  %016lx  pc  %016lx\n", (unsigned long)f->x[30],
	       (unsigned long)f->sp, (unsigned long)f->elr);
	printk("esr %016lx  far %016lx  pstate %08lx\n", (unsigned long)f->esr,
	       (unsigned long)f->far, (unsigned long)f->spsr);
}

/* ", translation fault at level 3, writing 0x10", or nothing for what is no abort. */
static const char *describe_abort(const struct trap_frame *f, char *buf, size_t size)
{
	const char *how = f->esr & ESR_ABT_WNR ? "writing" : "reading";
	char level[16] = "";

	buf[0] = '\0';
	if (!is_abort(f->esr))
		return buf;
	if (ESR_EC(f->esr) == ESR_EC_IABT_CUR)
		how = "executing";
	if (ESR_ABT_FSC(f->esr) < FSC_EXTERNAL) /* faults of a translation, by the level of its end */
		snprintf(level, sizeof(level), " at level %u", (u32)f->esr & 3);
	snprintf(buf, size, ", %s%s, %s 0x%lx", esr_fault_name(f->esr), level, how,
		 (unsigned long)f->far);
	return buf;
}

static __noreturn void fatal(const struct trap_frame *f, const char *what)
{
	u64 esr = f->esr;
	char detail[80];

	arch_irq_disable();
	console_force_unlock(); /* this CPU may hold it */
	printk("\n%s: %s%s\n", what, esr_class_name(esr), describe_abort(f, detail, sizeof(detail)));
	print_frame(f);
	panic("%s (%s) at pc 0x%lx, image +0x%lx", what, esr_class_name(esr), (unsigned long)f->elr,
	      (unsigned long)(f->elr - (u64)__image_start));
}

static const char *sync_cause(const struct trap_frame *f)
{
	if (!is_abort(f->esr))
		return "unexpected exception";
	if (f->far < PAGE_SIZE)
		return "null pointer access";
	if (mm_in_guard(f->far))
		return "access to a stack's guard page";
	return "bad memory access";
}

/* While devices are being found, a bus that refuses is no fault of ours. */
static void nothing_answers(const struct trap_frame *f)
{
	if (!is_abort(f->esr) || ESR_ABT_FSC(f->esr) != FSC_EXTERNAL || cpu_online(0))
		return;
	console_force_unlock();
	cannot_start("nothing answers at 0x%lx, where firmware says that a device is",
		     (unsigned long)f->far);
}

void trap_sync(struct trap_frame *f)
{
	struct try_state *t = this_cpu_ptr(try_state);

	if (!t->armed) {
		nothing_answers(f);
		fatal(f, sync_cause(f));
	}
	t->armed = false;
	t->info = (struct trap_info){ .esr = f->esr, .elr = f->elr, .far = f->far };
	f->x[0] = (u64)t->regs;
	f->elr = (u64)try_resume;
}

void trap_fiq(struct trap_frame *f)
{
	fatal(f, "unexpected FIQ");
}

void trap_serror(struct trap_frame *f)
{
	fatal(f, "system error");
}

void trap_bad_sp0(struct trap_frame *f)
{
	fatal(f, "exception on SP_EL0");
}

void trap_bad_stack(struct trap_frame *f)
{
	fatal(f, mm_in_guard(f->sp - FRAME_SIZE) ? "stack overflow" :
						   "exception with a bad stack pointer");
}

bool arm64_try(void (*fn)(void *arg), void *arg, struct trap_info *info)
{
	struct try_state *t = this_cpu_ptr(try_state);
	bool ok;

	t->armed = true;
	barrier(); /* trap_sync() runs in between as far as the compiler is concerned */
	ok = try_call(fn, arg, t->regs);
	barrier();
	t->armed = false;
	if (!ok)
		*info = t->info;
	return ok;
}

/* Which piece of memory a frame record may be read from: 0 = none. */
static u64 stack_end(u64 fp)
{
	u64 overflow = this_cpu(trap_overflow_top) - OVERFLOW_STACK_SIZE;

	if (mm_on_stack(cpu_id(), fp))
		return ALIGN_UP(fp + 1, STACK_SIZE);
	if (fp >= (u64)boot_stack && fp < (u64)boot_stack_top)
		return (u64)boot_stack_top;
	if (fp - overflow < OVERFLOW_STACK_SIZE)
		return overflow + OVERFLOW_STACK_SIZE;
	return 0;
}

unsigned int arch_backtrace(unsigned long *pc, unsigned int max)
{
	u64 fp = (u64)__builtin_frame_address(0);
	u64 end = stack_end(fp);
	unsigned int n = 0;

	while (n < max && end && IS_ALIGNED(fp, 8UL) && fp + 16 <= end) {
		const u64 *record = (const u64 *)fp;
		u64 up = record[0];

		if (!record[1])
			break;
		pc[n++] = record[1];
		/* Outwards on one stack, or once from the overflow stack to the one that overflowed. */
		if (up <= fp || up >= end) {
			u64 other = stack_end(up);

			if (other == end)
				break;
			end = other;
		}
		fp = up;
	}
	return n;
}

void trap_cpu_init(void)
{
	void *page = pages_alloc(size_to_order(OVERFLOW_STACK_SIZE));

	if (!page)
		panic("no memory for the stack of last resort");
	this_cpu(trap_overflow_top) = (u64)page + OVERFLOW_STACK_SIZE;
	write_sysreg(trap_vectors, vbar_el2);
	isb();
	__asm__ volatile("msr daifclr, #4" : : : "memory"); /* SError */
}
