# SPDX-License-Identifier: GPL-2.0-only
"""Every way into the x86 image, each to the end of a short experiment: the same rows come out, and what
the loader had to say has arrived (words, archive, memory, ACPI's root pointer, the other CPU)."""

import os
import subprocess
from dataclasses import replace

import conftest
import pytest
from archives import archive
from front import machine
from ways_x86 import way

EXPERIMENT = "bench=exits samples=20"

# Way in, what the image then says of it, and how.
WAYS = {
    "multiboot": ("multiboot", dict(image="cupel.elf")),
    "linux": ("linux", dict(image="cupel.efi")),
    "grub-multiboot": ("multiboot", dict(image="cupel.elf", media="disc", command="multiboot")),
    "grub-multiboot2": ("multiboot2", dict(image="cupel.elf", media="disc", command="multiboot2")),
    "grub-multiboot2-addresses": ("multiboot2", dict(image="cupel.efi", media="disc", command="multiboot2")),
    "grub-linux": ("linux", dict(image="cupel.efi", media="disc", command="linux")),
    "grub-uefi-multiboot2": ("multiboot2", dict(image="cupel.elf", media="disc", command="multiboot2",
                                                firmware="uefi")),
    "uefi-disk": ("efi+acpi", dict(image="cupel.efi", media="disk", firmware="uefi")),
    "uefi-kernel": ("efi+acpi", dict(image="cupel.efi", firmware="uefi")),
}


def start(what, timeout=200, until=None):
    return conftest.Booted(what.name(), machine.boot(what, timeout, until))


def rows(booted, firmware):
    """What is in the rows but the figures."""
    records = booted.well().says("2 of 2 CPUs online").never_says("unknown word", "ACPI:").records()
    booted.check(records, "no rows")
    for row in records:
        booted.check(row["machine"]["firmware"] == firmware, "firmware %r" % row["machine"]["firmware"])
        booted.check(row["n"] == 20 and row["min"] > 0, "an empty row: %s" % row["variant"])
    return sorted((row["bench"], row["variant"]["op"], row["unit"], sorted(row)) for row in records)


@pytest.fixture(scope="module")
def pvh_rows():
    """What all others are compared with."""
    return rows(start(machine.Machine("x86", cpus=2, boot="pvh", append=EXPERIMENT)), "pvh")


@pytest.mark.parametrize("board", ("pc", "q35"))
@pytest.mark.parametrize("name", WAYS)
def test_way_in(name, board, tmp_path, pvh_rows):
    firmware, fields = WAYS[name]
    booted = start(way(tmp_path, append=EXPERIMENT, machine_type=board, **fields))
    booted.check(rows(booted, firmware) == pvh_rows, "other rows than by PVH")


def test_pvh_on_pc(pvh_rows):
    what = machine.Machine("x86", cpus=2, boot="pvh", machine="pc", append=EXPERIMENT)
    booted = start(what)
    booted.check(rows(booted, "pvh") == pvh_rows, "other rows than on q35")


def test_uefi_shell_at_the_second_try(tmp_path, pvh_rows):
    """The first one names an archive that is not there: a line, and nothing is left behind in memory."""
    booted = start(way(tmp_path, "cupel.efi", EXPERIMENT, media="shell", firmware="uefi",
                       script="cupel.efi initrd=missing.cpio\r\n"))
    booted.says("Cupel: there is no archive missing.cpio")
    booted.check(rows(booted, "efi+acpi") == pvh_rows, "other rows than by PVH")


# RAM on both sides of a hole that reaches from 128 MiB to 4 GiB; the VM's only fits beyond it.
HOLE = {"machine_type": "q35,max-ram-below-4g=128M", "memory": 640}
CONF = "[vm big]\nkernel = hello.elf\nmemory = 400M\n"


def big_vm(tmp_path, image, **fields):
    path = archive(str(tmp_path), "x86", CONF, ["hello"])
    return start(way(tmp_path, image, "vm", archive=path, **HOLE, **fields))


@pytest.mark.parametrize("name", ("multiboot", "linux", "grub-multiboot2", "uefi-kernel"))
def test_memory_above_4_gib(name, tmp_path):
    big_vm(tmp_path, **WAYS[name][1]).well().says("400 MiB of RAM").never_says("left out").all_ok()


def test_memory_out_of_reach_is_told_of(tmp_path):
    """Without 1 GiB pages the first map ends at 4 GiB."""
    booted = big_vm(tmp_path, "cupel.elf", cpu="max,-pdpe1gb")
    booted.says("512 MiB of RAM beyond 4 GiB are left out").never_says("400 MiB of RAM")


@pytest.mark.parametrize("name", ("multiboot", "linux", "grub-multiboot2", "uefi-kernel"))
def test_refusal_before_there_is_paging(name, tmp_path):
    """The words have been found even then: debug-exit ends the machine."""
    booted = start(way(tmp_path, append="vm=hello", cpu="max,-nx", **WAYS[name][1]))
    booted.says("cupel: cannot start: this CPU has no no-execute pages").never_says("Cupel ")
    booted.check(booted.result.ended == "exit" and booted.result.code == 1, "should have ended with 1")


def test_uefi_archive_that_is_not_there(tmp_path):
    """One line, and firmware has the machine again."""
    what = way(tmp_path, "cupel.efi", "vm=hello initrd=missing.cpio", media="disk", firmware="uefi", archive="")
    booted = start(what, until="failed to start")
    booted.says("Cupel: there is no archive missing.cpio").never_says("online")
    booted.check(booted.result.ended == "pattern", "firmware does not go on")


def test_uefi_without_archive(tmp_path):
    """Nobody named one: that is for the VMs to miss."""
    booted = start(way(tmp_path, "cupel.efi", "vm=hello", media="disk", firmware="uefi", archive=""))
    booted.says("archive").check(booted.result.code == 1, "should have ended with 1")


def symbols(what):
    out = subprocess.run(["nm", os.path.join(what.directory(), "cupel.sym.elf")], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return {line.split()[2]: int(line.split()[0], 16) for line in out.splitlines() if len(line.split()) == 3}


@pytest.mark.parametrize("name", ("multiboot", "linux", "uefi-kernel"))
def test_memory_that_is_not_zero(name, tmp_path):
    """What is to be zero in the image lies where something was before."""
    firmware, fields = WAYS[name]
    what = way(tmp_path, append="vm=hello", **fields)
    at = symbols(what)
    dirt = tmp_path / "dirt"
    dirt.write_bytes(b"\xa5" * (at["__image_end"] - at["__bss_start"]))
    loader = "loader,file=%s,addr=%#x,force-raw=on" % (dirt, at["__bss_start"])
    start(replace(what, extra=("-device", loader))).well().says("firmware " + firmware).all_ok()
