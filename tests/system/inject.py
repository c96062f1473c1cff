# SPDX-License-Identifier: GPL-2.0-only
"""Faults that no option of the emulator makes: the machine is stopped at an address, its registers and
memory are changed through QEMU's debugger port, and it goes on. Speaks GDB's remote protocol itself
(GDB manual, appendix E), so that a test says what it changes in Python."""

import os
import re
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import replace

import conftest
from front import machine

# Numbers in QEMU's register file of an x86-64, whatever mode the CPU is in.
REGISTERS = {"rax": 0, "rbx": 1, "rcx": 2, "rdx": 3, "rsi": 4, "rdi": 5, "rip": 16}


class Stopped:
    """One CPU of a stopped machine."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(500):
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.02)
        self.file = self.socket.makefile("rb")
        self.thread = None

    def send(self, text):
        packet = text.encode()
        self.socket.sendall(b"$" + packet + b"#%02x" % (sum(packet) & 0xff))

    def receive(self):
        """The next packet; acknowledgements and what comes before it are passed over."""
        while True:
            byte = self.file.read(1)
            if not byte:
                raise EOFError("the emulator has ended")
            if byte == b"$":
                break
        text = b""
        while (byte := self.file.read(1)) != b"#":
            text += byte
        self.file.read(2)
        self.socket.sendall(b"+")
        return text.decode()

    def ask(self, text):
        self.send(text)
        answer = self.receive()
        if re.fullmatch("E[0-9a-f]{2}", answer):
            raise OSError("%s: %s" % (text, answer))
        return answer

    def wait(self):
        """Until the machine stops; the thread that did is the one asked from now on."""
        stop = self.receive()
        found = re.search(r"thread:([0-9a-fp.]+);", stop)
        if found:
            self.ask("Hg" + found.group(1))

    def run_to(self, address):
        self.ask("Z1,%x,1" % address)
        self.send("c")
        self.wait()
        self.ask("z1,%x,1" % address)

    def run_only(self, thread, seconds, until=None):
        """The other CPUs stand still meanwhile."""
        if until:
            self.ask("Z1,%x,1" % until)
        self.send("vCont;c:" + thread)
        time.sleep(seconds)
        self.socket.sendall(b"\x03")
        self.wait()
        if until:
            self.ask("z1,%x,1" % until)

    def step(self):
        self.send("s")
        self.wait()

    def reg(self, name):
        number = REGISTERS[name]
        return int.from_bytes(bytes.fromhex(self.ask("g"))[8 * number:8 * number + 8], "little")

    def set_reg(self, name, value):
        self.ask("P%x=%s" % (REGISTERS[name], value.to_bytes(8, "little").hex()))

    def read(self, address, size):
        return bytes.fromhex(self.ask("m%x,%x" % (address, size)))

    def write(self, address, data):
        self.ask("M%x,%x:%s" % (address, len(data), data.hex()))

    def read32(self, address):
        return int.from_bytes(self.read(address, 4), "little")

    def write32(self, address, value):
        self.write(address, value.to_bytes(4, "little"))

    def go_on(self):
        """For good: the machine is on its own again, and may have ended before it answers."""
        try:
            self.ask("D")
        except (OSError, EOFError):
            pass
        self.socket.close()


def symbols(arch, image="cupel"):
    path = os.path.join(machine.Machine(arch).directory(), image + ".sym.elf")
    out = subprocess.run(["nm", path], check=True, text=True, stdout=subprocess.PIPE).stdout
    return {line.split()[2]: int(line.split()[0], 16) for line in out.splitlines()}


def boot(step, what, fault, timeout=60, until=None):
    """Boot, with `fault(cpu)` called before the first instruction; it runs the machine to where it
    wants and changes what it wants. Returns once the machine has ended."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "gdb")
        what = replace(what, extra=what.extra + (
            "-S", "-gdb", "unix:%s,server=on,wait=off" % path))
        errors = []
        thread = threading.Thread(target=work, args=(path, fault, errors), daemon=True)
        thread.start()
        result = machine.boot(what, timeout, until)
        thread.join(10)
    booted = conftest.Booted(step, result)
    booted.check(not errors, "could not inject the fault: %s" % errors)
    return booted


def work(path, fault, errors):
    """The machine goes on whatever became of the fault: its own end is what is waited for."""
    try:
        cpu = Stopped(path)
        try:
            fault(cpu)
        finally:
            cpu.go_on()
    except (OSError, EOFError, KeyError, ValueError) as error:
        errors.append(repr(error))
