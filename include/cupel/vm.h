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
/* How readers of a page cache and whoever invalidates it keep out of each other's way: <cupel/gpc.h>. */
enum gpc_kind {
	GPC_RWLOCK, /* a rwlock a cache; readers wait for updaters */
	GPC_TRYLOCK, /* the same, but a reader that would wait gives up, and its work is deferred */
	GPC_EXPEDITED, /* guest_srcu; updaters wait by SRCU_EXPEDITED */
	GPC_ATOMIC, /* … by SRCU_ATOMIC */
	GPC_ATOMIC_FAST, /* … by SRCU_ATOMIC_FAST */
	GPC_TARGETED, /* … for the CPUs that have read this cache only */
	NR_GPC_KINDS
};
extern const char *const gpc_kind_names[]; /* "rwlock", …, NULL terminated */
/* Where new event channels go in the pending words: a cache line each while there are any, or in order. */
enum evtchn_layout { EVTCHN_SPREAD, EVTCHN_PACKED };

struct vm_config {
	char name[VM_NAME_MAX];
	char kernel[64]; /* file name in the archive */
	char cmdline[VM_CMDLINE_MAX];
	u64 memory; /* bytes */
	u32 vcpus;
	u16 pin[VM_PIN_MAX]; /* pCPU of vCPU i is pin[i % nr_pin]; nr_pin = 0: vCPU i on CPU i */
	u32 nr_pin;
	enum irqchip_kind irqchip;
	bool irqchip_said; /* false: the other one, where the machine does not have it */
	enum irqstate_kind irqstate;
	enum wfi_kind wfi;
	enum gpc_kind gpc;
	enum evtchn_layout layout;
	bool xen; /* Xen's guest ABI is there: hypercalls, event channels, discovery */
	bool steal; /* the guest can ask for its steal time */
};

/*
 * Memory slots: immutable once published; a change publishes a new array with the next generation. What a
 * reader found stays readable inside its section of guest_srcu, or until its vCPU next serves requests.
 */
#define SLOT_READONLY  BIT32(0)
#define SLOT_DIRTY_LOG BIT32(1) /* pages written since the last vm_dirty_log() are remembered */
#define MAX_SLOTS      32

struct mem_slot {
	gpaddr_t gpa;
	u64 size;
	paddr_t pa; /* contiguous, unless `frame` says otherwise */
	u32 flags;
	paddr_t *frame; /* page n is at frame[n], once any has been moved; entries change in vm_hold() */
	u64 *dirty; /* a bit a page, set atomically by anyone; with SLOT_DIRTY_LOG */
};

/* Where gpa of this slot is now. */
static inline paddr_t slot_pa(const struct mem_slot *s, gpaddr_t gpa)
{
	/* Acquire: pairs with the releases in core/page_mover.c, of the array and of each entry. */
	const paddr_t *frame = load_acquire(&s->frame);
	u64 offset = gpa - s->gpa;

	if (likely(!frame))
		return s->pa + offset;
	return load_acquire(&frame[offset >> PAGE_SHIFT]) + (offset & (PAGE_SIZE - 1));
}

/*
 * What a frame is filled with when its page has moved elsewhere. As code it is undefined on both
 * architectures (UDF, UD2), as a page-table entry it points at nothing.
 */
#define FRAME_POISON 0x00000b0f00000b0fUL

/* Pieces of the machine's memory that a VM has got for its slots: they come back when it is gone. */
#define VM_MAX_MEMORY 64
struct vm_memory {
	void *va;
	u32 order;
};

/* HC_MEMORY_STORM: one at a time. */
struct vm_storm {
	u32 busy; /* taken with acquire by who starts one, let go with release at its end */
	u32 left; /* moves; others may set it to 0 */
	gpaddr_t gpa;
};

/* vm->moving: a page on its way to another frame. */
enum vm_moving {
	VM_STILL,
	VM_GATHERING, /* every vCPU is asked to stand still, and does until this is over */
	VM_COPYING /* they do; nobody may look an address up */
};

/* In vm->generation while a change is under way: nothing may be looked up and kept. */
#define GENERATION_BUSY BIT(63)

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
	u64 generation; /* of `slots`, or that with GENERATION_BUSY: what page caches compare */
	u32 dirty_slots; /* slots with SLOT_DIRTY_LOG */
	u32 moving; /* enum vm_moving: changed under slots_lock */
	spinlock_t slots_lock; /* one change of slots or frames at a time; held over its waits: never by readers */
	spinlock_t gpc_lock; /* guards changes of the list of gpcs */
	struct gpc *gpcs; /* active page caches; walked without a lock */
	u64 gpc_seq; /* calls of gpc_invalidate() under way, and those that have ended: core/gpc.c */
	u64 invalidating; /* invalidations under way; written under gpc_lock */
	u64 invalidations; /* that have ended; written under gpc_lock, read by gpc_refresh() */
	struct vm_memory memory[VM_MAX_MEMORY];
	u32 nr_memory;
	struct vm_storm storm;
	struct page_mover *mover; /* frames that pages move to; guarded by slots_lock */
	struct evtchn_domain *evtchn; /* NULL without xen */
	struct xen_vm *xen; /* likewise */
	spinlock_t lock; /* guards state changes, stop_reason */
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

