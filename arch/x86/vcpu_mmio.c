/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instructions that touch emulated registers: what the decoder says they do, done by hand. Only the
 * register goes through vm_mmio(); the other operand of a string move is guest memory, reached by the
 * guest's rights. What is not emulated stops the VM and says which instruction it was.
 */
#include <asm/trap.h>
#include <asm/virt.h>
#include <cupel/errno.h>
#include <cupel/vm.h>

#define RFLAGS_CF     BIT(0)
#define RFLAGS_STATUS 0x8d5UL /* OF SF ZF AF PF CF */

struct mmio_op {
	struct vcpu *v;
	const struct insn *i;
	gpaddr_t gpa;
	u64 *rflags;
	u64 base; /* of the other operand of MOVS */
};

static bool access(const struct mmio_op *m, bool write, u64 *value)
{
	if (vm_mmio(m->v, m->gpa, m->i->mem_size, write, value))
		return true;
	guest_crash(m->v, "%s of %u bytes at %lx, where no device register is",
		    write ? "write" : "read", m->i->mem_size, m->gpa);
	return false;
}

/* AH to BH are the second byte of registers 0 to 3. */
static u64 register_operand(const struct mmio_op *m)
{
	if (m->i->has_imm)
		return m->i->imm;
	if (m->i->high8)
		return gpr_get(m->v, m->i->reg - 4) >> 8;
	return gpr_get(m->v, m->i->reg);
}

static void set_register(const struct mmio_op *m, u32 size, u64 value)
{
	u8 n = m->i->reg;

	if (m->i->high8)
		gpr_set(m->v, n - 4, (gpr_get(m->v, n - 4) & ~0xff00UL) | (value & 0xff) << 8);
	else
		gpr_write_sized(m->v, n, size, value);
}

static u64 sign_extend(u64 value, u32 size)
{
	u32 shift = 64 - 8 * size;

	return (u64)((s64)(value << shift) >> shift);
}

static u64 truncate(u64 value, u32 size)
{
	return value & ~0UL >> (64 - 8 * size);
}

/*
 * One operation of the arithmetic group on operands shifted to the top of a register, so that the
 * CPU's own flags come out right for every size; AF alone is that of the low nibble, done again below.
 */
#define ALU_OP(name, insn)                                                \
	static u64 name(u64 a, u64 b, u64 *flags)                         \
	{                                                                 \
		u64 f = *flags & RFLAGS_CF;                               \
                                                                          \
		__asm__("btq $0, %1; " insn " %2, %0; pushfq; popq %1"    \
			: "+r"(a), "+r"(f)                                \
			: "r"(b)                                          \
			: "cc");                                          \
		*flags = (*flags & ~RFLAGS_STATUS) | (f & RFLAGS_STATUS); \
		return a;                                                 \
	}

ALU_OP(alu_add, "addq")
ALU_OP(alu_or, "orq")
ALU_OP(alu_and, "andq")
ALU_OP(alu_sub, "subq")
ALU_OP(alu_xor, "xorq")
#undef ALU_OP

static u64 alu(const struct mmio_op *m, u64 a, u64 b)
{
	static u64 (*const ops[])(u64, u64, u64 *) = {
		[INSN_ADD] = alu_add,  [INSN_OR] = alu_or,   [INSN_AND] = alu_and,
		[INSN_SUB] = alu_sub,  [INSN_XOR] = alu_xor, [INSN_CMP] = alu_sub,
		[INSN_TEST] = alu_and,
	};
	u32 shift = 64 - 8 * m->i->mem_size;

	return ops[m->i->op](a << shift, b << shift, m->rflags) >> shift;
}

static enum emulate read_modify_write(const struct mmio_op *m)
{
	bool compares = m->i->op == INSN_CMP || m->i->op == INSN_TEST;
	u64 mem = 0, reg = register_operand(m), result;

	if (!access(m, false, &mem))
		return EMULATE_STOPPED;
	result = m->i->to_memory ? alu(m, mem, reg) : alu(m, reg, mem);
	if (compares)
		return EMULATE_DONE;
	if (!m->i->to_memory) {
		set_register(m, m->i->mem_size, result);
		return EMULATE_DONE;
	}
	return access(m, true, &result) ? EMULATE_DONE : EMULATE_STOPPED;
}

