/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The x86 instruction decoder against the assembler: every line of decode_table.inc is what it emitted,
 * and how long it was. Each is also cut off at every byte, and given no byte more than it has, so that
 * a sanitizer sees the slightest overrun.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <asm/decode.h>
#include <cupel/errno.h>

struct line {
	u8 mode; /* bits */
	u8 len;
	const char *bytes;
	const char *text;
};

static const struct line table[] = {
#include "decode_table.inc"
};

/* Decode from a block of exactly `avail` bytes. */
static int decode(struct insn *i, const char *bytes, u32 avail, u8 bits)
{
	u8 *copy = malloc(avail ? avail : 1);
	int err;

	memcpy(copy, bytes, avail);
	err = insn_decode(i, copy, avail, bits / 8);
	free(copy);
	return err;
}

static void lengths(void **state)
{
	struct insn i;

	for (u32 n = 0; n < ARRAY_SIZE(table); n++) {
		const struct line *l = &table[n];
		int err = decode(&i, l->bytes, l->len, l->mode);

		if (err || i.len != l->len)
			fail_msg("%u-bit %s: %d, length %u instead of %u", l->mode, l->text, err,
				 i.len, l->len);
	}
}

static void cut_off(void **state)
{
	struct insn i;

	for (u32 n = 0; n < ARRAY_SIZE(table); n++)
		for (u32 avail = 0; avail < table[n].len; avail++) {
			int err = decode(&i, table[n].bytes, avail, table[n].mode);

			if (err != -EAGAIN)
				fail_msg("%u-bit %s cut to %u: %d", table[n].mode, table[n].text,
					 avail, err);
		}
}

/* What follows an instruction is not looked at. */
static void followed(void **state)
{
	struct insn i;
	char bytes[32];

	for (u32 n = 0; n < ARRAY_SIZE(table); n++)
		for (u32 fill = 0; fill < 256; fill += 51) {
			memset(bytes, fill, sizeof(bytes));
			memcpy(bytes, table[n].bytes, table[n].len);
			assert_int_equal(decode(&i, bytes, sizeof(bytes), table[n].mode), 0);
			assert_int_equal(i.len, table[n].len);
		}
}

static void too_long(void **state)
{
	struct insn i;
	char bytes[20];

	memset(bytes, 0x66, sizeof(bytes));
	memcpy(bytes + 14, "\x0f\xa2", 2);
	assert_int_equal(decode(&i, bytes, 16, 64), -E2BIG);
	assert_int_equal(decode(&i, bytes + 1, 15, 64), 0);
	memset(bytes, 0x66, sizeof(bytes));
	assert_int_equal(decode(&i, bytes, sizeof(bytes), 32), -E2BIG);
}

static void refused(void **state)
{
	static const struct line bad[] = {
		{ 64, 1, "\x06", "push es" },
		{ 64, 7, "\x9a\x00\x00\x00\x00\x08\x00", "far call" },
		{ 64, 2, "\xd4\x0a", "aam" },
		{ 64, 6, "\x62\xf1\x7c\x48\x10\x00", "EVEX" },
		{ 64, 4, "\x66\xc5\xf8\x77", "VEX after 66" },
		{ 64, 4, "\x48\xc5\xf8\x77", "VEX after REX" },
		{ 64, 5, "\xc4\xe0\x78\x10\x00", "VEX of map 0" },
		{ 32, 2, "\xff\xf8", "group 5, /7" },
		{ 32, 2, "\xfe\xd0", "group 4, /2" },
		{ 32, 2, "\x8f\xc8", "XOP" },
		{ 16, 2, "\x0f\x04", "0F 04" },
		{ 16, 3, "\x0f\x24\xc0", "test registers" },
	};
	struct insn i;

	for (u32 n = 0; n < ARRAY_SIZE(bad); n++)
		if (decode(&i, bad[n].bytes, bad[n].len, bad[n].mode) != -EINVAL)
			fail_msg("%s was taken", bad[n].text);
}

struct meaning {
	u8 mode, op, mem_size, reg;
	bool to_memory, has_imm, high8;
	u64 imm;
	u8 len;
	const char *bytes;
};

