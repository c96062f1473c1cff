/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the x86 host side say to each other; also read by assembly. No other room includes
 * this.
 */
#ifndef X86_BOOT_H
#define X86_BOOT_H

/* How the loader entered: first argument of x86_start(). */
#define BOOT_MULTIBOOT	1
#define BOOT_PVH	2
#define BOOT_MULTIBOOT2 3
#define BOOT_EFI	4
#define BOOT_LINUX	5

/* Linux's struct boot_params: Documentation/arch/x86/zero-page.rst */
#define BOOT_PARAMS_RSDP    0x070
#define BOOT_PARAMS_NR_E820 0x1e8
#define BOOT_PARAMS_CMDLINE 0x228
#define BOOT_PARAMS_E820    0x2d0

/* Where in struct efi_info assembly finds what it needs of it. */
#define EFI_INFO_COUNTER 8
#define EFI_INFO_CMDLINE 72

/*
 * The stack window: a slot per CPU, in the upper half so that it meets no physical address. Pages of a
 * slot: guard, main, guard, #DF, guard, NMI, guard, #MC, rest unmapped.
 */
#define STACK_WINDOW	0xffffff0000000000
#define STACK_SLOT	0x20000
#define STACK_MAIN_BASE 0x1000
#define STACK_MAIN_TOP	0x9000
#define STACK_DF_BASE	0xa000
#define STACK_DF_TOP	0xc000
#define STACK_NMI_BASE	0xd000
#define STACK_NMI_TOP	0xf000
#define STACK_MC_BASE	0x10000
#define STACK_MC_TOP	0x12000

/* Interrupt stack table slots: APM vol. 2, 8.9.4. */
#define IST_DF	1
#define IST_NMI 2
#define IST_MC	3

#ifndef __ASSEMBLY__
#include <asm/trap.h>
#include <cupel/platform.h>
#include <cupel/types.h>

extern char __rodata_start[], __data_start[], __file_end[];
extern char x86_boot_stack[], x86_boot_stack_end[];

/* boot.S -> start.c; bring-up goes on in start.c on the CPU's own stack */
__noreturn void x86_start(u32 how, u32 info);
__noreturn void x86_start_on_stack(void);
/* boot_ap.S -> smp.c */
__noreturn void x86_ap_start(u32 cpu);
/* Leave the current stack for good. */
__noreturn void x86_switch_stack(void *top, void (*fn)(void));

/* boot_pe.S <-> boot_efi.c */
u64 x86_efi_main(void *image, void *table, u64 counter);
__noreturn void x86_efi_relay(struct efi_info *info, void *copy);

/* start_console.c */
void x86_console_early(void);
/* The memory map and the command line have been read; the loader's page map is in use. */
void x86_console_choose(void);
/* The page map is ours now: the console's registers must be in it. */
void x86_console_map(void);

/* mm.c */
#define BOOT_MAP_SIZE_2M GIB(4)
u64 x86_boot_map_size(void);
void x86_mm_init(const struct mem_range *ram, u32 nr_ram);
void x86_mm_cpu_init(void);
/* Map the calling boot CPU's, or another's, stack slot; top of its main stack, or NULL. */
void *x86_stack_map(u32 cpu);
/* True when [va, va + 16) lies in mapped stack memory (boot stack or a slot). */
bool x86_is_stack(unsigned long va);

/* trap.c */
void x86_trap_early_init(void);
void x86_trap_cpu_init(u32 cpu);
void x86_trap_init(void);
void x86_exception(struct x86_trap_frame *f);
void x86_interrupt(u32 vector);
extern bool x86_stopping; /* set by arch_stop_others(): NMIs halt their CPU for good */

/* smp.c */
void x86_smp_init(void);
/* Keep a page below 1 MiB for the trampoline; before the low memory is given away. */
void x86_smp_reserve(const struct mem_range *ram, u32 nr_ram);
#endif
#endif
