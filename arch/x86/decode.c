/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instruction decoder (see <asm/decode.h>). A table gives each opcode its operand bytes; what is left
 * is prefixes, ModRM and a few opcodes whose length hangs on ModRM.reg. Must never read past `avail`,
 * and has no state: it is built for the host as it is and tested there against the assembler.
 */
#include <asm/decode.h>
#include <cupel/errno.h>

/* What follows an opcode. */
#define M    0x01 /* ModRM, with SIB and displacement as it says */
#define I8   0x02
#define IZ   0x04 /* 2 bytes with a 16-bit operand, else 4 */
#define IV   0x08 /* 2, 4 or 8 bytes */
#define I16  0x10
#define MOFF 0x20 /* an address */
#define FAR  0x40 /* selector and offset */
#define N64  0x80 /* no instruction in 64-bit mode */
#define BAD  0x100
#define GRP3 0x200 /* the immediate is there for /0 and /1 only */
#define MREG 0x400 /* ModRM that always names registers */

static const u16 one_byte[256] = {
	/* the arithmetic block: eight operations of eight opcodes */
#define ALU(base, last) \
	[base + 0 ... base + 3] = M, [base + 4] = I8, [base + 5] = IZ, [base + 6 ... base + 7] = last
	ALU(0x00, N64),
	ALU(0x08, N64),
	ALU(0x10, N64),
	ALU(0x18, N64),
	ALU(0x20, N64),
	ALU(0x28, N64),
	ALU(0x30, N64),
	ALU(0x38, N64),
#undef ALU
	[0x60 ... 0x61] = N64,
	[0x62] = M | N64, /* BOUND; EVEX in 64-bit mode, which no guest is offered */
	[0x63] = M,
	[0x68] = IZ,
	[0x69] = M | IZ,
	[0x6a] = I8,
	[0x6b] = M | I8,
	[0x70 ... 0x7f] = I8,
	[0x80] = M | I8,
	[0x81] = M | IZ,
	[0x82] = M | I8 | N64,
	[0x83] = M | I8,
	[0x84 ... 0x8f] = M,
	[0x9a] = FAR | N64,
	[0xa0 ... 0xa3] = MOFF,
	[0xa8] = I8,
	[0xa9] = IZ,
	[0xb0 ... 0xb7] = I8,
	[0xb8 ... 0xbf] = IV,
	[0xc0 ... 0xc1] = M | I8,
	[0xc2] = I16,
	[0xc4 ... 0xc5] = M | N64,
	[0xc6] = M | I8,
	[0xc7] = M | IZ,
	[0xc8] = I16 | I8,
	[0xca] = I16,
	[0xcd] = I8,
	[0xce] = N64,
	[0xd0 ... 0xd3] = M,
	[0xd4 ... 0xd5] = I8 | N64,
	[0xd6] = N64,
	[0xd8 ... 0xdf] = M,
	[0xe0 ... 0xe7] = I8,
	[0xe8 ... 0xe9] = IZ,
	[0xea] = FAR | N64,
	[0xeb] = I8,
	[0xf6] = M | I8 | GRP3,
	[0xf7] = M | IZ | GRP3,
	[0xfe ... 0xff] = M,
};

static const u16 two_byte[256] = {
	[0x00 ... 0x03] = M,
	[0x04] = BAD,
	[0x0a] = BAD,
	[0x0c] = BAD,
	[0x0d] = M,
	[0x0f] = M | I8, /* 3DNow!: the opcode comes last */
	[0x10 ... 0x1f] = M,
	[0x20 ... 0x23] = MREG,
	[0x24 ... 0x27] = BAD,
	[0x28 ... 0x2f] = M,
	[0x36] = BAD,
	[0x38 ... 0x3f] = BAD, /* 38 and 3A are escapes, seen before this table */
	[0x40 ... 0x6f] = M,
	[0x70 ... 0x73] = M | I8,
	[0x74 ... 0x76] = M,
	[0x78 ... 0x79] = M,
	[0x7a ... 0x7b] = BAD,
	[0x7c ... 0x7f] = M,
	[0x80 ... 0x8f] = IZ,
	[0x90 ... 0x9f] = M,
	[0xa3] = M,
	[0xa4] = M | I8,
	[0xa5] = M,
	[0xa6 ... 0xa7] = BAD,
	[0xab] = M,
	[0xac] = M | I8,
	[0xad ... 0xaf] = M,
	[0xb0 ... 0xb9] = M,
	[0xba] = M | I8,
	[0xbb ... 0xbf] = M,
	[0xc0 ... 0xc1] = M,
	[0xc2] = M | I8,
	[0xc3] = M,
	[0xc4 ... 0xc6] = M | I8,
	[0xc7] = M,
	[0xd0 ... 0xff] = M,
};

