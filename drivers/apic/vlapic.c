/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest's local APIC: registers, priorities, and the road from a posted vector to one in service.
 * Posting takes no lock and may come from any CPU; everything else belongs to the owner. Must never
 * touch the vCPU's registers: the backend injects. (AMD APM vol. 2, chapter 16)
 */
#include <asm/cpu.h>
#include <asm/msr.h>
#include <asm/vlapic.h>
#include <cupel/mm.h>
#include <cupel/vm.h>
#include <string.h>

static void set_add(struct vector_set *s, u8 vector)
{
	s->word[vector / 64] |= BIT(vector % 64);
	s->used |= BIT32(vector / 64);
}

static void set_remove(struct vector_set *s, u8 vector)
{
	u32 w = vector / 64;

	s->word[w] &= ~BIT(vector % 64);
	if (!s->word[w])
		s->used &= ~BIT32(w);
}

static inline int set_highest(const struct vector_set *s)
{
	u32 w;

	if (!s->used)
		return -1;
	w = 31 - __builtin_clz(s->used);
	return w * 64 + 63 - __builtin_clzl(s->word[w]);
}

int vlapic_create(struct vcpu *v)
{
	struct vlapic *l = pages_alloc(size_to_order(sizeof(*l)));

	if (!l)
		return -ENOMEM;
	l->vcpu = v;
	l->id = v->id;
	v->arch.lapic = l;
	vlapic_timer_init(l);
	vlapic_reset(l, false);
	return 0;
}

void vlapic_destroy(struct vcpu *v)
{
	if (v->arch.lapic)
		pages_free(v->arch.lapic, size_to_order(sizeof(*v->arch.lapic)));
	v->arch.lapic = NULL;
}

/* APM vol. 2, 16.3.2 and 16.9.5: the logical id of x2APIC mode follows from the id. */
static u32 x2apic_ldr(u32 id)
{
	return (id >> 4) << 16 | BIT32(id & 15);
}

void vlapic_reset(struct vlapic *l, bool init)
{
	vlapic_timer_stop(l);
	if (!init)
		l->base = VLAPIC_PAGE | APIC_BASE_ENABLE | (l->vcpu->id ? 0 : APIC_BASE_BSC);
	l->ldr = vlapic_x2apic(l) ? x2apic_ldr(l->id) : 0;
	l->dfr = VLAPIC_LOGICAL_FLAT;
	l->svr = 0xff;
	l->tpr = 0;
	l->irr = (struct vector_set){ 0 };
	l->isr = (struct vector_set){ 0 };
	l->esr = l->esr_pending = 0;
	l->icr = 0;
	for (u32 n = 0; n < VLAPIC_NR_LVT; n++)
		l->lvt[n] = APIC_LVT_MASKED;
	l->timer_count = l->timer_divider = 0;
}

void vlapic_post(struct vcpu *v, u8 vector)
{
	/* Release: pairs with the acquire of vlapic_fold(). vcpu_request() orders it before the kick. */
	atomic_fetch_or_release(&v->arch.lapic->posted[vector / 64], BIT(vector % 64));
	vcpu_request(v, VCPU_REQ_EVENT);
}

void vlapic_post_event(struct vcpu *v, u32 event)
{
	/* Release: pairs with the acquire of the owner that takes the events. */
	atomic_fetch_or_release(&v->arch.lapic->events, event);
	vcpu_request(v, VCPU_REQ_EVENT);
}

static inline void fold_word(struct vlapic *l, u32 w)
{
	if (!READ_ONCE(l->posted[w]))
		return;
	/* Acquire: pairs with the release of vlapic_post(). */
	l->irr.word[w] |= atomic_xchg_acquire(&l->posted[w], 0);
	l->irr.used |= BIT32(w);
}

/* On the way of every interrupt: written out, the four cost what two turns of a loop do. */
void vlapic_fold(struct vlapic *l)
{
	_Static_assert(VLAPIC_WORDS == 4, "one line a word");
	fold_word(l, 0);
	fold_word(l, 1);
	fold_word(l, 2);
	fold_word(l, 3);
}

