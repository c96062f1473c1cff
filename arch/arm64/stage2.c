/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stage 2: a VM's memory, out of its slots. Valid entries are replaced by way of an invalid one and a
 * TLBI (break before make, Arm ARM D8.16.1), and every TLBI is made with the VMID it is for in
 * VTTBR_EL2. Nothing here decides what a guest may reach: that is the caller's.
 */
#include "stage2.h"

#include "hyp.h"

#include <cupel/mm.h>
#include <cupel/smp.h>

#define FLUSH_ALL_ABOVE 512 /* pages: beyond, the whole VMID goes at once */

/* For a CPU that has no VM's translations: VMID 0, nothing mapped. */
static u64 empty_root[S2_ENTRIES] __aligned(PAGE_SIZE);

/* VTTBR_EL2 of this CPU, so that a load of the same VM need not write it (which flushes emulators). */
static DEFINE_PER_CPU(u64, vttbr_loaded);

static void set_vttbr(u64 vttbr)
{
	this_cpu(vttbr_loaded) = vttbr;
	write_sysreg(vttbr, vttbr_el2);
	isb();
}

u32 stage2_ipa_bits(void)
{
	return min(arm64_pa_bits(), (u32)S2_MAX_BITS);
}

static bool has_fwb(void)
{
	return arm64_id_field(arm64_ids.mmfr2, MMFR2_FWB);
}

void stage2_cpu_init(void)
{
	u64 pa_range = min(arm64_id_field(arm64_ids.mmfr0, MMFR0_PARANGE), 5U);
	u64 vtcr = VTCR_RES1 | VTCR_T0SZ(stage2_ipa_bits()) | VTCR_SL0_L1 | VTCR_IRGN0_WBWA |
		   VTCR_ORGN0_WBWA | VTCR_SH0_INNER | pa_range << VTCR_PS_SHIFT;

	if (arm64_id_field(arm64_ids.mmfr1, MMFR1_VMIDBITS) == 2)
		vtcr |= VTCR_VS;
	write_sysreg(vtcr, vtcr_el2);
	set_vttbr(va_to_pa(empty_root));
	/* What firmware or an earlier life left behind. */
	__asm__ volatile("tlbi alle1\n\tdsb nsh\n\tisb" : : : "memory");
}

/* --- Flushing ----------------------------------------------------------------------------------- */

static void flush_begin(const struct stage2 *s2, unsigned long *flags, u64 *former)
{
	*flags = arch_irq_save();
	*former = this_cpu(vttbr_loaded);
	dsb(ishst); /* the changed descriptors, before the TLBI */
	set_vttbr(s2->vttbr);
	atomic_fetch_add_relaxed(&vmid_account.owed, 1);
}

static void flush_end(unsigned long flags, u64 former)
{
	dsb(ish);
	/* Combined stage-1 and stage-2 entries have to go too (Arm ARM D8.14.5). */
	__asm__ volatile("tlbi vmalle1is\n\tdsb ish\n\tisb" : : : "memory");
	atomic_fetch_add_relaxed(&vmid_account.done, 1);
	set_vttbr(former);
	arch_irq_restore(flags);
}

void stage2_flush(const struct stage2 *s2)
{
	unsigned long flags;
	u64 former;

	flush_begin(s2, &flags, &former);
	__asm__ volatile("tlbi vmalls12e1is" : : : "memory");
	flush_end(flags, former);
}

static void flush_range(const struct stage2 *s2, gpaddr_t gpa, u64 size)
{
	unsigned long flags;
	u64 former;

	if (size >> PAGE_SHIFT > FLUSH_ALL_ABOVE) {
		stage2_flush(s2);
		return;
	}
	flush_begin(s2, &flags, &former);
	for (u64 off = 0; off < size; off += PAGE_SIZE)
		__asm__ volatile("tlbi ipas2e1is, %0"
				 :
				 : "r"((gpa + off) >> PAGE_SHIFT)
				 : "memory");
	flush_end(flags, former);
}

/*
 * Two vCPUs of a VM may use one ASID for different tables, since each believes to be a CPU of its own:
 * what the other one left behind in this CPU has to go.
 */
static void forget_other_vcpu(struct vcpu *v)
{
	u16 *ran = &v->vm->arch.last_ran[cpu_id()];

	if (likely(*ran == v->id + 1))
		return;
	if (*ran) {
		atomic_fetch_add_relaxed(&vmid_account.owed, 1);
		__asm__ volatile("tlbi vmalle1\n\tdsb nsh\n\tisb" : : : "memory");
		atomic_fetch_add_relaxed(&vmid_account.done, 1);
	}
	*ran = (u16)(v->id + 1);
}

void stage2_load(struct vcpu *v)
{
	u64 vttbr = v->arch.s2->vttbr;

	if (unlikely(this_cpu(vttbr_loaded) != vttbr))
		set_vttbr(vttbr);
	forget_other_vcpu(v);
}

