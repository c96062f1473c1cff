/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From long mode to cupel_main(): what the loader and the ACPI tables say goes into `platform`, memory
 * and page tables come up, then the boot CPU moves to its own stack and starts its devices. All of it
 * runs once, on one CPU, with interrupts off.
 */
#include <asm/apic.h>
#include <asm/cpu.h>
#include <asm/msr.h>
#include <asm/timer.h>
#include <cupel/arch.h>
#include <cupel/config.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/smp.h>
#include <string.h>

#include "boot.h"

extern u64 x86_boot_tsc;

static struct mem_range ram[PLATFORM_MAX_MEM];
static u32 nr_ram;
static char cpu_model[49] = "unknown";

u64 arch_boot_counter(void)
{
	return x86_boot_tsc;
}

const char *arch_cpu_model(void)
{
	return cpu_model;
}

/* Three leaves of 16 bytes: APM vol. 3, E.4.3. Leading blanks are padding. */
static void read_cpu_model(void)
{
	char brand[49] = "", *s = brand;

	if (cpuid(0x80000000, 0).eax < 0x80000004)
		return;
	for (u32 i = 0; i < 3; i++) {
		struct cpuid_regs r = cpuid(0x80000002 + i, 0);

		memcpy(brand + 16 * i, &r, 16);
	}
	while (*s == ' ')
		s++;
	if (*s)
		strlcpy(cpu_model, s, sizeof(cpu_model));
}

/* What boot.S mapped may be read; page 0 only for the BIOS data area. */
static const void *boot_phys(void *ctx, paddr_t pa, size_t len)
{
	u64 limit = *(const u64 *)ctx;

	return pa && pa < limit && len <= limit - pa ? pa_to_va(pa) : NULL;
}

/* ACPI numbers CPUs as it likes: the one that runs this is 0. */
static void put_boot_cpu_first(u32 id)
{
	struct platform *p = &platform;

	for (u32 i = 1; i < p->nr_cpus; i++) {
		if (p->cpus[i].hwid == id) {
			struct cpu_info c = p->cpus[i];

			memmove(&p->cpus[1], &p->cpus[0], i * sizeof(c));
			p->cpus[0] = c;
			return;
		}
	}
	if (p->nr_cpus && p->cpus[0].hwid == id)
		return;
	p->cpus[0] = (struct cpu_info){ .hwid = id, .enabled = true };
	p->nr_cpus = 1;
}

static u32 boot_cpu_id(void)
{
	struct cpuid_regs r = cpuid_checked(0xb, 0);

	return r.ebx ? r.edx : cpuid(1, 0).ebx >> CPUID_1_EBX_APIC_ID_SHIFT;
}

static int (*const loaders[])(const struct acpi_access *a, paddr_t pa, struct platform *p,
			      const char **why) = {
	[BOOT_MULTIBOOT] = multiboot_read_platform,   [BOOT_PVH] = pvh_read_platform,
	[BOOT_MULTIBOOT2] = multiboot2_read_platform, [BOOT_EFI] = efi_read_platform,
	[BOOT_LINUX] = linux_read_platform,
};

static void read_firmware(u32 how, u32 info)
{
	u64 limit = x86_boot_map_size();
	const struct acpi_access a = { boot_phys, &limit };
	const char *why = "", *note = "", *wrong_word;
	int err = loaders[how](&a, info, &platform, &why);
	bool tables = !acpi_read_x86(&a, platform.rsdp ? platform.rsdp : acpi_find_rsdp(&a),
				     &platform, &note);

	if (tables && how == BOOT_EFI)
		platform.firmware = "efi+acpi";
	put_boot_cpu_first(boot_cpu_id());
	cmdline_parse(platform.cmdline, &wrong_word); /* cupel_main() says what is wrong with it */
	x86_console_choose();
	if (!tables)
		printk("ACPI: %s; going on with what is known\n", note);
	if (err)
		cannot_start("%s", why);
}

