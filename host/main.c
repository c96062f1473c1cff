/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host program: the same experiments and tortures as in the image, with threads as CPUs. Its words are
 * those of an image's command line; --cpus=N and --memory=MIB before them say what machine it is.
 */
#include "machine.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <cupel/config.h>
#include <cupel/platform.h>
#include <cupel/printk.h>
#include <cupel/smp.h>

#include "guests.h"

#define MAX_CPUS      512
#define USAGE	      2
#define NOTE_DESC     16 /* three words and "GNU\0" */
#define ID_BYTES      20
#define DEFAULT_CPUS  4
#define DEFAULT_MIB   1024
#define MAX_MIB	      65536
#define MODEL_MAX     64
#define ORIGIN_FORMAT "board=\"host, %s, threads as CPUs, %u host CPUs\""

/* What the linker script gives to an image; main() fills in the note that the linker gave this program. */
__asm__(".section .data\n"
	".globl __build_id_start, __build_id_end, __image_start, __image_end, __bss_start\n"
	"__build_id_start: .fill 36, 1, 0\n"
	"__build_id_end: .byte 0\n"
	"__image_start: .byte 0\n"
	"__image_end: .byte 0\n"
	".previous\n");
extern u8 __build_id_start[];

/* --- What the machine is ------------------------------------------------------------------------ */

static char model[MODEL_MAX] = "unknown CPU";

const char *arch_cpu_model(void)
{
	return model;
}

/* What the kernel says of the first CPU: "model name" on x86; arm64 gives numbers only. */
static void read_model(void)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256], name[MODEL_MAX];
	struct utsname u;

	if (!uname(&u))
		snprintf(model, sizeof(model), "%s", u.machine);
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "model name : %63[^\n\"]", name) == 1 ||
		    sscanf(line, "CPU part : %63[^\n\"]", name) == 1) {
			snprintf(model, sizeof(model), "%s", name);
			break;
		}
	}
	if (f)
		fclose(f);
}

static int take_build_id(struct dl_phdr_info *info, size_t size, void *arg)
{
	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const u8 *at = (const u8 *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;

		while (p->p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *n = (const void *)at;

			if (n->n_type == NT_GNU_BUILD_ID && n->n_descsz == ID_BYTES)
				memcpy(__build_id_start, n, NOTE_DESC + ID_BYTES);
			at += sizeof(*n) + ALIGN_UP(n->n_namesz, 4U) + ALIGN_UP(n->n_descsz, 4U);
		}
	}
	return 1; /* the first object is the program itself */
}

/* --- Console and the end ------------------------------------------------------------------------ */

static void stdout_putc(struct console *c, char ch)
{
	if (ch != '\r')
		putchar_unlocked(ch);
	if (ch == '\n')
		fflush(stdout);
}

static struct console stdout_console = { .name = "stdout", .putc = stdout_putc };

void arch_machine_exit(int code)
{
	fflush(stdout);
	_Exit(code);
}

void arch_machine_reboot(void)
{
	arch_machine_exit(0);
}

/* --- The command line --------------------------------------------------------------------------- */

static __noreturn void usage(const char *word)
{
	fprintf(stderr,
		"cupel-host: bad word '%s'\nusage: cupel-host [--cpus=1..%u] [--memory=MIB] WORD …\n",
		word, MAX_CPUS);
	exit(USAGE);
}

/* "--name=number" in [1, high]. */
static bool take_number(const char *word, const char *name, u64 high, u64 *out)
{
	size_t n = strlen(name);

	if (strncmp(word, name, n))
		return false;
	if (parse_u64(word + n, out) || !*out || *out > high)
		usage(word);
	return true;
}

static void add_word(const char *word)
{
	size_t used = strlen(platform.cmdline), left = sizeof(platform.cmdline) - used;

	if ((size_t)snprintf(platform.cmdline + used, left, "%s ", word) >= left)
		usage(word);
}

int main(int argc, char **argv)
{
	u64 cpus = max(host_nr_cpus(), (u32)DEFAULT_CPUS), mib = DEFAULT_MIB;
	const char *why;
	char origin[160];
	int i = 1;

	while (i < argc && (take_number(argv[i], "--cpus=", MAX_CPUS, &cpus) ||
			    take_number(argv[i], "--memory=", MAX_MIB, &mib)))
		i++;
	if (i == argc)
		usage(""); /* a monitor has nobody to talk to here */
	dl_iterate_phdr(take_build_id, NULL);
	read_model();
	snprintf(origin, sizeof(origin), ORIGIN_FORMAT, model, host_nr_cpus());
	add_word(origin);
	for (; i < argc; i++)
		add_word(argv[i]);
	host_pinned = true;
	host_crowded = cpus > host_nr_cpus();
	host_machine((u32)cpus, MIB(mib));
	console_register(&stdout_console);
	host_guests_publish();
	cmdline_parse(platform.cmdline, &why); /* cupel_main() says what was wrong */
	arch_irq_enable();
	cupel_main();
}
