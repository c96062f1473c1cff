# SPDX-License-Identifier: GPL-2.0-only
"""How each machine is started on QEMU, watched, and ended. A boot owns exactly one emulator: it is
started in a session of its own, dies with its parent, and nothing else is ever killed."""

import functools
import os
import queue
import re
import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace

from . import ROOT, Failure, Usage, boards, console, tied

MULTIBOOT_MAGIC = (0x1BADB002).to_bytes(4, "little")


# Guests that take turns on their CPUs all the time, and do not mind an interrupt too many: see accel().
TURN_TAKERS = re.compile(r"\b(pingpong|overcommit)\b")

SUFFIX = {"arm64": ".bin", "x86": ".elf"}

# What may stand between QEMU and the image; it takes the image from -kernel as it would from a disk.
FIRMWARE = {("arm64", "uefi"): "/usr/share/qemu-efi-aarch64/QEMU_EFI.fd",
            ("arm64", "u-boot"): "/usr/lib/u-boot/qemu_arm64/u-boot.bin",
            ("x86", "uefi"): "/usr/share/ovmf/OVMF.fd"}


@dataclass(frozen=True)
class Machine:
    """One machine to boot. None means: this arch's default."""

    arch: str
    cpus: int = 1
    memory: int = 1024
    cpu: str = None
    machine: str = None
    board: str = ""  # one of boards.BOARDS, in place of the four others
    gic: str = "3"
    el2: bool = True
    boot: str = "multiboot"  # x86: or "pvh"
    firmware: str = ""  # "uefi" or "u-boot", see FIRMWARE; "" = QEMU itself starts the image
    icount: bool = False
    gdb: str = ""  # socket for a debugger, who starts the machine
    build: str = "release"
    image: str = None
    archive: str = "guests.cpio"  # in the build directory, or a path; "" = none
    append: str = ""
    extra: tuple = ()

    def directory(self):
        return os.path.join(ROOT, "build", "%s-%s" % (self.arch, self.build))

    def tests_image(self):
        """Self-tests and tortures are in an image of their own."""
        return bool(re.search(r"(^|\s)(selftest|torture)\b", self.append))

    def accel(self):
        """Neither way of QEMU's to run several x86 CPUs is sound (docs/figures.md): on threads of their own,
        a change of FPU state on one breaks another that is about to change between host and guest; on
        one thread an interrupt may be injected twice. Guests are run the way that hurts them less."""
        return "tcg,thread=single" if TURN_TAKERS.search(self.append) else "tcg"

    def image_path(self):
        name = "cupel-test" if self.tests_image() else "cupel"
        suffix = ".efi" if self.arch == "x86" and self.firmware else SUFFIX[self.arch]
        return self.image or os.path.join(self.directory(), name + suffix)

    def archive_path(self):
        if not self.archive:
            return None
        return os.path.join(self.directory(), self.archive)

    def name(self):
        cpu = self.cpu or "max"
        if self.board:
            return "%s x%d" % (self.board, boards.BOARDS[self.board].online or self.cpus)
        if self.arch == "arm64":
            return "arm64 %s %s gic%s x%d" % (self.machine or "virt", cpu, self.gic, self.cpus)
        return "x86 %s %s %s x%d" % (self.machine or "q35", cpu, self.boot, self.cpus)

    def argv(self):
        common = ["-smp", str(self.cpus), "-m", str(self.memory), "-display", "none",
                  "-nic", "none", "-monitor", "none", "-no-reboot",
                  "-chardev", "stdio,id=console,signal=off"]
        common += ["-serial", "null"] * (boards.BOARDS[self.board].console if self.board else 0)
        common += ["-serial", "chardev:console"]
        if self.icount:
            common += ["-icount", "shift=0,sleep=off"]
        if self.gdb:
            common += ["-S", "-chardev", "socket,id=gdb,server=on,wait=off,path=" + self.gdb, "-gdb", "chardev:gdb"]
        if self.firmware:
            common += ["-bios", FIRMWARE[self.arch, self.firmware]]
        common += ["-kernel", self.image_path()]
        if self.archive_path():
            common += ["-initrd", self.archive_path()]
        common += list(self.extra)
        return (self.arm64_argv() if self.arch == "arm64" else self.x86_argv()) + common

    def board_argv(self):
        board = boards.BOARDS[self.board]
        return ["qemu-system-aarch64", *board.argv(), "-semihosting-config", "enable=on,target=native",
                "-append", " ".join(["semihosting", *board.words, self.append]).strip()]

    def arm64_argv(self):
        if self.board:
            return self.board_argv()
        machine = "%s,gic-version=%s" % (self.machine or "virt", self.gic)
        if self.el2:
            machine += ",virtualization=on"
        return ["qemu-system-aarch64", "-M", machine, "-cpu", self.cpu or "max",
                "-semihosting-config", "enable=on,target=native",
                "-append", ("semihosting " + self.append).strip()]

    def x86_argv(self):
        # Above 255 CPUs QEMU wants an interrupt remapping unit with extended ids.
        iommu = ["-device", "intel-iommu,intremap=on,eim=on"] if self.cpus > 255 else []
        return ["qemu-system-x86_64", "-accel", self.accel(), "-M", self.machine or "q35",
                "-cpu", self.cpu or "max",
                "-device", "isa-debug-exit,iobase=0xf4,iosize=4"] + iommu + [
                "-append", ("debug-exit " + self.append).strip()]

    def for_bench(self, *words):
        """The same machine running an experiment; its records then name the emulator."""
        name = self.machine or {"arm64": "virt", "x86": "q35"}[self.arch]
        name += ",gic%s" % self.gic if self.arch == "arm64" else ""
        board = "board=%s,%s" % (emulator_version(self.argv()[0]), self.board or name)
        return self.with_words(*words, board, *(["icount"] if self.icount else []))

    @classmethod
    def of_board(cls, name, cpus=0, **fields):
        """That board with `cpus` CPUs, or as many as it usually has."""
        board = boards.BOARDS[name]
        if cpus and cpus != board.cpus and cpus > board.most_cpus:
            raise Usage("%s has %s CPUs" % (name, "1 to %d" % board.most_cpus if board.most_cpus
                                             else "just %d" % board.cpus))
        return cls("arm64", cpus or board.cpus, board.memory, board=name, **fields)

    def exit_code(self, status):
        """What the image gave to arch_machine_exit(), from the emulator's own exit status."""
        if self.arch == "x86" and status > 0 and status & 1:
            return status >> 1
        return status

    def with_words(self, *words):
        return replace(self, append=" ".join([self.append, *words]).strip())