/* --- Tables ------------------------------------------------------------------------------------- */

static u64 *entry_of(u64 *table, gpaddr_t gpa, u32 level)
{
	return &table[gpa >> S2_SHIFT(level) & (S2_ENTRIES - 1)];
}

static bool is_table(u64 desc, u32 level)
{
	return level < S2_LAST_LEVEL && (desc & (S2_VALID | S2_TABLE)) == (S2_VALID | S2_TABLE);
}

static u64 *table_at(u64 desc)
{
	return pa_to_va(desc & S2_ADDR_MASK);
}

u64 stage2_lookup(const struct stage2 *s2, gpaddr_t gpa, u32 *level)
{
	u64 *table = s2->table;

	for (*level = S2_ROOT_LEVEL; gpa >> stage2_ipa_bits() == 0; (*level)++) {
		u64 desc = READ_ONCE(*entry_of(table, gpa, *level));

		if (!is_table(desc, *level))
			return desc & S2_VALID ? desc : 0;
		table = table_at(desc);
	}
	return 0;
}

/* Guards the tables of every VM, below the root too: changes are rare. The CPU's walkers read meanwhile. */
static spinlock_t s2_lock = SPINLOCK_INIT("stage2");

/* A table in place of an empty entry. */
static u64 *add_table(struct stage2 *s2, u64 *entry)
{
	u64 *table = page_alloc();

	if (!table)
		return NULL;
	s2->pages++;
	dsb(ishst); /* the walker must find it empty */
	WRITE_ONCE(*entry, va_to_pa(table) | S2_VALID | S2_TABLE);
	return table;
}

/*
 * A page that is mapped read-only and is to be more: only its rights change, so it need not be broken
 * first; but what refused the write may be in a TLB (Arm ARM D8.16.1, D8.13.5).
 */
static int make_writable(const struct stage2 *s2, u64 *entry, gpaddr_t gpa, u64 desc)
{
	if (desc != (*entry | S2_AP_WRITE) || *entry & S2_AP_WRITE)
		return -EEXIST;
	WRITE_ONCE(*entry, desc);
	flush_range(s2, gpa, PAGE_SIZE);
	return 0;
}

static int map_one(struct stage2 *s2, gpaddr_t gpa, paddr_t pa, u32 leaf, u64 attr)
{
	u64 *table = s2->table;
	u32 level = S2_ROOT_LEVEL;
	u64 *entry;

	for (; level < leaf; level++) {
		entry = entry_of(table, gpa, level);
		if (is_table(*entry, level))
			table = table_at(*entry);
		else if (*entry & S2_VALID)
			return -EEXIST;
		else
			table = add_table(s2, entry);
		if (!table)
			return -ENOMEM;
	}
	entry = entry_of(table, gpa, level);
	attr |= pa | S2_VALID | (level == S2_LAST_LEVEL ? S2_TABLE : 0);
	if (*entry & S2_VALID)
		return make_writable(s2, entry, gpa, attr);
	WRITE_ONCE(*entry, attr);
	return 0;
}

/* The largest leaf that fits; a table that stands where a block would go is filled instead. */
static u32 leaf_level(const struct stage2 *s2, gpaddr_t gpa, paddr_t pa, u64 left)
{
	u64 *table = s2->table;

	for (u32 level = S2_ROOT_LEVEL; level < S2_LAST_LEVEL; level++) {
		u64 size = BIT(S2_SHIFT(level)), desc = table ? *entry_of(table, gpa, level) : 0;

		if (IS_ALIGNED(gpa | pa, size) && left >= size && !is_table(desc, level))
			return level;
		table = is_table(desc, level) ? table_at(desc) : NULL;
	}
	return S2_LAST_LEVEL;
}

/* top: the largest leaf to use. */
static int map_range(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size, u64 attr, u32 top)
{
	struct stage2 *s2 = &vm->arch.s2[0];
	unsigned long flags;
	u64 done = 0;
	int err = 0;

	if (gpa + size < gpa || gpa + size > BIT(stage2_ipa_bits()))
		return -EINVAL;
	spin_lock_irqsave(&s2_lock, flags);
	while (done < size && !err) {
		u32 level = max(top, leaf_level(s2, gpa + done, pa + done, size - done));

		err = map_one(s2, gpa + done, pa + done, level, attr);
		done += BIT(S2_SHIFT(level));
	}
	spin_unlock_irqrestore(&s2_lock, flags);
	/* From invalid to valid: the walkers need only see it, before anybody relies on it. */
	dsb(ishst);
	isb();
	return err;
}

int arch_stage2_map(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size, u32 slot_flags)
{
	u64 attr = S2_ATTR(has_fwb() ? S2_FWB_NORMAL : S2_NORMAL_WB) | S2_SH_INNER | S2_AF |
		   S2_AP_READ;

	if (!(slot_flags & (SLOT_READONLY | SLOT_DIRTY_LOG)))
		attr |= S2_AP_WRITE;
	return map_range(vm, gpa, pa, size, attr,
			 slot_flags & SLOT_DIRTY_LOG ? S2_LAST_LEVEL : S2_ROOT_LEVEL);
}

