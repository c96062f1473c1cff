/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs the VMs of cupel.conf as the command line asks: "a,b+c" is a, then b and c together. What a
 * guest reports and how its VM ends are test results. A VM that crashes or never ends is stopped and
 * described; the next one runs all the same.
 */
#include <cupel/arch.h>
#include <cupel/archive.h>
#include <cupel/clock.h>
#include <cupel/config.h>
#include <cupel/errno.h>
#include <cupel/ktap.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/sched.h>
#include <cupel/vm.h>
#include <string.h>

#include "core.h"

#define MAX_VMS	  128
#define MAX_GROUP 16

#define CONFIG_FILE	"cupel.conf"
#define TIMEOUT_DEFAULT 60 /* seconds */

/* VMs that run together. The boot CPU owns it; vCPUs elsewhere only reach the VMs themselves. */
struct group {
	struct vm *vm[MAX_GROUP];
	u32 count;
	u64 timeout_s;
	struct soft_timer timer;
	struct soft_timer look; /* for Ctrl-C, where somebody may type it */
	bool interrupted;
};

/* As often as the 16 bytes of a UART at 115200 baud ask for. */
#define LOOK_NS 1000000

static struct vm_config *configs;
static u32 nr_configs;

/* The CPU that waits for a group's end. */
static u32 waiting_cpu;

static void on_report(struct vm *vm, u32 vcpu, bool ok, const char *text)
{
	char name[256];

	snprintf(name, sizeof(name), "%s: %s", vm->config.name, text);
	ktap_result(ok, name, NULL);
}

static void on_stop(struct vm *vm)
{
	sched_poke(waiting_cpu);
}

static bool group_stopped(void *arg)
{
	const struct group *g = arg;

	for (u32 i = 0; i < g->count; i++) {
		if (vm_running(g->vm[i]))
			return false;
	}
	return true;
}

static void time_is_up(struct soft_timer *t)
{
	struct group *g = container_of(t, struct group, timer);

	for (u32 i = 0; i < g->count; i++)
		vm_stop(g->vm[i], -ETIMEDOUT, "no end after %lu seconds", g->timeout_s);
}

static void look_at_console(struct soft_timer *t)
{
	struct group *g = container_of(t, struct group, look);

	g->interrupted = console_interrupted();
	for (u32 i = 0; g->interrupted && i < g->count; i++)
		vm_stop(g->vm[i], EINTR, "interrupted at the console");
	if (!g->interrupted)
		soft_timer_arm(t, arch_counter() + ns_to_ticks(LOOK_NS));
}

/* --- How it ended ------------------------------------------------------------------------------- */

void print_vcpu_counts(const struct vcpu *v)
{
	printk("vCPU %u: loads %lu, host interrupts %lu, ticks %lu, active-state writes %lu\n",
	       v->id, v->loads, v->host_irqs, v->guest_ticks, v->active_writes);
	for (u32 i = 0; i < EXIT_COUNTERS && arch_exit_names[i]; i++) {
		if (v->exits[i])
			printk("  exits %s: %lu\n", arch_exit_names[i], v->exits[i]);
	}
}

static void describe_crash(struct vm *vm)
{
	printk("vm %s: stopped: %s\n", vm->config.name, vm->stop_reason);
	for (u32 i = 0; i < vm->nr_vcpus; i++) {
		if (!vm->vcpu[i]->loads)
			continue;
		print_vcpu_counts(vm->vcpu[i]);
		arch_vcpu_dump(vm->vcpu[i]);
	}
}

static void end_result(const char *vm, bool ok, const char *reason)
{
	char name[VM_NAME_MAX + 8];

	snprintf(name, sizeof(name), "%s: end", vm);
	ktap_result(ok, name, ok ? NULL : reason);
}

static struct vm *kept;

struct vm *vm_kept(void)
{
	return kept;
}

void vm_retire(struct vm *vm)
{
	struct vm *gone = kept;

	if (vm && (!console_input_on() || !vm->vcpu[0]->loads))
		gone = vm;
	else
		kept = vm;
	if (gone)
		vm_destroy(gone);
}

static void finish_vm(struct vm *vm)
{
	for (u32 i = 0; i < vm->nr_vcpus; i++)
		sched_remove(vm->vcpu[i]);
	/* Its vCPUs are put and off the queues: nobody writes to the VM any more. */
	if (vm->state == VM_CRASHED)
		describe_crash(vm);
	end_result(vm->config.name, vm->state == VM_STOPPED && !vm->exit_code, vm->stop_reason);
	vm_retire(vm);
}

/* --- Starting ----------------------------------------------------------------------------------- */

static struct vm *make_vm(const struct vm_config *c)
{
	struct archive_file image;
	const char *why = "";
	struct vm *vm;
	int err;

	if (archive_find(&boot_archive, c->kernel, &image)) {
		printk("vm %s: not started: no file %s in the archive\n", c->name, c->kernel);
		end_result(c->name, false, "no such file in the archive");
		return NULL;
	}
	vm = vm_create(c, image.data, image.size, &err, &why);
	if (!vm) {
		printk("vm %s: not started: %s (error %d)\n", c->name, why, err);
		end_result(c->name, false, why);
		return NULL;
	}
	if (vm->config.irqchip != c->irqchip)
		printk("vm %s: irqchip=external, since this machine can't do irqchip=full\n",
		       c->name);
	vm->on_report = on_report;
	vm->on_stop = on_stop;
	return vm;
}

