/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Port I/O of a guest. A device answers through vm_pio(); a few ports that every PC program pokes are
 * known to be absent and read as all ones; any other stops the VM and says which it was.
 */
#include <asm/virt.h>
#include <cupel/errno.h>
#include <cupel/vm.h>

/* A string moves this many elements at most before the guest is asked again. */
#define STRING_BATCH 64

struct port_range {
	u16 first, last;
};

/* Nothing is there, as on a machine without the device: reads are all ones, writes are lost. */
static const struct port_range absent[] = {
	{ 0x20, 0x21 }, /* PIC */
	{ 0x40, 0x43 }, /* PIT */
	{ 0x60, 0x61 }, /* keyboard controller, speaker */
	{ 0x64, 0x64 },	  { 0x70, 0x71 }, /* RTC */
	{ 0x80, 0x80 }, /* POST codes, delays */
	{ 0xa0, 0xa1 }, /* second PIC */
	{ 0xed, 0xed }, /* delays */
	{ 0x2e8, 0x2ef }, /* COM4, COM2, COM3 */
	{ 0x2f8, 0x2ff }, { 0x3e8, 0x3ef }, { 0x4d0, 0x4d1 }, /* ELCR */
	{ 0x510, 0x511 }, /* emulators' firmware configuration */
	{ 0xcf8, 0xcff }, /* PCI configuration */
};

static bool is_absent(u16 port)
{
	for (u32 n = 0; n < ARRAY_SIZE(absent); n++)
		if (port >= absent[n].first && port <= absent[n].last)
			return true;
	return false;
}

/* False: the VM is stopped. */
static bool one_access(struct vcpu *v, u16 port, u32 size, bool write, u64 *value)
{
	if (vm_pio(v, port, size, write, value))
		return true;
	if (!is_absent(port)) {
		guest_crash(v, "%s of %u bytes %s port %x, where no device is",
			    write ? "write" : "read", size, write ? "to" : "from", port);
		return false;
	}
	if (!write)
		*value = ~0UL;
	return true;
}

enum emulate guest_pio(struct vcpu *v, u16 port, u32 size, bool write)
{
	u64 *value = &v->arch.scratch;

	*value = write ? gpr_get(v, GPR_RAX) & ~0UL >> (64 - 8 * size) : 0;
	if (!one_access(v, port, size, write, value))
		return EMULATE_STOPPED;
	if (!write)
		gpr_write_sized(v, GPR_RAX, size, *value);
	return EMULATE_DONE;
}

static u64 masked(u64 value, u32 size)
{
	return value & ~0UL >> (64 - 8 * size);
}

/* Memory first for OUTS, last for INS, so that a fault leaves the element to be done again. */
static enum emulate one_element(struct vcpu *v, const struct string_io *s, u8 index)
{
	u64 linear = s->seg_base + masked(gpr_get(v, index), s->addr_size);
	u64 value = 0, at = linear;
	u32 error = 0;
	int err;

	if (!s->write && !one_access(v, s->port, s->size, false, &value))
		return EMULATE_STOPPED;
	err = guest_copy(v, &at, &value, s->size, s->write ? WALK_READ : WALK_WRITE, &error);
	if (err)
		return guest_copy_failed(v, err, at, error, "string I/O with");
	if (s->write && !one_access(v, s->port, s->size, true, &value))
		return EMULATE_STOPPED;
	gpr_write_sized(v, index, s->addr_size,
			gpr_get(v, index) + (s->backward ? -(u64)s->size : s->size));
	return EMULATE_DONE;
}

enum emulate guest_pio_string(struct vcpu *v, const struct string_io *s)
{
	u8 index = s->write ? GPR_RSI : GPR_RDI;

	if (!s->rep)
		return one_element(v, s, index);
	for (u32 n = 0; n < STRING_BATCH; n++) {
		u64 left = masked(gpr_get(v, GPR_RCX), s->addr_size);
		enum emulate e;

		if (!left)
			return EMULATE_DONE;
		e = one_element(v, s, index);
		if (e != EMULATE_DONE)
			return e;
		gpr_write_sized(v, GPR_RCX, s->addr_size, left - 1);
	}
	return EMULATE_AGAIN;
}
