/* SPDX-License-Identifier: GPL-2.0-only */
/* cupel.conf: any bytes, and what was read from them. */
#include "fuzz.h"

#include <cupel/config.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VMS 16

static struct vm_config vms[MAX_VMS];

static void check_vm(const struct vm_config *c)
{
	FUZZ_CHECK(*c->name && memchr(c->name, 0, sizeof(c->name)));
	FUZZ_CHECK(memchr(c->kernel, 0, sizeof(c->kernel)));
	FUZZ_CHECK(memchr(c->cmdline, 0, sizeof(c->cmdline)));
	FUZZ_CHECK(c->vcpus >= 1 && c->nr_pin <= VM_PIN_MAX);
	FUZZ_CHECK(c->irqchip <= IRQCHIP_EXTERNAL && c->irqstate <= IRQSTATE_PERCPU);
	FUZZ_CHECK(c->wfi <= WFI_NATIVE);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text = fuzz_copy(data, size);
	const char *why = NULL;
	u32 count = 0, line = 0;

	if (config_parse_vms(text, size, vms, MAX_VMS, &count, &why, &line)) {
		FUZZ_CHECK(why && *why);
	} else {
		FUZZ_CHECK(count <= MAX_VMS);
		for (u32 i = 0; i < count; i++)
			check_vm(&vms[i]);
	}
	free(text);
	return 0;
}
