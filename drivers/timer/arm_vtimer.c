/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's EL1 timers. A direct timer drives the hardware's while its vCPU is loaded, and the host's
 * PPI belongs to guests: "active" there means that the guest has the tick already, so that a line that
 * stays high does not interrupt again. The active state is written on every load, set and clear alike:
 * hardware changes it behind us, and another vCPU may have left it. A machine whose interrupts have no
 * active state masks and unmasks them instead. The physical timer is direct only
 * where EL2 can reach it beside its own (VHE); otherwise it is emulated with a soft timer.
 *
 * Must never leave a timer enabled in hardware with no vCPU loaded.
 */
#include "arm_vtimer.h"

#include <asm/host.h>
#include <asm/sysreg.h>
#include <cupel/arch.h>
#include <cupel/irq.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

#include "../gic/vgic.h"

/* EL1's timers from EL2: by the _EL02 names with E2H, else by their own (Arm ARM D11.3). */
#define SYS_CNTV_CTL_EL02  S3_5_C14_C3_1
#define SYS_CNTV_CVAL_EL02 S3_5_C14_C3_2
#define SYS_CNTP_CTL_EL02  S3_5_C14_C2_1
#define SYS_CNTP_CVAL_EL02 S3_5_C14_C2_2

#define CTL_WRITABLE (CNT_CTL_ENABLE | CNT_CTL_IMASK)

/* Host PPIs of the direct timers; set once by the boot CPU. */
static struct irq_desc *host_irq[NR_TIMERS];

/* IRQ_STATE_ACTIVE; where interrupts have no such state, IRQ_STATE_MASKED. Likewise. */
static u8 host_state;

static u64 read_hw_ctl(u32 which)
{
	if (which == TIMER_PHYS)
		return read_sysreg(SYS_CNTP_CTL_EL02);
	return arm64_vhe ? read_sysreg(SYS_CNTV_CTL_EL02) : read_sysreg(cntv_ctl_el0);
}

static void write_hw_ctl(u32 which, u64 val)
{
	if (which == TIMER_PHYS)
		write_sysreg(val, SYS_CNTP_CTL_EL02);
	else if (arm64_vhe)
		write_sysreg(val, SYS_CNTV_CTL_EL02);
	else
		write_sysreg(val, cntv_ctl_el0);
}

static u64 read_hw_cval(u32 which)
{
	if (which == TIMER_PHYS)
		return read_sysreg(SYS_CNTP_CVAL_EL02);
	return arm64_vhe ? read_sysreg(SYS_CNTV_CVAL_EL02) : read_sysreg(cntv_cval_el0);
}

static bool armed(const struct vtimer *t)
{
	return (t->ctl & CTL_WRITABLE) == CNT_CTL_ENABLE;
}

/* Output level by the registers in memory. */
static bool should_fire(const struct vtimer *t, u64 now)
{
	return armed(t) && t->cval <= now - t->offset;
}

/*
 * When it fires, on the host's counter. A compare value that lies beyond what that counter can reach is
 * never: cval + offset may not wrap round into the past.
 */
static u64 deadline_of(const struct vtimer *t, u64 now)
{
	u64 count = now - t->offset;

	if (t->cval <= count)
		return now;
	return t->cval - count > ~now ? ~0UL : now + (t->cval - count);
}

/* Output level by the hardware, while loaded. */
static bool hw_should_fire(u32 which)
{
	u64 mask = CNT_CTL_ENABLE | CNT_CTL_IMASK | CNT_CTL_ISTATUS;

	return (read_hw_ctl(which) & mask) == (CNT_CTL_ENABLE | CNT_CTL_ISTATUS);
}

static void set_host_active(struct vcpu *v, struct vtimer *t, bool on)
{
	t->active = on;
	v->active_writes++;
	v->vm->set_active(t->desc, (enum irq_state)t->host_state, on);
}

/* A host PPI: the loaded guest's tick, or what is left of one. */
static void vtimer_irq(struct irq_desc *d, void *arg)
{
	struct vcpu *v = this_cpu(guest_current);
	u32 which = (u32)(unsigned long)arg;
	struct vtimer *t;

	/* The timer was disabled at put and the signal not yet retired: the next load overwrites it. */
	if (!v)
		return;
	t = &v->arch.timer[which];
	t->active = true;
	if (hw_should_fire(which))
		vgic_raise_own(v, t->intid);
	else
		/* Nobody will end this one: left active, it would swallow the next tick. */
		set_host_active(v, t, false);
}

/* The same where nothing but the mask says that it was taken: first of all, or it comes again. */
static void vtimer_irq_unmasked(struct irq_desc *d, void *arg)
{
	struct vcpu *v = this_cpu(guest_current);

	if (v)
		set_host_active(v, &v->arch.timer[(u32)(unsigned long)arg], true);
	vtimer_irq(d, arg);
}

