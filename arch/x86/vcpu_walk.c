/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's own page tables, walked in software: 32-bit, PAE, and long mode with four or five
 * levels. Every entry is read from the guest's memory slots and from nowhere else, so that no table a
 * guest can write reaches the host. Sets accessed and dirty bits as the CPU does; so tables lie in
 * memory that may be written, or nowhere (a nested walk counts as a write: APM vol. 2, 15.25.6). (AMD
 * APM vol. 2, 5.2 to 5.6)
 */
#include <asm/cpu.h>
#include <asm/msr.h>
#include <asm/trap.h>
#include <asm/virt.h>
#include <cupel/errno.h>
#include <cupel/vm.h>
#include <string.h>

#define PTE_P	 BIT(0)
#define PTE_W	 BIT(1)
#define PTE_U	 BIT(2)
#define PTE_A	 BIT(5)
#define PTE_D	 BIT(6)
#define PTE_LEAF BIT(7)
#define PTE_NX	 BIT(63)
#define PTE_ADDR GENMASK(51, 12)

struct walk {
	struct vcpu *v;
	const struct guest_paging *p;
	u64 linear;
	u32 access;
	u32 level; /* levels still below the table at `table` */
	u32 entry_size; /* 4 or 8 */
	gpaddr_t table;
	gpaddr_t entry; /* address of the one looked at */
	u64 rights; /* W and U that every level granted, NX that any withheld */
	struct walk_cache *keep; /* where to write the way down, or NULL */
};

static u32 index_bits(const struct walk *w)
{
	return w->entry_size == 4 ? 10 : 9;
}

static u32 page_shift(const struct walk *w)
{
	return PAGE_SHIFT + w->level * index_bits(w);
}

static void begin(struct walk *w)
{
	bool pae = w->p->cr4 & CR4_PAE;

	w->rights = PTE_W | PTE_U;
	w->entry_size = pae ? 8 : 4;
	if (!pae) {
		w->level = 1;
		w->table = w->p->cr3 & 0xfffff000;
	} else if (w->p->efer & EFER_LMA) {
		w->level = w->p->cr4 & CR4_LA57 ? 4 : 3;
		w->table = w->p->cr3 & PTE_ADDR;
	} else {
		w->level = 2;
		w->table = w->p->cr3 & 0xffffffe0;
	}
}

static gpaddr_t entry_address(const struct walk *w)
{
	u64 n = w->linear >> page_shift(w) & ((1U << index_bits(w)) - 1);

	/* The four entries of a PAE root take bits 31:30. */
	if (w->level == 2 && w->entry_size == 8 && !(w->p->efer & EFER_LMA))
		n &= 3;
	return w->table + n * w->entry_size;
}

static u64 read_entry(const struct walk *w, void *at)
{
	return w->entry_size == 4 ? READ_ONCE(*(u32 *)at) : READ_ONCE(*(u64 *)at);
}

static bool pae_root(const struct walk *w)
{
	return w->level == 2 && w->entry_size == 8 && !(w->p->efer & EFER_LMA);
}

static bool is_leaf(const struct walk *w, u64 entry)
{
	if (!w->level)
		return true;
	if (!(entry & PTE_LEAF) || pae_root(w))
		return false;
	if (w->entry_size == 4)
		return w->p->cr4 & CR4_PSE;
	return w->level <= 2;
}

static void keep_entry(struct walk *w, void *at, u64 entry)
{
	struct walk_cache *k = w->keep;

	if (!k)
		return;
	k->entry[k->levels] = at;
	k->value[k->levels++] = entry | PTE_A; /* mark() is going to set it */
}

/* The bits of the address above the page: a 4 MiB page of 32-bit paging has its upper ones in 20:13. */
static gpaddr_t leaf_address(const struct walk *w, u64 entry)
{
	u64 mask = BIT(page_shift(w)) - 1;

	if (w->entry_size == 4 && w->level)
		return (entry & 0xffc00000) | (entry & 0x1fe000) << 19 | (w->linear & mask);
	return (entry & PTE_ADDR & ~mask) | (w->linear & mask);
}

static bool user_access(const struct walk *w)
{
	return w->p->cpl == 3 && !(w->access & WALK_SYSTEM);
}

static bool rights_suffice(const struct walk *w)
{
	bool user_page = w->rights & PTE_U;

	if (w->access & WALK_FETCH) {
		if (w->rights & PTE_NX)
			return false;
		if (user_page && !user_access(w) && w->p->cr4 & CR4_SMEP)
			return false;
	}
	if (user_access(w))
		return user_page && (!(w->access & WALK_WRITE) || w->rights & PTE_W);
	if (user_page && !(w->access & WALK_FETCH) && w->p->cr4 & CR4_SMAP &&
	    !(w->p->rflags & X86_RFLAGS_AC))
		return false;
	return !(w->access & WALK_WRITE) || w->rights & PTE_W || !(w->p->cr0 & CR0_WP);
}

static u32 error_code(const struct walk *w, bool present)
{
	u32 e = present ? X86_PF_PRESENT : 0;

	e |= w->access & WALK_WRITE ? X86_PF_WRITE : 0;
	e |= user_access(w) ? X86_PF_USER : 0;
	if (w->access & WALK_FETCH && (w->p->efer & EFER_NXE || w->p->cr4 & CR4_SMEP))
		e |= X86_PF_FETCH;
	return e;
}

