# SPDX-License-Identifier: GPL-2.0-only
"""What may not grow: the image, and the ways from its first instruction to the monitor's prompt and to a
guest's first. `./cupel check --bless` writes tests/golden/boot-*.json anew."""

import json
import os
import re
from dataclasses import replace

import conftest
import ways_x86
from front import machine

IMAGE_LIMIT = 256 * 1024
BOOT_LIMIT = 10_000_000

# What a change may add unseen. What UEFI does for its application counts too, and differs from one release
# of it to the next.
ALLOWED = 1.02
ALLOWED_UEFI = 1.10

# An instruction takes 2^SHIFT ns: firmware that waits for a while then does so in few of them, and what
# the image waits for (x86 measures its clock for 1 ms) hardly counts.
SHIFT = 7

AAVMF = "/usr/share/qemu-efi-aarch64/QEMU_EFI.fd"
U_BOOT = "/usr/lib/u-boot/qemu_arm64/u-boot.bin"
OVMF = "/usr/share/ovmf/OVMF.fd"

FILES = {"arm64": ("cupel.bin",), "x86": ("cupel.elf", "cupel.efi")}


def golden(arch, part, got, allowed):
    """Compares one part of the golden file, or writes it."""
    path = os.path.join(conftest.HERE, "../golden/boot-%s.json" % arch)
    known = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
    if conftest.BLESS:
        known[part] = got
        with open(path, "w", encoding="utf-8") as file:
            json.dump(known, file, indent=1, sort_keys=True)
            file.write("\n")
        return
    assert set(got) == set(known[part]), "golden file and test name other things"
    more = ["%s: %d, golden %d" % (name, got[name], known[part][name]) for name in sorted(got)
            if got[name] > known[part][name] * allowed(name)]
    assert not more, "more %s than before: %s" % (part, "; ".join(more))


def test_image_size(arch):
    directory = machine.Machine(arch).directory()
    sizes = {name: os.path.getsize(os.path.join(directory, name)) for name in FILES[arch]}
    for name, size in sizes.items():
        assert size < IMAGE_LIMIT, "%s has %d bytes, limit %d" % (name, size, IMAGE_LIMIT)
    golden(arch, "bytes", sizes, lambda name: ALLOWED)


def ways(arch, directory):
    """name -> machine: each way in that starts Cupel with no disk's speed in between."""
    if arch == "arm64":
        yield "image", machine.Machine(arch)
        yield "u-boot", machine.Machine(arch, extra=("-bios", U_BOOT))
        yield "uefi", machine.Machine(arch, extra=("-bios", AAVMF))
        return
    efi = os.path.join(machine.Machine(arch).directory(), "cupel.efi")
    yield "multiboot", machine.Machine(arch)
    yield "pvh", machine.Machine(arch, boot="pvh")
    yield "linux", machine.Machine(arch, image=efi)
    yield "uefi", machine.Machine(arch, image=efi, extra=("-bios", OVMF))
    grub = ways_x86.way(directory, "cupel.elf", "", media="disc", command="multiboot2")
    yield "multiboot2", replace(grub, cpus=1)


PROMPT = r"the monitor, (\d+)\.(\d{6}) ms after the first instruction"


def count(way, what):
    """Instructions from the image's entry to the monitor's prompt."""
    what = replace(what, extra=what.extra + ("-icount", "shift=%d,sleep=off" % SHIFT))
    booted = conftest.Booted("to the prompt by " + way, machine.boot(what, 180, PROMPT))
    booted.check(booted.result.match, "the monitor does not say how long it took")
    return int("".join(booted.result.match.groups())) >> SHIFT


def test_way_to_the_monitor(arch, tmp_path):
    got = {way: count(way, what) for way, what in ways(arch, str(tmp_path))}
    golden(arch, "instructions", got, lambda way: ALLOWED_UEFI if way == "uefi" else ALLOWED)


def test_boot_budget(boot, arch):
    """Under icount one instruction is one nanosecond: the image says how long it took."""
    booted = boot("vm=hello icount", arch, cpus=1, icount=True).well()
    match = re.search(r"first guest instruction after (\d+) ns", booted.text)
    booted.check(match, "the console does not say when the guest started")
    booted.check(int(match.group(1)) < BOOT_LIMIT, "%s instructions to the guest, limit %d"
                 % (match.group(1), BOOT_LIMIT))
