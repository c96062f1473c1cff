# SPDX-License-Identifier: GPL-2.0-only
"""What can be wrong with an x86 machine, its firmware or its loader before Cupel is up: each gets one
line that says what and why, and none a silent console. Faults that QEMU has no option for are put
into the registers and the memory of the machine when it is about to start."""

import pytest

import inject
from front import machine

RSD_PTR = b"RSD PTR "
LINE = "cupel: cannot start: "


def one_line(booted, *parts, prefix=LINE):
    """One line with all that, and nothing that looks like an accident."""
    lines = [line for line in booted.text.splitlines() if line.startswith(prefix)]
    booted.check(len(lines) == 1, "should have one line '%s...', has %d" % (prefix, len(lines)))
    for part in parts:
        booted.check(part.lower() in lines[0].lower(), "%r lacks %r" % (lines[0], part))
    return booted.never_says("panic", "backtrace", "exception")


def refused(booted, *parts):
    """And it ended by itself, with the code of a failure."""
    one_line(booted, *parts)
    booted.check(booted.result.ended == "exit" and booted.result.code == 1, "should end with code 1")
    return booted


@pytest.mark.parametrize("cpu,parts", [
    ("max,-lm", ["long mode", "CPUID"]),
    ("max,-nx", ["no-execute", "CPUID"]),
    ("486", ["long mode"]),
    ("max,-apic", ["no local APIC", "CPUID"]),
    ("max,-svm", ["no AMD SVM"]),
    ("max,-npt", ["no nested paging"]),
], ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("way", ("multiboot", "pvh"))
def test_cpu_lacks(boot, way, cpu, parts):
    refused(boot("vm=hello", "x86", cpu=cpu, boot=way, timeout=40), *parts)


# --- What the loader says ---------------------------------------------------------------------------

MB_FLAGS, MB_CMDLINE, MB_MODS_COUNT, MB_MODS_ADDR, MB_MMAP_LEN, MB_MMAP_ADDR = 0, 16, 20, 24, 44, 48


def at_entry(change):
    """A fault that is there when the loader jumps to the image: change(cpu, address of its information)."""
    def fault(cpu):
        cpu.run_to(inject.symbols("x86")["x86_multiboot_entry"])
        change(cpu, cpu.reg("rbx"))
    return fault


def start(change, words="vm=hello", until=None, **fields):
    what = machine.Machine("x86", append=words, **fields)
    return inject.boot(change.__name__, what, at_entry(change), 40, until)


def test_control():
    """Stopped, looked at, and let go: it boots."""
    def nothing(cpu, info):
        assert cpu.reg("rax") == 0x2badb002
        assert cpu.read32(info + MB_FLAGS) & 0x40
    start(nothing).well()


def test_wrong_magic():
    def magic(cpu, info):
        cpu.set_reg("rax", 0x12345678)
    one_line(start(magic, until="halted"), "Multiboot", "0x2badb002")


def information_far(cpu, info):
    cpu.set_reg("rbx", 0xfffffff0)


def no_memory(cpu, info):
    cpu.write32(info + MB_FLAGS, cpu.read32(info + MB_FLAGS) & ~0x41)


def empty_map(cpu, info):
    cpu.write32(info + MB_MMAP_LEN, 0)


def map_out_of_reach(cpu, info):
    cpu.write32(info + MB_MMAP_LEN, 0x7fffffff)


def map_entry_of_no_size(cpu, info):
    cpu.write32(cpu.read32(info + MB_MMAP_ADDR), 0)


def module_list_far(cpu, info):
    cpu.write32(info + MB_MODS_ADDR, 0)


def module_far(cpu, info):
    at = cpu.read32(info + MB_MODS_ADDR)
    cpu.write32(at, 0xfffff000)
    cpu.write32(at + 4, 0xffffffff)


def module_ends_before_it_starts(cpu, info):
    at = cpu.read32(info + MB_MODS_ADDR)
    cpu.write32(at + 4, cpu.read32(at) - 1)


@pytest.mark.parametrize("change,parts", [
    (no_memory, ["without memory"]),
    (empty_map, ["without memory"]),
    (map_out_of_reach, ["memory map", "out of reach"]),
    (map_entry_of_no_size, ["memory map", "size"]),
    (module_list_far, ["module list", "out of reach"]),
    (module_ends_before_it_starts, ["module", "empty"]),
    (module_far, ["module", "not in RAM"]),
], ids=lambda v: getattr(v, "__name__", ""))
def test_loader(change, parts):
    refused(start(change), *parts)


def test_information_out_of_reach():
    """It runs past 4 GiB, and a CPU without 1 GiB pages begins with a map of 4 GiB. The command line was
    not read: nothing ends the emulator."""
    one_line(start(information_far, until=LINE, cpu="max,-pdpe1gb"), "information", "out of reach")