/* As the CPU would: without a lock, but only if the entry is still what was read. */
static void mark(const struct walk *w, void *at, u64 entry, u64 bits)
{
	u32 old32 = entry;

	if ((entry & bits) == bits)
		return;
	vm_mark_dirty(w->v->vm, w->entry);
	if (w->entry_size == 4)
		atomic_cmpxchg_full((u32 *)at, &old32, (u32)(entry | bits));
	else
		atomic_cmpxchg_full((u64 *)at, &entry, entry | bits);
}

static void collect_rights(struct walk *w, u64 entry)
{
	if (pae_root(w))
		return;
	w->rights &= entry | ~(PTE_W | PTE_U);
	if (w->p->efer & EFER_NXE && w->entry_size == 8)
		w->rights |= entry & PTE_NX;
}

static int finish(struct walk *w, void *at, u64 entry, gpaddr_t *gpa, u32 *error)
{
	if (!rights_suffice(w)) {
		*error = error_code(w, true);
		return -EFAULT;
	}
	mark(w, at, entry, PTE_A | (w->access & WALK_WRITE ? PTE_D : 0));
	*gpa = leaf_address(w, entry);
	return 0;
}

/* The upper bits repeat the highest that is translated: APM vol. 2, 5.3.1. */
static bool canonical(const struct guest_paging *p, u64 linear)
{
	u32 unused = p->cr4 & CR4_LA57 ? 64 - 57 : 64 - 48;

	return !(p->efer & EFER_LMA) || (u64)((s64)(linear << unused) >> unused) == linear;
}

static int walk(struct vcpu *v, const struct guest_paging *p, u64 linear, u32 access,
		struct walk_cache *keep, gpaddr_t *gpa, u32 *error)
{
	struct walk w = { .v = v, .p = p, .linear = linear, .access = access, .keep = keep };

	*error = 0;
	if (!(p->cr0 & CR0_PG)) {
		*gpa = linear;
		return 0;
	}
	if (!canonical(p, linear))
		return -ERANGE;
	begin(&w);
	for (;; w.level--) {
		void *at;
		u64 entry;

		w.entry = entry_address(&w);
		at = vm_gpa_to_va(v->vm, w.entry, w.entry_size, true);
		if (!at)
			return -ENXIO;
		entry = read_entry(&w, at);
		if (!(entry & PTE_P)) {
			*error = error_code(&w, false);
			return -EFAULT;
		}
		collect_rights(&w, entry);
		keep_entry(&w, at, entry);
		if (is_leaf(&w, entry))
			return finish(&w, at, entry, gpa, error);
		if (!pae_root(&w))
			mark(&w, at, entry, PTE_A);
		w.table = entry & (w.entry_size == 4 ? 0xfffff000 : PTE_ADDR);
	}
}

int guest_walk(struct vcpu *v, const struct guest_paging *p, u64 linear, u32 access, gpaddr_t *gpa,
	       u32 *error)
{
	return walk(v, p, linear, access, NULL, gpa, error);
}

/* --- The last walk, kept ------------------------------------------------------------------------ */

void walk_cache_flush(struct vcpu *v)
{
	v->arch.walk.page = ~0UL;
}

const u8 *walk_cache_fill(struct vcpu *v, u64 linear)
{
	struct walk_cache *k = &v->arch.walk;
	u64 page = linear & ~(u64)(PAGE_SIZE - 1);
	struct guest_paging p;
	gpaddr_t gpa;
	u32 error;

	v->vm->arch.backend->paging(v, &p);
	walk_cache_flush(v);
	k->levels = 0;
	if (walk(v, &p, page, WALK_READ, k, &gpa, &error))
		return NULL;
	k->va = vm_gpa_to_va(v->vm, gpa, PAGE_SIZE, false);
	if (!k->va)
		return NULL;
	k->cr3 = p.cr3;
	k->mode = walk_mode(p.cr4, p.rflags);
	k->page = page;
	return k->va;
}

/* --- Copies ------------------------------------------------------------------------------------- */

/* The part that lies in one page. */
static int copy_piece(struct vcpu *v, const struct guest_paging *p, u64 linear, void *buf, u32 len,
		      u32 access, u32 *error)
{
	gpaddr_t gpa;
	void *at;
	int err = guest_walk(v, p, linear, access, &gpa, error);

	if (err)
		return err;
	at = vm_gpa_to_va(v->vm, gpa, len, access & WALK_WRITE);
	if (!at)
		return -ENXIO;
	if (access & WALK_WRITE) {
		memcpy(at, buf, len);
		vm_mark_dirty(v->vm, gpa);
	} else {
		memcpy(buf, at, len);
	}
	return 0;
}

enum emulate guest_copy_failed(struct vcpu *v, int err, u64 linear, u32 error, const char *what)
{
	if (err == -EFAULT)
		guest_page_fault(v, linear, error);
	else if (err == -ERANGE)
		guest_exception_error(v, X86_EXC_GP, 0);
	else
		guest_crash(v, "%s %lx, which is no memory", what, linear);
	return err == -EFAULT || err == -ERANGE ? EMULATE_AGAIN : EMULATE_STOPPED;
}

int guest_copy(struct vcpu *v, u64 *linear, void *buf, u32 len, u32 access, u32 *error)
{
	struct guest_paging p;

	v->vm->arch.backend->paging(v, &p);
	while (len) {
		u32 piece = min(len, (u32)(PAGE_SIZE - (*linear & (PAGE_SIZE - 1))));
		int err = copy_piece(v, &p, *linear, buf, piece, access, error);

		if (err)
			return err;
		*linear += piece;
		buf = (u8 *)buf + piece;
		len -= piece;
	}
	return 0;
}
