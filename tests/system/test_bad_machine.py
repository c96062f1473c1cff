# SPDX-License-Identifier: GPL-2.0-only
"""Machines that Cupel cannot run on, or not with what it is told: each gets a clear line, none a
silent console."""

import struct

import pytest

import conftest
from bare import bare, device_tree
from front import machine


def stops_with(booted, *parts):
    """Says each of the parts, in whatever case."""
    for part in parts:
        booted.check(part.lower() in booted.text.lower(), "the console lacks %r" % part)
    return booted


def test_no_el2(boot):
    """Entered at EL1: a clear word on the console, not silence."""
    stops_with(boot("selftest", "arm64", el2=False, timeout=20, until="EL1"), "EL1", "EL2")


def start_bare(step, tmp_path, until, **how):
    return conftest.Booted(step, machine.boot(bare(str(tmp_path), **how), 20, until))


def test_el3(tmp_path):
    stops_with(start_bare("entered at EL3", tmp_path, "EL3", el3=True), "EL3")


def test_no_device_tree(tmp_path):
    stops_with(start_bare("x0 is 0", tmp_path, "device tree"), "device tree")


def test_a_good_device_tree_does_boot(tmp_path):
    """The control for the broken ones below."""
    tree = device_tree(str(tmp_path), "semihosting selftest")
    start_bare("a good tree", tmp_path, None, tree=tree).well().all_ok(at_least=10)


def cut(tree):
    """Half of it is missing, and its header knows nothing of that."""
    return tree[:len(tree) // 2]


def garbage(tree):
    return b"\xa5" * len(tree)


def bad_structure(tree):
    """A token that there is none of, just inside the root node."""
    at = struct.unpack_from(">I", tree, 8)[0] + 8
    return tree[:at] + b"\xff\xff\xff\xff" + tree[at + 4:]


def huge(tree):
    return tree[:4] + struct.pack(">I", 0xfffffff0) + tree[8:]


@pytest.mark.parametrize("damage", (cut, garbage, bad_structure, huge), ids=lambda f: f.__name__)
def test_broken_device_tree(tmp_path, damage):
    tree = damage(device_tree(str(tmp_path), "semihosting selftest"))
    stops_with(start_bare("a broken tree", tmp_path, "device tree", tree=tree), "device tree")


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


def test_fewer_cpus_when_asked(boot, arch):
    boot("selftest nr_cpus=2", arch, cpus=4).well().says("2 of ")
