# SPDX-License-Identifier: GPL-2.0-only
"""Every VM of tests/guests, by its name in cupel.conf: booted, reported by KTAP, ended well. A VM
whose name begins with `fault-` is there to be stopped: see test_faults.py."""

import os
import re

import pytest

from front import ROOT

CPUS = 4


def vm_names(arch):
    names = []
    for path in ("tests/guests/cupel.conf", "tests/guests/%s/vms.conf" % arch):
        path = os.path.join(ROOT, path)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                names += re.findall(r"^\[vm ([\w.-]+)\]", file.read(), re.M)
    return names


def guests():
    return [(arch, name) for arch in ("arm64", "x86") for name in vm_names(arch)
            if not name.startswith("fault-")]


@pytest.mark.parametrize("arch,name", guests(), ids=lambda v: v)
def test_guest(boot, arch, name):
    boot("vm=" + name, arch, cpus=CPUS).well().all_ok()


@pytest.mark.parametrize("name", [name for arch, name in guests() if arch == "arm64"])
def test_guest_nvhe(boot, name):
    boot("arm64.mode=nvhe vm=" + name, "arm64", cpus=CPUS).well().all_ok()


# Polled ticks are left out: QEMU 10 forgets an interrupt that is due again before its guest ends it.
GICV2 = ("smp", "pingpong", "tick", "gic", "psci", "poke", "steal", "hostile",
         "shinfo-targeted", "shinfo-rwlock-fifo", "shinfo-native-wfi")


@pytest.mark.parametrize("name", GICV2)
def test_guest_gicv2(boot, name):
    boot("vm=" + name, "arm64", cpus=CPUS, gic="2").well().all_ok()


TOGETHER = [("arm64", "tick-a+idle-b"), ("arm64", "tick-phys-a+idle-b"), ("x86", "tick-a+idle-b"),
            ("arm64", "keep+spin-long"), ("x86", "keep+spin-long"), ("arm64", "abandon,tick-poll"),
            ("x86", "abandon,tick-poll"), ("arm64", "tick-poll+spin"), ("x86", "tick-poll+spin"),
            ("arm64", "hostile+pingpong"), ("x86", "hostile+pingpong")]


@pytest.mark.parametrize("arch,names", TOGETHER, ids=lambda v: v)
def test_together_on_one_cpu(boot, arch, names):
    """What one leaves on the CPU, the other finds; and neither has the CPU for itself."""
    boot("vm=" + names, arch, cpus=2).well().all_ok(at_least=2)


@pytest.mark.parametrize("name", ("tick-crowded", "tick-poll"))
def test_by_the_instruction(boot, arch, name):
    """Time is the number of instructions: no load on the host hides or makes a late tick."""
    boot("vm=%s icount" % name, arch, cpus=1, icount=True).well().all_ok(at_least=4)


def test_time_slice(boot, arch):
    """A guest that never leaves does not keep the CPU: the other one ends before it."""
    booted = boot("vm=spin+hello", arch, cpus=1).well()
    booted.all_ok(at_least=3)
    booted.check(booted.text.index("hello: hello") < booted.text.index("spin: spun"),
                 "hello had to wait for spin")


def test_two_at_once_and_one_after(boot, arch):
    booted = boot("vm=hello+smp,hello", arch, cpus=CPUS).well()
    booted.check(booted.text.count("[hello]") >= 2, "hello did not run twice")
    booted.all_ok(at_least=3)


def test_no_such_vm(boot, arch):
    booted = boot("vm=no-such", arch)
    booted.check(booted.result.ended == "exit" and booted.result.code, "should have failed")
    booted.says("no-such")