/* --- the emulated physical timer ---------------------------------------------------------------- */

static void emul_update(struct vcpu *v)
{
	struct vtimer *t = &v->arch.timer[TIMER_PHYS];
	u64 now = arch_counter();
	bool level = should_fire(t, now);

	vgic_set_line(v->vm, v, t->intid, level);
	/* Never for a deadline that has passed: it would fire at once, for ever. */
	if (armed(t) && !level)
		soft_timer_arm(&v->arch.emul_timer, deadline_of(t, now));
	else
		soft_timer_cancel(&v->arch.emul_timer);
}

static void emul_expired(struct soft_timer *s)
{
	emul_update(container_of(s, struct vcpu, arch.emul_timer));
}

u64 vtimer_read(struct vcpu *v, enum vtimer_reg reg)
{
	struct vtimer *t = &v->arch.timer[TIMER_PHYS];
	u64 count = arch_counter() - t->offset;

	switch (reg) {
	case VTIMER_TVAL: return (u32)(t->cval - count);
	case VTIMER_CVAL: return t->cval;
	case VTIMER_CTL: break;
	}
	/* ISTATUS does not depend on IMASK; it is UNKNOWN while disabled: clear. */
	return t->ctl | ((t->ctl & CNT_CTL_ENABLE) && t->cval <= count ? CNT_CTL_ISTATUS : 0);
}

void vtimer_write(struct vcpu *v, enum vtimer_reg reg, u64 val)
{
	struct vtimer *t = &v->arch.timer[TIMER_PHYS];

	switch (reg) {
	/* TVAL is signed: a negative one puts CVAL in the past (Arm ARM D11.2.4). */
	case VTIMER_TVAL: t->cval = arch_counter() - t->offset + (u64)(s64)(s32)val; break;
	case VTIMER_CVAL: t->cval = val; break;
	case VTIMER_CTL: t->ctl = val & CTL_WRITABLE; break;
	}
	emul_update(v);
}

/* --- load and put ------------------------------------------------------------------------------- */

/*
 * The load rule, in order: the level by what memory says, into the vGIC; then the host's
 * active state, which says that the guest has (or is about to get) this tick; then the registers.
 */
static void load_state(struct vcpu *v, struct vtimer *t, u64 now)
{
	u32 held = VIRQ_ACTIVE | VIRQ_HW; /* the guest has it, and will end it in hardware */
	u32 word = READ_ONCE(v->arch.vgic.irq[t->intid]);
	bool level = should_fire(t, now);

	if (level)
		vgic_raise_own(v, t->intid);
	else if (word & VIRQ_LINE)
		vgic_set_line(v->vm, v, t->intid, false);
	set_host_active(v, t, level || (word & held) == held);
}

static inline void load_both(const struct vtimer *virt, const struct vtimer *phys)
{
	write_sysreg(virt->cval, SYS_CNTV_CVAL_EL02);
	write_sysreg(phys->cval, SYS_CNTP_CVAL_EL02);
	dsb(sy);
	isb();
	write_sysreg(virt->ctl, SYS_CNTV_CTL_EL02);
	write_sysreg(phys->ctl, SYS_CNTP_CTL_EL02);
}

static inline void load_virt(const struct vtimer *virt)
{
	if (arm64_vhe)
		write_sysreg(virt->cval, SYS_CNTV_CVAL_EL02);
	else
		write_sysreg(virt->cval, cntv_cval_el0);
	dsb(sy);
	isb();
	write_hw_ctl(TIMER_VIRT, virt->ctl);
}

void vtimer_load(struct vcpu *v)
{
	struct vtimer *virt = &v->arch.timer[TIMER_VIRT], *phys = &v->arch.timer[TIMER_PHYS];
	u64 now = arch_counter();

	load_state(v, virt, now);
	if (phys->direct)
		load_state(v, phys, now);
	write_sysreg(virt->offset, cntvoff_el2);
	/*
	 * DSB, ISB in between: the active state has reached the GIC before a timer can make its line
	 * high, and no timer is enabled with the compare value of another vCPU.
	 */
	if (phys->direct) {
		load_both(virt, phys);
	} else {
		load_virt(virt);
		emul_update(v);
	}
}

static void put_one(struct vtimer *t, u32 which)
{
	t->ctl = read_hw_ctl(which) & CTL_WRITABLE;
	t->cval = read_hw_cval(which);
	write_hw_ctl(which, 0);
}

void vtimer_put(struct vcpu *v)
{
	put_one(&v->arch.timer[TIMER_VIRT], TIMER_VIRT);
	if (v->arch.timer[TIMER_PHYS].direct)
		put_one(&v->arch.timer[TIMER_PHYS], TIMER_PHYS);
	else
		soft_timer_cancel(&v->arch.emul_timer);
	isb();
	write_sysreg(0, cntvoff_el2);
}