void vlapic_raise(struct vlapic *l, u8 vector)
{
	set_add(&l->irr, vector);
}

static u32 ppr(const struct vlapic *l)
{
	int in_service = set_highest(&l->isr);
	u32 isr = in_service < 0 ? 0 : (u32)in_service;

	/* APM vol. 2, 16.6.4 */
	return (l->tpr & 0xf0) >= (isr & 0xf0) ? l->tpr : isr & 0xf0;
}

/* Would a vector be taken, if it came on top of what is in service? */
static bool takeable(const struct vlapic *l, int vector)
{
	return vector >= 0 && vlapic_enabled(l) && (vector & 0xf0) > (int)(ppr(l) & 0xf0);
}

int vlapic_pending(const struct vlapic *l)
{
	int vector = set_highest(&l->irr);

	if (takeable(l, vector))
		return vector;
	return vector >= 0 && vlapic_enabled(l) ? VLAPIC_HELD : VLAPIC_NONE;
}

static u32 timer_vector(const struct vlapic *l)
{
	return l->lvt[VLAPIC_LVT_TIMER] & APIC_LVT_VECTOR;
}

void vlapic_accept(struct vlapic *l, u8 vector)
{
	set_remove(&l->irr, vector);
	set_add(&l->isr, vector);
	if (vector == timer_vector(l))
		l->vcpu->guest_ticks++;
}

void vlapic_unaccept(struct vlapic *l, u8 vector)
{
	set_remove(&l->isr, vector);
	set_add(&l->irr, vector);
	if (vector == timer_vector(l))
		l->vcpu->guest_ticks--;
}

bool vlapic_in_service(const struct vlapic *l, u8 vector)
{
	return l->isr.word[vector / 64] & BIT(vector % 64);
}

void vlapic_eoi(struct vlapic *l)
{
	int vector = set_highest(&l->isr);

	if (vector >= 0)
		set_remove(&l->isr, vector);
}

bool vlapic_wakeable(struct vlapic *l)
{
	/* Folding is the owner's, and the owner asks: what was posted counts like what is in IRR. */
	vlapic_fold(l);
	if (takeable(l, set_highest(&l->irr)))
		return true;
	return vlapic_next_wake(l) <= arch_counter();
}

u64 vlapic_next_wake(const struct vlapic *l)
{
	if (!l->timer_deadline || l->lvt[VLAPIC_LVT_TIMER] & APIC_LVT_MASKED ||
	    !takeable(l, timer_vector(l)))
		return ~0UL;
	return l->timer_deadline;
}

void vlapic_load(struct vlapic *l)
{
	l->loaded = true;
	vlapic_timer_load(l);
}

void vlapic_put(struct vlapic *l)
{
	vlapic_timer_put(l);
	l->loaded = false;
}

void vlapic_error(struct vlapic *l, u32 bit)
{
	u32 lvt = l->lvt[VLAPIC_LVT_ERROR];

	if (l->esr_pending & bit)
		return;
	l->esr_pending |= bit;
	if (!(lvt & APIC_LVT_MASKED) && (lvt & APIC_LVT_VECTOR) >= 16)
		vlapic_raise(l, lvt & APIC_LVT_VECTOR);
}

/* ISR, TMR and IRR are eight registers of 32 vectors each. Every vector here is an edge. */
static u32 vector_register(const struct vlapic *l, u32 reg)
{
	u32 n = (reg >> 4) & 7;
	const struct vector_set *s;

	if (reg >= APIC_TMR && reg < APIC_IRR)
		return 0;
	s = reg < APIC_TMR ? &l->isr : &l->irr;
	return s->word[n / 2] >> (n % 2 * 32);
}

static enum vlapic_lvt lvt_index(u32 reg)
{
	return (reg - APIC_LVT_TIMER) >> 4;
}

static u32 read_id(const struct vlapic *l)
{
	return vlapic_x2apic(l) ? l->id : l->id << 24;
}

