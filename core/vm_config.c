/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The VM sections of cupel.conf. A pure function over the text: it names the line and what is wrong
 * with it, and never guesses.
 */
#include <cupel/config.h>
#include <cupel/errno.h>
#include <string.h>

#define LINE_LIMIT     512
#define VCPUS_LIMIT    512
#define MEMORY_LIMIT   (GIB(1) * 1024)
#define MEMORY_DEFAULT MIB(16)

struct parser {
	struct vm_config *vm; /* the section that is open, NULL before the first */
	struct vm_config *all;
	u32 count, max;
	const char *why;
};

static const char *const irqchip_names[] = { "full", "external", NULL };
static const char *const irqstate_names[] = { "locked", "percpu", NULL };
static const char *const wfi_names[] = { "trap", "native", NULL };
static const char *const layout_names[] = { "spread", "packed", NULL };
static const char *const switch_names[] = { "off", "on", NULL };
const char *const gpc_kind_names[] = { "rwlock",      "trylock",  "expedited", "atomic",
				       "atomic-fast", "targeted", NULL };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Without blanks at either end; writes the new end into the line. */
static char *trim(char *s)
{
	size_t n;

	while (is_blank(*s))
		s++;
	for (n = strlen(s); n && is_blank(s[n - 1]); n--)
		;
	s[n] = '\0';
	return s;
}

static const char *set_text(char *to, size_t size, const char *value, const char *too_long)
{
	return strlcpy(to, value, size) < size ? NULL : too_long;
}

static const char *set_kernel(struct vm_config *vm, const char *value)
{
	if (!*value)
		return "kernel= needs a file name";
	return set_text(vm->kernel, sizeof(vm->kernel), value, "kernel= is too long");
}

static const char *set_cmdline(struct vm_config *vm, const char *value)
{
	return set_text(vm->cmdline, sizeof(vm->cmdline), value, "cmdline= is too long");
}

static const char *set_memory(struct vm_config *vm, const char *value)
{
	u64 v = 0;

	if (parse_size(value, &v) || !v || v > MEMORY_LIMIT || !IS_ALIGNED(v, MIB(1)))
		return "memory= is not a size in whole MiB, up to 1T";
	vm->memory = v;
	return NULL;
}

static const char *set_vcpus(struct vm_config *vm, const char *value)
{
	u64 v = 0;

	if (parse_u64(value, &v) || !v || v > VCPUS_LIMIT)
		return "vcpus= is not a number from 1 to 512";
	vm->vcpus = (u32)v;
	return NULL;
}

static const char *set_cpus(struct vm_config *vm, const char *value)
{
	u32 list[VM_PIN_MAX], n;

	if (parse_list(value, list, VM_PIN_MAX, &n))
		return "cpus= is not a list of at most 64 CPUs";
	for (u32 i = 0; i < n; i++) {
		if (list[i] >= NR_CPUS)
			return "cpus= names a CPU that can't exist";
		vm->pin[i] = (u16)list[i];
	}
	vm->nr_pin = n;
	return NULL;
}

static const char *set_irqchip(struct vm_config *vm, const char *value)
{
	int i = parse_word(value, irqchip_names);

	if (i < 0)
		return "irqchip= is neither full nor external";
	vm->irqchip = (enum irqchip_kind)i;
	vm->irqchip_said = true;
	return NULL;
}

static const char *set_irqstate(struct vm_config *vm, const char *value)
{
	int i = parse_word(value, irqstate_names);

	if (i < 0)
		return "irqstate= is neither locked nor percpu";
	vm->irqstate = (enum irqstate_kind)i;
	return NULL;
}

static const char *set_wfi(struct vm_config *vm, const char *value)
{
	int i = parse_word(value, wfi_names);

	if (i < 0)
		return "wfi= is neither trap nor native";
	vm->wfi = (enum wfi_kind)i;
	return NULL;
}

static const char *set_gpc(struct vm_config *vm, const char *value)
{
	int i = parse_word(value, gpc_kind_names);

	if (i < 0)
		return "gpc= is none of rwlock, trylock, expedited, atomic, atomic-fast, targeted";
	vm->gpc = (enum gpc_kind)i;
	return NULL;
}

static const char *set_layout(struct vm_config *vm, const char *value)
{
	int i = parse_word(value, layout_names);

	if (i < 0)
		return "layout= is neither spread nor packed";
	vm->layout = (enum evtchn_layout)i;
	return NULL;
}

