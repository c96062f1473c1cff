/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hypercalls that a guest makes while it boots: version and features, memory, HVM parameters, console.
 * None of them waits for anything but a change of its own VM's memory.
 */
#include <cupel/printk.h>
#include <string.h>

#include "xen.h"

#define CONSOLEIO_write 0
#define CONSOLEIO_read	1

#define VMASST_CMD_enable	    0
#define VMASST_CMD_disable	    1
#define VMASST_runstate_update_flag 5

#define HVM_NR_PARAMS 39

#define E820_RAM      1
#define E820_RESERVED 2

/* --- xen_version -------------------------------------------------------------------------------- */

static s64 give_text(struct vcpu *v, u64 arg, const char *text, u32 size)
{
	u32 len = (u32)strlen(text) + 1;

	/* The structure is larger; what lies behind the text is not to be written, nor to be read. */
	return len > size || arch_guest_write(v, arg, text, len) ? -XEN_EFAULT : 0;
}

static s64 get_features(struct vcpu *v, u64 arg)
{
	struct {
		u32 index, features;
	} f;

	if (arch_guest_read(v, &f, arg, sizeof(f)))
		return -XEN_EFAULT;
	if (f.index)
		return -XEN_EINVAL;
	f.features = XEN_FEATURES | BIT32(XENFEAT_runstate_phys_area);
	if (XEN_HAS_TIME)
		f.features |= BIT32(XENFEAT_vcpu_time_phys_area);
	return arch_guest_write(v, arg, &f, sizeof(f)) ? -XEN_EFAULT : 0;
}

static s64 platform_parameters(struct vcpu *v, u64 arg)
{
	u64 virt_start = 0; /* of a hypervisor's window in the guest's address space: there is none */

	return arch_guest_write(v, arg, &virt_start, sizeof(virt_start)) ? -XEN_EFAULT : 0;
}

s64 xen_version_op(struct vcpu *v, u32 cmd, u64 arg)
{
	switch (cmd) {
	case XENVER_version: return XEN_VERSION_MAJOR << 16 | XEN_VERSION_MINOR;
	case XENVER_extraversion: return give_text(v, arg, ".0-cupel", 16);
	case XENVER_capabilities: return give_text(v, arg, XEN_CAPABILITIES, 1024);
	case XENVER_platform_parameters: return platform_parameters(v, arg);
	case XENVER_get_features: return get_features(v, arg);
	default: return -XEN_ENOSYS;
	}
}

/* --- memory_op ---------------------------------------------------------------------------------- */

static s64 check_domain(const struct vcpu *v, u16 id)
{
	return id == DOMID_SELF || id == evtchn_domid(v->vm) ? 0 : -XEN_ESRCH;
}

static s64 add_to_physmap(struct vcpu *v, u64 arg)
{
	struct xen_add_to_physmap a;
	s64 err;

	if (arch_guest_read(v, &a, arg, sizeof(a)))
		return -XEN_EFAULT;
	err = check_domain(v, a.domid);
	if (err)
		return err;
	if (a.space != XENMAPSPACE_shared_info || a.idx)
		return -XEN_EINVAL;
	return xen_move_shared_info(v, a.gpfn);
}

struct e820_entry {
	u64 addr, size;
	u32 type;
} __packed;

static s64 memory_map(struct vcpu *v, u64 arg)
{
	struct {
		u32 entries, pad;
		u64 buffer;
	} map;
	u32 n = 0;

	if (arch_guest_read(v, &map, arg, sizeof(map)))
		return -XEN_EFAULT;
	for (; n < map.entries; n++) {
		const struct mem_slots *slots = load_acquire(&v->vm->slots); /* pairs with publish() */
		struct e820_entry e = { .type = E820_RAM };

		if (n >= slots->count)
			break;
		e.addr = slots->slot[n].gpa;
		e.size = slots->slot[n].size;
		if (slots->slot[n].flags & SLOT_READONLY)
			e.type = E820_RESERVED;
		if (arch_guest_write(v, map.buffer + n * sizeof(e), &e, sizeof(e)))
			return -XEN_EFAULT;
	}
	return arch_guest_write(v, arg, &n, sizeof(n)) ? -XEN_EFAULT : 0;
}

s64 xen_memory_op(struct vcpu *v, u32 cmd, u64 arg)
{
	switch (cmd) {
	case XENMEM_add_to_physmap: return add_to_physmap(v, arg);
	case XENMEM_memory_map: return memory_map(v, arg);
	default: return -XEN_ENOSYS;
	}
}

/* --- hvm_op ------------------------------------------------------------------------------------- */

struct hvm_param {
	u16 domid;
	u16 pad;
	u32 index;
	u64 value;
};

static s64 read_param(struct vcpu *v, u64 arg, struct hvm_param *p)
{
	if (arch_guest_read(v, p, arg, sizeof(*p)))
		return -XEN_EFAULT;
	if (p->index >= HVM_NR_PARAMS)
		return -XEN_EINVAL;
	return check_domain(v, p->domid);
}