bool vlapic_read(struct vlapic *l, u32 reg, u64 *value)
{
	switch (reg) {
	case APIC_ID: *value = read_id(l); return true;
	case APIC_VERSION: *value = VLAPIC_VERSION; return true;
	case APIC_TPR: *value = l->tpr; return true;
	case APIC_APR:
	case APIC_RRR: *value = 0; return true;
	case APIC_PPR: *value = ppr(l); return true;
	case APIC_EOI: *value = 0; return true;
	case APIC_LDR: *value = l->ldr; return true;
	case APIC_DFR: *value = l->dfr; return true;
	case APIC_SVR: *value = l->svr; return true;
	case APIC_ISR ... APIC_IRR + 0x70: *value = vector_register(l, reg); return true;
	case APIC_ESR: *value = l->esr; return true;
	case APIC_ICR: *value = vlapic_x2apic(l) ? l->icr : (u32)l->icr; return true;
	case APIC_ICR2: *value = l->icr >> 32; return true;
	case APIC_LVT_TIMER ... APIC_LVT_ERROR: *value = l->lvt[lvt_index(reg)]; return true;
	case APIC_TMICT: *value = l->timer_count; return true;
	case APIC_TMCCT: *value = vlapic_timer_count(l); return true;
	case APIC_TDCR: *value = l->timer_divider; return true;
	default: return false;
	}
}

/* A software-disabled APIC keeps its LVT masked: APM vol. 2, 16.4.7. */
static void write_svr(struct vlapic *l, u32 value)
{
	l->svr = value & 0x3ff;
	if (l->svr & APIC_SVR_ENABLE)
		return;
	for (u32 n = 0; n < VLAPIC_NR_LVT; n++)
		l->lvt[n] |= APIC_LVT_MASKED;
}

static void write_lvt(struct vlapic *l, enum vlapic_lvt n, u32 value)
{
	static const u32 writable[VLAPIC_NR_LVT] = {
		[VLAPIC_LVT_TIMER] = APIC_LVT_VECTOR | APIC_LVT_MASKED | APIC_LVT_TIMER_MODE,
		[VLAPIC_LVT_THERM] = APIC_LVT_VECTOR | APIC_LVT_MASKED | 0x700,
		[VLAPIC_LVT_PERF] = APIC_LVT_VECTOR | APIC_LVT_MASKED | 0x700,
		[VLAPIC_LVT_LINT0] = APIC_LVT_VECTOR | APIC_LVT_MASKED | 0xa700,
		[VLAPIC_LVT_LINT1] = APIC_LVT_VECTOR | APIC_LVT_MASKED | 0xa700,
		[VLAPIC_LVT_ERROR] = APIC_LVT_VECTOR | APIC_LVT_MASKED,
	};

	value &= writable[n];
	if (!(l->svr & APIC_SVR_ENABLE))
		value |= APIC_LVT_MASKED;
	if (n == VLAPIC_LVT_TIMER)
		vlapic_timer_set_lvt(l, value);
	else
		l->lvt[n] = value;
}

static bool write_icr(struct vlapic *l, u64 value)
{
	if (vlapic_x2apic(l))
		return vlapic_send_icr(l, value);
	return vlapic_send_icr(l, (l->icr & ~0xffffffffUL) | (u32)value);
}

static void write_esr(struct vlapic *l)
{
	l->esr = l->esr_pending;
	l->esr_pending = 0;
}

bool vlapic_write(struct vlapic *l, u32 reg, u64 value)
{
	switch (reg) {
	case APIC_EOI: vlapic_eoi(l); return true;
	case APIC_TPR: l->tpr = value & 0xff; return true;
	case APIC_ICR: return write_icr(l, value);
	case APIC_ICR2: l->icr = (u32)l->icr | value << 32; return true;
	case APIC_SVR: write_svr(l, value); return true;
	case APIC_LDR: l->ldr = value & 0xff000000; return true;
	case APIC_DFR: l->dfr = value | 0x0fffffff; return true;
	case APIC_ESR: write_esr(l); return true;
	case APIC_LVT_TIMER ... APIC_LVT_ERROR: write_lvt(l, lvt_index(reg), value); return true;
	case APIC_TMICT: vlapic_timer_set_count(l, value); return true;
	case APIC_TDCR: vlapic_timer_set_divider(l, value & 0xb); return true;
	default: return false;
	}
}