static const char *set_xen(struct vm_config *vm, const char *value)
{
	int i = parse_word(value, switch_names);

	if (i < 0)
		return "xen= is neither off nor on";
	vm->xen = i;
	return NULL;
}

static const char *set_steal(struct vm_config *vm, const char *value)
{
	int i = parse_word(value, switch_names);

	if (i < 0)
		return "steal= is neither off nor on";
	vm->steal = i;
	return NULL;
}

static const struct {
	const char *name;
	const char *(*set)(struct vm_config *vm, const char *value);
} keys[] = {
	{ "kernel", set_kernel },     { "memory", set_memory },	  { "vcpus", set_vcpus },
	{ "cpus", set_cpus },	      { "cmdline", set_cmdline }, { "irqchip", set_irqchip },
	{ "irqstate", set_irqstate }, { "wfi", set_wfi },	  { "gpc", set_gpc },
	{ "layout", set_layout },     { "xen", set_xen },	  { "steal", set_steal },
};

/* Names are used on the command line and in test results: ',' '+' and blanks have a meaning there. */
static bool good_name(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++) {
		bool ok = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
			  (*s >= '0' && *s <= '9') || *s == '-' || *s == '_' || *s == '.';

		if (!ok)
			return false;
	}
	return true;
}

static const char *finish_section(struct parser *p)
{
	return p->vm && !p->vm->kernel[0] ? "the VM before this line has no kernel=" : NULL;
}

static const char *open_section(struct parser *p, char *line)
{
	const char *why = finish_section(p);
	char *end = strchr(line, ']'), *name;

	if (why)
		return why;
	if (!end || end[1])
		return "section without ']' at its end";
	*end = '\0';
	if (strncmp(line + 1, "vm", 2) || !is_blank(line[3]))
		return "section is not [vm NAME]";
	name = trim(line + 3);
	if (strlen(name) >= VM_NAME_MAX || !good_name(name))
		return "VM name is empty, too long, or has other characters than a-z A-Z 0-9 - _ .";
	for (u32 i = 0; i < p->count; i++) {
		if (!strcmp(p->all[i].name, name))
			return "two VMs of this name";
	}
	if (p->count == p->max)
		return "too many VMs";
	p->vm = &p->all[p->count++];
	memset(p->vm, 0, sizeof(*p->vm));
	strlcpy(p->vm->name, name, VM_NAME_MAX);
	p->vm->vcpus = 1;
	p->vm->memory = MEMORY_DEFAULT;
	p->vm->irqstate = IRQSTATE_PERCPU;
	p->vm->gpc = GPC_TARGETED;
	return NULL;
}

static const char *parse_key(struct parser *p, char *line)
{
	char *equals = strchr(line, '='), *key, *value;

	if (!equals)
		return "neither a section nor key = value";
	if (!p->vm)
		return "key before the first [vm NAME]";
	*equals = '\0';
	key = trim(line);
	value = trim(equals + 1);
	for (u32 i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(keys[i].name, key))
			return keys[i].set(p->vm, value);
	}
	return "unknown key";
}

static const char *parse_line(struct parser *p, char *line)
{
	char *comment = strchr(line, '#');

	if (comment)
		*comment = '\0';
	line = trim(line);
	if (!*line)
		return NULL;
	return *line == '[' ? open_section(p, line) : parse_key(p, line);
}

/* The next line into buf, without its end. What it took from the text, or 0 when it is too long. */
static size_t cut_line(const char *text, size_t size, char *buf)
{
	const char *end = memchr(text, '\n', size);
	size_t len = end ? (size_t)(end - text) : size;

	if (len >= LINE_LIMIT)
		return 0;
	memcpy(buf, text, len);
	buf[len] = '\0';
	return len + (end != NULL);
}

int config_parse_vms(const char *text, size_t size, struct vm_config *out, u32 max, u32 *count,
		     const char **why, u32 *line)
{
	struct parser p = { .all = out, .max = max };
	char buf[LINE_LIMIT];

	*count = 0;
	for (*line = 1; size; (*line)++) {
		size_t used = cut_line(text, size, buf);

		if (!used)
			*why = "line is too long";
		else if (memchr(text, '\0', used))
			*why = "NUL in the text";
		else
			*why = parse_line(&p, buf);
		if (*why)
			return -EINVAL;
		text += used;
		size -= used;
	}
	*why = finish_section(&p);
	if (*why)
		return -EINVAL;
	*count = p.count;
	return 0;
}
