/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instruction decoder: a pure function over bytes. It says how long an instruction is, and for
 * those that move data to or from memory or control registers, what they do. It never reads beyond
 * the bytes it is given and knows nothing of guests. Encoding: AMD APM vol. 3, chapter 1 and
 * appendix A.
 */
#ifndef ASM_DECODE_H
#define ASM_DECODE_H

#include <cupel/types.h>

#define INSN_MAX_LEN 15

/* Size in bytes that addresses and operands have by default, as the code segment says. */
enum insn_mode { INSN_MODE_16 = 2, INSN_MODE_32 = 4, INSN_MODE_64 = 8 };

enum insn_op {
	INSN_OTHER, /* only the length is known */
	INSN_MOV, /* reg or imm -> memory, memory -> reg */
	INSN_MOVZX,
	INSN_MOVSX,
	INSN_ADD,
	INSN_OR,
	INSN_ADC,
	INSN_SBB,
	INSN_AND,
	INSN_SUB,
	INSN_XOR,
	INSN_CMP,
	INSN_TEST,
	INSN_XCHG,
	INSN_MOVS,
	INSN_STOS,
	INSN_LODS,
	INSN_CR_READ,
	INSN_CR_WRITE, /* `reg` is the control register, `rm` the general one */
	INSN_DR_READ,
	INSN_DR_WRITE,
	INSN_CLTS,
	INSN_LMSW,
};

enum insn_map { INSN_MAP_ONE, INSN_MAP_0F, INSN_MAP_0F38, INSN_MAP_0F3A };

struct insn {
	u8 len;
	u8 op; /* enum insn_op */
	u8 map; /* enum insn_map */
	u8 opcode;
	u8 modrm;
	u8 rex;
	u8 op_size; /* 2, 4, 8 */
	u8 addr_size;
	u8 mem_size; /* bytes of the memory operand that op touches; 0 = none */
	u8 reg; /* register operand, with REX.R */
	u8 rm; /* register in r/m, with REX.B; meaningful when `memory` is false */
	u8 segment; /* override prefix byte, 0 = none */
	u8 rep; /* 0xf2, 0xf3 or 0 */
	bool has_modrm;
	bool memory; /* r/m is in memory */
	bool to_memory; /* memory is the destination */
	bool has_imm; /* the source is `imm`, not `reg` */
	bool high8; /* `reg` is AH, CH, DH or BH of register reg - 4 */
	bool vex;
	u64 imm; /* sign-extended */
};

/*
 * Decode one instruction from `avail` bytes. 0; -EINVAL for what is no instruction in this mode,
 * -E2BIG for one of more than 15 bytes, -EAGAIN when it goes on beyond `avail`.
 */
int insn_decode(struct insn *i, const u8 *bytes, u32 avail, enum insn_mode mode);

#endif
