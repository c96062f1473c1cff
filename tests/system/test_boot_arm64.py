# SPDX-License-Identifier: GPL-2.0-only
"""Every way into the arm64 image, each to the end of a short experiment: the same rows come out, and what the
firmware had to say has arrived (words, archive, memory, devices, the other CPU)."""

import conftest
import pytest
import ways_arm64 as ways
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