/* The reader: bytes are taken one after another; the first one missing ends the decoding. */
struct reader {
	const u8 *bytes;
	u32 avail;
	u32 pos;
	int error;
};

static u8 take(struct reader *r)
{
	if (r->error)
		return 0;
	if (r->pos >= INSN_MAX_LEN) {
		r->error = -E2BIG;
		return 0;
	}
	if (r->pos >= r->avail) {
		r->error = -EAGAIN;
		return 0;
	}
	return r->bytes[r->pos++];
}

/* A little-endian number of `size` bytes, sign-extended. */
static u64 take_number(struct reader *r, u32 size)
{
	u32 shift = 64 - 8 * size;
	u64 v = 0;

	if (!size)
		return 0;
	for (u32 n = 0; n < size; n++)
		v |= (u64)take(r) << (8 * n);
	return (u64)((s64)(v << shift) >> shift);
}

struct prefixes {
	bool opsize, addrsize, lock;
};

/* Take one legacy prefix into account; false when `b` is none. APM vol. 3, 1.2. */
static bool legacy_prefix(struct insn *i, struct prefixes *p, u8 b)
{
	switch (b) {
	case 0x66: p->opsize = true; return true;
	case 0x67: p->addrsize = true; return true;
	case 0xf0: p->lock = true; return true;
	case 0xf2:
	case 0xf3: i->rep = b; return true;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65: i->segment = b; return true;
	default: return false;
	}
}

/* Prefixes in any order; a REX counts only right before the opcode. Returns the opcode. */
static u8 take_prefixes(struct reader *r, struct insn *i, struct prefixes *p, enum insn_mode mode)
{
	for (;;) {
		u8 b = take(r);

		if (r->error)
			return 0;
		if (legacy_prefix(i, p, b)) {
			i->rex = 0;
		} else if (mode == INSN_MODE_64 && (b & 0xf0) == 0x40) {
			i->rex = b;
		} else {
			return b;
		}
	}
}

static void set_sizes(struct insn *i, const struct prefixes *p, enum insn_mode mode)
{
	if (mode == INSN_MODE_16)
		i->op_size = p->opsize ? 4 : 2;
	else
		i->op_size = p->opsize ? 2 : 4;
	if (i->rex & 8)
		i->op_size = 8;
	if (mode == INSN_MODE_64)
		i->addr_size = p->addrsize ? 4 : 8;
	else
		i->addr_size = (mode == INSN_MODE_16) != p->addrsize ? 2 : 4;
}

static u32 disp_size_16(u8 mod, u8 rm)
{
	if (mod == 1)
		return 1;
	return mod == 2 || (mod == 0 && rm == 6) ? 2 : 0;
}

static u32 disp_size_32(struct reader *r, u8 mod, u8 rm)
{
	if (rm == 4 && (take(r) & 7) == 5 && mod == 0)
		return 4; /* SIB without a base */
	if (mod == 1)
		return 1;
	return mod == 2 || (mod == 0 && rm == 5) ? 4 : 0;
}

static void take_modrm(struct reader *r, struct insn *i, bool registers)
{
	u8 mod, rm;

	i->modrm = take(r);
	i->has_modrm = true;
	mod = registers ? 3 : i->modrm >> 6;
	rm = i->modrm & 7;
	i->reg = ((i->modrm >> 3) & 7) | (i->rex & 4) << 1;
	i->rm = rm | (i->rex & 1) << 3;
	i->memory = mod != 3;
	if (!i->memory)
		return;
	take_number(r, i->addr_size == 2 ? disp_size_16(mod, rm) : disp_size_32(r, mod, rm));
}

