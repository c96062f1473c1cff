/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A virtual machine: memory slots, a second-stage address space, vCPUs, and the devices it sees. The
 * choice of interrupt controller and of each synchronisation variant is the VM's own.
 */
#ifndef CUPEL_VM_H
#define CUPEL_VM_H

#include <asm/vcpu.h> /* struct arch_vm, struct arch_vcpu */
#include <cupel/irq.h>
#include <cupel/lock.h>
#include <cupel/types.h>
#include <cupel/vcpu.h>

#define VM_NAME_MAX    32
#define VM_CMDLINE_MAX 256
#define VM_PIN_MAX     64

enum irqchip_kind { IRQCHIP_FULL, IRQCHIP_EXTERNAL };
enum irqstate_kind { IRQSTATE_LOCKED, IRQSTATE_PERCPU };
enum wfi_kind { WFI_TRAP, WFI_NATIVE };

struct vm_config {
	char name[VM_NAME_MAX];
	char kernel[64]; /* file name in the archive */
	char cmdline[VM_CMDLINE_MAX];
	u64 memory; /* bytes */
	u32 vcpus;
	u16 pin[VM_PIN_MAX]; /* pCPU of vCPU i is pin[i % nr_pin]; nr_pin = 0: vCPU i on CPU i */
	u32 nr_pin;
	enum irqchip_kind irqchip;
	enum irqstate_kind irqstate;
	enum wfi_kind wfi;
};

/* Memory slots: immutable once published; a change publishes a new array with the next generation. */
#define SLOT_READONLY BIT32(0)
#define MAX_SLOTS     32

struct mem_slot {
	gpaddr_t gpa;
	u64 size;
	paddr_t pa;
	u32 flags;
};

struct mem_slots {
	u64 generation;
	u32 count;
	struct mem_slot slot[MAX_SLOTS]; /* sorted by gpa */
};

/* Emulated registers: every window a guest can reach is in this table, so that it can be walked. */
struct mmio_access {
	u64 offset; /* from the window's start */
	u32 size; /* 1, 2, 4, 8: naturally aligned, checked before ops run */
	bool write;
	u64 value; /* in for a write, out for a read */
};

struct vcpu;
struct mmio_window {
	const char *name;
	u64 base; /* guest-physical address, or first port */
	u64 size;
	/* false: no such register; the guest gets the architecture's fault or the VM is stopped */
	bool (*access)(struct vcpu *v, void *dev, struct mmio_access *a);
	void *dev;
};
#define MAX_WINDOWS 32

enum vm_state { VM_NEW, VM_RUNNING, VM_STOPPED, VM_CRASHED };

struct vm {
	struct vm_config config;
	u32 id;
	enum vm_state state; /* written with release by whoever stops it; read with acquire */
	int exit_code; /* what the guest gave to HC_EXIT */
	char stop_reason[224];
	struct mem_slots *slots; /* published with release; readers load with acquire */
	spinlock_t lock; /* guards slots (writers), state changes, stop_reason */
	struct mmio_window mmio[MAX_WINDOWS];
	u32 nr_mmio;
	struct mmio_window pio[MAX_WINDOWS]; /* x86 ports */
	u32 nr_pio;
	irq_set_state_t set_active; /* irq_set_state or irq_set_percpu_state, by config.irqstate */
	void (*on_series)(struct vm *vm, u32 series, const char *name); /* HC_SERIES, may be NULL */
	void (*on_sample)(struct vm *vm, u32 vcpu, u32 series, u64 value); /* HC_SAMPLE, may be NULL */
	/* HC_REPORT, may be NULL */
	void (*on_report)(struct vm *vm, u32 vcpu, bool ok, const char *text);
	void (*on_stop)(struct vm *vm); /* may be NULL; called once, any CPU, no lock held */
	u32 nr_vcpus;
	struct vcpu **vcpu;
	struct arch_vm arch;
};

/* NULL and *err = -errno, *why = a few words, on failure. Thread context. */
struct vm *vm_create(const struct vm_config *c, const void *image, u64 image_size, int *err,
		     const char **why);
/* All vCPUs must be put and off the run queues. */
void vm_destroy(struct vm *vm);
/* Make a VM's boot vCPU runnable. */
void vm_start(struct vm *vm);
/*
 * Stop a VM: mark it, request every vCPU out. Any context that holds no lock; idempotent: the first
 * reason stays. code < 0 means it was stopped for a fault of its own (VM_CRASHED).
 */
void vm_stop(struct vm *vm, int code, const char *fmt, ...) __printf(3, 4);
bool vm_running(struct vm *vm);

int vm_add_slot(struct vm *vm, const struct mem_slot *s);
const struct mem_slot *vm_find_slot(struct vm *vm, gpaddr_t gpa);
/* Host pointer to [gpa, gpa+len) if it lies in one slot (and is writable when asked), else NULL. */
void *vm_gpa_to_va(struct vm *vm, gpaddr_t gpa, u64 len, bool write);
/* Whether all of [gpa, gpa+len) is memory (and writable when asked), in however many slots. */
bool vm_is_memory(struct vm *vm, gpaddr_t gpa, u64 len, bool write);
/*
 * Copy out of and into guest memory, over the borders of slots; `from` NULL writes zeroes. The guest may
 * write meanwhile: look at the copy only. -EFAULT before a byte is copied. Any context.
 */
int vm_copy_from(struct vm *vm, void *to, gpaddr_t gpa, u64 len);
int vm_copy_to(struct vm *vm, gpaddr_t gpa, const void *from, u64 len);
/* -EINVAL, -EEXIST (overlap), -ENOSPC. Base and size of an MMIO window are multiples of 8. */
int vm_add_mmio(struct vm *vm, const struct mmio_window *w);
int vm_add_pio(struct vm *vm, const struct mmio_window *w);
/* Find the window and do the access; false when there is none, or it refused. */
bool vm_mmio(struct vcpu *v, gpaddr_t gpa, u32 size, bool write, u64 *value);
bool vm_pio(struct vcpu *v, u16 port, u32 size, bool write, u64 *value);

/* Which interrupt controllers this architecture can give a guest. Any context. */
bool arch_has_irqchip(enum irqchip_kind kind);

/* Load an ELF64/ELF32 or flat image into guest memory; *entry is guest-physical. */
int guest_load_image(struct vm *vm, const void *image, u64 size, gpaddr_t flat_base,
		     gpaddr_t *entry, gpaddr_t *end, const char **why);

/*
 * Arch half. vm_create() calls arch_vcpu_init() for every vCPU first (v->vm, v->id and vm->vcpu[] are
 * set, vm->arch is all zero), then arch_vm_init(), which adds RAM slots and devices, loads the image and
 * resets vCPU 0. arch_vm_destroy() is also called after an arch_vm_init() that failed half way, before
 * arch_vcpu_destroy() of each vCPU.
 */
int arch_vm_init(struct vm *vm, const void *image, u64 image_size, const char **why);
void arch_vm_destroy(struct vm *vm);
/* Second-stage mapping of a slot that was just published, or removal (with the TLB flush) of one. */
int arch_stage2_map(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size, u32 slot_flags);
void arch_stage2_unmap(struct vm *vm, gpaddr_t gpa, u64 size);

#endif
