/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual machines: made, started, stopped, taken down, and the windows of registers they see. Nothing
 * a guest does may reach past its own VM: every access is looked up, and what is not there is refused.
 */
#include <cupel/arch.h>
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/sched.h>
#include <cupel/smp.h>
#include <cupel/vm.h>
#include <cupel/xen.h>
#include <string.h>

#include "core.h"

/* --- Registers ---------------------------------------------------------------------------------- */

/* Keeps the table sorted by base. Windows are added before the VM runs and stay as they are. */
static int add_window(struct mmio_window *table, u32 *count, const struct mmio_window *w)
{
	u32 i = *count;

	if (!w->size || w->base + w->size < w->base || !w->access)
		return -EINVAL;
	if (*count == MAX_WINDOWS)
		return -ENOSPC;
	while (i > 0 && table[i - 1].base > w->base)
		i--;
	if ((i > 0 && table[i - 1].base + table[i - 1].size > w->base) ||
	    (i < *count && w->base + w->size > table[i].base))
		return -EEXIST;
	memmove(&table[i + 1], &table[i], (*count - i) * sizeof(*w));
	table[i] = *w;
	(*count)++;
	return 0;
}

int vm_add_mmio(struct vm *vm, const struct mmio_window *w)
{
	/* So an aligned access that begins inside also ends inside. */
	if (!IS_ALIGNED(w->base | w->size, 8))
		return -EINVAL;
	return add_window(vm->mmio, &vm->nr_mmio, w);
}

int vm_add_pio(struct vm *vm, const struct mmio_window *w)
{
	return add_window(vm->pio, &vm->nr_pio, w);
}

static const struct mmio_window *find_window(const struct mmio_window *table, u32 count, u64 addr)
{
	u32 lo = 0, hi = count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		const struct mmio_window *w = &table[mid];

		if (addr < w->base)
			hi = mid;
		else if (addr - w->base >= w->size)
			lo = mid + 1;
		else
			return w;
	}
	return NULL;
}

static __always_inline bool do_access(struct vcpu *v, const struct mmio_window *w, u64 addr,
				      u32 size, bool write, u64 *value)
{
	struct mmio_access a = {
		.offset = addr - w->base,
		.size = size,
		.write = write,
		.value = *value,
	};

	if (unlikely((addr & (size - 1)) || !w->access(v, w->dev, &a)))
		return false;
	*value = a.value;
	return true;
}

/* Nothing in these two indexes the stack, and an access of a guest has few instructions to spare. */
__hot_no_guard bool vm_mmio(struct vcpu *v, gpaddr_t gpa, u32 size, bool write, u64 *value)
{
	const struct mmio_window *w = v->mmio_hit;

	if (unlikely(!w || gpa - w->base >= w->size)) {
		w = find_window(v->vm->mmio, v->vm->nr_mmio, gpa);
		if (!w)
			return false;
		v->mmio_hit = w;
	}
	return do_access(v, w, gpa, size, write, value);
}

__hot_no_guard bool vm_pio(struct vcpu *v, u16 port, u32 size, bool write, u64 *value)
{
	const struct mmio_window *w = find_window(v->vm->pio, v->vm->nr_pio, port);

	/* Windows of ports begin and end anywhere. */
	if (!w || port - w->base + size > w->size)
		return false;
	return do_access(v, w, port, size, write, value);
}

/* --- Life --------------------------------------------------------------------------------------- */

static u32 next_vm_id = 1;

struct vcpu *vcpu_new(struct vm *vm, u32 id)
{
	struct vcpu *v = pages_alloc(size_to_order(sizeof(*v)));

	if (!v)
		return NULL;
	v->vm = vm;
	v->id = id;
	v->cpu = -1;
	v->sched_cpu = -1;
	v->sched_next = -1;
	v->run_state = VCPU_OFF;
	return v;
}

static int new_vcpus(struct vm *vm, const char **why)
{
	*why = "no memory for vCPUs";
	vm->vcpu = pages_alloc(size_to_order(vm->config.vcpus * sizeof(vm->vcpu[0])));
	if (!vm->vcpu)
		return -ENOMEM;
	for (u32 i = 0; i < vm->config.vcpus; i++) {
		vm->vcpu[i] = vcpu_new(vm, i);
		if (!vm->vcpu[i])
			return -ENOMEM;
		vm->nr_vcpus++;
	}
	return 0;
}

static void free_vm(struct vm *vm)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		pages_free(vm->vcpu[i], size_to_order(sizeof(struct vcpu)));
	if (vm->vcpu)
		pages_free(vm->vcpu, size_to_order(vm->config.vcpus * sizeof(vm->vcpu[0])));
	slots_destroy(vm);
	pages_free(vm, size_to_order(sizeof(*vm)));
}

static void destroy_vcpus(struct vm *vm, u32 count)
{
	while (count)
		arch_vcpu_destroy(vm->vcpu[--count]);
}