static void take_immediates(struct reader *r, struct insn *i, u16 attr)
{
	if (attr & GRP3 && ((i->modrm >> 3) & 7) > 1)
		return;
	if (attr & FAR)
		take_number(r, i->op_size == 2 ? 4 : 6);
	if (attr & MOFF)
		take_number(r, i->addr_size);
	if (attr & I16)
		take_number(r, 2);
	if (attr & IZ)
		i->imm = take_number(r, i->op_size == 2 ? 2 : 4);
	if (attr & IV)
		i->imm = take_number(r, i->op_size);
	if (attr & I8)
		i->imm = take_number(r, 1);
	i->has_imm = attr & (IZ | IV | I8);
}

/* Attributes of an opcode of the 0F map that hang on its prefixes. */
static u16 two_byte_attr(const struct insn *i, const struct prefixes *p, u8 opcode)
{
	/* SSE4a EXTRQ and INSERTQ with immediates: APM vol. 4 */
	if (opcode == 0x78 && (p->opsize || i->rep == 0xf2))
		return M | I16;
	return two_byte[opcode];
}

static u16 opcode_attr(struct reader *r, struct insn *i, const struct prefixes *p, u8 b)
{
	if (b != 0x0f) {
		i->opcode = b;
		return one_byte[b];
	}
	b = take(r);
	i->map = INSN_MAP_0F;
	if (b != 0x38 && b != 0x3a) {
		i->opcode = b;
		return two_byte_attr(i, p, b);
	}
	i->map = b == 0x38 ? INSN_MAP_0F38 : INSN_MAP_0F3A;
	i->opcode = take(r);
	return b == 0x38 ? M : M | I8;
}

/* C4 and C5 begin a VEX prefix in 64-bit mode, elsewhere only where LES and LDS could not be. */
static bool is_vex(const struct reader *r, u8 b, enum insn_mode mode)
{
	if (b != 0xc4 && b != 0xc5)
		return false;
	return mode == INSN_MODE_64 || (r->pos < r->avail && r->bytes[r->pos] >= 0xc0);
}

/* APM vol. 4, 1.2.5 to 1.2.7. A VEX prefix excludes 66, F2, F3, LOCK and REX. */
static u16 vex_attr(struct reader *r, struct insn *i, const struct prefixes *p, u8 b)
{
	u8 map = INSN_MAP_0F;
	u8 first = take(r);

	if (p->opsize || p->lock || i->rep || i->rex)
		return BAD;
	i->vex = true;
	i->rex = first & 0x80 ? 0 : 4;
	if (b == 0xc4) {
		map = first & 0x1f;
		i->rex |= (first & 0x20 ? 0 : 1) | (take(r) & 0x80 ? 8 : 0);
	}
	i->opcode = take(r);
	i->map = map;
	if (map == INSN_MAP_0F38)
		return M;
	if (map == INSN_MAP_0F3A)
		return M | I8;
	if (map != INSN_MAP_0F)
		return BAD;
	return i->opcode == 0x77 ? 0 : two_byte[i->opcode];
}

/* 8F /0 is POP; the others were taken for XOP, which no guest is offered. */
static bool refused(const struct insn *i, u16 attr, enum insn_mode mode)
{
	if (attr & BAD || (attr & N64 && mode == INSN_MODE_64))
		return true;
	if (i->map != INSN_MAP_ONE)
		return false;
	if (i->opcode == 0x8f || i->opcode == 0xfe)
		return ((i->modrm >> 3) & 7) > (i->opcode == 0xfe ? 1 : 0);
	return i->opcode == 0xff && ((i->modrm >> 3) & 7) == 7;
}

static void memory_operand(struct insn *i, enum insn_op op, u8 size, bool to_memory)
{
	i->op = op;
	i->mem_size = size;
	i->to_memory = to_memory;
}

/* Registers 4 to 7 of a byte operand are AH to BH unless there is a REX. */
static void byte_register(struct insn *i)
{
	i->high8 = !i->rex && i->reg >= 4;
}

static void classify_alu(struct insn *i)
{
	u8 size = i->opcode & 1 ? i->op_size : 1;

	memory_operand(i, INSN_ADD + (i->opcode >> 3), size, !(i->opcode & 2));
	if (size == 1)
		byte_register(i);
}

