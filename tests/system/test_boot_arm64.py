# SPDX-License-Identifier: GPL-2.0-only
"""Every way into the arm64 image, each to the end of a short experiment: the same rows come out, and what the
firmware had to say has arrived (words, archive, memory, devices, the other CPU)."""

from dataclasses import replace

import conftest
import pytest
import ways_arm64 as ways
from bare import IMAGE, TREE, assemble, bare, device_tree
from front import machine

EXPERIMENT = "bench=vcpu-load vcpus=2 rounds=2 loads=50"

# Way in, what the image then says of it, and how.
WAYS = {
    "uefi-disk": ("efi+acpi", dict(disk=ways.system_partition)),
    "uefi-shell": ("efi+fdt", dict(disk=ways.shell, acpi=False)),
    "uefi-kernel": ("efi+acpi", dict()),
    "uefi-kernel-gic2": ("efi+acpi", dict(gic="2")),
    "uefi-kernel-without-vhe": ("efi+acpi", dict(cpu="cortex-a72")),
    "uefi-kernel-fdt": ("efi+fdt", dict(acpi=False)),
    "uefi-kernel-fdt-gic2-without-vhe": ("efi+fdt", dict(acpi=False, gic="2", cpu="cortex-a72")),
    "u-boot-kernel": ("fdt", dict(firmware="u-boot")),
    "u-boot-booti": ("fdt", dict(firmware="u-boot", disk=ways.booti, cpu="cortex-a72")),
    "u-boot-extlinux": ("fdt", dict(firmware="u-boot", disk=ways.extlinux, cpu="cortex-a57")),
    "u-boot-fit": ("fdt", dict(firmware="u-boot", disk=ways.fit)),
    "u-boot-bootefi": ("efi+fdt", dict(firmware="u-boot", disk=ways.system_partition)),
}


def start(what, timeout=200, until=None):
    return conftest.Booted(what.name(), machine.boot(what, timeout, until))


def rows(booted, firmware):
    """What is in the rows but the figures."""
    records = booted.well().says("2 of 2 CPUs online").never_says("unknown word").records()
    booted.check(records, "no rows")
    for row in records:
        booted.check(row["machine"]["firmware"] == firmware, "firmware %r" % row["machine"]["firmware"])
        booted.check(row["n"] and row["min"] > 0, "an empty row: %s" % row["variant"])
    return sorted((row["bench"], str(row["variant"]), row["unit"], sorted(row)) for row in records)


@pytest.fixture(scope="module")
def direct_rows():
    """What all others are compared with."""
    return rows(start(machine.Machine("arm64", cpus=2, append=EXPERIMENT)), "fdt")


@pytest.mark.parametrize("name", WAYS)
def test_way_in(name, tmp_path, direct_rows):
    firmware, fields = WAYS[name]
    booted = start(ways.way(tmp_path, append=EXPERIMENT, **fields))
    booted.check(rows(booted, firmware) == direct_rows, "other rows than by QEMU's own boot code")


# --- Where the image is, and what firmware left on --------------------------------------------------

MIB2, GIB = 2 << 20, 1 << 30
MEMORY = 6144  # MiB: RAM from 1 GiB to 7 GiB


@pytest.mark.parametrize("at", ((IMAGE + 5 * MIB2, TREE), (5 * GIB, TREE), (IMAGE, 7 * GIB - MIB2), (7 * GIB - MIB2, IMAGE),
                                (IMAGE + 0x1f000, 5 * GIB + 0x1ff8)),
                         ids=lambda at: "%#x-tree-%#x" % at)
def test_image_and_tree_anywhere(tmp_path, at):
    tree = device_tree(str(tmp_path), "semihosting selftest=arm64", memory=MEMORY)
    what = bare(str(tmp_path), tree=tree, image_at=at[0], tree_at=at[1], memory=MEMORY)
    start(what).well().all_ok(at_least=1)


# TGE, AMO, IMO and FMO as EDK2 leaves them; and E2H, as a Linux that goes on to another kernel does.
@pytest.mark.parametrize("hcr", (0, 0x08000038, 0x488000000), ids=("plain", "tge", "e2h"))
@pytest.mark.parametrize("cpu", ("max", "cortex-a72"))
def test_mmu_left_on(tmp_path, hcr, cpu):
    if hcr >> 34 and cpu != "max":
        pytest.skip("no VHE")
    tree = device_tree(str(tmp_path), "semihosting selftest=arm64")
    what = replace(bare(str(tmp_path), tree=tree, cpu=cpu),
                   shim=assemble(str(tmp_path), "mmu_on.S", HCR=hcr, TREE=TREE, IMAGE=IMAGE))
    start(what).well().all_ok(at_least=1)


# --- What can't be, is said on firmware's console ---------------------------------------------------

def test_uefi_at_el1(tmp_path):
    booted = start(ways.way(tmp_path, append="vm=hello", el2=False), until="Cupel")
    booted.says("Cupel: entered at EL1, but it needs EL2")


def test_uefi_archive_that_is_not_there(tmp_path):
    """The application returns: the boot manager says what it gave back."""
    booted = start(ways.way(tmp_path, append="initrd=x/nothing.cpio", disk=ways.system_partition),
                   until="BdsDxe: failed to start.*Not Found")
    booted.says("Cupel: there is no archive x/nothing.cpio").check(booted.result.match, "it did not return")


def test_no_archive_at_all(tmp_path):
    booted = start(ways.way(tmp_path, append="selftest=arm64", archive="", disk=ways.system_partition))
    booted.well().all_ok(at_least=1)
