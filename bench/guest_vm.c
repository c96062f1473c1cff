/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMs for the experiments: made from a guest of the boot archive, run to their end, and taken apart
 * with a clear line when something was wrong with them. Must never decide what is measured.
 */
#include "harness.h"

#include <cupel/arch.h>
#include <cupel/atomic.h>
#include <cupel/errno.h>
#include <cupel/percpu.h>
#include <cupel/printk.h>
#include <cupel/sched.h>
#include <string.h>

void bench_vm_config(struct vm_config *c, const char *guest, u32 vcpus, const char *cmdline)
{
	memset(c, 0, sizeof(*c));
	strlcpy(c->name, guest, sizeof(c->name));
	snprintf(c->kernel, sizeof(c->kernel), "%s.elf", guest);
	strlcpy(c->cmdline, cmdline, sizeof(c->cmdline));
	c->memory = MIB(8);
	c->vcpus = vcpus;
}

struct vm *bench_vm(const char *bench, const struct vm_config *c)
{
	struct archive_file image;
	const char *why = "";
	struct vm *vm;
	int err;

	if (archive_find(&boot_archive, c->kernel, &image) < 0) {
		printk("%s: the archive has no guest %s\n", bench, c->kernel);
		return NULL;
	}
	vm = vm_create(c, image.data, image.size, &err, &why);
	if (!vm)
		printk("%s: cannot make a VM of %s: %s (%d)\n", bench, c->kernel, why, err);
	return vm;
}

void bench_vm_destroy(struct vm *vm)
{
	if (!vm)
		return;
	vm_stop(vm, 0, "the experiment is over");
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		sched_remove(vm->vcpu[i]);
	vm_retire(vm);
}

/* A VM that was stopped for a fault, or whose guest says that it failed. */
static int verdict(const char *bench, const struct vm *vm)
{
	if (vm->state != VM_CRASHED && !vm->exit_code)
		return 0;
	printk("%s: guest %s failed: %s (code %d)\n", bench, vm->config.name, vm->stop_reason,
	       vm->exit_code);
	return -EIO;
}

/* The CPU that waits for VMs. It may idle when what it waits for happens elsewhere. */
static u32 waiting_cpu;

static void wake_waiting_cpu(struct vm *vm)
{
	arch_cpu_kick(waiting_cpu);
}

static void start(struct vm *vm)
{
	waiting_cpu = cpu_id();
	vm->on_stop = wake_waiting_cpu;
	vm_start(vm);
}

struct vm_set {
	struct vm **vms;
	u32 nr;
};

static bool all_stopped(void *arg)
{
	const struct vm_set *set = arg;

	for (u32 i = 0; i < set->nr; i++)
		if (vm_running(set->vms[i]))
			return false;
	return true;
}

int bench_vm_run(const char *bench, struct vm **vms, u32 nr)
{
	struct vm_set set = { vms, nr };
	int err = 0;

	for (u32 i = 0; i < nr; i++)
		start(vms[i]);
	sched_loop_until(all_stopped, &set);
	for (u32 i = 0; i < nr; i++)
		if (verdict(bench, vms[i]))
			err = -EIO;
	return err;
}

/* vCPUs of the VM in bench_vm_start_up() that have said that they are there. */
static u32 ready;

static void count_ready(struct vm *vm, u32 vcpu, u32 series, u64 value)
{
	/* Pairs with the acquire in all_ready(). */
	if (atomic_fetch_add_release(&ready, 1) + 1 == vm->nr_vcpus)
		wake_waiting_cpu(vm);
}

static bool all_ready(void *arg)
{
	struct vm *vm = arg;

	/* Pairs with the release in count_ready(). */
	return load_acquire(&ready) >= vm->nr_vcpus || !vm_running(vm);
}

int bench_vm_start_up(const char *bench, struct vm *vm)
{
	WRITE_ONCE(ready, 0);
	vm->on_sample = count_ready;
	start(vm);
	sched_loop_until(all_ready, vm);
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		sched_remove(vm->vcpu[i]);
	if (vm_running(vm))
		return 0;
	printk("%s: guest %s did not get to its loop: %s\n", bench, vm->config.name, vm->stop_reason);
	return -EIO;
}