static void classify_group1(struct insn *i)
{
	memory_operand(i, INSN_ADD + ((i->modrm >> 3) & 7), i->opcode & 1 ? i->op_size : 1, true);
}

static void classify_string(struct insn *i, enum insn_op op)
{
	memory_operand(i, op, i->opcode & 1 ? i->op_size : 1, op != INSN_LODS);
	i->memory = true;
	i->reg = 0;
}

/* A0 to A3: AL or eAX and an absolute address. */
static void classify_moffs(struct insn *i)
{
	memory_operand(i, INSN_MOV, i->opcode & 1 ? i->op_size : 1, i->opcode & 2);
	i->memory = true;
	i->reg = 0;
}

static void classify_move(struct insn *i, enum insn_op op, bool to_memory)
{
	memory_operand(i, op, i->opcode & 1 ? i->op_size : 1, to_memory);
	if (i->mem_size == 1)
		byte_register(i);
}

static void classify_one_byte(struct insn *i)
{
	u8 sub = (i->modrm >> 3) & 7;

	if (i->opcode < 0x40 && i->has_modrm) {
		classify_alu(i);
		return;
	}
	switch (i->opcode) {
	case 0x63: memory_operand(i, INSN_MOVSX, 4, false); return;
	case 0x80 ... 0x83: classify_group1(i); return;
	case 0x84 ... 0x85: classify_move(i, INSN_TEST, false); return;
	case 0x86 ... 0x87: classify_move(i, INSN_XCHG, true); return;
	case 0x88 ... 0x89: classify_move(i, INSN_MOV, true); return;
	case 0x8a ... 0x8b: classify_move(i, INSN_MOV, false); return;
	case 0xa0 ... 0xa3: classify_moffs(i); return;
	case 0xa4 ... 0xa5: classify_string(i, INSN_MOVS); return;
	case 0xaa ... 0xab: classify_string(i, INSN_STOS); return;
	case 0xac ... 0xad: classify_string(i, INSN_LODS); return;
	case 0xc6 ... 0xc7:
		if (!sub)
			classify_move(i, INSN_MOV, true);
		return;
	case 0xf6 ... 0xf7:
		if (sub < 2)
			classify_move(i, INSN_TEST, false);
		return;
	default: return;
	}
}

static void classify_two_byte(struct insn *i)
{
	switch (i->opcode) {
	case 0x01:
		if (((i->modrm >> 3) & 7) == 6)
			i->op = INSN_LMSW;
		return;
	case 0x06: i->op = INSN_CLTS; return;
	case 0x20: i->op = INSN_CR_READ; return;
	case 0x21: i->op = INSN_DR_READ; return;
	case 0x22: i->op = INSN_CR_WRITE; return;
	case 0x23: i->op = INSN_DR_WRITE; return;
	case 0xb6 ... 0xb7: memory_operand(i, INSN_MOVZX, i->opcode & 1 ? 2 : 1, false); return;
	case 0xbe ... 0xbf: memory_operand(i, INSN_MOVSX, i->opcode & 1 ? 2 : 1, false); return;
	default: return;
	}
}

static void classify(struct insn *i)
{
	if (i->vex)
		return;
	if (i->map == INSN_MAP_ONE)
		classify_one_byte(i);
	else if (i->map == INSN_MAP_0F)
		classify_two_byte(i);
}

int insn_decode(struct insn *i, const u8 *bytes, u32 avail, enum insn_mode mode)
{
	struct reader r = { .bytes = bytes, .avail = avail };
	struct prefixes p = { 0 };
	u16 attr;
	u8 b;

	*i = (struct insn){ 0 };
	b = take_prefixes(&r, i, &p, mode);
	if (!r.error && is_vex(&r, b, mode))
		attr = vex_attr(&r, i, &p, b);
	else
		attr = opcode_attr(&r, i, &p, b);
	set_sizes(i, &p, mode);
	if (!r.error && attr & (M | MREG))
		take_modrm(&r, i, attr & MREG);
	if (!r.error && refused(i, attr, mode))
		return -EINVAL;
	take_immediates(&r, i, attr);
	if (r.error)
		return r.error;
	i->len = r.pos;
	classify(i);
	return 0;
}
