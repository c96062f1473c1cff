/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-CPU areas. Set up once; nothing here runs after that. */
#include <cupel/errno.h>
#include <cupel/mm.h>
#include <cupel/percpu.h>
#include <string.h>

DEFINE_PER_CPU(u32, cpu_number);

unsigned long percpu_offset[NR_CPUS];

static int percpu_new_area(u32 cpu)
{
	size_t size = (size_t)(__stop_percpu - __start_percpu);
	char *area = pages_alloc(size_to_order(size));

	if (!area)
		return -ENOMEM;
	memcpy(area, __start_percpu, size);
	percpu_offset[cpu] = (unsigned long)area - (unsigned long)__start_percpu;
	*per_cpu_ptr(cpu_number, cpu) = cpu;
	return 0;
}

int percpu_init(u32 nr)
{
	if (!nr || nr > NR_CPUS)
		return -EINVAL;
	for (u32 cpu = 0; cpu < nr; cpu++) {
		int err = percpu_new_area(cpu);

		if (err)
			return err;
	}
	return 0;
}
