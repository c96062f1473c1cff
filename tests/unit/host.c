/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine of the host build. It does what <cupel/arch.h> asks of an architecture with POSIX threads,
 * and must be strict where a machine is: an idle CPU wakes for a kick or its timer and nothing else.
 */
#include "host.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cupel/clock.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/smp.h>

struct host_cpu {
	pthread_mutex_t lock; /* guards kicked */
	pthread_cond_t wake;
	u32 kicked;
	u32 kicks;
	u64 deadline; /* of its timer, by its own thread */
} __cacheline_aligned;

__thread bool host_irqs_on;
__thread unsigned long host_percpu_offset;
static __thread u32 self;

static struct host_cpu cpus[NR_CPUS];
static u64 stopped_at;

static char console_text[1 << 16];
static size_t console_len;
static int console_fd = -1;
static char last_words[1 << 16];

/* What the linker script gives to an image. */
__asm__(".section .rodata\n"
	".globl __build_id_start, __build_id_end, __image_start, __image_end\n"
	"__build_id_start: .long 4, 20, 3; .ascii \"GNU\\0\"; .fill 20, 1, 0xa5\n"
	"__build_id_end: .byte 0\n"
	"__image_start: .byte 0\n"
	"__image_end: .byte 0\n"
	".previous\n");

/* --- Time and interrupts ------------------------------------------------------------------------ */

u64 host_counter(void)
{
	struct timespec t;
	u64 fixed = READ_ONCE(stopped_at);

	if (fixed)
		return fixed;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * NSEC_PER_SEC + (u64)t.tv_nsec;
}

void host_set_time(u64 now)
{
	WRITE_ONCE(stopped_at, now);
}

u64 arch_counter_hz(void)
{
	return NSEC_PER_SEC;
}

const char *arch_counter_source(void)
{
	return "CLOCK_MONOTONIC";
}

u64 arch_boot_counter(void)
{
	return 0;
}

const char *arch_cpu_model(void)
{
	return "host thread";
}

void host_take_irqs(void)
{
	struct host_cpu *c = &cpus[self];

	WRITE_ONCE(c->kicked, 0);
	if (!c->deadline || c->deadline > host_counter())
		return;
	c->deadline = 0;
	host_irqs_on = false;
	soft_timer_tick();
	host_irqs_on = true;
}

void host_relax(void)
{
	if (host_irqs_on)
		host_take_irqs();
	sched_yield();
}

void arch_tick_arm(u64 deadline)
{
	cpus[self].deadline = deadline == ~0UL ? 0 : deadline;
}