static void meanings(void **state)
{
	static const struct meaning m[] = {
		/* mov %eax,(%rcx); mov %r9b,(%rcx); mov %ah,(%rcx); mov %sil,(%rcx) */
		{ 64, INSN_MOV, 4, 0, true, false, false, 0, 2, "\x89\x01" },
		{ 64, INSN_MOV, 1, 9, true, false, false, 0, 3, "\x44\x88\x09" },
		{ 64, INSN_MOV, 1, 4, true, false, true, 0, 2, "\x88\x21" },
		{ 64, INSN_MOV, 1, 6, true, false, false, 0, 3, "\x40\x88\x31" },
		/* mov (%rax),%r10; mov (%bx,%si),%ax */
		{ 64, INSN_MOV, 8, 10, false, false, false, 0, 3, "\x4c\x8b\x10" },
		{ 16, INSN_MOV, 2, 0, false, false, false, 0, 2, "\x8b\x00" },
		/* movl $-2,(%rax); movw $0x1234,(%eax); movb $0x80,(%rax) */
		{ 64, INSN_MOV, 4, 0, true, true, false, -2UL, 6, "\xc7\x00\xfe\xff\xff\xff" },
		{ 32, INSN_MOV, 2, 0, true, true, false, 0x1234, 5, "\x66\xc7\x00\x34\x12" },
		{ 64, INSN_MOV, 1, 0, true, true, false, -128UL, 3, "\xc6\x00\x80" },
		/* movzwl (%rax),%ecx; movsbl (%rax),%edx; movslq (%rax),%rax */
		{ 64, INSN_MOVZX, 2, 1, false, false, false, 0, 3, "\x0f\xb7\x08" },
		{ 64, INSN_MOVSX, 1, 2, false, false, false, 0, 3, "\x0f\xbe\x10" },
		{ 64, INSN_MOVSX, 4, 0, false, false, false, 0, 3, "\x48\x63\x00" },
		/* orl $4,(%rax); cmp (%rax),%ebx; test $0x10,%(rax) byte; xchg %ecx,(%rax) */
		{ 64, INSN_OR, 4, 1, true, true, false, 4, 3, "\x83\x08\x04" },
		{ 64, INSN_CMP, 4, 3, false, false, false, 0, 2, "\x3b\x18" },
		{ 64, INSN_TEST, 1, 0, false, true, false, 0x10, 3, "\xf6\x00\x10" },
		{ 64, INSN_XCHG, 4, 1, true, false, false, 0, 2, "\x87\x08" },
		/* rep stosl; movsw; lodsb; mov 0x1234,%al */
		{ 32, INSN_STOS, 4, 0, true, false, false, 0, 2, "\xf3\xab" },
		{ 32, INSN_MOVS, 2, 0, true, false, false, 0, 2, "\x66\xa5" },
		{ 32, INSN_LODS, 1, 0, false, false, false, 0, 1, "\xac" },
		{ 32, INSN_MOV, 1, 0, false, false, false, 0, 5, "\xa0\x34\x12\x00\x00" },
	};

	for (u32 n = 0; n < ARRAY_SIZE(m); n++) {
		struct insn i;

		assert_int_equal(decode(&i, m[n].bytes, m[n].len, m[n].mode), 0);
		assert_int_equal(i.len, m[n].len);
		assert_int_equal(i.op, m[n].op);
		assert_int_equal(i.mem_size, m[n].mem_size);
		assert_true(i.memory);
		assert_int_equal(i.to_memory, m[n].to_memory);
		assert_int_equal(i.has_imm, m[n].has_imm);
		assert_int_equal(i.high8, m[n].high8);
		if (m[n].has_imm)
			assert_true(i.imm == m[n].imm);
		else
			assert_int_equal(i.reg, m[n].reg);
	}
}

static void control_registers(void **state)
{
	struct insn i;

	/* mov %r15,%cr8; mov %cr3,%rax with nonsense in ModRM.mod; mov %rdx,%dr7 */
	assert_int_equal(decode(&i, "\x45\x0f\x22\xc7", 4, 64), 0);
	assert_int_equal(i.op, INSN_CR_WRITE);
	assert_int_equal(i.reg, 8);
	assert_int_equal(i.rm, 15);
	assert_int_equal(decode(&i, "\x0f\x20\x18", 3, 64), 0);
	assert_int_equal(i.op, INSN_CR_READ);
	assert_int_equal(i.reg, 3);
	assert_int_equal(i.rm, 0);
	assert_int_equal(decode(&i, "\x0f\x23\xfa", 3, 64), 0);
	assert_int_equal(i.op, INSN_DR_WRITE);
	assert_int_equal(i.reg, 7);
}

/* Whatever the bytes: an answer, and a length that lies inside what there is. */
static void noise(void **state)
{
	u64 x = 88172645463325252UL;
	char bytes[24];
	struct insn i;

	for (u32 n = 0; n < 300000; n++) {
		static const u8 modes[] = { 16, 32, 64 };
		u32 avail = n % 17;

		for (u32 k = 0; k < sizeof(bytes); k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			bytes[k] = (char)x;
		}
		if (decode(&i, bytes, avail, modes[n % 3]))
			continue;
		assert_in_range(i.len, 1, avail);
		assert_in_range(i.len, 1, INSN_MAX_LEN);
		assert_in_range(i.reg, 0, 15);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),	     cmocka_unit_test(cut_off),
		cmocka_unit_test(followed),	     cmocka_unit_test(too_long),
		cmocka_unit_test(refused),	     cmocka_unit_test(meanings),
		cmocka_unit_test(control_registers), cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