@dataclass
class Boot:
    """How a boot went. `ended` is "exit" (by itself), "pattern", "timeout" or "stopped"."""

    machine: Machine
    text: str = ""
    code: int = None
    ended: str = "exit"
    seconds: float = 0.0
    match: object = None
    stderr: str = ""
    command: list = field(default_factory=list)

    def ktap(self):
        return console.ktap(self.text)

    def records(self):
        return console.records(self.text)

    def explain(self, step, count=40):
        """For a failing test: the step, how the machine ended, and the end of its console."""
        how = {"exit": "ended with code %s" % self.code,
               "timeout": "was stopped after %.0f s" % self.seconds}.get(self.ended, self.ended)
        out = "%s: %s %s\n$ %s\n" % (step, self.machine.name(), how, shell(self.command))
        if self.stderr.strip():
            out += "--- emulator\n%s\n" % console.tail(self.stderr, 10)
        return out + "--- console, last lines\n%s\n---" % console.tail(self.text, count)


@functools.lru_cache
def emulator_version(program):
    out = subprocess.run([program, "--version"], text=True, check=False,
                         stdout=subprocess.PIPE).stdout
    found = re.search(r"version (\d[\w.]*)", out)
    return "qemu-" + (found.group(1) if found else "unknown")


def shell(argv):
    quote = lambda a: a if re.fullmatch(r"[\w@%+=:,./-]+", a) else "'%s'" % a.replace("'", "'\\''")
    return " ".join(quote(a) for a in argv)


def without_multiboot(path):
    """A copy of an x86 image whose Multiboot magic is gone, so that QEMU takes the PVH entry."""
    with open(path, "rb") as image:
        data = bytearray(image.read())
    at = data.find(MULTIBOOT_MAGIC, 0, 8192)
    if at < 0 or at % 4:
        raise Failure("%s: no Multiboot header in its first 8 KiB" % path)
    data[at:at + 4] = bytes(4)
    copy = tempfile.NamedTemporaryFile(prefix="cupel-pvh-", suffix=".elf")
    copy.write(data)
    copy.flush()
    return copy


def boot(machine, timeout=60, until=None, on_line=None):
    """Start a machine and read its console until it ends, `until` (a regex) matches a line, or
    `timeout` seconds have gone by. on_line(line) sees each line as it comes."""
    for path in filter(None, (machine.image_path(), machine.archive_path())):
        if not os.path.exists(path):
            raise Failure("%s is not there: make ARCH=%s BUILD=%s"
                          % (os.path.relpath(path, ROOT), machine.arch, machine.build))
    copy = None
    if machine.arch == "x86" and machine.boot == "pvh":
        copy = without_multiboot(machine.image_path())
        machine = replace(machine, image=copy.name)
    try:
        return execute(machine, timeout, until, on_line)
    finally:
        if copy:
            copy.close()


def execute(machine, timeout=60, until=None, on_line=None, stop=None):
    """The same for anything that has argv(), name() and exit_code(): see host.py. `stop` is an event that
    ends it from outside."""
    command = machine.argv()
    if not shutil.which(command[0]):
        raise Failure("%s is not installed: ./cupel setup" % command[0])
    started = time.monotonic()
    # A session of its own: Ctrl-C is ours to handle. And whatever ends us ends the emulator.
    child = subprocess.Popen(tied(command),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
    result = Boot(machine, command=command)
    try:
        watch(child, result, started, timeout, until, on_line, stop)
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
    result.seconds = time.monotonic() - started
    if result.ended == "exit":
        result.code = machine.exit_code(child.returncode)
    return result


def pump(pipe, put):
    """Reads a pipe to its end, on a thread of its own."""
    for line in iter(pipe.readline, b""):
        put(line.decode("utf-8", "replace").replace("\r", ""))
    put(None)


def watch(child, result, started, timeout, until, on_line, stop=None):
    pattern = re.compile(until) if until else None
    output = queue.Queue()
    errors = []
    readers = [threading.Thread(target=pump, args=(child.stdout, output.put), daemon=True),
               threading.Thread(target=pump, args=(child.stderr, errors.append), daemon=True)]
    for reader in readers:
        reader.start()
    text = []
    try:
        while True:
            if stop and stop.is_set():
                result.ended = "stopped"
                return
            left = None if timeout is None else started + timeout - time.monotonic()
            if left is not None and left <= 0:
                result.ended = "timeout"
                return
            try:
                line = output.get(timeout=1 if left is None else min(left, 1))
            except queue.Empty:
                continue
            if line is None:
                child.wait()
                return
            text.append(line)
            if on_line:
                on_line(line.rstrip("\n"))
            if pattern:
                result.match = pattern.search(line)
                if result.match:
                    result.ended = "pattern"
                    return
    finally:
        if child.poll() is None:
            child.kill()
        readers[1].join(2)
        result.text = "".join(text)
        result.stderr = "".join(filter(None, errors))
