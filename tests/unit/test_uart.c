/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The UARTs as consoles, on chips made of an array of registers: what is switched on and what is left as
 * firmware had it, which register takes and gives bytes and how wide it is, and that a chip that hangs costs
 * time once. Each case in a process of its own: a console is for good.
 */
#include "host.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asm/io.h>
#include <cupel/platform.h>
#include <cupel/printk.h>

#include "../../drivers/uart/ns16550.h"
#include "../../drivers/uart/polled.h"

#define SIZE 0x200
#define BASE 0x40 /* of the UART in the chip: the mini-UART has registers below it */

/* One chip, its registers by offset from its start. */
static struct chip {
	u32 reg[SIZE];
	u8 writes[SIZE]; /* how often */
	u8 width[SIZE]; /* of the last access */
	u32 reads;
	char sent[16];
	u32 nr_sent, tx;
	/* What came in: its place, and what the status is before and after it was read. */
	u32 rx, status, empty;
	bool waiting;
	u32 wipe; /* what is written there, whatever it is, empties the FIFO */
} chip, other;

static u8 window[2][SIZE]; /* addresses only */

static struct chip *chip_of(const volatile void *reg, u32 *offset)
{
	u64 at = (u64)reg - (u64)window[0];

	assert_true(at < 2 * SIZE);
	*offset = (u32)(at % SIZE);
	return at < SIZE ? &chip : &other;
}

static void taken(struct chip *c)
{
	c->waiting = false;
	c->reg[c->status] = c->empty;
}

u32 host_mmio_read(const volatile void *reg, u32 bytes)
{
	u32 at;
	struct chip *c = chip_of(reg, &at);

	c->reads++;
	c->width[at] = (u8)bytes;
	if (at == c->rx && c->waiting)
		taken(c);
	return c->reg[at];
}

void host_mmio_write(volatile void *reg, u32 value, u32 bytes)
{
	u32 at;
	struct chip *c = chip_of(reg, &at);

	c->width[at] = (u8)bytes;
	c->writes[at]++;
	if (c->wipe == at && c->waiting)
		taken(c);
	if (at == c->tx && c->nr_sent < sizeof(c->sent))
		c->sent[c->nr_sent++] = (char)value;
	else
		c->reg[at] = value;
}

static void comes_in(u32 rx, u32 value, u32 status, u32 before)
{
	chip.rx = rx;
	chip.reg[rx] = value;
	chip.status = status;
	chip.empty = chip.reg[status];
	chip.reg[status] = before;
	chip.waiting = true;
}

