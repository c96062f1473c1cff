/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMIDs: one a VM for its life. A freed VMID is dirty until every CPU has forgotten its translations;
 * that is done for all dirty ones at once, when no clean one is left. VMID 0 is never a guest's.
 */
#include "hyp.h"

#include <cupel/lock.h>
#include <string.h>

#define MMFR1_VMIDBITS_16 2
#define VMID_MAX	  4096 /* VMs at a time; more would only cost memory */

static spinlock_t vmid_lock = SPINLOCK_INIT("vmid"); /* guards all below */
static u64 used[VMID_MAX / 64];
static u64 dirty[VMID_MAX / 64];
static u64 nr_dirty;
static u32 last;

struct vmid_account vmid_account;

static u32 nr_vmids(void)
{
	u32 bits = arm64_id_field(arm64_ids.mmfr1, MMFR1_VMIDBITS);

	return bits == MMFR1_VMIDBITS_16 ? VMID_MAX : 256;
}

static void flush_dirty(void)
{
	if (!nr_dirty)
		return;
	/* All of EL1&0, every VMID, inner shareable: Arm ARM D8.14. */
	__asm__ volatile("dsb ishst\n\ttlbi alle1is\n\tdsb ish\n\tisb" : : : "memory");
	memset(dirty, 0, sizeof(dirty));
	atomic_fetch_add_relaxed(&vmid_account.done, nr_dirty);
	nr_dirty = 0;
}

static u32 find_clean(void)
{
	for (u32 i = 1; i < nr_vmids(); i++) {
		u32 n = 1 + (last + i - 1) % (nr_vmids() - 1);

		if (!((used[n / 64] | dirty[n / 64]) & BIT(n % 64)))
			return n;
	}
	return 0;
}

int vmid_alloc(u16 *vmid)
{
	unsigned long flags;
	u32 n;

	spin_lock_irqsave(&vmid_lock, flags);
	n = find_clean();
	if (!n) {
		flush_dirty();
		n = find_clean();
	}
	if (n) {
		used[n / 64] |= BIT(n % 64);
		last = n;
		*vmid = (u16)n;
	}
	spin_unlock_irqrestore(&vmid_lock, flags);
	return n ? 0 : -EBUSY;
}

void vmid_free(u16 vmid)
{
	unsigned long flags;

	spin_lock_irqsave(&vmid_lock, flags);
	used[vmid / 64] &= ~BIT(vmid % 64);
	dirty[vmid / 64] |= BIT(vmid % 64);
	nr_dirty++;
	atomic_fetch_add_relaxed(&vmid_account.owed, 1);
	spin_unlock_irqrestore(&vmid_lock, flags);
}
