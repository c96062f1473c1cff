/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runstate: what a vCPU's time went to, kept here and told to the guest in a record of its own memory.
 * The record is written at load and at put, in atomic context, through page caches: when it can't be
 * reached it is skipped, and written before the guest runs again, or as soon as there is memory again. Must never lose time: at any moment the four times
 * add up to the moment of the last change.
 */
#include <cupel/errno.h>

#include "xen.h"

#define UPDATE_BYTE (offsetof(struct vcpu_runstate_info, state_entry_time) + 7)

_Static_assert(sizeof(struct vcpu_runstate_info) == 48, "vcpu.h: 64-bit vcpu_runstate_info");
_Static_assert(offsetof(struct vcpu_runstate_info, state_entry_time) == 8, "vcpu.h");
_Static_assert(offsetof(struct vcpu_runstate_info, time) == 16, "vcpu.h");

int xen_runstate_init(struct vcpu *v)
{
	struct xen_runstate *r = &v->xen->run;
	int err;

	r->lock.name = "runstate";
	r->now.state = RUNSTATE_offline;
	err = gpc_init(&r->area[0], v->vm, 0, NULL);
	if (err)
		return err;
	err = gpc_init(&r->area[1], v->vm, GPC_INNER, NULL);
	if (err)
		gpc_destroy(&r->area[0]);
	return err;
}

void xen_runstate_destroy(struct vcpu *v)
{
	gpc_destroy(&v->xen->run.area[0]);
	gpc_destroy(&v->xen->run.area[1]);
}

/* --- The guest's record ------------------------------------------------------------------------- */

/* It may lie across two pages, at any byte. */
struct record {
	u8 *part[2];
	u32 first;
};

static u8 *byte_of(const struct record *r, u32 n)
{
	return n < r->first ? &r->part[0][n] : &r->part[1][n - r->first];
}

/* Whole words where they are whole in the guest: a reader that does not ask for more gets that much. */
static void copy_to_record(const struct record *r, const struct vcpu_runstate_info *info)
{
	const u8 *bytes = (const u8 *)info;
	const u64 *words = (const u64 *)info;

	if (r->first == sizeof(*info) && IS_ALIGNED((uintptr_t)r->part[0], sizeof(u64))) {
		for (u32 i = 0; i < sizeof(*info) / sizeof(u64); i++)
			WRITE_ONCE(((u64 *)r->part[0])[i], words[i]);
		return;
	}
	for (u32 i = 0; i < sizeof(*info); i++)
		WRITE_ONCE(*byte_of(r, i), bytes[i]);
}

/*
 * Another vCPU may read while this is written. One that asked for it sees XEN_RUNSTATE_UPDATE in
 * state_entry_time from before the first byte changes until after the last has; only its top byte is
 * touched for that, as the whole word may lie across the border.
 */
static void write_record(const struct record *r, struct vcpu_runstate_info info, bool flag)
{
	u8 top = (u8)(info.state_entry_time >> 56);
	u8 update = (u8)(XEN_RUNSTATE_UPDATE >> 56);

	if (flag) {
		WRITE_ONCE(*byte_of(r, UPDATE_BYTE), READ_ONCE(*byte_of(r, UPDATE_BYTE)) | update);
		smp_wmb(); /* pairs with the guest's read barrier after it has read the flag */
		info.state_entry_time |= XEN_RUNSTATE_UPDATE;
	}
	copy_to_record(r, &info);
	if (flag) {
		smp_wmb(); /* pairs with the guest's read barrier before it reads the flag again */
		WRITE_ONCE(*byte_of(r, UPDATE_BYTE), top);
	}
}

/* Inside a read section, with area[0] held at part[0]. */
static bool write_rest(struct vcpu *v, struct xen_runstate *r, struct record *rec)
{
	bool flag = READ_ONCE(v->vm->xen->update_flag);
	u32 rest = sizeof(r->now) - rec->first;

	if (!rest) {
		write_record(rec, r->now, flag);
		return true;
	}
	rec->part[1] = gpc_get(&r->area[1], rest);
	if (!rec->part[1])
		return false;
	write_record(rec, r->now, flag);
	gpc_dirty(&r->area[1]);
	gpc_put(&r->area[1]);
	return true;
}

