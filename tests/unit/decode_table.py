#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes decode_table.inc: instructions as the assembler emits them, with the lengths it gave them.

    tests/unit/decode_table.py > tests/unit/decode_table.inc

The assembler is the only source of both bytes and lengths; what it does not accept is an error here.
Needs GNU as and objcopy for x86 (AS and OBJCOPY name others).
"""
import os
import subprocess
import sys
import tempfile

AS = os.environ.get("AS", "as")
OBJCOPY = os.environ.get("OBJCOPY", "objcopy")

MEM = {
    64: ["(%rax)", "(%rsp)", "(%rbp)", "0x10(%rbp)", "0x12345678(%rax)", "(%rax,%rcx,4)",
         "0x10(,%rcx,8)", "0x12345678(%rip)", "0x12345678", "(%r12)", "(%r13)",
         "0x10(%r12,%r9,2)", "%fs:(%rax)", "(%eax)", "%gs:0x10(%r8d)"],
    32: ["(%eax)", "(%esp)", "(%ebp)", "0x10(%ebp)", "0x12345678(%eax)", "(%eax,%ecx,4)",
         "0x10(,%ecx,8)", "0x12345678", "%fs:(%eax)", "(%bx,%si)", "0x10(%bp)", "%es:0x1234(%di)"],
    16: ["(%bx,%si)", "(%bp)", "0x10(%bp)", "0x1234(%bx)", "0x1234", "(%di)", "%es:(%di)", "(%eax)",
         "0x10(%esp)", "0x12345678(%eax,%ecx,2)"],
}

# {m}: every memory operand of the mode.
WITH_MEM = ["mov %al,{m}", "mov %ax,{m}", "mov %eax,{m}", "mov {m},%cl", "mov {m},%dx", "mov {m},%ebx",
            "movb $0x12,{m}", "movw $0x1234,{m}", "movl $0x12345678,{m}", "movzbl {m},%eax",
            "movzwl {m},%ecx", "movsbl {m},%edx", "movswl {m},%ebx", "addl $1,{m}",
            "orl $0x12345678,{m}", "andb $0x7f,{m}", "andw $0x1234,{m}", "xor %ecx,{m}",
            "cmp {m},%al", "sub {m},%esi", "test %al,{m}", "testl $0x10000,{m}", "testb $1,{m}",
            "notl {m}", "xchg %eax,{m}", "lock xaddl %eax,{m}", "lock cmpxchgl %ecx,{m}",
            "btsl $3,{m}", "incl {m}", "decb {m}", "shll $3,{m}", "shrb {m}", "imull $5,{m},%eax",
            "imull $0x1234567,{m},%eax", "pushl {m}", "lea {m},%eax", "lidt {m}", "lgdt {m}",
            "sgdt {m}", "lmsw {m}", "invlpg {m}", "fldl {m}", "fxsave {m}", "clflush {m}",
            "movaps {m},%xmm1", "movups %xmm2,{m}", "movss {m},%xmm0", "pshufd $0x1b,{m},%xmm3",
            "palignr $3,{m},%xmm1", "pshufb {m},%xmm1", "crc32b {m},%eax", "movbe {m},%eax",
            "vmovups {m},%ymm1", "vpshufb {m},%xmm1,%xmm2", "vpalignr $3,{m},%xmm1,%xmm2",
            "prefetcht0 {m}", "setne {m}", "cmpxchg8b {m}", "nopl {m}"]
ONLY_64 = ["mov %rax,{m}", "mov {m},%r15", "movq $0x12345678,{m}", "mov %r9b,{m}", "mov %sil,{m}",
           "movzbl {m},%r9d", "movslq {m},%rax", "movsbq {m},%r10", "addq $1,{m}",
           "andq $-0x12345678,{m}", "xchg %r11,{m}", "cmpxchg16b {m}", "xsave64 {m}", "pushq {m}"]
NOT_64 = ["les {m},%eax", "lds {m},%ecx", "bound %eax,{m}"]
NOT_64_MEM = {"pushl {m}"}

PLAIN = ["cpuid", "rdmsr", "wrmsr", "vmmcall", "vmcall", "hlt", "rdtsc", "rdtscp", "rdpmc", "wbinvd",
         "invd", "pause", "monitor", "mwait", "xsetbv", "xgetbv", "clts", "rsm", "syscall", "sysret",
         "vmrun", "vmload", "vmsave", "stgi", "clgi", "invlpga", "skinit", "iret", "ret", "ret $8",
         "lret", "lret $8", "int $0x80", "int3", "nop", "sti", "cli", "cld", "std", "pushf", "popf",
         "leave", "enter $16,$1", "ud2", "cwtl", "in $0x21,%al", "in $0x21,%eax", "in %dx,%al",
         "in %dx,%ax", "in %dx,%eax", "out %al,$0x21", "out %eax,%dx", "out %ax,%dx", "insb", "insw",
         "insl", "rep insb", "rep insw", "rep insl", "outsb", "outsl", "rep outsb", "rep outsw",
         "movsb", "movsl", "rep movsb", "rep movsw", "stosb", "rep stosl", "lodsb", "lodsw", "scasb",
         "repne scasb", "repe cmpsb", "xlat", "push $0x12", "push $0x1234", "mov $0x12,%al",
         "mov $0x1234,%ax", "mov $0x12345678,%eax", "mov %ax,%ds", "mov %ss,%ecx", "jmp .+2",
         "jmp .+0x1234", "je .+2", "je .+0x1234", "call .+0x1234", "loop .+2", "bswap %eax", "popcnt %eax,%ecx", "lzcnt %eax,%ecx",
         "sfence", "lfence", "mfence", "emms", "fninit", "fldz", "vzeroupper", "xor %eax,%eax",
         "test $0x12,%al", "test $0x12345678,%eax", "add $0x12,%al", "add $0x1234,%ax",
         "add $0x12345678,%eax", "shl %cl,%eax", "shld $3,%eax,%ecx", "movd %eax,%xmm1",
         "pinsrw $1,%eax,%xmm2", "extrq $1,$2,%xmm1", "insertq $1,$2,%xmm1,%xmm2", "psrldq $3,%xmm1",
         "vpsrldq $3,%xmm1,%xmm2", "vextracti128 $1,%ymm1,%xmm2", "cmpps $1,%xmm1,%xmm2",
         "rdrand %eax", "cmovne %eax,%ecx"]
# What a test wants to see is the prefixes, not that they make sense.
RAW = {
    16: ["66,0f,a2", "67,66,0f,a2", "66,66,66,66,0f,a2", "f3,0f,a2", "2e,0f,01,d9"],
    32: ["66,0f,a2", "67,66,0f,a2", "f2,0f,a2", "2e,36,3e,26,64,65,0f,32"],
    64: ["66,0f,a2", "48,0f,a2", "66,48,0f,a2", "48,66,0f,a2", "4f,0f,01,d9", "f3,f2,66,48,0f,a2",
         "66,66,66,66,66,66,66,66,66,66,66,66,66,0f,a2", "40,41,42,43,0f,32"],
}
PLAIN_64 = ["mov %cr0,%rax", "mov %cr3,%r8", "mov %rax,%cr4", "mov %r15,%cr8", "mov %cr8,%rcx",
            "mov %rdx,%dr7", "mov %dr6,%r9", "movabs $0x123456789abcdef0,%rax", "mov $-1,%rcx",
            "movabs %al,0x123456789abcdef0", "movabs 0x123456789abcdef0,%rax", "push %r12", "pop %rax",
            "swapgs", "sysretq", "iretq", "lretq", "cqto", "rdgsbase %rax", "wrfsbase %r9",
            "mov %eax,%r8d", "jmp *%rax", "call *%r11", "rep movsq", "stosq", "addr32 stosb"]
PLAIN_16_32 = ["mov %cr0,%eax", "mov %eax,%cr4", "mov %eax,%dr7", "push %es", "pop %ds", "pusha", "popa",
               "daa", "das", "aaa", "aas", "aam", "aad", "into", "arpl %ax,%cx", "inc %eax", "dec %cx",
               "mov 0x1234,%al", "mov %eax,0x1234", "ljmp $0x8,$0x1234", "lcall $0x8,$0x1234", "stosw", "jmp *%ax"]


def lines_of(mode):
    out = []
    for insn in WITH_MEM + (ONLY_64 if mode == 64 else NOT_64):
        if mode == 64 and insn in NOT_64_MEM:
            continue
        out += [insn.replace("{m}", m) for m in MEM[mode]]
    out += PLAIN + (PLAIN_64 if mode == 64 else PLAIN_16_32)
    out += [".byte " + ",".join("0x" + b for b in raw.split(",")) for raw in RAW[mode]]
    return out


def section(obj, name):
    path = obj + name
    subprocess.run([OBJCOPY, "-O", "binary", "-j", name, "--set-section-flags", name + "=alloc", obj, path],
                   check=True)
    with open(path, "rb") as f:
        return f.read()


def assemble(mode, lines, tmp):
    source, obj = os.path.join(tmp, f"{mode}.s"), os.path.join(tmp, f"{mode}.o")
    with open(source, "w") as f:
        f.write(f".text\n.code{mode}\n")
        for n, line in enumerate(lines):
            f.write(f"s{n}: {line}\ne{n}:\n.section .len\n.byte e{n}-s{n}\n.text\n")
    subprocess.run([AS, "--64", "--no-warn", "-mtune=generic64", "-o", obj, source], check=True)
    return section(obj, ".text"), section(obj, ".len")


def main():
    print("/* SPDX-License-Identifier: GPL-2.0-only */")
    print("/* Made by tests/unit/decode_table.py from what the assembler emits: do not edit. */")
    with tempfile.TemporaryDirectory() as tmp:
        for mode in (16, 32, 64):
            lines = lines_of(mode)
            text, lengths = assemble(mode, lines, tmp)
            at = 0
            for line, length in zip(lines, lengths):
                raw = "".join(f"\\x{b:02x}" for b in text[at:at + length])
                print(f'{{ {mode}, {length}, "{raw}", "{line}" }},')
                at += length
            if at != len(text):
                sys.exit("lengths do not add up")


main()