static int init_arch(struct vm *vm, const void *image, u64 image_size, const char **why)
{
	int err;

	*why = "no vCPU to be had";
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		err = arch_vcpu_init(vm->vcpu[i]);
		if (err) {
			destroy_vcpus(vm, i);
			return err;
		}
	}
	err = arch_vm_init(vm, image, image_size, why);
	if (err) {
		arch_vm_destroy(vm);
		destroy_vcpus(vm, vm->nr_vcpus);
	}
	return err;
}

/* Which CPU a vCPU is to run on. */
static u32 home_cpu(const struct vm_config *c, u32 vcpu)
{
	int cpu = -1;

	if (c->nr_pin)
		return c->pin[vcpu % c->nr_pin];
	for (u32 i = 0; i <= vcpu % nr_cpus_online; i++)
		cpu = cpu_next_online(cpu);
	return (u32)cpu;
}

static int check_config(const struct vm_config *c, const char **why)
{
	*why = "no vCPUs";
	if (!c->vcpus)
		return -EINVAL;
	*why = "memory is not a whole number of pages";
	if (!c->memory || !IS_ALIGNED(c->memory, PAGE_SIZE))
		return -EINVAL;
	*why = "this machine has not what its irqchip= needs";
	if (c->irqchip_said && !arch_has_irqchip(c->irqchip))
		return -EOPNOTSUPP;
	*why = "pinned to a CPU that is not online";
	for (u32 i = 0; i < c->nr_pin; i++) {
		if (!cpu_online(c->pin[i]))
			return -ENODEV;
	}
	return 0;
}

static int set_up(struct vm *vm, const void *image, u64 image_size, const char **why)
{
	int err = slots_init(vm);

	*why = "no memory";
	if (!err)
		err = new_vcpus(vm, why);
	if (!err && vm->config.xen)
		err = xen_vm_init(vm);
	if (!err)
		err = init_arch(vm, image, image_size, why);
	slots_created(vm);
	if (err && vm->xen)
		xen_vm_destroy(vm);
	return err;
}

struct vm *vm_create(const struct vm_config *c, const void *image, u64 image_size, int *err,
		     const char **why)
{
	struct vm *vm;

	*err = check_config(c, why);
	if (*err)
		return NULL;
	*why = "no memory";
	*err = -ENOMEM;
	vm = pages_alloc(size_to_order(sizeof(*vm)));
	if (!vm)
		return NULL;
	vm->config = *c;
	if (!arch_has_irqchip(c->irqchip))
		vm->config.irqchip = IRQCHIP_EXTERNAL;
	vm->id = atomic_fetch_add_relaxed(&next_vm_id, 1);
	vm->lock.name = "vm";
	vm->slots_lock.name = "slots";
	vm->gpc_lock.name = "gpc_list";
	vm->set_active = c->irqstate == IRQSTATE_LOCKED ? irq_set_state : irq_set_percpu_state;
	*err = set_up(vm, image, image_size, why);
	if (*err) {
		free_vm(vm);
		return NULL;
	}
	return vm;
}

void vm_destroy(struct vm *vm)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		BUG_ON(vm->vcpu[i]->cpu >= 0 || vm->vcpu[i]->sched_cpu >= 0);
	memory_calls_end(vm);
	if (vm->xen)
		xen_vm_destroy(vm); /* others may deliver into the guest's memory until then */
	arch_vm_destroy(vm);
	destroy_vcpus(vm, vm->nr_vcpus);
	free_vm(vm);
}

void vm_start(struct vm *vm)
{
	/* Pairs with the acquire in vm_running(). */
	store_release(&vm->state, VM_RUNNING);
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		sched_assign(vm->vcpu[i], home_cpu(&vm->config, i));
	vcpu_power_on(vm->vcpu[0]);
}

/* True for the first to stop it. */
static bool mark_stopped(struct vm *vm, int code, const char *fmt, va_list ap)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&vm->lock, flags);
	first = vm->state == VM_NEW || vm->state == VM_RUNNING;
	if (first) {
		vm->exit_code = code;
		vsnprintf(vm->stop_reason, sizeof(vm->stop_reason), fmt, ap);
		/* Pairs with the acquire in vm_running(): who sees it stopped sees why. */
		store_release(&vm->state, code < 0 ? VM_CRASHED : VM_STOPPED);
	}
	spin_unlock_irqrestore(&vm->lock, flags);
	return first;
}

void vm_stop(struct vm *vm, int code, const char *fmt, ...)
{
	va_list ap;
	bool first;

	va_start(ap, fmt);
	first = mark_stopped(vm, code, fmt, ap);
	va_end(ap);
	if (!first)
		return;
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		vcpu_request(vm->vcpu[i], VCPU_REQ_STOP);
	if (vm->on_stop)
		vm->on_stop(vm);
}

bool vm_running(struct vm *vm)
{
	/* Pairs with the release in mark_stopped(). */
	return load_acquire(&vm->state) == VM_RUNNING;
}
