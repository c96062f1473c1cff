# SPDX-License-Identifier: GPL-2.0-only
"""Guests that do what no guest should: each is stopped with a clear report, and the next VM still
runs to its end."""

import pytest

from test_guests import vm_names


def faults():
    return [(arch, name) for arch in ("arm64", "x86") for name in vm_names(arch)
            if name.startswith("fault-")]


@pytest.mark.parametrize("arch,name", faults(), ids=lambda v: v)
def test_stopped_and_the_next_one_runs(boot, arch, name):
    booted = boot("vm=%s,hello" % name, arch, cpus=2)
    booted.check(booted.result.ended == "exit", "the machine did not end by itself")
    booted.never_says("panic:")
    booted.says("vm %s: stopped: " % name, "[hello]")
    after = booted.text[booted.text.index("vm %s: stopped: " % name):]
    booted.check("[hello]" in after, "hello did not run after it")


def test_there_are_faults():
    """Page fault, read-only memory, garbage, unknown register or port, for each architecture."""
    for arch in ("arm64", "x86"):
        assert len([name for a, name in faults() if a == arch]) >= 4
