/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of core/ say to each other and to nobody else. */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include <cupel/types.h>

/* What arch_machine_exit() is given. */
enum { EXIT_CODE_OK = 0, EXIT_CODE_FAILED = 1, EXIT_CODE_USAGE = 2, EXIT_CODE_PANIC = 3 };

/* Stack protector (GCC and clang look for these names). */
extern unsigned long __stack_chk_guard;
__noreturn void __stack_chk_fail(void);

struct vcpu;
struct vm;

/* A test that could not run here. */
void ktap_skip(const char *name, const char *reason);

/* Run VMs of cupel.conf: "a,b+c", or "" for all. 0, -EINVAL for no such VM, or -errno if any failed. */
int vmrun(const char *spec);
/* What vm_retire() has kept, or NULL. */
struct vm *vm_kept(void);
/* The names of those there are, on one line. */
void vmrun_list(void);

/* What main.c does for the command line, the monitor does too. Boot CPU, thread context. */
struct experiment;
void print_vcpu_counts(const struct vcpu *v);
void print_banner(void);
void warn_of_unknown_words(void);
bool something_is_asked(void); /* by the words: an experiment, VMs, self-tests, a torture */
int run_what_is_asked(void); /* the exit code */
const struct experiment *find_experiment(const char *name);
void list_experiments(void);
void print_lock_stats(void);

/* Set request bits and have an owner that is in the guest come out; wakes nobody. Any context, no lock. */
void vcpu_ask(struct vcpu *v, u32 bits);
/* VCPU_REQ_SYNC was taken: wait while the VM's vCPUs have to stand still. Owner, holding nothing. */
void vcpu_sync(struct vcpu *v);

/* Memory slots of a VM that is being made, or taken down. */
int slots_init(struct vm *vm);
void slots_destroy(struct vm *vm);
/* HC_MEMORY (memory_call.c); and the end of what it began, before a VM is taken down. */
s64 memory_call(struct vcpu *v, u64 what, gpaddr_t gpa, u64 arg);
void memory_calls_end(struct vm *vm);
/* It is made: what its slots asked of vCPUs that have never run is no longer of interest. */
void slots_created(struct vm *vm);

/* A vCPU has become runnable: make its CPU look, if it idles. After a full barrier. Any context. */
void sched_notify(struct vcpu *v);
/*
 * Make a CPU come out of a guest or of idling and take a turn that serves calls and moves first. Any
 * context; takes its run queue's lock.
 */
void sched_poke(u32 cpu);
/*
 * Whether vCPUs may come to the calling CPU; one that is sent to a parked CPU goes to the boot CPU. -EBUSY
 * for parking a CPU that has some.
 */
int sched_park(bool parked);

#endif