int stage2_map_device(struct vm *vm, gpaddr_t gpa, paddr_t pa, u64 size)
{
	return map_range(vm, gpa, pa, size,
			 S2_ATTR(has_fwb() ? S2_FWB_DEVICE : S2_DEVICE) | S2_AF | S2_AP_READ |
				 S2_AP_WRITE | S2_XN,
			 S2_ROOT_LEVEL);
}

/*
 * A block that goes only in part: its pieces in a table, made before the block is broken. Without memory
 * for it all of the block goes, and comes back by faults.
 */
static void split(struct stage2 *s2, u64 *entry, gpaddr_t gpa, u32 level)
{
	u64 *table = page_alloc(), block = *entry;

	WRITE_ONCE(*entry, 0);
	flush_range(s2, ALIGN_DOWN(gpa, BIT(S2_SHIFT(level))), BIT(S2_SHIFT(level)));
	if (!table)
		return;
	s2->pages++;
	for (u32 i = 0; i < S2_ENTRIES; i++)
		table[i] = (block & ~S2_TABLE) + i * BIT(S2_SHIFT(level + 1)) +
			   (level + 1 == S2_LAST_LEVEL ? S2_TABLE : 0);
	dsb(ishst); /* the walker must find it filled */
	WRITE_ONCE(*entry, va_to_pa(table) | S2_VALID | S2_TABLE);
}

/* Clear the leaf at gpa, or step over the hole; returns how far that went. */
static u64 unmap_one(struct stage2 *s2, gpaddr_t gpa, u64 left)
{
	u64 *table = s2->table;

	for (u32 level = S2_ROOT_LEVEL;; level++) {
		u64 *entry = entry_of(table, gpa, level), size = BIT(S2_SHIFT(level));
		bool whole = IS_ALIGNED(gpa, size) && left >= size;

		if (!is_table(*entry, level) && (*entry & S2_VALID) && !whole)
			split(s2, entry, gpa, level);
		if (!is_table(*entry, level)) {
			WRITE_ONCE(*entry, 0);
			return size - (gpa & (size - 1));
		}
		table = table_at(*entry);
	}
}

void arch_stage2_unmap(struct vm *vm, gpaddr_t gpa, u64 size)
{
	struct stage2 *s2 = &vm->arch.s2[0];
	unsigned long flags;

	if (gpa + size < gpa || gpa + size > BIT(stage2_ipa_bits()))
		return;
	spin_lock_irqsave(&s2_lock, flags);
	for (u64 done = 0; done < size;)
		done += unmap_one(s2, gpa + done, size - done);
	flush_range(s2, gpa, size);
	spin_unlock_irqrestore(&s2_lock, flags);
}

/* --- Life --------------------------------------------------------------------------------------- */

int stage2_init(struct vm *vm)
{
	struct stage2 *s2 = &vm->arch.s2[0];
	u16 vmid;
	int err;

	vm->arch.last_ran = pages_alloc(size_to_order(NR_CPUS * sizeof(u16)));
	s2->table = page_alloc();
	if (!vm->arch.last_ran || !s2->table)
		return -ENOMEM;
	err = vmid_alloc(&vmid);
	if (!err)
		s2->vttbr = va_to_pa(s2->table) | (u64)vmid << VTTBR_VMID_SHIFT;
	return err;
}

static void free_tables(u64 *table, u32 level)
{
	for (u32 i = 0; i < S2_ENTRIES; i++)
		if (is_table(table[i], level))
			free_tables(table_at(table[i]), level + 1);
	page_free(table);
}

static void unload(void *arg)
{
	unsigned long flags = arch_irq_save();

	if (this_cpu(vttbr_loaded) == *(u64 *)arg)
		set_vttbr(va_to_pa(empty_root));
	arch_irq_restore(flags);
}

/* No CPU may walk these tables any more, not even ahead of need. */
static void unload_everywhere(u64 vttbr)
{
	for_each_online_cpu(c) {
		while (READ_ONCE(*per_cpu_ptr(vttbr_loaded, c)) == vttbr)
			smp_call((u32)c, unload, &vttbr);
	}
}

void stage2_destroy(struct vm *vm)
{
	struct stage2 *s2 = &vm->arch.s2[0];

	if (s2->vttbr) {
		unload_everywhere(s2->vttbr);
		vmid_free((u16)(s2->vttbr >> VTTBR_VMID_SHIFT));
	}
	if (s2->table)
		free_tables(s2->table, S2_ROOT_LEVEL);
	if (vm->arch.last_ran)
		pages_free(vm->arch.last_ran, size_to_order(NR_CPUS * sizeof(u16)));
	*s2 = (struct stage2){ 0 };
	vm->arch.last_ran = NULL;
}