static void reserve(paddr_t base, paddr_t end)
{
	platform_reserve_mem(&platform, base, end - base);
}

static bool in_ram(paddr_t base, paddr_t end)
{
	for (u32 i = 0; i < nr_ram; i++)
		if (base >= ram[i].base && end <= ram[i].base + ram[i].size)
			return true;
	return false;
}

/* What is mapped later on is RAM: a module elsewhere could not be read any more. */
static void keep_module(const struct module *m)
{
	paddr_t end = m->base + m->size;
	const char *why = NULL;

	if (!in_ram(m->base, end))
		why = "is not in RAM";
	else if (m->base < (paddr_t)__image_end && end > (paddr_t)__image_start)
		why = "overlaps the image";
	if (why)
		cannot_start("module at 0x%llx..0x%llx %s", (unsigned long long)m->base,
			     (unsigned long long)end, why);
	reserve(m->base, end);
}

/* From `to` on, the first `size` bytes that no other module than the first has part of. */
static paddr_t beside_modules(paddr_t to, u64 size)
{
	for (u32 i = 1; i < platform.nr_modules; i++) {
		const struct module *m = &platform.modules[i];

		if (m->base < to + size && m->base + m->size > to) {
			to = ALIGN_UP(m->base + m->size, PAGE_SIZE);
			i = 0;
		}
	}
	return to;
}

/*
 * GRUB may have the archive at 0, where nothing of ours is ever mapped, or where other CPUs start: it goes behind
 * the image, into what is nobody's now that the loader's information has been read.
 */
static void lift_archive(struct module *m)
{
	paddr_t image_end = ALIGN_UP((paddr_t)__image_end, PAGE_SIZE);

	for (u32 i = 0; i < nr_ram && m->base < MIB(1); i++) {
		paddr_t to = beside_modules(max(ram[i].base, image_end), m->size);
		paddr_t end = ram[i].base + ram[i].size;

		if (to >= end || m->size > end - to)
			continue;
		memcpy(pa_to_va(to), pa_to_va(m->base), m->size);
		m->base = to;
	}
}

static void keep_memory(void)
{
	platform_limit_mem(&platform,
			   x86_boot_map_size()); /* more can't be touched before it is mapped */
	memcpy(ram, platform.mem, sizeof(ram));
	nr_ram = platform.nr_mem;
	if (!in_ram((paddr_t)__image_start, (paddr_t)__image_end))
		cannot_start("the image is not in what the loader says is RAM");
	x86_smp_reserve(ram, nr_ram);
	if (platform.nr_modules)
		lift_archive(&platform.modules[0]);
	reserve(0, MIB(1)); /* BIOS data, EBDA, trampoline */
	reserve((paddr_t)__image_start, (paddr_t)__image_end);
	for (u32 i = 0; i < platform.nr_modules; i++)
		keep_module(&platform.modules[i]);
}

void x86_start(u32 how, u32 info)
{
	void *stack;

	x86_console_early();
	x86_trap_early_init();
	read_cpu_model();
	read_firmware(how, info);
	keep_memory();
	page_alloc_init(&platform);
	x86_mm_init(ram, nr_ram);
	x86_console_map();
	if (percpu_init(platform.nr_cpus))
		cannot_start("no memory for the areas of %u CPUs", platform.nr_cpus);
	set_this_cpu_offset(percpu_offset[0]);
	stack = x86_stack_map(0);
	if (!stack)
		cannot_start("no memory for the first stack");
	x86_switch_stack(stack, x86_start_on_stack);
}

void x86_start_on_stack(void)
{
	const char *why;
	int err;

	x86_trap_cpu_init(0);
	x86_trap_init();
	lapic_init();
	lapic_cpu_init();
	ioapic_init();
	x86_timer_init();
	x86_timer_cpu_init();
	x86_smp_init();
	err = x86_virt_cpu_init(&why);
	if (err)
		cannot_start("%s", why);
	arch_irq_enable();
	cupel_main();
}
