# SPDX-License-Identifier: GPL-2.0-only
"""A panic says cause, registers and a backtrace, and ./cupel symbolize finds the source lines. The
panic is made by an undefined instruction written over one of a function of the image."""

import re
import subprocess

import pytest

from front import PYTHON, ROOT, machine, symbolize

UNDEFINED = {"arm64": b"\0\0\0\0", "x86": b"\x0f\x0b"}  # UDF #0; UD2
VICTIM = "selftest_run"


def address_within(arch, name):
    """The first instruction of a function after it has set up its frame."""
    symbols = symbolize.Symbols(machine.Machine(arch).directory() + "/cupel-test.sym.elf")
    code = subprocess.run([symbols.tool + "objdump", "-d", "--disassemble=" + name, symbols.path],
                          text=True, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    at = next(i for i, line in enumerate(code) if re.search(r"%rsp,%rbp|x29, sp", line))
    return int(code[at + 1].split(":")[0], 16)


def offset_in_image(arch, address, data):
    """arm64: a flat image linked at 0. x86: an ELF32; its program headers say."""
    if arch == "arm64":
        return address
    table = int.from_bytes(data[28:32], "little")
    for i in range(int.from_bytes(data[44:46], "little")):
        at = table + 32 * i
        kind, offset, start, _, size = (int.from_bytes(data[at + k:at + k + 4], "little")
                                        for k in (0, 4, 8, 12, 16))
        if kind == 1 and start <= address < start + size:
            return address - start + offset
    raise AssertionError("address %#x is in no segment" % address)


def broken_image(arch, tmp_path):
    with open(machine.Machine(arch, append="selftest").image_path(), "rb") as file:
        data = bytearray(file.read())
    at = offset_in_image(arch, address_within(arch, VICTIM), data)
    data[at:at + len(UNDEFINED[arch])] = UNDEFINED[arch]
    path = tmp_path / "broken"
    path.write_bytes(data)
    return str(path)


def test_panic_finds_its_source(boot, arch, tmp_path):
    booted = boot("selftest", arch, cpus=2, image=broken_image(arch, tmp_path), timeout=30)
    booted.check(booted.result.ended == "exit" and booted.result.code == 3,
                 "a panic should end the machine with code 3")
    booted.says("panic: CPU 0: ", "backtrace")
    log = tmp_path / "console.log"
    log.write_text(booted.text)
    found = symbolize.symbolize(booted.text)
    booted.check(VICTIM + " at core/selftest.c:" in found, "not symbolized:\n" + found)
    booted.check(" at core/main.c:" in found, "the caller is not in the backtrace:\n" + found)
    out = subprocess.run([ROOT + "/cupel", "symbolize", str(log)], text=True, check=True,
                         stdout=subprocess.PIPE).stdout
    assert out.rstrip("\n") == found


@pytest.mark.parametrize("text,why", [
    ("no id here\n", "no build id"),
    ("Cupel 0123456789abcdef0123456789abcdef01234567 arm64\n", "no image in build/"),
], ids=("no id", "unknown id"))
def test_logs_that_tell_nothing(text, why):
    result = subprocess.run([PYTHON, "-P", "-m", "front", "symbolize"], text=True, input=text,
                            env={"PYTHONPATH": ROOT + "/tools", "PATH": "/usr/bin:/bin"},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 1
    assert why in result.stderr and len(result.stderr.splitlines()) == 1