/* Whoever has an upcall pending hears of it in the new way. */
static void raise_again(struct vcpu *v)
{
	srcu_token_t token = guest_read_lock();

	if (evtchn_upcall_pending(v))
		arch_evtchn_upcall(v);
	guest_read_unlock(token);
}

static s64 set_param(struct vcpu *v, u64 arg)
{
	struct hvm_param p;
	s64 err = read_param(v, arg, &p);

	if (err)
		return err;
	switch (p.index) {
	case HVM_PARAM_CALLBACK_IRQ:
		if (!arch_xen_callback_valid(p.value))
			return -XEN_EINVAL;
		WRITE_ONCE(v->vm->xen->callback, p.value);
		for (u32 i = 0; i < v->vm->nr_vcpus; i++)
			raise_again(v->vm->vcpu[i]);
		return 0;
	case HVM_PARAM_STORE_PFN:
	case HVM_PARAM_STORE_EVTCHN:
	case HVM_PARAM_CONSOLE_PFN:
	case HVM_PARAM_CONSOLE_EVTCHN: return -XEN_EPERM; /* a toolstack's to set */
	default: return -XEN_EINVAL;
	}
}

static s64 get_param(struct vcpu *v, u64 arg)
{
	struct hvm_param p;
	s64 err = read_param(v, arg, &p);

	if (err)
		return err;
	switch (p.index) {
	case HVM_PARAM_CALLBACK_IRQ: p.value = xen_callback(v->vm); break;
	case HVM_PARAM_STORE_PFN:
	case HVM_PARAM_STORE_EVTCHN:
	case HVM_PARAM_CONSOLE_PFN:
	case HVM_PARAM_CONSOLE_EVTCHN: p.value = 0; break; /* there are none */
	default: return -XEN_EINVAL;
	}
	return arch_guest_write(v, arg, &p, sizeof(p)) ? -XEN_EFAULT : 0;
}

static s64 set_upcall_vector(struct vcpu *v, u64 arg)
{
	struct {
		u32 vcpu;
		u8 vector;
		u8 pad[3];
	} a;
	struct vcpu *target;

	if (arch_guest_read(v, &a, arg, sizeof(a)))
		return -XEN_EFAULT;
	if (!arch_xen_vector_valid(a.vector))
		return -XEN_EINVAL;
	target = a.vcpu < v->vm->nr_vcpus ? v->vm->vcpu[a.vcpu] : NULL;
	if (!target)
		return -XEN_ENOENT;
	WRITE_ONCE(target->xen->vector, a.vector);
	raise_again(target);
	return 0;
}

s64 xen_hvm_op(struct vcpu *v, u32 cmd, u64 arg)
{
	switch (cmd) {
	case HVMOP_set_param: return set_param(v, arg);
	case HVMOP_get_param: return get_param(v, arg);
	case HVMOP_set_evtchn_upcall_vector: return set_upcall_vector(v, arg);
	default:
		return -XEN_ENOSYS; /* pagetable_dying: for shadow page tables, which there are none of */
	}
}

/* --- The rest ----------------------------------------------------------------------------------- */

s64 xen_vm_assist(struct vcpu *v, u32 cmd, u32 type)
{
	if (type != VMASST_runstate_update_flag)
		return -XEN_EINVAL;
	if (cmd > VMASST_CMD_disable)
		return -XEN_ENOSYS;
	WRITE_ONCE(v->vm->xen->update_flag, cmd == VMASST_CMD_enable);
	return 0;
}

static void flush_line(struct vm *vm)
{
	struct xen_vm *x = vm->xen;

	x->line[x->len] = '\0';
	x->len = 0;
	printk("[%s] %s\n", vm->config.name, x->line);
}

static void add_to_line(struct vm *vm, const char *text, u32 len)
{
	struct xen_vm *x = vm->xen;
	unsigned long flags;

	spin_lock_irqsave(&x->line_lock, flags);
	for (u32 i = 0; i < len; i++) {
		if (text[i] == '\n' || x->len == XEN_LINE_MAX)
			flush_line(vm);
		if (text[i] != '\n' && text[i] != '\r')
			x->line[x->len++] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	}
	spin_unlock_irqrestore(&x->line_lock, flags);
}

/* Comes out as lines "[vm] …", as from its serial port; nothing is ever received. */
s64 xen_console_io(struct vcpu *v, u32 cmd, u32 count, u64 buffer)
{
	char text[64];

	if (cmd == CONSOLEIO_read)
		return 0;
	if (cmd != CONSOLEIO_write)
		return -XEN_ENOSYS;
	if (count > PAGE_SIZE)
		return -XEN_E2BIG;
	while (count) {
		u32 part = min(count, (u32)sizeof(text));

		if (arch_guest_read(v, text, buffer, part))
			return -XEN_EFAULT;
		add_to_line(v->vm, text, part);
		buffer += part;
		count -= part;
	}
	return 0;
}
