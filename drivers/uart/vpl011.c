/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PL011 as a guest sees it (Arm DDI 0183): output is gathered and printed by the line with the VM's
 * name in front, nothing is ever received, the transmit FIFO is always empty. Never waits for the real
 * console longer than printk() does.
 */
#include "vpl011.h"

#include <cupel/abi.h>
#include <cupel/mm.h>
#include <cupel/printk.h>

#include "../gic/vgic.h"

#define UARTDR	  0x000
#define UARTFR	  0x018
#define UARTILPR  0x020
#define UARTIBRD  0x024
#define UARTFBRD  0x028
#define UARTLCR_H 0x02c
#define UARTCR	  0x030
#define UARTIFLS  0x034
#define UARTIMSC  0x038
#define UARTRIS	  0x03c
#define UARTMIS	  0x040
#define UARTICR	  0x044
#define UARTDMACR 0x048
#define UARTID	  0xfe0 /* UARTPeriphID0 to UARTPCellID3, 4 bytes apart */

#define FR_RXFE	 BIT(4)
#define FR_TXFE	 BIT(7)
#define INT_TX	 BIT32(5)
#define INT_MASK 0x7ffU

#define NR_REGS	     (UARTDMACR / 4 + 1)
#define CR_RESET     0x300
#define IFLS_RESET   0x12
#define LINE_MAX_LEN 120

struct vpl011 {
	spinlock_t lock; /* guards all below; reads of single registers go without */
	u32 reg[NR_REGS]; /* plain storage, by offset / 4 */
	u32 imsc, ris;
	u32 len;
	char line[LINE_MAX_LEN + 1];
};

static const u8 ids[8] = { 0x11, 0x10, 0x14, 0x00, 0x0d, 0xf0, 0x05, 0xb1 };

static void flush(struct vm *vm, struct vpl011 *u)
{
	u->line[u->len] = '\0';
	printk("[%s] %s\n", vm->config.name, u->line);
	u->len = 0;
}

static void put_char(struct vm *vm, struct vpl011 *u, char c)
{
	if (c == '\n') {
		flush(vm, u);
		return;
	}
	if (c == '\r' || !c)
		return;
	if (u->len == LINE_MAX_LEN)
		flush(vm, u);
	u->line[u->len++] = c;
}

static void set_line(struct vm *vm, const struct vpl011 *u)
{
	vgic_set_line(vm, NULL, GUEST_INTID_UART, u->ris & u->imsc);
}

static void write_reg(struct vcpu *v, struct vpl011 *u, u64 offset, u32 val)
{
	spin_lock(&u->lock);
	switch (offset) {
	case UARTDR:
		put_char(v->vm, u, (char)val);
		u->ris |= INT_TX; /* sent, and the FIFO fell below its level again */
		break;
	case UARTIMSC: WRITE_ONCE(u->imsc, val & INT_MASK); break;
	case UARTICR: u->ris &= ~val; break;
	case UARTILPR:
	case UARTIBRD:
	case UARTFBRD:
	case UARTLCR_H:
	case UARTCR:
	case UARTIFLS:
	case UARTDMACR: WRITE_ONCE(u->reg[offset / 4], val & 0xffff); break;
	}
	set_line(v->vm, u);
	spin_unlock(&u->lock);
}

static u64 read_reg(const struct vpl011 *u, u64 offset)
{
	switch (offset) {
	case UARTFR: return FR_RXFE | FR_TXFE;
	case UARTIMSC: return READ_ONCE(u->imsc);
	case UARTRIS: return READ_ONCE(u->ris);
	case UARTMIS: return READ_ONCE(u->ris) & READ_ONCE(u->imsc);
	}
	if (offset >= UARTID)
		return ids[(offset - UARTID) / 4];
	return offset / 4 < NR_REGS ? READ_ONCE(u->reg[offset / 4]) : 0;
}

static bool access(struct vcpu *v, void *dev, struct mmio_access *a)
{
	struct vpl011 *u = dev;

	if (a->write)
		write_reg(v, u, a->offset & ~3UL, (u32)a->value);
	else
		a->value = read_reg(u, a->offset & ~3UL) >> (a->offset & 3) * 8;
	return true;
}

int vpl011_init(struct vm *vm, const char **why)
{
	struct vpl011 *u = pages_alloc(size_to_order(sizeof(*u)));
	const struct mmio_window w = { "uart", GUEST_ARM64_UART, KIB(4), access, u };

	if (!u) {
		*why = "no memory for the UART";
		return -ENOMEM;
	}
	u->lock = (spinlock_t)SPINLOCK_INIT("vpl011");
	u->reg[UARTCR / 4] = CR_RESET;
	u->reg[UARTIFLS / 4] = IFLS_RESET;
	vm->arch.uart = u;
	return vm_add_mmio(vm, &w);
}

void vpl011_destroy(struct vm *vm)
{
	struct vpl011 *u = vm->arch.uart;

	if (!u)
		return;
	if (u->len)
		flush(vm, u);
	pages_free(u, size_to_order(sizeof(*u)));
	vm->arch.uart = NULL;
}