/* False: it can't be reached now. r->lock is held. */
static bool try_write(struct vcpu *v, struct xen_runstate *r)
{
	struct record rec = { .first = r->first };
	srcu_token_t token = guest_read_lock();
	bool done = false;

	rec.part[0] = gpc_get(&r->area[0], rec.first);
	if (rec.part[0]) {
		done = write_rest(v, r, &rec);
		if (done)
			gpc_dirty(&r->area[0]);
		gpc_put(&r->area[0]);
	}
	guest_read_unlock(token);
	return done;
}

static void write_guest(struct vcpu *v, struct xen_runstate *r)
{
	if (r->first)
		WRITE_ONCE(r->behind, !try_write(v, r));
}

/* --- The account -------------------------------------------------------------------------------- */

/* Time up to `ns` goes to the state it was in, but for `waited` of it. r->lock is held. */
static void account(struct vcpu_runstate_info *info, u64 waited, u64 ns)
{
	u64 spent = ns > info->state_entry_time ? ns - info->state_entry_time : 0;

	waited = min(waited, spent);
	info->time[info->state] += spent - waited;
	info->time[RUNSTATE_runnable] += waited;
	info->state_entry_time += spent;
}

/* Of a sleep, what came after the wake-up: it was spent runnable, and stolen. */
static u64 waited(const struct vcpu *v, struct xen_runstate *r)
{
	u64 ticks = v->steal.ticks - r->stolen;

	r->stolen = v->steal.ticks;
	return r->now.state == RUNSTATE_runnable ? 0 : ticks_to_ns(ticks);
}

/*
 * A load has the time to look the pages up; a put has not. False: memory is on the move, and the record may be
 * within reach again at once.
 */
static bool catch_up(struct vcpu *v, struct xen_runstate *r)
{
	int err = gpc_refresh(&r->area[0]);

	if (!err && r->first < sizeof(r->now))
		err = gpc_refresh(&r->area[1]);
	xen_runstate_publish(v);
	/* Without an error it has moved once more in between. */
	return !READ_ONCE(r->behind) || (err && err != -EAGAIN);
}

bool xen_serve(struct vcpu *v)
{
	struct xen_runstate *r = &v->xen->run;

	if (!READ_ONCE(r->behind) || catch_up(v, r))
		return true;
	vcpu_request_quiet(v, VCPU_REQ_TIME);
	return false;
}

void xen_memory_changed(struct vm *vm)
{
	for (u32 i = 0; vm->xen && i < vm->nr_vcpus; i++) {
		struct vcpu *v = vm->vcpu[i];

		if (v->xen && READ_ONCE(v->xen->run.behind))
			vcpu_request(v, VCPU_REQ_TIME);
	}
}

void xen_runstate_change(struct vcpu *v, u32 state, u64 now)
{
	struct xen_runstate *r = &v->xen->run;
	u64 ns = xen_counter_to_time(v->vm, now);
	bool behind;

	spin_lock(&r->lock);
	account(&r->now, waited(v, r), ns);
	r->now.state = state;
	write_guest(v, r);
	behind = r->behind;
	spin_unlock(&r->lock);
	if (unlikely(behind) && state == RUNSTATE_running && !catch_up(v, r))
		vcpu_request_quiet(v, VCPU_REQ_TIME);
}

void xen_runstate_publish(struct vcpu *v)
{
	struct xen_runstate *r = &v->xen->run;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	write_guest(v, r);
	spin_unlock_irqrestore(&r->lock, flags);
}

void xen_runstate_get(struct vcpu *v, struct vcpu_runstate_info *out)
{
	struct xen_runstate *r = &v->xen->run;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	*out = r->now;
	account(out, 0, xen_system_time(v->vm));
	spin_unlock_irqrestore(&r->lock, flags);
}
