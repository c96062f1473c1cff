/* SPDX-License-Identifier: GPL-2.0-only */
/* The PVH start info, the console, starting vCPUs, and the way out. */
#include <guest.h>

#define UART	   0x3f8
#define DEBUG_EXIT 0xf4

/* xen/include/public/arch-x86/hvm/start_info.h */
#define PVH_MAGIC 0x336ec578
struct pvh_info {
	u32 magic, version, flags, nr_modules;
	u64 modlist, cmdline, rsdp, memmap;
	u32 memmap_entries, reserved;
};

struct pvh_mem {
	u64 addr, size;
	u32 type, reserved;
};
#define PVH_RAM 1

extern const char trampoline[], trampoline_end[];
u32 ap_cpu;

void arch_console_putc(char c)
{
	/* A virtual UART is never full: waiting for it would only cost exits. */
	outb(UART, c);
}

void arch_exit(int code)
{
	outb(DEBUG_EXIT, code);
	for (;;)
		__asm__ volatile("hlt");
}

static void null_call(void *arg)
{
	*(u64 *)arg = hypercall(HC_NULL, 0, 0, 0);
}

bool arch_hypervisor_present(void)
{
	u64 r = ~0UL;
	struct fault f;

	return !try_call(null_call, &r, &f) && r == 0;
}

void arch_start_cpu(u32 cpu)
{
	memcpy((void *)TRAMPOLINE, trampoline, trampoline_end - trampoline);
	WRITE_ONCE(ap_cpu, cpu);
	lapic_icr(cpu, ICR_INIT | ICR_LEVEL | ICR_ASSERT);
	spin_ticks(us_to_ticks(200));
	lapic_icr(cpu, ICR_SIPI | TRAMPOLINE >> 12);
}

/* A PC's firmware leaves the PIC ticking; a hypervisor need not have one. */
static void silence_pic(void)
{
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
}

void arch_read_firmware(void *boot)
{
	const struct pvh_info *p = boot;
	const struct pvh_mem *m = (void *)p->memmap;

	if (p->magic != PVH_MAGIC)
		guest_die("no PVH start info at %p", boot);
	cmdline_set(p->cmdline ? (void *)p->cmdline : "");
	if (cmdline_get("bare"))
		silence_pic();
	for (u32 i = 0; p->version && i < p->memmap_entries; i++)
		if (m[i].type == PVH_RAM && m[i].addr + m[i].size > ram_size)
			ram_size = m[i].addr + m[i].size;
}
