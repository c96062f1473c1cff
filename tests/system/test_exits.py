# SPDX-License-Identifier: GPL-2.0-only
"""Instructions per exit, measured from inside the guest on an emulator that counts them: compared
with tests/golden/, which no change may raise by more than 2 %. `./cupel check --bless` writes the
golden files anew."""

import json
import os

import pytest

import conftest
from front import machine

GOLDEN = os.path.join(conftest.HERE, "../golden")
ALLOWED = 1.02

OPS = {
    "arm64": ("hvc", "sysreg", "gicd-read", "gicd-enable", "uart-read", "sgi-self", "timer-late",
              "wfi-late"),
    "x86": ("cpuid", "vmmcall", "rdmsr", "lapic-read", "self-ipi", "timer-late"),
}


def measure(arch, words="", **fields):
    what = machine.Machine(arch=arch, icount=True, **fields).for_bench("bench=exits", words)
    return conftest.Booted("bench exits, icount", machine.boot(what, 240))


def medians(booted):
    return {row["variant"]["op"]: row["p50"] for row in booted.well().records()}


def compare(booted, name, got):
    path = os.path.join(GOLDEN, name + ".json")
    if conftest.BLESS:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(got, file, indent=1, sort_keys=True)
            file.write("\n")
        return
    with open(path, encoding="utf-8") as file:
        golden = json.load(file)
    booted.check(set(got) == set(golden), "ops %s, golden %s" % (sorted(got), sorted(golden)))
    worse = ["%s: %d, golden %d" % (op, got[op], golden[op]) for op in sorted(got)
             if got[op] > golden[op] * ALLOWED]
    booted.check(not worse, "more instructions than before: " + "; ".join(worse))


@pytest.mark.parametrize("arch,name,words,fields", [
    ("arm64", "exits-arm64", "", {}),
    ("arm64", "exits-arm64-native-wfi", "wfi=native", {}),
    ("arm64", "exits-arm64-nvhe", "arm64.mode=nvhe", {}),
    ("x86", "exits-x86", "", {}),
], ids=lambda v: v if isinstance(v, str) and v.startswith("exits") else "")
def test_no_exit_got_dearer(arch, name, words, fields):
    booted = measure(arch, words, **fields)
    got = medians(booted)
    missing = sorted(set(OPS[arch]) - set(got))
    booted.check(not missing, "no row for " + ", ".join(missing))
    booted.check({row["unit"] for row in booted.records()} == {"instructions"},
                 "the unit is not instructions")
    compare(booted, name, got)