void arch_cpu_kick(u32 cpu)
{
	struct host_cpu *c = &cpus[cpu];

	pthread_mutex_lock(&c->lock);
	WRITE_ONCE(c->kicked, 1);
	WRITE_ONCE(c->kicks, c->kicks + 1);
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

bool host_kick_pending(void)
{
	return READ_ONCE(cpus[self].kicked);
}

u32 host_kicks(u32 cpu)
{
	return READ_ONCE(cpus[cpu].kicks);
}

static struct timespec to_timespec(u64 ns)
{
	return (struct timespec){ (time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC) };
}

void arch_cpu_idle(void)
{
	struct host_cpu *c = &cpus[self];

	pthread_mutex_lock(&c->lock);
	while (!READ_ONCE(c->kicked)) {
		struct timespec until = to_timespec(c->deadline);

		if (!c->deadline)
			pthread_cond_wait(&c->wake, &c->lock);
		else if (c->deadline <= host_counter())
			break;
		else
			pthread_cond_timedwait(&c->wake, &c->lock, &until);
	}
	pthread_mutex_unlock(&c->lock);
}

/* --- CPUs --------------------------------------------------------------------------------------- */

static void become(u32 cpu)
{
	self = cpu;
	host_irqs_on = false;
	set_this_cpu_offset(percpu_offset[cpu]);
}

static void *cpu_thread(void *arg)
{
	u32 cpu = (u32)(uintptr_t)arg;

	become(cpu);
	cpu_main(cpu);
}

u32 host_broken_cpu = NR_CPUS;

int arch_cpu_start(u32 cpu)
{
	pthread_t t;

	if (cpu == host_broken_cpu || pthread_create(&t, NULL, cpu_thread, (void *)(uintptr_t)cpu))
		return -1;
	pthread_detach(t);
	while (!cpu_online(cpu))
		sched_yield();
	return 0;
}

struct worker {
	pthread_t thread;
	u32 cpu;
	void (*fn)(u32 cpu, void *arg);
	void *arg;
};

static void *worker_thread(void *p)
{
	struct worker *w = p;

	become(w->cpu);
	arch_irq_enable();
	w->fn(w->cpu, w->arg);
	return NULL;
}

void host_on_cpus(u32 n, void (*fn)(u32 cpu, void *arg), void *arg)
{
	struct worker w[64];

	for (u32 i = 0; i < n; i++) {
		w[i] = (struct worker){ .cpu = i + 1, .fn = fn, .arg = arg };
		if (pthread_create(&w[i].thread, NULL, worker_thread, &w[i]))
			abort();
	}
	for (u32 i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
}

/* --- Console and the end ------------------------------------------------------------------------ */

static void host_putc(struct console *c, char ch)
{
	if (ch == '\r')
		return;
	if (console_fd >= 0 && write(console_fd, &ch, 1) != 1)
		_exit(99);
	if (console_len + 1 < sizeof(console_text))
		console_text[console_len++] = ch;
	console_text[console_len] = '\0';
}

static struct console host_console_device = { .name = "host", .putc = host_putc };

const char *host_console(void)
{
	return console_text;
}

void host_console_clear(void)
{
	console_len = 0;
	console_text[0] = '\0';
}

void arch_stop_others(void)
{
}

unsigned int arch_backtrace(unsigned long *pc, unsigned int max)
{
	pc[0] = (unsigned long)__builtin_return_address(0);
	return 1;
}

void arch_machine_exit(int code)
{
	if (console_fd < 0)
		fprintf(stderr, "arch_machine_exit(%d)\n%s\n", code, console_text);
	_exit(code);
}

void arch_machine_reboot(void)
{
	_exit(98);
}

int host_dies(void (*fn)(void *arg), void *arg)
{
	int fd[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(fd))
		abort();
	pid = fork();
	if (!pid) {
		console_fd = fd[1];
		fn(arg);
		_exit(97);
	}
	close(fd[1]);
	while ((n = read(fd[0], last_words + len, sizeof(last_words) - 1 - len)) > 0)
		len += (size_t)n;
	last_words[len] = '\0';
	close(fd[0]);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) >= 97)
		return -1;
	return WEXITSTATUS(status);
}

const char *host_last_words(void)
{
	return last_words;
}

/* --- Setup -------------------------------------------------------------------------------------- */

static void setup_cpus(u32 count)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	for (u32 i = 0; i < count; i++) {
		pthread_mutex_init(&cpus[i].lock, NULL);
		pthread_cond_init(&cpus[i].wake, &monotonic);
		platform.cpus[i].hwid = i;
		platform.cpus[i].enabled = true;
	}
	platform.nr_cpus = count;
}

void host_setup(u32 count, u64 memory)
{
	void *ram = mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ram == MAP_FAILED)
		abort();
	platform.machine = "host";
	platform.firmware = "none";
	platform_add_mem(&platform, va_to_pa(ram), memory);
	setup_cpus(count);
	page_alloc_init(&platform);
	if (percpu_init(count))
		abort();
	become(0);
	console_register(&host_console_device);
	arch_irq_enable();
}

int host_group_setup(void **state)
{
	host_setup(9, MIB(64));
	return 0;
}

u64 host_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
