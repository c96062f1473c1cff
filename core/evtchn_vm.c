/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Life of a domain: what a VM has of event channels, from its making to its end. A sender in another VM may
 * still be at work on it when it ends: nothing is freed before those are waited for.
 */
#include <cupel/errno.h>
#include <cupel/mm.h>

#include "evtchn.h"

static int init_vcpu(struct vcpu *v)
{
	v->evtchn = page_alloc();
	if (!v->evtchn)
		return -ENOMEM;
	return gpc_init(&v->evtchn->vcpu_info, v->vm, 0, NULL);
}

static void destroy_vcpu(struct vcpu *v)
{
	if (!v->evtchn)
		return;
	gpc_destroy(&v->evtchn->vcpu_info);
	page_free(v->evtchn);
	v->evtchn = NULL;
}

static void free_domain(struct evtchn_domain *d)
{
	struct vm *vm = d->vm;

	for (u32 i = 0; i < vm->nr_vcpus; i++)
		destroy_vcpu(vm->vcpu[i]);
	gpc_destroy(&d->shared_info);
	for (u32 i = 0; d->bucket && i < NR_BUCKETS; i++)
		page_free(d->bucket[i]);
	pages_free(d->bucket, size_to_order(NR_BUCKETS * sizeof(d->bucket[0])));
	page_free(d);
	vm->evtchn = NULL;
}

/*
 * Guests name each other by 16 bits, of which DOMID_SELF and what lies above mean something else, and 0 is
 * Xen's first domain. A number comes again once its VM is gone, as late as can be. Under evtchn_peers_lock.
 */
static u32 free_domid(void)
{
	static u32 last;

	do
		last = last + 1 < DOMID_SELF ? last + 1 : 1;
	while (evtchn_domain_find(last));
	return last;
}

static void publish(struct evtchn_domain *d)
{
	spin_lock(&evtchn_peers_lock);
	d->domid = free_domid();
	d->next = evtchn_domains;
	/* Pairs with the acquire in evtchn_domain_find(). */
	store_release(&evtchn_domains, d);
	spin_unlock(&evtchn_peers_lock);
}

int evtchn_vm_init(struct vm *vm)
{
	struct evtchn_domain *d = page_alloc();
	int err;

	if (!d)
		return -ENOMEM;
	vm->evtchn = d;
	d->vm = vm;
	d->lock.name = "evtchn";
	d->bucket = pages_alloc(size_to_order(NR_BUCKETS * sizeof(d->bucket[0])));
	err = gpc_init(&d->shared_info, vm, 0, NULL);
	for (u32 i = 0; !err && i < vm->nr_vcpus; i++)
		err = init_vcpu(vm->vcpu[i]);
	if (!err && !d->bucket)
		err = -ENOMEM;
	if (err)
		free_domain(d);
	else
		publish(d);
	return err;
}

void evtchn_vm_destroy(struct vm *vm)
{
	struct evtchn_domain *d = vm->evtchn, **p;

	if (!d)
		return;
	spin_lock(&evtchn_peers_lock);
	for (p = &evtchn_domains; *p != d;)
		p = &(*p)->next;
	WRITE_ONCE(*p, d->next);
	spin_lock(&d->lock);
	/* Its grace period also waits for those who found the domain on the list. */
	evtchn_close_all(d);
	evtchn_fifo_reset(d);
	spin_unlock(&d->lock);
	spin_unlock(&evtchn_peers_lock);
	free_domain(d);
}

u32 evtchn_domid(const struct vm *vm)
{
	return vm->evtchn->domid;
}

struct gpc *evtchn_shared_info(struct vm *vm)
{
	return &vm->evtchn->shared_info;
}

struct gpc *evtchn_vcpu_info(struct vcpu *v)
{
	return &v->evtchn->vcpu_info;
}
