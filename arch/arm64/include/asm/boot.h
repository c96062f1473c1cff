/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What entry.S and the C of the boot path agree on. Private to the host half of arch/arm64; also read
 * by assembly.
 */
#ifndef ASM_BOOT_H
#define ASM_BOOT_H

/* Stacks: the upper half of a slot is mapped, the lower half is the guard. Bit STACK_SHIFT of a good
 * stack pointer is therefore set, which is how the vectors notice an overflow. */
#define STACK_SHIFT  14
#define STACK_SIZE   (1 << STACK_SHIFT)
#define STACK_SLOT   (2 * STACK_SIZE)
#define STACK_WINDOW 0xff0000000000 /* well above any RAM that 48-bit machines have */

/* Linux takes 2 MiB at most; QEMU makes slightly more of a -dtb that it once dumped itself. */
#define FDT_MAX_SIZE MIB(4)

/* How the boot CPU came in, and so what was left for it: a device tree, or struct efi_info. */
#define BOOT_FDT	 0
#define BOOT_EFI	 1
#define EFI_INFO_COUNTER 8 /* struct efi_info */

/* The least that the PE format allows; tools/pack-image fills up to it */
#define PE_FILE_ALIGN 512
#define PE_PAGE_SIZE  4096

/* The first place where a PL011 is looked for before firmware has named a console: that of QEMU's virt. */
#ifndef CONFIG_EARLY_PL011
#define CONFIG_EARLY_PL011 0x09000000
#endif

/* struct secondary_boot, read by a CPU whose MMU is still off */
#define SECONDARY_MMU	0 /* struct mmu_regs */
#define SECONDARY_STACK 40
#define SECONDARY_HWID	56
#define SECONDARY_NEXT	64

/* struct trap_frame, pushed by trap_entry.S */
#define FRAME_SP   248
#define FRAME_ELR  256
#define FRAME_SPSR 264
#define FRAME_ESR  272
#define FRAME_FAR  280
#define FRAME_LINK 288 /* a frame record, so that backtraces go on through an exception */
#define FRAME_SIZE 304

#define OVERFLOW_STACK_SIZE 4096

#ifndef __ASSEMBLY__
#include <cupel/mm.h> /* __image_start, __image_end */
#include <cupel/platform.h>
#include <cupel/types.h>

/* The registers that make a translation regime; the same on every CPU. */
struct mmu_regs {
	u64 ttbr, hcr, tcr, mair, sctlr;
};

/* One per secondary CPU, at the bottom of its stack, cleaned to memory before it is started. */
struct secondary_boot {
	struct mmu_regs mmu;
	u64 stack_top;
	u32 cpu;
	u32 state; /* enum secondary_state */
	u64 hwid;
	struct secondary_boot *next; /* in secondary_list */
};

struct trap_frame {
	u64 x[31];
	u64 sp, elr, spsr, esr, far;
	u64 link[2];
};

extern char __text_start[], __text_end[], __rodata_start[], __rodata_end[], __data_start[];

/* entry.S. Regime change: with the MMU off in between, so the caller and its stack are identity mapped. */
void mmu_switch(const struct mmu_regs *r);
__noreturn void call_on_stack(__noreturn void (*fn)(void), u64 stack_top);
void secondary_entry(void);
void secondary_spin_entry(void);
/* entry.S: after boot services, from firmware's tables to ours. */
__noreturn void boot_enter(const struct efi_info *info);
__noreturn void boot_halt(void);

/*
 * boot_puts.S: to each PL011 that is where it may be; callable from the first instruction on, before
 * trap_cpu_init(). Lines end in "\r\n". With the MMU on boot_early_map_uarts() comes first.
 */
void boot_early_puts(const char *s);
u64 boot_early_uart(u64 after);
extern const u32 boot_early_uarts[];

/* boot.c, boot_early.c, boot_efi.c, called from entry.S */
u64 boot_efi(void *image, void *table, u64 counter);
const struct mmu_regs *boot_early_mmu(paddr_t info, u32 how);
__noreturn void boot_main(paddr_t info, u32 how, u64 counter);
__noreturn void boot_early_trap(u64 esr, u64 elr, u64 far);
/* At EL1 or EL3, MMU off: a line on every console that the tree at `fdt` (0: none) and its words name. */
__noreturn void boot_wrong_el(paddr_t fdt, const char *text);

/* boot_early.c: map where boot_early_puts() looks, except what is known to be RAM */
void boot_early_map_uarts(void);
/* False when an exception ended fn. Before trap_cpu_init(), at any Exception level; not one inside another. */
bool boot_try(void (*fn)(void *arg), void *arg);

/* boot_cpu.c */
void boot_read_ids(void);

/* boot_firmware.c: fills platform from what firmware left, or says why it can't and halts. */
void boot_firmware(paddr_t info, u32 how);
/* Whether firmware knows of memory there, whoever uses it. */
bool boot_is_memory(paddr_t base, u64 size);

/* boot_console.c: what firmware names, or else a PL011 that is there; then what the command line adds */
void boot_console_firmware(void);
void boot_console_cmdline(void);
#define BOOT_UART_SIZE 0x100 /* all that any of the drivers uses of one */
extern struct uart_info boot_uarts[PLATFORM_MAX_CONSOLES]; /* the consoles */
extern u32 boot_nr_uarts;

/* smp.c */
extern struct secondary_boot *secondary_list; /* those in spin tables, late ones included; cleaned to memory */
__noreturn void secondary_main(struct secondary_boot *b);

/* trap.c */
void trap_cpu_init(void);

/* trap_entry.S: fn(arg) and true, or false when try_resume() came in between. */
#define TRY_REGS 13 /* x19-x30, sp */
bool try_call(void (*fn)(void *arg), void *arg, u64 *regs);
#endif

#endif