static void sync_line(struct vcpu *v, u32 which)
{
	struct vtimer *t = &v->arch.timer[which];
	bool external = v->vm->arch.vgic->soft;
	u32 word = READ_ONCE(v->arch.vgic.irq[t->intid]);

	if (!t->direct || hw_should_fire(which) || (word & VIRQ_LISTED))
		return;
	vgic_set_line(v->vm, v, t->intid, false);
	/*
	 * Nobody will end the host's interrupt: the guest of a list register only what it acknowledged,
	 * that of an external irqchip never. There the virtual timer's is cleared after every exit, as
	 * the experiment has it.
	 */
	if (external ? t->active || which == TIMER_VIRT : t->active && !(word & VIRQ_ACTIVE))
		set_host_active(v, t, false);
}

void vtimer_sync_lines(struct vcpu *v)
{
	for (u32 i = 0; i < NR_TIMERS; i++)
		sync_line(v, i);
}

/* --- waiting ------------------------------------------------------------------------------------ */

bool vtimer_phys_direct(void)
{
	return host_irq[TIMER_PHYS];
}

static u64 wake_time(struct vcpu *v, struct vtimer *t, u64 now)
{
	if (!armed(t) || !vgic_would_signal(v, t->intid))
		return ~0UL;
	return deadline_of(t, now);
}

u64 vtimer_deadline(struct vcpu *v)
{
	u64 now = arch_counter(), earliest = ~0UL;

	for (u32 i = 0; i < NR_TIMERS; i++)
		earliest = min(earliest, wake_time(v, &v->arch.timer[i], now));
	return earliest;
}

bool vtimer_wakeable(struct vcpu *v)
{
	u64 now = arch_counter();

	for (u32 i = 0; i < NR_TIMERS; i++) {
		struct vtimer *t = &v->arch.timer[i];

		if (should_fire(t, now) && vgic_would_signal(v, t->intid))
			return true;
	}
	return false;
}

const char *arch_timer_state(void)
{
	return host_state == IRQ_STATE_MASKED ? "masked" : "active";
}

/* --- set-up ------------------------------------------------------------------------------------- */

void vtimer_reset(struct vcpu *v)
{
	for (u32 i = 0; i < NR_TIMERS; i++) {
		struct vtimer *t = &v->arch.timer[i];

		t->ctl = 0;
		t->cval = 0;
		t->active = false;
		t->offset = i == TIMER_VIRT ? v->vm->arch.cntvoff : 0;
		if (t->direct && !v->vm->arch.vgic->soft)
			vgic_map_hw(v, t->intid, t->desc->irq);
	}
}

void vtimer_vcpu_init(struct vcpu *v)
{
	v->arch.timer[TIMER_VIRT] = (struct vtimer){ .intid = GUEST_INTID_VTIMER };
	v->arch.timer[TIMER_PHYS] = (struct vtimer){ .intid = GUEST_INTID_PTIMER };
	for (u32 i = 0; i < NR_TIMERS; i++) {
		v->arch.timer[i].desc = host_irq[i];
		v->arch.timer[i].direct = host_irq[i];
		v->arch.timer[i].host_state = host_state;
	}
	v->arch.emul_timer.fn = emul_expired;
}

static void take_host_irq(u32 which, u32 irq)
{
	struct irq_desc *d = irq_to_desc(irq);
	irq_handler_t handler = vtimer_irq;
	bool active;

	if (!irq || !d || !d->chip) {
		printk("vtimer: no host interrupt %u for the guest's timer\n", irq);
		return;
	}
	/* Ours to hand on: the host only drops its priority. Level, whatever firmware says. */
	irq_set_chip(irq, d->chip, d->flags | IRQ_FORWARDED | IRQ_LEVEL);
	host_state = IRQ_STATE_ACTIVE;
	if (irq_get_state(d, IRQ_STATE_ACTIVE, &active)) {
		host_state = IRQ_STATE_MASKED;
		handler = vtimer_irq_unmasked;
	}
	if (irq_request(irq, handler, (void *)(unsigned long)which))
		printk("vtimer: host interrupt %u is taken\n", irq);
	else
		host_irq[which] = d;
}

void vtimer_cpu_init(void)
{
	if (!cpu_id()) {
		take_host_irq(TIMER_VIRT, platform.timer.virt);
		if (arm64_vhe)
			take_host_irq(TIMER_PHYS, platform.timer.phys_ns);
	}
	write_hw_ctl(TIMER_VIRT, 0);
	if (arm64_vhe)
		write_hw_ctl(TIMER_PHYS, 0);
	write_sysreg(0, cntvoff_el2);
	for (u32 i = 0; i < NR_TIMERS; i++)
		if (host_irq[i])
			irq_enable(host_irq[i]->irq);
}