/* A vCPU as vm_create() makes it, before arch_vcpu_init(); NULL: no memory. */
struct vcpu *vcpu_new(struct vm *vm, u32 id);
/* NULL and *err = -errno, *why = a few words, on failure. Thread context. */
struct vm *vm_create(const struct vm_config *c, const void *image, u64 image_size, int *err,
		     const char **why);
/* All vCPUs must be put and off the run queues. */
void vm_destroy(struct vm *vm);
/*
 * The same for a VM that somebody at the monitor may ask about: the last one is destroyed when the next one
 * comes (NULL: none), and in a machine without a monitor at once.
 */
void vm_retire(struct vm *vm);
/* Memory for a slot, zeroed, 2^order pages; NULL = none left. It is freed when the VM is. Thread context. */
void *vm_memory_alloc(struct vm *vm, unsigned int order);
/* Make a VM's boot vCPU runnable. */
void vm_start(struct vm *vm);
/*
 * Stop a VM: mark it, request every vCPU out. Any context that holds no lock; idempotent: the first
 * reason stays. code < 0 means it was stopped for a fault of its own (VM_CRASHED).
 */
void vm_stop(struct vm *vm, int code, const char *fmt, ...) __printf(3, 4);
bool vm_running(struct vm *vm);

/*
 * Changing memory: thread context, holding no lock and in no read section of guest_srcu. Each marks the
 * generation busy, invalidates page caches, takes the second stage away and waits (TLBs, readers, vCPUs
 * that may hold a pointer), publishes, and maps anew. A guest that touches the memory meanwhile faults and
 * tries again. May be called by a vCPU's owner from an exit: it counts as holding nothing while it waits.
 * -EINVAL, -ENOENT, -EEXIST, -ENOSPC, -ENOMEM, as one would think.
 */
int vm_add_slot(struct vm *vm, const struct mem_slot *s); /* its gpa, size, pa and flags */
int vm_delete_slot(struct vm *vm, gpaddr_t gpa); /* gpa: where the slot begins */
int vm_move_slot(struct vm *vm, gpaddr_t gpa, gpaddr_t to);
int vm_set_slot_flags(struct vm *vm, gpaddr_t gpa, u32 flags); /* read-only, dirty log */
/*
 * Move gpa's page to another frame: the contents stay, the generation too, the old frame is poisoned. The
 * VM's vCPUs stand still while the page is copied.
 */
int vm_move_page(struct vm *vm, gpaddr_t gpa);
/* Fetch and clear the log of the slot that begins at gpa into bitmap[words]; its pages are caught again. */
int vm_dirty_log(struct vm *vm, gpaddr_t gpa, u64 *bitmap, u32 words);
/* A page of a logging slot was written. Any context, in a section of guest_srcu or by the vCPU's owner. */
void vm_mark_dirty(struct vm *vm, gpaddr_t gpa);
/*
 * A guest's access faulted at the second stage. True: memory is there (or on its way), and the guest is to
 * try again; a write to a logged page is in the log and the page is writable now. Owner CPU, in an exit.
 */
bool vm_fault(struct vcpu *v, gpaddr_t gpa, bool write);
/* Wait until no vCPU of this VM can hold what it found in its slots before. As the changes above. */
void vm_quiesce(struct vm *vm);

/*
 * Looking up. What these two find stays good for a vCPU's owner until that vCPU next serves requests; for
 * anybody else until the section of guest_srcu ends in which it was found, and it says only where the
 * page was: such users read and write through a page cache, or by the copies below.
 */
const struct mem_slot *vm_find_slot(struct vm *vm, gpaddr_t gpa);
/*
 * Host pointer to [gpa, gpa+len) if that lies in one slot, and in one page once a page of the slot has
 * moved (and is writable when asked), else NULL. Who writes there calls vm_mark_dirty().
 */
void *vm_gpa_to_va(struct vm *vm, gpaddr_t gpa, u64 len, bool write);
/* Whether all of [gpa, gpa+len) is memory (and writable when asked), in however many slots. */
bool vm_is_memory(struct vm *vm, gpaddr_t gpa, u64 len, bool write);
/*
 * Copy out of and into guest memory, over the borders of slots; `from` NULL writes zeroes. The guest may
 * write meanwhile: look at the copy only. -EFAULT before a byte is copied. Any context, but not inside a
 * section of guest_srcu: they wait while a page is copied to another frame.
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
/*
 * Second-stage mapping of a slot that was just published, or removal of one. SLOT_DIRTY_LOG: pages, mapped
 * read-only; arch_stage2_map() of a page already mapped so makes it writable (no flags), -EEXIST: it is
 * mapped as it should be. Removal has done the TLB flush on return where the machine can broadcast it
 * (arm64); elsewhere the caller posts VCPU_REQ_TLB to every vCPU and waits (vm_quiesce() does both).
 * Removal may take more away than it was asked to, when there is no memory for a table: vm_fault() brings
 * that back.
 */
int arch_stage2_map(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size, u32 slot_flags);
void arch_stage2_unmap(struct vm *vm, gpaddr_t gpa, u64 size);
/* Copy a page of a guest's to another frame, for its instruction fetches and uncached accesses too. */
void arch_page_copy(void *to, const void *from);
/* A page that a guest gets while it runs: its uncached accesses find what was written here, and not what was before. */
void arch_page_give(const void *page);

#endif