static void say_how_long_it_took(void)
{
	static bool said;

	if (said || console_input_on()) /* from the monitor it is no measure of booting */
		return;
	said = true;
	printk("first guest instruction after %lu ns\n",
	       ticks_to_ns(arch_counter() - arch_boot_counter()));
}

static void run_group(struct group *g)
{
	if (!g->count)
		return;
	waiting_cpu = cpu_id();
	g->timer.fn = time_is_up;
	soft_timer_arm(&g->timer, arch_counter() + ns_to_ticks(g->timeout_s * NSEC_PER_SEC));
	say_how_long_it_took();
	for (u32 i = 0; i < g->count; i++)
		vm_start(g->vm[i]);
	g->look.fn = look_at_console;
	if (console_input_on())
		soft_timer_arm(&g->look, arch_counter());
	sched_loop_until(group_stopped, g);
	soft_timer_cancel(&g->timer);
	soft_timer_cancel(&g->look);
	for (u32 i = 0; i < g->count; i++)
		finish_vm(g->vm[i]);
	g->count = 0;
}

static const struct vm_config *find_config(const char *name, size_t len)
{
	for (u32 i = 0; i < nr_configs; i++) {
		if (strlen(configs[i].name) == len && !strncmp(configs[i].name, name, len))
			return &configs[i];
	}
	return NULL;
}

static void add_to_group(struct group *g, const struct vm_config *c)
{
	struct vm *vm;

	if (g->count == MAX_GROUP) {
		end_result(c->name, false, "too many VMs at once");
		return;
	}
	vm = make_vm(c);
	if (vm)
		g->vm[g->count++] = vm;
}

static void run_all(struct group *g)
{
	for (u32 i = 0; i < nr_configs && !g->interrupted; i++) {
		add_to_group(g, &configs[i]);
		run_group(g);
	}
}

static size_t name_length(const char *s)
{
	size_t n = 0;

	while (s[n] && s[n] != ',' && s[n] != '+')
		n++;
	return n;
}

static void run_spec(struct group *g, const char *spec)
{
	for (;;) {
		size_t len = name_length(spec);
		const struct vm_config *c = find_config(spec, len);
		char end = spec[len];

		add_to_group(g, c);
		if (end != '+')
			run_group(g);
		if (!end || g->interrupted)
			return;
		spec += len + 1;
	}
}

/* Every name is looked up before any VM starts: a slip of the pen costs no half run. */
static int check_spec(const char *spec)
{
	for (;;) {
		size_t len = name_length(spec);

		if (!find_config(spec, len)) {
			printk("vm=: no VM '%.*s' in " CONFIG_FILE "\n", (int)len, spec);
			return -EINVAL;
		}
		if (!spec[len])
			return 0;
		spec += len + 1;
	}
}

static int read_config(void)
{
	struct archive_file f;
	const char *why;
	u32 line;

	if (!boot_archive.size) {
		printk("no VMs: there is no archive beside the image\n");
		return -EIO;
	}
	if (archive_find(&boot_archive, CONFIG_FILE, &f)) {
		printk("no VMs: the archive has no " CONFIG_FILE "\n");
		return -EIO;
	}
	configs = pages_alloc(size_to_order(MAX_VMS * sizeof(*configs)));
	if (!configs) {
		printk("no VMs: no memory to read " CONFIG_FILE "\n");
		return -ENOMEM;
	}
	if (config_parse_vms(f.data, f.size, configs, MAX_VMS, &nr_configs, &why, &line)) {
		printk(CONFIG_FILE ": line %u: %s\n", line, why);
		return -EIO;
	}
	return 0;
}

static u64 timeout_seconds(void)
{
	const char *s = cmdline_get("timeout");
	u64 v;

	if (!s)
		return TIMEOUT_DEFAULT;
	if (!parse_u64(s, &v) && v && v <= 1000000)
		return v;
	printk("timeout=%s: not a number of seconds; taking %u\n", s, TIMEOUT_DEFAULT);
	return TIMEOUT_DEFAULT;
}

static void free_configs(void)
{
	if (configs)
		pages_free(configs, size_to_order(MAX_VMS * sizeof(*configs)));
	configs = NULL;
}

void vmrun_list(void)
{
	if (!read_config()) {
		printk("VMs:");
		for (u32 i = 0; i < nr_configs; i++)
			printk(" %s", configs[i].name);
		printk("\n");
	}
	free_configs();
}

int vmrun(const char *spec)
{
	static struct group g;
	int err = read_config();

	if (!err && *spec)
		err = check_spec(spec);
	if (!err) {
		g.timeout_s = timeout_seconds();
		g.interrupted = false;
		ktap_begin(0);
		if (*spec)
			run_spec(&g, spec);
		else
			run_all(&g);
		err = ktap_end() ? -EIO : 0;
	}
	free_configs();
	return err;
}
