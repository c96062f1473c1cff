/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the unit tests add to the machine of the host build (host/machine.c): a console that is a buffer,
 * and ends of the machine that a test can look at.
 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cupel/gpc.h>
#include <cupel/printk.h>

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

const char *arch_cpu_model(void)
{
	return "host thread";
}

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

void host_setup(u32 count, u64 memory)
{
	host_machine(count, memory);
	if (gpc_setup())
		abort();
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
