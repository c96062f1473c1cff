/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * n=N random accesses, from seed=S, to everything a guest can reach: device registers of every width,
 * hypercalls, and what the architecture adds. Whatever the answers are, the VM must live to the end
 * (only what ends a VM by its meaning is left out), and the hypervisor beyond it.
 */
#include <guest.h>
#include <poke.h>

static u64 state;
static u8 buffer[4096] __aligned(4096);

/* xorshift64* (Vigna 2014). */
u64 poke_random(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1d;
}

/* Values that a check may have forgotten, among any others. */
u64 poke_value(void)
{
	static const u64 edges[] = { 0,		 1,	    ~0UL, 0x7fffffff, 0x80000000,
				     0xffffffff, 1UL << 63, 1023, 1024 };
	u64 r = poke_random();

	switch (r >> 60) {
	case 0 ... 3: return edges[r % ARRAY_SIZE(edges)];
	case 4 ... 6: return 1UL << r % 64;
	case 7: return (u64)buffer + r % sizeof(buffer);
	case 8: return ram_base + ram_size - r % 64;
	default: return r >> r % 64;
	}
}

static void mmio(void)
{
	u64 r = poke_random();
	const struct poke_window *w = poke_window(r);
	u32 width = 1U << (r >> 32) % (w->max_shift + 1);
	u64 addr = w->base + ALIGN_DOWN((r >> 8) % w->size, width);

	if (w->writable && r >> 63)
		poke_write(addr, width, poke_value());
	else
		poke_read(addr, width);
}

static void call(void)
{
	u64 id = HC_BASE + poke_random() % (HC_LIMIT - HC_BASE + 2);

	if (id == HC_EXIT || id == HC_REPORT || (id & ~0xfUL) != HC_BASE)
		return;
	hc(id, poke_value(), poke_value(), poke_value());
}

static void poke_one(void *arg)
{
	u64 r = poke_random() % 8;

	if (r < 5)
		mmio();
	else if (r < 6)
		call();
	else
		poke_arch();
}

int guest_main(void)
{
	u64 n = cmdline_u64("n", 20000), faults = 0;
	struct fault f;

	state = cmdline_u64("seed", 1) * 0x9e3779b97f4a7c15 | 1;
	irq_disable();
	for (u64 i = 0; i < n; i++)
		faults += try_call(poke_one, NULL, &f);
	report(true, "%lu accesses, %lu refused by a fault", n, faults);
	return 0;
}
