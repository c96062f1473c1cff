/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM of arm64: its RAM, its devices, its image and device tree, and every vCPU as it is after reset.
 * The image and the tree come from outside: they are only ever copied within the VM's own slots.
 */
#include "hyp.h"

#include <cupel/abi.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <string.h>

#include "../../drivers/timer/arm_vtimer.h"
#include "../../drivers/uart/vpl011.h"

#define DTB_SIZE KIB(64)

static u64 dcache_line(void)
{
	return 4UL << (read_sysreg(ctr_el0) >> 16 & 0xf);
}

/* What a guest with its caches off reads comes from memory: Arm ARM D7.5.9, point of coherency. */
static void clean_to_memory(const void *va, u64 size)
{
	u64 line = dcache_line();

	for (u64 p = ALIGN_DOWN((u64)va, line); p < (u64)va + size; p += line)
		__asm__ volatile("dc cvac, %0" : : "r"(p) : "memory");
	dsb(sy);
}

/*
 * What the guest wrote with its caches off is in memory, where a line that was read here earlier must not
 * hide it; and what its instruction caches have of the new frame is of another page (D7.5.9).
 */
void arch_page_copy(void *to, const void *from)
{
	u64 line = dcache_line();

	for (u64 p = (u64)from; p < (u64)from + PAGE_SIZE; p += line)
		__asm__ volatile("dc civac, %0" : : "r"(p) : "memory");
	dsb(sy);
	memcpy(to, from, PAGE_SIZE);
	clean_to_memory(to, PAGE_SIZE);
	__asm__ volatile("ic ialluis\n\tdsb ish\n\tisb" : : : "memory");
}

void arch_page_give(const void *page)
{
	clean_to_memory(page, PAGE_SIZE);
}

/* Largest pieces first, smaller ones when there is none of that size left. */
static int add_ram(struct vm *vm)
{
	u64 done = 0, size = vm->config.memory;
	u32 order = size_to_order(size);

	while (done < size) {
		struct mem_slot s = { .gpa = GUEST_ARM64_RAM + done };
		void *va;
		int err;

		while (order && PAGE_SIZE << order > size - done)
			order--;
		va = vm_memory_alloc(vm, order);
		if (!va && !order)
			return -ENOMEM;
		if (!va) {
			order--;
			continue;
		}
		s.pa = va_to_pa(va);
		s.size = PAGE_SIZE << order;
		err = vm_add_slot(vm, &s);
		if (err)
			return err;
		done += s.size;
	}
	return 0;
}

/* What a guest can read only; *va is where. */
static int add_readonly(struct vm *vm, gpaddr_t gpa, u32 order, u64 **va)
{
	struct mem_slot s = { .gpa = gpa, .size = PAGE_SIZE << order, .flags = SLOT_READONLY };

	*va = vm_memory_alloc(vm, order);
	s.pa = va_to_pa(*va);
	return *va ? vm_add_slot(vm, &s) : -ENOMEM;
}

static int add_rom(struct vm *vm)
{
	u64 *page;
	int err = add_readonly(vm, GUEST_ARM64_ROM, 0, &page);

	if (!err)
		page[0] = GUEST_ROM_MAGIC;
	return err;
}

static int add_steal(struct vm *vm)
{
	u64 *records;
	int err;

	if (!vm->config.steal)
		return 0;
	err = add_readonly(vm, GUEST_ARM64_STEAL, pvtime_order(vm), &records);
	return err ? err : pvtime_init(vm);
}

static int add_devices(struct vm *vm, const char **why)
{
	int err = vgic_vm_init(vm, why);

	if (!err)
		err = vpl011_init(vm, why);
	if (!err && vgic_wants_gicv(vm))
		err = stage2_map_device(vm, GUEST_ARM64_GICC, platform.gic.vcpu_if.base,
					GUEST_ARM64_GICC_SIZE);
	return err;
}

/* At the top of RAM, above whatever the image needs. */
static int add_device_tree(struct vm *vm, gpaddr_t image_end, gpaddr_t *dtb, const char **why)
{
	gpaddr_t at = ALIGN_DOWN(GUEST_ARM64_RAM + vm->config.memory, DTB_SIZE) - DTB_SIZE;
	void *va = at >= image_end ? vm_gpa_to_va(vm, at, DTB_SIZE, true) : NULL;

	*dtb = at;
	if (!va) {
		*why = "no room for the device tree above the image";
		return -ENOSPC;
	}
	if (guest_fdt_build(vm, va, DTB_SIZE) < 0) {
		*why = "the device tree does not fit";
		return -ENOSPC;
	}
	clean_to_memory(va, DTB_SIZE);
	return 0;
}

static int load_image(struct vm *vm, const void *image, u64 size, const char **why)
{
	gpaddr_t entry, end, dtb;
	int err = guest_load_image(vm, image, size, GUEST_ARM64_ENTRY, &entry, &end, why);

	if (!err)
		err = add_device_tree(vm, end, &dtb, why);
	if (err)
		return err;
	for (u32 i = 0; i < vm->nr_memory; i++)
		clean_to_memory(vm->memory[i].va, PAGE_SIZE << vm->memory[i].order);
	world_reset(vm->vcpu[0]->arch.cur, entry, dtb);
	return 0;
}

bool arch_has_irqchip(enum irqchip_kind kind)
{
	return kind == IRQCHIP_EXTERNAL || (kind == IRQCHIP_FULL && vgic_hw.nr_lrs);
}

int arch_vm_init(struct vm *vm, const void *image, u64 image_size, const char **why)
{
	int err;

	vm->arch.psci_lock = (spinlock_t)SPINLOCK_INIT("psci");
	vm->arch.cntvoff = arch_counter();
	*why = "no memory for the VM's page tables";
	err = stage2_init(vm);
	if (!err)
		err = add_devices(vm, why);
	if (err)
		return err;
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		vgic_vcpu_reset(vm->vcpu[i]);
		vtimer_reset(vm->vcpu[i]);
	}
	*why = "no memory for the VM's RAM";
	err = add_ram(vm);
	if (!err)
		err = add_rom(vm);
	if (!err)
		err = add_steal(vm);
	return err ? err : load_image(vm, image, image_size, why);
}

void arch_vm_destroy(struct vm *vm)
{
	pvtime_destroy(vm);
	stage2_destroy(vm);
	vpl011_destroy(vm);
	vgic_vm_destroy(vm);
}
