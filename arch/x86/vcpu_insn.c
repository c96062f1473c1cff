/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instruction at the guest's RIP, for CPUs that do not say how long it is: read through the guest's
 * page tables, decoded, and kept in a small cache that is checked against memory at every use
 * (insn_lookup()). What the guest can't run it can't have read here either.
 */
#include <asm/trap.h>
#include <asm/virt.h>
#include <cupel/errno.h>
#include <cupel/vm.h>
#include <string.h>

#define WINDOW 16 /* bytes that a lookup compares */

void insn_cache_flush(struct vcpu *v)
{
	for (u32 n = 0; n < INSN_CACHE_ENTRIES; n++)
		v->arch.insns->entry[n].rip = ~0UL;
	v->arch.transient_insn = NULL;
}

void insn_cache_settle(struct vcpu *v)
{
	if (likely(!v->arch.transient_insn))
		return;
	v->arch.transient_insn->rip = ~0UL;
	v->arch.transient_insn = NULL;
}

/* 16-bit code wraps at 64 KiB only in what it addresses, not in what the fetch of one opcode does. */
static u64 linear_rip(const struct guest_fetch *f)
{
	return f->mode == INSN_MODE_64 ? f->rip : (u32)(f->cs_base + f->rip);
}

/* The window in the guest's memory, if it lies within one page of it: then the entry can stay. */
static const u8 *find_window(struct vcpu *v, u64 linear, int *err, u32 *error)
{
	struct guest_paging p;
	gpaddr_t gpa;

	v->vm->arch.backend->paging(v, &p);
	*err = guest_walk(v, &p, linear, WALK_FETCH, &gpa, error);
	if (*err || (linear & (PAGE_SIZE - 1)) > PAGE_SIZE - WINDOW)
		return NULL;
	return vm_gpa_to_va(v->vm, gpa, WINDOW, false);
}

/* Byte for byte, as far as it goes: an instruction may end right before a page that is not there. */
static u32 copy_window(struct vcpu *v, u64 linear, u8 *copy, int *err, u32 *error)
{
	for (u32 n = 0; n < INSN_MAX_LEN; n++) {
		u64 at = linear + n;

		*err = guest_copy(v, &at, copy + n, 1, WALK_FETCH, error);
		if (*err)
			return n;
	}
	return INSN_MAX_LEN;
}

/* `len` bytes count; of the others nothing is known. */
static void remember_bytes(struct insn_cache_entry *e, const u8 *copy, u32 len)
{
	e->lo_mask = len >= 8 ? ~0UL : ~0UL >> (64 - 8 * len);
	e->hi_mask = len <= 8 ? 0 : ~0UL >> (64 - 8 * (len - 8));
	e->lo = insn_bytes(copy) & e->lo_mask;
	e->hi = insn_bytes(copy + 8) & e->hi_mask;
}

/* Decoded from a copy: another vCPU may be writing to the original. */
static int read_insn(struct vcpu *v, struct insn_cache_entry *e, enum insn_mode mode, u64 *linear,
		     u32 *error)
{
	u32 avail = WINDOW;
	int err = 0, bad;

	e->bytes = find_window(v, *linear, &err, error);
	if (err)
		return err;
	if (e->bytes) {
		memcpy(v->arch.insn_copy, e->bytes, WINDOW);
	} else {
		avail = copy_window(v, *linear, v->arch.insn_copy, &err, error);
		e->bytes = v->arch.insn_copy;
		v->arch.transient_insn = e;
	}
	bad = insn_decode(&e->insn, v->arch.insn_copy, avail, mode);
	if (bad == -EAGAIN && err) {
		*linear += avail;
		return err;
	}
	if (!bad)
		remember_bytes(e, v->arch.insn_copy, e->insn.len);
	return bad;
}

static void fetch_failed(struct vcpu *v, u64 linear, int err, u32 error)
{
	if (err == -EFAULT)
		guest_page_fault(v, linear, error);
	else if (err == -ENXIO)
		guest_crash(v, "instruction lies outside its memory");
	else
		guest_exception(v, X86_EXC_UD); /* what was executed is no longer what is there */
}

static const struct insn *fetch(struct vcpu *v, const struct guest_fetch *f, int *err, u64 *linear,
				u32 *error)
{
	struct insn_cache_entry *e = &v->arch.insns->entry[f->rip % INSN_CACHE_ENTRIES];

	if (insn_lookup(v, f->rip, f->cs_base, f->cs_bits, f->cr3))
		return &e->insn;
	e->rip = ~0UL;
	*error = 0;
	*linear = linear_rip(f);
	*err = read_insn(v, e, f->mode, linear, error);
	if (*err)
		return NULL;
	e->cs_base = f->cs_base;
	e->cs_bits = f->cs_bits;
	e->cr3 = f->cr3;
	e->rip = f->rip;
	return &e->insn;
}

const struct insn *insn_fetch(struct vcpu *v, const struct guest_fetch *f)
{
	const struct insn *i;
	u64 linear;
	u32 error;
	int err;

	i = fetch(v, f, &err, &linear, &error);
	if (!i)
		fetch_failed(v, linear, err, error);
	return i;
}

const struct insn *insn_peek(struct vcpu *v, const struct guest_fetch *f)
{
	u64 linear;
	u32 error;
	int err;

	return fetch(v, f, &err, &linear, &error);
}
