/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest's 16550: what it sends comes out as lines "[vm] …"; nothing is ever received, and it raises
 * no interrupt. The transmitter is always ready, so that reading the status shares nothing and takes no
 * lock. (National PC16550D data sheet, table II)
 */
#include <asm/v16550.h>
#include <cupel/mm.h>
#include <cupel/printk.h>
#include <cupel/vm.h>

#define REG_DATA 0 /* DLL with DLAB */
#define REG_IER	 1 /* DLM with DLAB */
#define REG_IIR	 2 /* FCR when written */
#define REG_LCR	 3
#define REG_MCR	 4
#define REG_LSR	 5
#define REG_MSR	 6
#define REG_SCR	 7
#define NR_REGS	 8

#define LCR_DLAB  0x80
#define IIR_NONE  0x01 /* no interrupt pending */
#define LSR_READY 0x60 /* holding register and shifter empty */
#define MSR_READY 0xb0 /* DCD, DSR, CTS */

#define LINE_MAX 120

struct v16550 {
	spinlock_t lock; /* guards line and len: the vCPUs of a VM share the port */
	u32 len;
	u8 reg[NR_REGS]; /* last written; any vCPU, whoever is last wins */
	u16 divisor;
	char line[LINE_MAX + 1];
};

/* Under the lock. */
static void flush_line(struct vm *vm, struct v16550 *u)
{
	u->line[u->len] = '\0';
	u->len = 0;
	printk("[%s] %s\n", vm->config.name, u->line);
}

static void put_char(struct vm *vm, struct v16550 *u, char c)
{
	unsigned long flags;

	spin_lock_irqsave(&u->lock, flags);
	if (c == '\n') {
		flush_line(vm, u);
	} else if (c != '\r') {
		u->line[u->len++] = c >= ' ' && c <= '~' ? c : '?';
		if (u->len == LINE_MAX)
			flush_line(vm, u);
	}
	spin_unlock_irqrestore(&u->lock, flags);
}

static bool dlab(const struct v16550 *u)
{
	return READ_ONCE(u->reg[REG_LCR]) & LCR_DLAB;
}

static void write_reg(struct vm *vm, struct v16550 *u, u32 reg, u8 value)
{
	if (reg == REG_DATA && dlab(u))
		u->divisor = (u->divisor & 0xff00) | value;
	else if (reg == REG_IER && dlab(u))
		u->divisor = (u16)((u->divisor & 0xff) | value << 8);
	else if (reg == REG_DATA)
		put_char(vm, u, value);
	else
		WRITE_ONCE(u->reg[reg], value);
}

static u8 read_reg(const struct v16550 *u, u32 reg)
{
	switch (reg) {
	case REG_DATA: return dlab(u) ? u->divisor : 0;
	case REG_IER: return dlab(u) ? u->divisor >> 8 : READ_ONCE(u->reg[reg]) & 0x0f;
	case REG_IIR: return IIR_NONE;
	case REG_LSR: return LSR_READY;
	case REG_MSR: return MSR_READY;
	default: return READ_ONCE(u->reg[reg]);
	}
}

static bool access(struct vcpu *v, void *dev, struct mmio_access *a)
{
	struct v16550 *u = dev;

	if (a->size != 1)
		return false;
	if (a->write)
		write_reg(v->vm, u, a->offset, a->value);
	else
		a->value = read_reg(u, a->offset);
	return true;
}

int v16550_create(struct vm *vm)
{
	struct v16550 *u = page_alloc();
	struct mmio_window w = { "16550", V16550_PORT, NR_REGS, access, u };

	if (!u)
		return -ENOMEM;
	u->lock.name = "v16550";
	vm->arch.uart = u;
	return vm_add_pio(vm, &w);
}

/* What was left of a line is worth reading most when its VM has crashed. */
void v16550_destroy(struct vm *vm)
{
	struct v16550 *u = vm->arch.uart;

	if (!u)
		return;
	if (u->len)
		flush_line(vm, u);
	page_free(u);
	vm->arch.uart = NULL;
}
