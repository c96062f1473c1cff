# SPDX-License-Identifier: GPL-2.0-only
"""Turn the addresses of a backtrace into function and file:line, with the symbols of exactly the
image that printed the log."""

import glob
import os
import re
import shutil
import struct
import subprocess
import sys

from . import ROOT, Failure, console

NT_GNU_BUILD_ID = 3
# "image at 0x40200000": where a position-independent image was loaded; printed with a backtrace.
LOADED_AT = re.compile(r"\bimage at 0x([0-9a-f]+)")
FRAME = re.compile(r"^\s*#\d+ 0x([0-9a-f]+)$")
# The program counter of an exception, as the registers above a backtrace have it.
FAULTED_AT = re.compile(r"\b(?:pc|elr|rip)[ =:]+(?:0x)?([0-9a-f]{4,16})\b", re.I)


class Symbols:
    """What is needed of an ELF64 file: its build id, its sections, and addr2line to ask."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.data = file.read()
        self.build_id = None
        self.text = []  # (start, end) of executable segments
        if self.data[:5] == b"\x7fELF\x02":
            self.read_segments()

    def read_segments(self):
        machine, = struct.unpack_from("<H", self.data, 18)
        self.tool = {183: "aarch64-linux-gnu-", 62: "x86_64-linux-gnu-"}.get(machine, "")
        offset, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        for i in range(count):
            kind, flags, at, va, _, length, memory, _ = struct.unpack_from(
                "<IIQQQQQQ", self.data, offset + i * size)
            if kind == 1 and flags & 1:
                self.text.append((va, va + memory))
        self.read_sections()

    def read_sections(self):
        """The build id's note may stand in a segment of another name: sections say it surely."""
        offset, = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        for i in range(count):
            kind, = struct.unpack_from("<I", self.data, offset + i * size + 4)
            at, length = struct.unpack_from("<QQ", self.data, offset + i * size + 24)
            if kind == 7:
                self.read_notes(self.data[at:at + length])

    def read_notes(self, notes):
        at = 0
        while at + 12 <= len(notes):
            name, length, kind = struct.unpack_from("<III", notes, at)
            body = at + 12 + (name + 3 & ~3)
            if kind == NT_GNU_BUILD_ID and notes[at + 12:at + 16] == b"GNU\0":
                self.build_id = notes[body:body + length].hex()
            at = body + (length + 3 & ~3)

    def holds(self, address):
        return any(start <= address < end for start, end in self.text)

    def lookup(self, addresses):
        """{address: "function at file:line"}, inlined callers included."""
        tool = shutil.which(self.tool + "addr2line") or shutil.which("addr2line")
        if not tool:
            raise Failure("addr2line is not installed: ./cupel setup")
        found = {}
        for address in addresses:
            out = subprocess.run([tool, "-e", self.path, "-f", "-i", "-p", hex(address)], text=True,
                                 stdout=subprocess.PIPE, check=True).stdout
            lines = [l.strip() for l in out.replace(" (inlined by) ", "").splitlines()]
            lines = [re.sub(r" \(discriminator \d+\)", "", l.replace(" ./", " ")) for l in lines]
            found[address] = " <- ".join(lines)
        return found


def find_symbols(build_id):
    for path in sorted(glob.glob(os.path.join(ROOT, "build/*/cupel*.sym.elf"))):
        symbols = Symbols(path)
        if symbols.build_id == build_id:
            return symbols
    raise Failure("no image in build/ has the build id %s: build the commit it came from" % build_id)


def symbolize(text):
    """The log again, with a line below each of a backtrace's that says where it was."""
    build_id = console.build_id(text)
    if not build_id:
        raise Failure("no build id in this log: it is on the console's first line")
    symbols = find_symbols(build_id)
    match = LOADED_AT.search(text)
    base = int(match.group(1), 16) if match else 0
    faulting = {int(a, 16) for a in FAULTED_AT.findall(text)}
    out = []
    for line in console.lines(text.rstrip("\n")):
        out.append(line)
        if not FRAME.match(line):
            continue
        # A return address is the instruction after the call: look up the call.
        address = int(FRAME.match(line).group(1), 16)
        spot = address - base if address in faulting else address - base - 1
        if symbols.holds(spot):
            out.append("    " + symbols.lookup([spot])[spot])
    return "\n".join(out)


def main(path=None):
    if path:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError as error:
            raise Failure("%s: %s" % (path, error.strerror)) from error
    else:
        text = sys.stdin.read()
    print(symbolize(text))
