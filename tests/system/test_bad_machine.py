# SPDX-License-Identifier: GPL-2.0-only
"""Machines that Cupel cannot run on, or not with what it is told: each gets a clear line, none a
silent console."""

import subprocess

import pytest

from front import machine

VIRT = ("qemu-system-aarch64", "-cpu", "max", "-smp", "1", "-m", "1024", "-display", "none")


def stops_with(boot_result, *parts):
    booted = boot_result
    for part in parts:
        booted.check(part.lower() in booted.text.lower(), "the console lacks %r" % part)
    return booted


def test_no_el2(boot):
    """Entered at EL1: one word on the console and an end, not silence."""
    stops_with(boot("selftest", "arm64", el2=False, timeout=20, until="EL1"), "EL1", "EL2")


def test_el3(boot):
    booted = boot("selftest", "arm64", timeout=20, until="EL3",
                  extra=("-M", "secure=on", "-bios", "/dev/null"), )
    stops_with(booted, "EL3")


def test_no_svm(boot):
    booted = boot("selftest", "x86", cpu="max,-svm", timeout=30)
    booted.check(booted.result.ended == "exit" and booted.result.code, "should have ended, badly")
    stops_with(booted, "SVM")


def dtb(tmp_path, edit):
    path = str(tmp_path / "virt.dtb")
    subprocess.run([*VIRT, "-M", "virt,virtualization=on,gic-version=3,dumpdtb=" + path], check=True,
                   stderr=subprocess.DEVNULL)
    with open(path, "rb") as file:
        data = edit(bytearray(file.read()))
    with open(path, "wb") as file:
        file.write(data)
    return path


def without_cpus(data):
    """The tree's structure ends early: every node after the first few is cut off."""
    at = int.from_bytes(data[8:12], "big")
    data[at + 64:at + 68] = b"\xff\xff\xff\xff"
    return data


@pytest.mark.parametrize("edit", [without_cpus], ids=("cut off",))
def test_broken_device_tree(boot, tmp_path, edit):
    booted = boot("selftest", "arm64", timeout=20, until="device tree",
                  extra=("-dtb", dtb(tmp_path, edit)))
    stops_with(booted, "device tree")


def test_no_archive(boot, arch):
    """Self-tests need no archive; VMs do, and the line says so."""
    boot("selftest", arch, archive="").well().all_ok()
    booted = boot("vm=hello", arch, archive="")
    booted.check(booted.result.ended == "exit" and booted.result.code, "should have failed")
    stops_with(booted, "archive")


@pytest.mark.parametrize("damage", ("cut", "garbage"))
def test_broken_archive(boot, arch, tmp_path, damage):
    path = tmp_path / "broken.cpio"
    with open(machine.Machine(arch).archive_path(), "rb") as file:
        data = file.read()
    path.write_bytes(data[:len(data) // 2] if damage == "cut" else b"\xa5" * 4096)
    booted = boot("vm=hello", arch, archive=str(path))
    booted.check(booted.result.ended == "exit" and booted.result.code, "should have failed")
    stops_with(booted, "archive")


def test_unknown_word_is_named(boot, arch):
    boot("selftest nonsense=1", arch).well().says("nonsense")


def test_unclosed_quote(boot, arch):
    booted = boot('selftest "x', arch)
    booted.check(booted.result.ended == "exit", "did not end by itself")
    stops_with(booted, "quote")


def test_cpu_that_does_not_start_is_named(boot):
    """The device tree lists a CPU that the machine does not have."""
    booted = boot("selftest nr_cpus=2", "arm64", cpus=4)
    booted.well().says("2 of ")