static bool read_only(u32 reg)
{
	switch (reg) {
	case APIC_ID:
	case APIC_VERSION:
	case APIC_APR:
	case APIC_PPR:
	case APIC_RRR:
	case APIC_ISR ... APIC_IRR + 0x70:
	case APIC_TMCCT: return true;
	default: return false;
	}
}

/*
 * The xAPIC page. A register is a 32-bit word on a 16-byte line; what is none sets the error register,
 * as the architecture has it (APM vol. 2, 16.4.6), and stops nobody. In x2APIC mode there is no page.
 */
bool vlapic_mmio(struct vcpu *v, void *dev, struct mmio_access *a)
{
	struct vlapic *l = v->arch.lapic;
	bool known;

	if (!vlapic_enabled(l) || vlapic_x2apic(l) || a->size > 4)
		return false;
	if (a->offset & 0xf || (a->write && a->size != 4)) {
		known = false;
	} else if (a->write) {
		known = read_only(a->offset) || vlapic_write(l, a->offset, (u32)a->value);
	} else {
		known = vlapic_read(l, a->offset, &a->value);
	}
	if (known)
		return true;
	a->value = 0;
	vlapic_error(l, VLAPIC_ESR_REGISTER);
	return true;
}

bool vlapic_msr_read(struct vlapic *l, u32 msr, u64 *value)
{
	u32 reg = (msr - MSR_X2APIC_BASE) << 4;

	if (!vlapic_x2apic(l) || reg == APIC_ICR2 || reg == APIC_DFR || reg == APIC_EOI ||
	    reg == APIC_APR || reg == APIC_RRR)
		return false;
	return vlapic_read(l, reg, value);
}

/* APM vol. 2, 16.11.2 and table 16-6: bits that a register has not must be written as zero. */
bool vlapic_msr_write(struct vlapic *l, u32 msr, u64 value)
{
	u32 reg = (msr - MSR_X2APIC_BASE) << 4;

	if (!vlapic_x2apic(l) || (value >> 32 && reg != APIC_ICR))
		return false;
	switch (reg) {
	case APIC_SELF_IPI: return value <= 0xff && vlapic_send_icr(l, APIC_ICR_SELF | value);
	case APIC_EOI:
	case APIC_ESR: return !value && vlapic_write(l, reg, 0);
	case APIC_TPR: return value <= 0xff && vlapic_write(l, reg, value);
	case APIC_LDR:
	case APIC_DFR:
	case APIC_ICR2: return false;
	default: return vlapic_write(l, reg, value);
	}
}

/* Allowed changes of mode: APM vol. 2, 16.9.2. The page stays where it is. */
bool vlapic_base_write(struct vlapic *l, u64 value)
{
	u64 mode = value & (APIC_BASE_ENABLE | APIC_BASE_EXTD);
	u64 old = l->base & (APIC_BASE_ENABLE | APIC_BASE_EXTD);

	if ((value & ~(APIC_BASE_ENABLE | APIC_BASE_EXTD | APIC_BASE_BSC)) != VLAPIC_PAGE ||
	    mode == APIC_BASE_EXTD)
		return false;
	if (mode != old) {
		if ((mode == APIC_BASE_ENABLE && old & APIC_BASE_EXTD) ||
		    (mode & APIC_BASE_EXTD && !old))
			return false;
		l->base = value;
		if (!(mode & APIC_BASE_ENABLE))
			vlapic_reset(l, true);
		else if (mode & APIC_BASE_EXTD)
			l->ldr = x2apic_ldr(l->id);
	}
	l->base = value;
	return true;
}