static enum emulate move(const struct mmio_op *m)
{
	u64 value = m->i->to_memory ? truncate(register_operand(m), m->i->mem_size) : 0;

	if (!access(m, m->i->to_memory, &value))
		return EMULATE_STOPPED;
	if (m->i->to_memory)
		return EMULATE_DONE;
	if (m->i->op == INSN_MOV)
		set_register(m, m->i->mem_size, value);
	else if (m->i->op == INSN_MOVZX)
		gpr_write_sized(m->v, m->i->reg, m->i->op_size, truncate(value, m->i->mem_size));
	else
		gpr_write_sized(m->v, m->i->reg, m->i->op_size, sign_extend(value, m->i->mem_size));
	return EMULATE_DONE;
}

static enum emulate exchange(const struct mmio_op *m)
{
	u64 old = 0, new = truncate(register_operand(m), m->i->mem_size);

	if (!access(m, false, &old) || !access(m, true, &new))
		return EMULATE_STOPPED;
	set_register(m, m->i->mem_size, old);
	return EMULATE_DONE;
}

/* --- Strings: one element, then the guest runs the instruction again for the next ---------------- */

static void advance(const struct mmio_op *m, u8 n)
{
	u64 step = *m->rflags & X86_RFLAGS_DF ? -(u64)m->i->mem_size : m->i->mem_size;

	gpr_write_sized(m->v, n, m->i->addr_size, gpr_get(m->v, n) + step);
}

/* True when this was the last element. */
static bool count_down(const struct mmio_op *m)
{
	u64 left;

	if (!m->i->rep)
		return true;
	left = truncate(gpr_get(m->v, GPR_RCX) - 1, m->i->addr_size);
	gpr_write_sized(m->v, GPR_RCX, m->i->addr_size, left);
	return !left;
}

/* One side of MOVS is memory, and the fault says which is not: it was read or written. */
static enum emulate move_string(const struct mmio_op *m, bool write)
{
	u8 other = write ? GPR_RSI : GPR_RDI;
	u64 linear = m->base + truncate(gpr_get(m->v, other), m->i->addr_size);
	u64 at = linear, value = 0;
	u32 error;
	int err;

	if (!write && !access(m, false, &value))
		return EMULATE_STOPPED;
	err = guest_copy(m->v, &at, &value, m->i->mem_size, write ? WALK_READ : WALK_WRITE, &error);
	if (err)
		return guest_copy_failed(m->v, err, at, error, "string move between a device and");
	if (write && !access(m, true, &value))
		return EMULATE_STOPPED;
	advance(m, GPR_RSI);
	advance(m, GPR_RDI);
	return count_down(m) ? EMULATE_DONE : EMULATE_AGAIN;
}

static enum emulate store_string(const struct mmio_op *m)
{
	u64 value = truncate(gpr_get(m->v, GPR_RAX), m->i->mem_size);

	if (!access(m, true, &value))
		return EMULATE_STOPPED;
	advance(m, GPR_RDI);
	return count_down(m) ? EMULATE_DONE : EMULATE_AGAIN;
}

static enum emulate load_string(const struct mmio_op *m)
{
	u64 value = 0;

	if (!access(m, false, &value))
		return EMULATE_STOPPED;
	gpr_write_sized(m->v, GPR_RAX, m->i->mem_size, value);
	advance(m, GPR_RSI);
	return count_down(m) ? EMULATE_DONE : EMULATE_AGAIN;
}

enum emulate guest_mmio(struct vcpu *v, const struct insn *i, gpaddr_t gpa, bool write, u64 base,
			u64 *rflags)
{
	struct mmio_op m = { v, i, gpa, rflags, base };

	if (i->memory && i->mem_size) {
		switch (i->op) {
		case INSN_MOV:
		case INSN_MOVZX:
		case INSN_MOVSX: return move(&m);
		case INSN_ADD:
		case INSN_OR:
		case INSN_AND:
		case INSN_SUB:
		case INSN_XOR:
		case INSN_CMP:
		case INSN_TEST: return read_modify_write(&m);
		case INSN_XCHG: return exchange(&m);
		case INSN_MOVS: return move_string(&m, write);
		case INSN_STOS: return store_string(&m);
		case INSN_LODS: return load_string(&m);
		default: break;
		}
	}
	guest_crash(v, "%s at %lx, where no memory is", write ? "write" : "read", gpa);
	return EMULATE_STOPPED;
}