static void in_child(void (*fn)(const void *arg), const void *arg)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		fn(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

struct polled_case {
	enum uart_kind kind;
	u32 status, full, empty, tx, rx;
	struct {
		u32 reg, before, after;
	} on[3];
};

static const struct polled_case polled_cases[] = {
	{ UART_PL011, 0x18, 0x20, 0x10, 0, 0, { { 0x30, 0, 0x301 }, { 0x2c, 0, 0x70 }, { 0x38, 0x50, 0 } } },
	{ UART_SBSA, 0x18, 0x20, 0x10, 0, 0, { { 0x38, 0x50, 0 } } },
	/* Both directions disabled, the transmitter and the receiver enabled as well: it does nothing. */
	{ UART_CADENCE, 0x2c, 0x10, 0x02, 0x30, 0x30, { { 0, 0x128 | 0x14, 0x114 } } },
	{ UART_IMX, 0xb4, 0x10, 0x20, 0x40, 0, { { 0x80, 0x2200, 1 }, { 0x84, 1, 0x4027 } } },
};

static void start(const struct polled_case *c)
{
	struct uart_info u = { .kind = c->kind, .base = (paddr_t)window[0] + BASE };

	for (u32 i = 0; i < ARRAY_SIZE(c->on); i++)
		chip.reg[BASE + c->on[i].reg] |= c->on[i].before;
	chip.reg[BASE + c->status] = c->empty;
	chip.tx = BASE + c->tx;
	chip.wipe = BASE + c->on[0].reg;
	comes_in(BASE + c->rx, 'e', BASE + c->status, 0);
	polled_console(0, &u);
}

static void polled_works(const void *arg)
{
	const struct polled_case *c = arg;

	start(c);
	for (u32 i = 0; i < ARRAY_SIZE(c->on); i++) {
		if (c->on[i].before | c->on[i].after)
			assert_int_equal(chip.reg[BASE + c->on[i].reg], c->on[i].after);
	}
	console_write("ok\n", 3);
	assert_int_equal(chip.nr_sent, 4);
	assert_memory_equal(chip.sent, "ok\r\n", 4);
	assert_int_equal(chip.width[chip.tx], 4);
	assert_true(console_input_begin());
	assert_int_equal(console_getc(), 'e'); /* typed before it was switched on */
	assert_int_equal(console_getc(), -1);
	comes_in(BASE + c->rx, 0x8000 | 'k', BASE + c->status, 0); /* with the i.MX's "there is one" */
	assert_int_equal(console_getc(), 'k');
	assert_int_equal(console_getc(), -1);
}

static void each_is_switched_on(void **state)
{
	for (u32 i = 0; i < ARRAY_SIZE(polled_cases); i++)
		in_child(polled_works, &polled_cases[i]);
}

/* Arm DDI 0183 3.3.7: not while it runs. SBSA's has no such registers at all. */
static void firmware_did_it(const void *arg)
{
	const struct polled_case *c = arg;

	chip.reg[BASE + 0x2c] = 0x70;
	chip.reg[BASE + 0x30] = 0xf01;
	start(c);
	assert_int_equal(chip.writes[BASE + 0x2c], 0);
	assert_int_equal(chip.writes[BASE + 0x30], 0);
	assert_int_equal(chip.reg[BASE + 0x30], 0xf01);
}

static void what_firmware_set_up_stays(void **state)
{
	in_child(firmware_did_it, &polled_cases[0]);
	in_child(firmware_did_it, &polled_cases[1]);
}

static void polled_hangs(const void *arg)
{
	const struct polled_case *c = arg;
	u32 first;

	start(c);
	chip.reg[BASE + c->status] = c->full | c->empty;
	chip.reads = 0;
	console_write("a", 1);
	first = chip.reads;
	assert_in_range(first, 1000, 10000000);
	chip.reads = 0;
	console_write("bcdefgh", 7);
	assert_in_range(chip.reads, 7, 28);
	/* It was only slow. */
	chip.reg[BASE + c->status] = c->empty;
	console_write("i", 1);
	chip.reg[BASE + c->status] = c->full | c->empty;
	chip.reads = 0;
	console_write("j", 1);
	assert_int_equal(chip.reads, first);
}

static void a_stuck_one_is_waited_for_once(void **state)
{
	for (u32 i = 0; i < ARRAY_SIZE(polled_cases); i++)
		in_child(polled_hangs, &polled_cases[i]);
}

static void several(const void *arg)
{
	struct uart_info u = { .kind = UART_PL011, .base = (paddr_t)window[0] + BASE };

	chip.tx = other.tx = BASE;
	polled_console(0, &u);
	u.base = (paddr_t)window[1] + BASE;
	polled_console(1, &u);
	console_write("x", 1);
	assert_int_equal(chip.nr_sent, 1);
	assert_int_equal(other.nr_sent, 1);
}

/* Each has its own patience and its own input; the first can be moved, as on x86. */
static void several_16550(const void *arg)
{
	struct uart_info u = { .kind = UART_16550, .reg_width = 1, .base = (paddr_t)window[0] + BASE };
	u32 lsr = BASE + NS16550_LSR;

	chip.tx = other.tx = BASE;
	chip.reg[lsr] = other.reg[lsr] = NS16550_LSR_THRE;
	ns16550_console(0, &u, &ns16550_mmio);
	u.base = (paddr_t)window[1] + BASE;
	ns16550_console(1, &u, &ns16550_mmio);
	console_write("x", 1);
	assert_int_equal(chip.nr_sent, 1);
	assert_int_equal(other.nr_sent, 1);
	assert_true(console_input_begin());
	comes_in(BASE, 'k', lsr, NS16550_LSR_THRE | NS16550_LSR_DR);
	assert_int_equal(console_getc(), 'k');
	assert_int_equal(console_getc(), -1);
	other.reg[lsr] = 0;
	console_write("y", 1);
	other.reads = chip.reads = 0;
	console_write("z", 1);
	assert_in_range(other.reads, 1, 4);
	assert_in_range(chip.reads, 1, 4);
	ns16550_console(0, &u, &ns16550_mmio);
	console_write("a", 1);
	assert_int_equal(chip.nr_sent, 3);
	assert_int_equal(other.nr_sent, 5);
}

static void two_at_once(void **state)
{
	in_child(several, NULL);
	in_child(several_16550, NULL);
}

static void ns16550_works(const void *arg)
{
	const struct uart_info *layout = arg;
	struct uart_info u = *layout;
	u32 lsr = BASE + (NS16550_LSR << u.reg_shift);

	u.base = (paddr_t)window[0] + BASE;
	chip.tx = BASE;
	chip.reg[lsr] = NS16550_LSR_THRE;
	chip.wipe = BASE + (NS16550_FCR << u.reg_shift);
	comes_in(BASE, 'e', lsr, NS16550_LSR_THRE | NS16550_LSR_DR);
	if (u.kind == UART_BCM_MINI)
		ns16550_bcm_mini(0, &u);
	else
		ns16550_console(0, &u, &ns16550_mmio);
	assert_int_equal(chip.reg[BASE + (NS16550_LCR << u.reg_shift)], NS16550_LCR_8N1);
	assert_int_equal(chip.reg[BASE + (NS16550_FCR << u.reg_shift)], NS16550_FCR_ENABLE);
	console_write("\n", 1);
	assert_int_equal(chip.nr_sent, 2);
	assert_memory_equal(chip.sent, "\r\n", 2);
	assert_int_equal(chip.width[chip.tx], u.reg_width);
	assert_true(console_input_begin());
	assert_int_equal(console_getc(), 'e');
	assert_int_equal(console_getc(), -1);
	comes_in(BASE, 'k', lsr, NS16550_LSR_THRE | NS16550_LSR_DR);
	assert_int_equal(console_getc(), 'k');
	assert_int_equal(console_getc(), -1);
	assert_int_equal(chip.reg[4] & 1, u.kind == UART_BCM_MINI);
	if (u.kind == UART_BCM_MINI)
		assert_int_equal(chip.reg[BASE + 0x20], 3);
}

static void ns16550_registers(void **state)
{
	static const struct uart_info layouts[] = {
		{ .kind = UART_16550, .reg_shift = 0, .reg_width = 1 },
		{ .kind = UART_16550, .reg_shift = 1, .reg_width = 2 },
		{ .kind = UART_16550, .reg_shift = 2, .reg_width = 4 },
		{ .kind = UART_16550, .reg_shift = 2, .reg_width = 1 },
		{ .kind = UART_BCM_MINI, .reg_shift = 2, .reg_width = 4 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(layouts); i++)
		in_child(ns16550_works, &layouts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_switched_on),
		cmocka_unit_test(what_firmware_set_up_stays),
		cmocka_unit_test(a_stuck_one_is_waited_for_once),
		cmocka_unit_test(two_at_once),
		cmocka_unit_test(ns16550_registers),
	};

	return cmocka_run_group_tests_name("uart", tests, NULL, NULL);
}
